"""OpenMetrics text of a run's numbers, which Prometheus and what speaks its format read: times in seconds."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields

from bench.apps import numbers
from bench.plan.case import Case
from bench.run.frames import ROLES, Run

ALWAYS = ("system", "transport", "payload_bytes", "placement", "load", "clients")  # the other factors where unusual
USUAL = {field.name: field.default for field in fields(Case)}


def _quantiles(time: str) -> dict[str, dict[str, str]]:
    return {f"{p}_{time}_us": {"quantile": quantile} for p, quantile in QUANTILES.items()}


QUANTILES = {"p50": "0.5", "p90": "0.9", "p99": "0.99", "p99_9": "0.999"}
CPU = {f"{role}_cpu_us_per_call": {"role": role} for role in ROLES}
Family = tuple[str, str, str, str, Mapping[str, Mapping[str, str]], float]
FAMILIES: tuple[Family, ...] = (  # name, unit, type, what it is, columns of ``Run.cases`` with a label, their scale
    ("rtt", "seconds", "summary", "Round-trip time", _quantiles("rtt"), 1e6),
    ("response_time", "seconds", "summary", "Time from the scheduled send time", _quantiles("response"), 1e6),
    ("rate", "calls_per_second", "gauge", "Throughput", {"rate_per_s": {}}, 1.0),
    ("cpu", "seconds_per_call", "gauge", "CPU time", CPU, 1e6),
)


def text(run: Run) -> str:
    """Return the numbers of a run, medians over starts, each with labels of its notebook, its case and its factors."""
    return "\n".join([*_lines(run), "# EOF", ""])


def _lines(run: Run) -> Iterator[str]:
    known = {case: numbers.values(run, case) for case in run.numbers}
    for stem, unit, kind, about, columns, scale in FAMILIES:
        name = f"roundtrip_{stem}_{unit}"
        samples = [
            f"{name}{{{_labels(run, case, label)}}} {known[case][column]['median'] / scale:.9g}"
            for case in run.numbers
            for column, label in columns.items()
            if column in known[case]
        ]
        if samples:
            yield from (f"# TYPE {name} {kind}", f"# UNIT {name} {unit}", f"# HELP {name} {about}: median over starts.")
            yield from samples


def _labels(run: Run, case: int, more: Mapping[str, str]) -> str:
    factors = numbers.factors(run.case(case)).items()
    chosen = {name: value for name, value in factors if name in ALWAYS or value != USUAL[name]}
    values = {"notebook": run.plan.notebook, "case": run.labels[case], **chosen, **more}
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items())


def _escaped(value: object) -> str:
    written = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return written.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
