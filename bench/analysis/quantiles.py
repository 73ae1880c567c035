"""Quantiles of a case with their intervals, and the number of samples that they need."""

import itertools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis import request_mix
from bench.run.frames import Run, column, once_per_run
from bench.stats import intervals
from bench.text import duration

STARTS, CALLS = "starts", "calls"
FEW_CHANGES = ", no interval: a start has too few fast and slow phases (a longer window has more)"


@dataclass(frozen=True)
class Quantile:
    """A quantile of a case in us with its interval; ``over`` is what it is computed from.

    ``starts``: the median of the starts' quantiles, and their range. ``calls``: of all calls together, where no single
    start has enough of them; its interval is valid for these starts only, and its ends are NaN where the level changes
    too few times within a start. Empty: too few calls, or too few independent ones that they are worth (``worth``;
    None: not computed), and the value is NaN. ``by``: the load generator that reported it for each start, or should
    have. ``levels``: of the starts, where they have two.
    """

    value: float
    low: float
    high: float
    over: str
    needed: int
    has: int
    by: str = ""
    levels: tuple[float, float] | None = None
    worth: int | None = None

    @property
    def spread(self) -> stats.Spread:
        """The value with its interval or range."""
        return stats.Spread(self.value, self.low, self.high, self.levels)

    @property
    def ends(self) -> str:
        """Its interval or range in words, and what it is of."""
        ends = "" if math.isnan(self.low) else "{} to {}".format(*self.spread.ends(duration))
        if self.over == STARTS:
            return f"range over starts {ends}"
        return f"of all calls, 95 % CI {ends}" if ends else f"of all calls{FEW_CHANGES}"

    def __str__(self) -> str:
        if self.by and not self.over:
            return f"n/a ({self.by} reports none)"
        if not self.over and self.worth is not None:
            return f"n/a (needs {self.needed:,} independent samples; these {self.has:,} are worth {self.worth:,})"
        if not self.over:
            return f"n/a (needs {self.needed:,} samples, has {self.has:,})"
        ends = "" if math.isnan(self.low) else " [{}, {}]".format(*self.spread.ends(duration))
        these = f" in these calls{'' if ends else FEW_CHANGES}" if self.over == CALLS else ""
        return f"{self.spread.words(duration)}{ends}{these}{f' as {self.by} reports it' * bool(self.by)}"


@once_per_run
def quantile(run: Run, case: int, p: float, time: str = "rtt", request: str = "") -> Quantile:
    """Return the ``p`` quantile of a case's ``rtt``, ``response`` (from when due) or ``lag`` (of idle connections).

    request: the name of one of a service's requests, whose calls it is of; "": of all.
    """
    if generator := run.case(case).generator:
        return _reported(run, case, p, time, generator)
    needed = stats.needed_samples(p)
    of_starts = [(stats.carried(us, p), len(us)) for _, us in by_start(run, case, time, request)]
    values, has = [value for value, _ in of_starts], sum(count for _, count in of_starts)
    if values and not any(map(math.isnan, values)):
        return _over_starts(stats.across_starts(values), needed, has)
    if has < needed:
        return Quantile(math.nan, math.nan, math.nan, "", needed, has)
    calls = times(run, case, time, request)
    us, starts = calls.to_numpy(), calls.index.to_numpy()
    worth = intervals.dependence(us, p, starts).worth
    if worth < needed:
        return Quantile(math.nan, math.nan, math.nan, "", needed, has, worth=worth)
    ends = intervals.quantile_interval(us, p, starts) or (math.nan, math.nan)
    return Quantile(stats.quantile(us, p), *ends, CALLS, needed, has, worth=worth)


def _reported(run: Run, case: int, p: float, time: str, generator: str) -> Quantile:
    """Return the median and the range of the values that the starts' reports hold; no interval within a start."""
    reported = run.starts_of(case)[column(p)]
    is_reported = time == "rtt" and len(reported) > 0 and bool(reported.notna().all())
    if not is_reported:
        return Quantile(math.nan, math.nan, math.nan, "", stats.needed_samples(p), 0, generator)
    return _over_starts(stats.across_starts(reported), stats.needed_samples(p), 0, generator)


def _over_starts(spread: stats.Spread, needed: int, has: int, generator: str = "") -> Quantile:
    return Quantile(spread.middle, spread.low, spread.high, STARTS, needed, has, generator, spread.levels)


def times(run: Run, case: int, time: str, request: str = "") -> "pd.Series[float]":
    """Return a kind of time of the calls that quantiles of a case describe, in us, in order of sending; index: start.

    Those that ``Run.count`` counts: after the warm-up, without large calls beside small ones and calls that open a
    connection, of several hosts only those that are described. Lags: of requests that found an idle connection.
    """
    times_by_start = dict(by_start(run, case, time, request))
    starts = np.repeat(
        np.array([*times_by_start], np.int32), np.array([len(us) for us in times_by_start.values()], int)
    )
    return pd.Series(np.concatenate([np.empty(0), *times_by_start.values()]), starts)


def by_start(run: Run, case: int, time: str, request: str = "") -> Iterator[tuple[int, stats.Array]]:
    """Yield each start of a case with what ``times`` returns of it, where it has any calls."""
    for start, calls in run.idle_calls(case) if time == "lag" else run.described_calls(case):
        if request and not (calls := request_mix.of_request(run, calls, request)).size:
            continue
        yield start, {"rtt": calls.rtt_ns, "lag": calls.lag_ns}.get(time, calls.response_ns) / 1e3


def of_all_calls(quantiles: Iterable[tuple[float, Quantile]]) -> list[str]:
    """Return the names of the quantiles that are of all calls together, such as "p99.9", in ascending order."""
    return [f"p{100 * p:g}" for p in sorted({p for p, quantile in quantiles if quantile.over == CALLS})]


def crossed(quantiles: Iterable[tuple[float, Quantile]]) -> str:
    """Return the words for quantiles that are out of order: over starts or over all calls they may be."""
    finite = [(p, quantile) for p, quantile in quantiles if not math.isnan(quantile.value)]
    for (p, lower), (q, upper) in itertools.pairwise(finite):
        if lower.value > upper.value:
            return f"; p{100 * p:g} (median over starts) > p{100 * q:g} (all calls)"
    return ""
