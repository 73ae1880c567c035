"""What one more call costs, three ways: the origin's difference of two processes, a regression, a stopwatch inside.

T = a + b n + c n s: T is what a client process took that made n calls with s bytes each; a is the cost of starting
and connecting, b per call, c per byte. Each start gives its own a, b and c by least squares; the median of the
starts is the estimate, their range its interval (``stats.coverage``).
"""

import numpy as np
import pandas as pd

from bench.run.frames import Run, once_per_run
from bench.stats import Array

KINDS = {"wall": "time", "client": "client CPU", "server": "server CPU"}  # what is spent, from beginning to end


@once_per_run
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


@once_per_run
def costs(run: Run, case: int, kind: str = "wall") -> pd.DataFrame:
    """Return by regression what ``process``, ``call`` of the smallest payload and ``kilobyte`` cost, in us.

    Index: start.
    """
    fits = {
        start: fit(rows["calls"].to_numpy(), rows["payload_bytes"].to_numpy(), rows["us"].to_numpy())
        for start, rows in spent(run, case, kind).groupby("start")
    }
    frame = pd.DataFrame.from_dict(fits, "index", float, ["process", "call", "kilobyte"])  # 1 ns per byte: 1 us per kB
    size_kb = run.case(case).payload_bytes / 1e3
    return frame.assign(call=frame["call"] + size_kb * frame["kilobyte"].fillna(0))


@once_per_run
def difference_us(run: Run, case: int) -> "pd.Series[float]":
    """Return what one call costs as the origin measured it: (T of many calls - T of one) / (many - 1), in us.

    Many is the number nearest to the origin's hundred; NaN where no process made one call. Index: start.
    """
    many = of_hundred(run, case)
    of_many, of_one = (processes_us(run, case, count).groupby("start").median() for count in (many, 1))
    return (of_many - of_one) / (many - 1) if many > 1 else of_one * np.nan


def processes_us(run: Run, case: int, calls: int) -> "pd.Series[float]":
    """Return the time of each process that made so many calls of the smallest payload, in us; index: start."""
    rows = spent(run, case, "wall")
    rows = rows[(rows["payload_bytes"] == run.case(case).payload_bytes) & (rows["calls"] == calls)]
    return rows.set_index("start")["us"]


def of_hundred(run: Run, case: int) -> int:
    """Return the number of calls that some process made which is nearest to a hundred, on a log scale."""
    counts = run.sessions_of(case)["calls"].unique()
    return int(min(counts, key=lambda count: abs(np.log(count / 100)), default=1))


@once_per_run
def stopwatch_us(run: Run, case: int) -> "pd.Series[float]":
    """Return the time of one call as the process reports it: (last reply - first reply) / calls between, in us.

    The median over the processes of each start; index: start.
    """
    rows = run.sessions_of(case)
    rows = rows[(rows["calls"] > 1) & (rows["payload_bytes"] == run.case(case).payload_bytes)]
    rows = rows[rows["calls"] == rows["calls"].max()]
    per_call_us = (rows["called_ns"] - rows["answered_ns"]) / (rows["calls"] - 1) / 1e3
    return per_call_us.groupby(rows["start"]).median()


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
