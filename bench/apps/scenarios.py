"""Named scenarios, files NOTEBOOK.SCENARIO.yaml of a notebook's parameters, and what a name given to run means."""

import contextlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.errors import BENCH, DataError, UsageError, reason_of, unknown
from bench.plan import documents, paths, yaml_text
from bench.text import one_line, quoted

WHERE = f"scenarios are listed by: {BENCH} list --scenarios"


@dataclass(frozen=True)
class Chosen:
    """A notebook to be run: its file, the name of what it writes, and a scenario's parameters.

    name: the notebook's, or NOTEBOOK.SCENARIO.
    """

    notebook: Path
    name: str
    parameters: dict[str, Any] = field(default_factory=dict)


def notebooks() -> dict[str, Path]:
    """Return the notebooks by name, without what papermill wrote beside them; UsageError if there are none."""
    files = sorted(paths.notebooks().glob("[a-z]*.ipynb"))
    by_name = {file.stem: file for file in files if not file.stem.startswith("out")}
    if not by_name:
        folder = quoted(str(paths.notebooks()))
        raise UsageError(f"there are no notebooks in {folder}: name a checkout of Roundtrip in ROUNDTRIP_HOME")
    return by_name


def files() -> dict[str, Path]:
    """Return the files of the scenarios by name, NOTEBOOK.SCENARIO."""
    scenarios = (paths.home() / "papermill_params").glob("[a-z]*.*.yaml")
    return {file.name.removesuffix(".yaml"): file for file in sorted(scenarios)}


def chosen(name: str) -> Chosen:
    """Return what a name means: a notebook, a scenario, or a file of either; UsageError names the nearest ones."""
    stem = Path(name).name.removesuffix(".ipynb")
    there = notebooks()
    if stem in there:
        return Chosen(there[stem], stem)
    file, stem = _file(name), Path(name).name.removesuffix(".yaml")
    notebook, _, scenario = stem.partition(".")
    if file is None:
        raise _unknown(stem)
    if notebook not in there or not scenario:
        raise UsageError(
            f"{quoted(file.name)} names no notebook: call it NOTEBOOK.SCENARIO.yaml; there are {', '.join(there)}"
        )
    return Chosen(there[notebook], stem, parameters(file))


def _file(name: str) -> Path | None:
    """Return the file that a name means: the path of a YAML file, or a scenario's name; None if there is none."""
    if not name.endswith(".yaml"):
        return files().get(Path(name).name)
    here = (Path(name), paths.home() / name, paths.home() / "papermill_params" / name)
    with contextlib.suppress(OSError):  # of a name that no file can have
        return next((file for file in here if file.is_file()), None)
    return None


def parameters(file: Path) -> dict[str, Any]:
    """Return the parameters in a scenario's file; DataError if it cannot be read."""
    try:
        values = yaml_text.value_of(documents.read(file).decode())
    except (OSError, ValueError) as reason:
        raise DataError(f"cannot read {quoted(str(file))}: {one_line(reason_of(reason))}") from reason
    if not isinstance(values, dict) or not all(isinstance(name, str) for name in values):
        raise DataError(f"{quoted(str(file))} holds no parameters: write lines like payload_bytes: [100, 1000]")
    return values


def _unknown(name: str) -> UsageError:
    """Return the error for a name of neither a notebook nor a scenario."""
    notebook, dot, _ = name.partition(".")
    of_notebook = [scenario for scenario in files() if scenario.startswith(f"{notebook}.")]
    if dot and of_notebook:
        return unknown("scenario", name, of_notebook)
    from bench.grammar.experiment import exists  # slow to import, and not needed for a list

    if exists(name):
        return UsageError(
            f"bench/experiments/{name}.py has no notebook: write notebooks/{name}.ipynb (docs/adding-a-notebook.md)"
        )
    return UsageError(f"{unknown('notebook', name, notebooks())} ({WHERE})")


def listed() -> str:
    """Return a block of lines for each scenario: its name, and the first line of its file, which says what it shows."""
    first = {name: file.read_text("utf-8", "replace").partition("\n")[0] for name, file in files().items()}
    blocks = [f"{name}\n  {one_line(line.removeprefix('#'))}" for name, line in first.items()]
    return "\n".join([*blocks, "", f"{BENCH} run NAME runs one   (-p NAME VALUE changes a parameter of it)"])
