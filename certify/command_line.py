"""``python -m bench certify`` and ``bench referees``: certificates and capacities as text, JSON and figure."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from bench.errors import BenchError, NotInstalledError, SystemFailedError, UsageError, unknown
from bench.run.files import writing
from bench.text import listed
from certify import capacity, capacity_report, certificate, certificate_report, generator_file, scenarios
from certify.generator_file import GeneratorFile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Say = Callable[[str], None]


class NotCertifiableError(BenchError):
    """A generator could not be run at all."""

    exit_status = 2


def certify(
    name: str,
    connections: int,
    seconds: float,
    names: Sequence[str],
    json_file: str | None,
    figure: str | None,
    every: bool,
    say: Say,
) -> int:
    """Certify a generator, write what is asked for; return the exit status. every: show what is held in full too."""
    _check_folders(json_file, figure)
    generator = generator_file.load(name)
    chosen = _chosen(generator, scenarios.scenarios(connections, seconds, generator.says.protocol), names)
    with _certifiable():
        certification = certificate.certify(generator, chosen, say)
    say(f"\n{certificate_report.text(certification, every)}")
    _write(json_file, certificate_report.as_json(certification))
    if figure:
        from certify import certificate_figure

        _draw(figure, lambda: certificate_figure.whole(certification))
    return certification.exit_status


def measure_capacity(name: str, seconds: float, json_file: str | None, figure: str | None, say: Say) -> None:
    """Measure a generator's capacity and how it behaves near it; print it, and write what is asked for."""
    _check_folders(json_file, figure)
    generator = generator_file.load(name)
    with _certifiable():
        measurement = capacity.measure(generator, capacity.CONNECTIONS, seconds, say)
    say(f"\n{capacity_report.text(measurement)}")
    _write(json_file, capacity_report.as_json(measurement))
    if figure:
        from certify import capacity_figure

        _draw(figure, lambda: capacity_figure.whole(measurement))


def _check_folders(*files: str | None) -> None:
    """Refuse files that could not be written after minutes of measuring."""
    for file in filter(None, files):
        if not Path(file).absolute().parent.is_dir():
            raise UsageError(f"{file} cannot be written, its folder is not there: make the folder, or name another")


def _chosen(
    generator: GeneratorFile, every: Sequence[scenarios.Scenario], wanted: Sequence[str]
) -> list[scenarios.Scenario]:
    """Return the scenarios that are wanted, or all, whose load the generator can make."""
    names = [scenario.name for scenario in every]
    for name in wanted:
        if name not in names:
            raise unknown("scenario", name, names)
    chosen = [
        scenario for scenario in scenarios.of_loads(generator.loads, every) if not wanted or scenario.name in wanted
    ]
    if not chosen:
        loads = listed(generator.loads)
        raise NotCertifiableError(f"{generator.name} makes {loads} loads only: choose other scenarios")
    return chosen


@contextmanager
def _certifiable() -> Iterator[None]:
    try:
        yield
    except (NotInstalledError, SystemFailedError) as reason:
        raise NotCertifiableError(str(reason)) from reason


def _write(json_file: str | None, text: str) -> None:
    if json_file:
        with writing(Path(json_file)) as file:
            file.write_text(text, "utf-8")


def _draw(file: str, draw: Callable[[], "Figure"]) -> None:
    """Draw a figure into a file, whose suffix names its kind: png, svg, pdf."""
    from bench.grammar.axes import style

    with writing(Path(file)) as target, style():
        draw().savefig(target, format=Path(file).suffix.removeprefix(".") or "png")


def compared(files: Sequence[str]) -> str:
    """Return a table of certificates that were written as JSON, a row for each."""
    from certify import stored_certificate

    frame = stored_certificate.table([stored_certificate.read(Path(file)) for file in files])
    return str(frame.to_string(index=False, float_format=lambda value: f"{value:.2f}", na_rep=""))


def schema() -> str:
    """Return the JSON Schema of generator files."""
    return json.dumps(generator_file.schema(), indent=1)


def missing() -> str:
    """Return the sentence for a command without a generator."""
    return f"name a generator file, or one of {listed(generator_file.names())}: docs/certify.md describes the files"
