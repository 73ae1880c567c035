"""Any cases side by side: the numbers that are drawn of each, whichever run it comes from."""

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass

from bench import stats
from bench.analysis import overload
from bench.analysis.comparison import effect
from bench.analysis.quantiles import Quantile, quantile, times
from bench.plan.case import Case
from bench.run.frames import Run, column
from bench.stats.intervals import Interval


@dataclass(frozen=True, eq=False)
class Row:
    """The numbers that are drawn of one case.

    medians, rates: one value for each start, in us and in calls per second. values, fractions: the empirical CDF of all
    its calls' times in us. quantiles: each quantile with its interval. over: why none is reported; "": they are.
    """

    name: str
    paced: bool
    medians: stats.Array
    rates: stats.Array
    values: stats.Array
    fractions: stats.Array
    n: int
    quantiles: tuple[tuple[float, Quantile], ...]
    over: str = ""


def time_of(case: Case) -> str:
    """Return which time of a case's calls is drawn: the round trip, or from when a request was due."""
    return "response" if case.load == "open" else "rtt"


def row(run: Run, case: int, name: str) -> Row:
    """Return what is drawn of one case of a run."""
    of = run.case(case)
    calls = times(run, case, time_of(of)).to_numpy()
    values, fractions = stats.distribution(calls)
    starts = run.starts_of(case)
    medians = starts[column(0.5).replace("rtt", time_of(of))].to_numpy(float)
    quantiles = tuple((p, quantile(run, case, p, time_of(of))) for p in stats.QUANTILES)
    over = overload.without_times(run).get(case, "")
    rates = starts["rate_per_s"].to_numpy(float)
    return Row(name, of.load == "open", medians, rates, values, fractions, len(calls), quantiles, over)


def rows(run: Run) -> list[Row]:
    """Return what is drawn of each case of a run."""
    return [row(run, case, run.labels[case]) for case in run.numbers]


def ratio_of(run: Run, base: int, other: int) -> Interval | None:
    """Return the ratio of the medians of two cases, other over base; None where there is none.

    Of different times (see ``time_of``), without a common block, or where one has no times.
    """
    time, of_base = (time_of(run.case(case)) for case in (other, base))
    if base == other or time != of_base or {base, other} & overload.without_times(run).keys():
        return None
    found = effect(run, base, other, column(0.5).replace("rtt", time))
    return None if math.isnan(found.middle) else found


def wrapped(names: Iterable[str]) -> list[str]:
    """Return names broken into lines of at most 24 letters, for the narrow space beside an axis."""
    return [textwrap.fill(name, 24) for name in names]
