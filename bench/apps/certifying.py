"""``python -m bench certify``: a load generator's certificate as text, JSON and figure."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.errors import BenchError, NotInstalledError, SystemFailedError, UsageError, unknown
from bench.referees import capacity, capacity_report, certificate, generator_file, scenarios
from bench.referees.capacity import Capacity
from bench.referees.certificate import Certificate
from bench.run.files import writing
from bench.text import listed

Say = Callable[[str], None]


class NotCertifiableError(BenchError):
    """A generator could not be run at all."""

    exit_status = 2


def certify(
    name: str,
    connections: int,
    seconds: float,
    wanted: Sequence[str],
    json_file: str | None,
    figure: str | None,
    every: bool,
    say: Say,
) -> int:
    """Certify a generator, write what is asked for; return the exit status. every: show what is held in full too."""
    _check_folders(json_file, figure)
    generator = generator_file.load(name)
    chosen = scenarios.of(
        generator.loads, _chosen(scenarios.scenarios(connections, seconds, generator.says.protocol), wanted)
    )
    if not chosen:
        raise NotCertifiableError(
            f"{generator.name} makes {listed(generator.loads)} loads only: choose other scenarios"
        )
    try:
        found = certificate.certify(generator, chosen, say)
    except (NotInstalledError, SystemFailedError) as reason:
        raise NotCertifiableError(str(reason)) from reason
    say(f"\n{certificate.text(found, every)}")
    write(found, json_file, figure)
    return found.exit_status


def _check_folders(*files: str | None) -> None:
    """Refuse files that could not be written after minutes of measuring."""
    for file in filter(None, files):
        if not Path(file).absolute().parent.is_dir():
            raise UsageError(f"{file} cannot be written, its folder is not there: make the folder, or name another")


def _chosen(every: list[scenarios.Scenario], wanted: Sequence[str]) -> list[scenarios.Scenario]:
    names = [scenario.name for scenario in every]
    for name in wanted:
        if name not in names:
            raise unknown("scenario", name, names)
    return [scenario for scenario in every if not wanted or scenario.name in wanted]


def measure_capacity(name: str, seconds: float, json_file: str | None, figure: str | None, say: Say) -> None:
    """Measure a generator's capacity and how it behaves near it; print it, and write what is asked for."""
    _check_folders(json_file, figure)
    generator = generator_file.load(name)
    try:
        found = capacity.measure(generator, capacity.CONNECTIONS, seconds, say)
    except (NotInstalledError, SystemFailedError) as reason:
        raise NotCertifiableError(str(reason)) from reason
    say(f"\n{capacity_report.text(found)}")
    write(found, json_file, figure)


def write(found: Certificate | Capacity, json_file: str | None, figure: str | None) -> None:
    """Write the files that are asked for; DataError where that is not possible."""
    if json_file:
        with writing(Path(json_file)) as file:
            text = capacity_report.as_json(found) if isinstance(found, Capacity) else certificate.as_json(found)
            file.write_text(text, "utf-8")
    if figure:
        from bench.referees import capacity_figure
        from bench.referees import figure as drawing

        with writing(Path(figure)) as file:
            kind = Path(figure).suffix.removeprefix(".") or "png"
            if isinstance(found, Capacity):
                capacity_figure.write(found, file, kind)
            else:
                drawing.write(found, file, kind)


def compared(files: Sequence[str]) -> str:
    """Return a table of certificates that were written as JSON, a row for each."""
    from bench.referees import comparison

    frame = comparison.table([comparison.read(Path(file)) for file in files])
    return str(frame.to_string(index=False, float_format=lambda value: f"{value:.2f}", na_rep=""))


def schema() -> str:
    """Return the JSON Schema of generator files."""
    return json.dumps(generator_file.schema(), indent=1)


def missing() -> str:
    """Return the sentence for a command without a generator."""
    return f"name a generator file, or one of {listed(generator_file.names())}: docs/certify.md describes the files"
