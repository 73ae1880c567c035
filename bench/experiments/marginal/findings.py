"""What one more call costs, three ways: the origin's difference of two processes, a regression, a stopwatch inside.

T = a + b n + c n s: T is what a client process took that made n calls with s bytes each; a is the cost of starting
and connecting, b per call, c per byte. Each start gives its own a, b and c by least squares; the median of the
starts is the estimate, their range its interval (``stats.coverage``).
"""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from bench import stats
from bench.run.frames import Run, once
from bench.stats import Array, Spread

KINDS = ("wall", "client", "server")  # what is spent: time from beginning to end, CPU time of either side


class Costs(NamedTuple):
    """Marginal costs: per process start (us), per call (us), and per byte of payload (ns)."""

    start: Spread
    call: Spread
    byte: Spread


@once
def spent(run: Run, case: int, kind: str) -> pd.DataFrame:
    """Return a case's client processes: start, calls, payload_bytes, and ``us``, what each spent of a kind."""
    rows = run.sessions_of(case)
    if kind == "wall":
        return rows.assign(us=(rows["end_ns"] - rows["begin_ns"]) / 1e3)
    return rows.assign(us=rows[f"{kind}_cpu_ns"] / 1e3)


def fit(calls: Array, payload_bytes: Array, spent_us: Array) -> tuple[float, float, float]:
    """Return a, b (us) and c (ns) by least squares; c is NaN where one size was measured, all where one count was."""
    sizes, counts = len(np.unique(payload_bytes)), len(np.unique(calls))
    if counts < 2 or len(calls) < 2 + (sizes > 1):
        return np.nan, np.nan, np.nan
    columns = [np.ones(len(calls)), calls, calls * payload_bytes][: 2 + (sizes > 1)]
    a, b, *c = np.linalg.lstsq(np.stack(columns, axis=1).astype(float), spent_us, rcond=None)[0]
    return float(a), float(b), float(c[0]) * 1e3 if c else np.nan


@once
def fits(run: Run, case: int, kind: str) -> list[tuple[float, float, float]]:
    """Return a, b and c of each start of a case."""
    return [
        fit(rows["calls"].to_numpy(), rows["payload_bytes"].to_numpy(), rows["us"].to_numpy())
        for _, rows in spent(run, case, kind).groupby("start")
    ]


@once
def costs(run: Run, case: int, kind: str) -> Costs:
    """Return what a case's starts, calls and bytes cost by regression."""
    coefficients = zip(*fits(run, case, kind), strict=True)
    return Costs(*(stats.across_starts(cost) for cost in coefficients))


@once
def call_us(run: Run, case: int, kind: str) -> Spread:
    """Return what one call of the smallest payload costs by regression: b + c s, in us."""
    size = run.case(case).payload_bytes
    per_call_us = [b + (0 if math.isnan(c) else c * size / 1e3) for _, b, c in fits(run, case, kind)]
    return stats.across_starts(per_call_us)


def difference_us(run: Run, case: int) -> Spread:
    """Return what one call costs as the origin measured it: (T of many calls - T of one) / (many - 1), in us.

    Many is the number nearest to the origin's hundred; NaN where no process made one call.
    """
    rows = spent(run, case, "wall")
    rows = rows[rows["payload_bytes"] == run.case(case).payload_bytes]
    many = of_hundred(run, case)
    differences = []
    for _, processes in rows.groupby("start"):
        one_call, all_of_them = (processes.loc[processes["calls"] == count, "us"].median() for count in (1, many))
        differences.append((all_of_them - one_call) / (many - 1) if many > 1 else np.nan)
    return stats.across_starts(differences)


def of_hundred(run: Run, case: int) -> int:
    """Return the number of calls that some process made which is nearest to a hundred, on a log scale."""
    counts = run.sessions_of(case)["calls"].unique()
    return int(min(counts, key=lambda count: abs(np.log(count / 100)), default=1))


def stopwatch_us(run: Run, case: int) -> Spread:
    """Return the time of one call as the process reports it: (last reply - first reply) / calls between, in us."""
    rows = run.sessions_of(case)
    rows = rows[(rows["calls"] > 1) & (rows["payload_bytes"] == run.case(case).payload_bytes)]
    most = rows[rows["calls"] == rows["calls"].max()]
    per_call_us = (most["called_ns"] - most["answered_ns"]) / (most["calls"] - 1) / 1e3
    return stats.across_starts(per_call_us.groupby(most["start"]).median())


def phases_us(run: Run, case: int) -> dict[str, float]:
    """Return where the time of a process with the fewest calls goes, medians in us, in their order.

    A native program reports fewer: until its first reply, the other calls, and its end.
    """
    rows = run.sessions_of(case)
    rows = rows[rows["calls"] == rows["calls"].min()]
    is_python = rows["interpreted_ns"].notna().all()
    inside = (("interpreter", "interpreted_ns"), ("imports", "prepared_ns")) if is_python else ()
    moments = [*inside, ("connect, first call" if is_python else "program, connect, first call", "answered_ns")]
    moments += [("other calls", "called_ns"), ("end", "end_ns")]
    before, phases = rows["begin_ns"], {}
    for name, column in moments:
        phases[name] = float(((rows[column] - before) / 1e3).median())
        before = rows[column]
    return phases


def cases(run: Run) -> list[int]:
    """Return the cases of whole client processes."""
    return run.find(load="session")
