"""Paths of the laboratory, independent of the working directory."""

import os
import tempfile
from pathlib import Path

from bench.errors import UsageError

_PACKAGE = Path(__file__).parents[1]
INSTALLED = _PACKAGE / "laboratory"  # of a wheel: what a checkout has beside it (requirements/build_backend.py)
LONGEST_TEMPORARY = 60  # bytes; a Unix socket's whole path holds at most 103


def home() -> Path:
    """Return the folder of notebooks, scenarios and reference runs: ``ROUNDTRIP_HOME``, a checkout, or the wheel's.

    The checkout is the one around the current folder, or the one of this package. Without any of these: the current
    folder.
    """
    if chosen := os.environ.get("ROUNDTRIP_HOME"):
        return Path(chosen)
    try:
        here = Path.cwd()
    except OSError as reason:
        raise UsageError("the current folder does not exist any more: change to another one") from reason
    for folder in (here, *here.parents, _PACKAGE.parent, INSTALLED):
        if (folder / "papermill_params").is_dir():
            return folder
    return here


def workplace() -> Path:
    """Return the folder to write into: the laboratory's; the current one if that is the wheel's."""
    top = home()
    return Path.cwd() if top == INSTALLED else top


def make_absolute() -> None:
    """Let the variables that name folders mean the same in a kernel, which works in another folder."""
    for name in FOLDERS:
        if chosen := os.environ.get(name):
            os.environ[name] = str(Path(chosen).absolute())


FOLDERS = tuple(f"ROUNDTRIP_{name}" for name in ("HOME", "RUNS", "SAMPLES", "EXECUTED", "ENVIRONMENTS", "FIGURES"))


def runs() -> Path:
    """Return the folder of your runs (``ROUNDTRIP_RUNS`` names another)."""
    return Path(os.environ.get("ROUNDTRIP_RUNS") or workplace() / "data" / "runs")


def reference() -> Path:
    """Return the folder of the small committed runs."""
    return home() / "data" / "reference"


def executed() -> Path:
    """Return the folder of executed notebooks (``ROUNDTRIP_EXECUTED`` names another)."""
    return Path(os.environ.get("ROUNDTRIP_EXECUTED") or workplace() / "data" / "executed")


def environments() -> Path:
    """Return the folder of Python environments apart from this one (``ROUNDTRIP_ENVIRONMENTS`` names another).

    Of an installed copy it is in the user's cache: no folder in which somebody works needs one of its own.
    """
    if chosen := os.environ.get("ROUNDTRIP_ENVIRONMENTS"):
        return Path(chosen)
    if (top := home()) != INSTALLED:
        return top / ".environments"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "roundtrip" / "environments"


def notebooks() -> Path:
    """Return the folder of source notebooks."""
    return home() / "notebooks"


def figures() -> Path:
    """Return the folder of figures (``ROUNDTRIP_FIGURES`` names another)."""
    return Path(os.environ.get("ROUNDTRIP_FIGURES") or workplace() / "figures")


FIGURE_NAME = "ROUNDTRIP_FIGURE_NAME"  # NOTEBOOK or NOTEBOOK.SCENARIO, of the notebook that a kernel executes


def figure_name(notebook: str) -> str:
    """Return the name of the files of a notebook's figure: the notebook's, or that of the scenario that is run."""
    name = os.environ.get(FIGURE_NAME, notebook)
    return name if name.startswith(f"{notebook}.") else notebook


def for_sockets() -> str:
    """Return the folder of temporary files, or /tmp where its name is too long for a Unix socket's path."""
    folder = tempfile.gettempdir()
    return folder if len(os.fsencode(folder)) <= LONGEST_TEMPORARY else "/tmp"


def shown(path: Path) -> str:
    """Return a path as users read it best: relative to where they are if it is inside, otherwise absolute."""
    real, here = (os.path.realpath(folder) for folder in (path, Path.cwd()))  # a loop of links is no error here
    return os.path.relpath(real, here) if Path(real).is_relative_to(here) else os.path.abspath(path)  # noqa: PTH100
