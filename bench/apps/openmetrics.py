"""OpenMetrics text of a run's numbers, which Prometheus and what speaks its format read: times in seconds."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import NamedTuple

from bench.apps import numbers
from bench.plan.case import Case
from bench.run.frames import ROLES, Run

QUANTILES = {"p50": "0.5", "p90": "0.9", "p99": "0.99", "p99_9": "0.999"}
ALWAYS = ("system", "transport", "payload_bytes", "placement", "load", "clients")  # the other factors where unusual
USUAL = {field.name: field.default for field in fields(Case)}


class Family(NamedTuple):
    """Metrics of one name, which ends with its unit; columns: of ``Run.cases``, with the label that each has."""

    kind: str
    unit: str
    about: str
    columns: Mapping[str, Mapping[str, str]]
    scale: float = 1e6  # of the unit in the column


FAMILIES = {
    "roundtrip_rtt_seconds": Family(
        "summary", "seconds", "Round-trip time", {f"{p}_rtt_us": {"quantile": of} for p, of in QUANTILES.items()}
    ),
    "roundtrip_response_time_seconds": Family(
        "summary",
        "seconds",
        "Response time, from the scheduled send time",
        {f"{p}_response_us": {"quantile": of} for p, of in QUANTILES.items()},
    ),
    "roundtrip_calls_per_second": Family("gauge", "calls_per_second", "Throughput", {"rate_per_s": {}}, 1),
    "roundtrip_cpu_time_per_call_seconds": Family(
        "gauge", "seconds", "CPU time per call", {f"{role}_cpu_us_per_call": {"role": role} for role in ROLES}
    ),
}


def text(run: Run) -> str:
    """Return the numbers of a run, medians over starts, each with labels of its notebook, its case and its factors."""
    return "\n".join([*_lines(run), "# EOF", ""])


def _lines(run: Run) -> Iterator[str]:
    known = {case: numbers.values(run, case) for case in run.numbers}
    for name, of in FAMILIES.items():
        samples = [
            f"{name}{{{_labels(run, case, label)}}} {known[case][column]['median'] / of.scale:.9g}"
            for case in run.numbers
            for column, label in of.columns.items()
            if column in known[case]
        ]
        if samples:
            yield from (f"# TYPE {name} {of.kind}", f"# UNIT {name} {of.unit}")
            yield from (f"# HELP {name} {of.about}: the median over starts.", *samples)


def _labels(run: Run, case: int, more: Mapping[str, str]) -> str:
    factors = numbers.factors(run.case(case)).items()
    chosen = {name: value for name, value in factors if name in ALWAYS or value != USUAL[name]}
    values = {"notebook": run.plan.notebook, "case": run.labels[case], **chosen, **more}
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in values.items())


def _escaped(value: object) -> str:
    written = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return written.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
