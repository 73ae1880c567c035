"""What taking turns does to the cases of a run in slices: interference, the work of those that sleep, A/A ratios."""

import itertools
import math

import numpy as np
import pandas as pd

from bench.plan import slicing
from bench.run.frames import P50, Run, number_of, once_per_run
from bench.stats import Array, intervals
from bench.stats.intervals import Interval
from bench.text import duration

MOST_INTERFERENCE = 0.02  # of a level, above which it is a caution
LEAST_CALLS = 8  # of the case with the longest ones, for which a slice has to have time
MOST_AWAKE = 0.01  # of a CPU that the processes of a sleeping case may use


@once_per_run
def interference_logs(run: Run) -> dict[int, Array]:
    """Return for each case in slices ln(level in its slices / level alone) of each block; a level is the median RTT.

    Alone: the last of several slices in a row, one such stretch in each block, of another case each time.
    """
    rows = run.slices[run.slices["calls"] > 0]
    level = np.log(rows.set_index(["case", "block"])[P50])
    in_rounds = level[(rows["round"] > slicing.WARM_UP).to_numpy()].groupby(level=["case", "block"]).median()
    alone = level[rows["round"].isna().to_numpy()].groupby(level=["case", "block"]).last()
    return {number_of(case): logs.to_numpy() for case, logs in (in_rounds - alone).dropna().groupby(level="case")}


@once_per_run
def interference(run: Run) -> dict[int, Interval]:
    """Return for each case its level in slices over its level alone: the Hodges-Lehmann median over the blocks."""
    return {case: intervals.paired_shift(logs).exp() for case, logs in interference_logs(run).items()}


def beyond(ratios: dict[int, Array], bound: float) -> list[int]:
    """Return the cases whose ratio (given as ln, by block) is not 1, whole interval beyond ``bound``, largest first.

    The intervals allow for the number of cases: where nothing differs, 5 % of runs have such a case.
    """
    shifts = [intervals.paired(logs) for logs in ratios.values()]
    interval_by_case = dict(zip(ratios, intervals.together(shifts, [intervals.CONFIDENCE] * len(shifts)), strict=True))
    limit = math.log1p(bound)
    apart = [case for case, interval in interval_by_case.items() if interval.low > limit or interval.high < -limit]
    return sorted(apart, key=lambda case: -abs(interval_by_case[case].middle))


def most_disturbed(run: Run) -> int | None:
    """Return the case whose level taking turns changes most, of those with an interval; None where none has one."""
    ratios = {case: ratio for case, ratio in interference(run).items() if ratio.has_ends}
    return max(ratios, key=lambda case: abs(math.log(ratios[case].middle)), default=None)


@once_per_run
def awake(run: Run) -> "pd.Series[float]":
    """Return the share of a CPU that the processes of each case used while they slept: the median over blocks."""
    ledger = run.ledger.dropna(subset="asleep_s")
    return (ledger["asleep_cpu_ns"] / 1e9 / ledger["asleep_s"]).groupby(ledger["case"]).median()


def most_awake(run: Run) -> str:
    """Return in words the most that the processes of a case used while they slept, rounded up: it is at most that."""
    return f"{np.ceil(1e4 * awake(run).max()) / 1e4:.2%} of a CPU"


@once_per_run
def twins(run: Run) -> list[tuple[int, int]]:
    """Return the pairs of cases that are one case under two names."""
    return [pair for pair in itertools.combinations(run.numbers, 2) if run.case(pair[0]) == run.case(pair[1])]


def halves(run: Run, case: int) -> Array:
    """Return ln(odd rounds / even rounds) of a case's median RTT in each block: the case with itself.

    Every second round has the reverse order of the one before.
    """
    turns = run.slices[(run.slices["case"] == case) & (run.slices["round"] > slicing.WARM_UP)]
    level = np.log(turns[P50]).groupby([turns["block"], turns["round"] % 2 == 1]).median().unstack()
    return (level[True] - level[False]).dropna().to_numpy() if level.shape[1] == 2 else np.array([])


def outlasted(run: Run) -> str:
    """Return which slices would have time for the calls of a run, if its own have not; "" if they have."""
    longest_s, slice_s = run.cases[P50].max() / 1e6, run.plan.slice_s
    if not slice_s or not LEAST_CALLS * longest_s >= slice_s:  # or no call was answered
        return ""
    enough_ms = min(slicing.MOST_SLICE_MS, math.ceil(1000 * LEAST_CALLS * longest_s))
    return (
        f"A slice of {1000 * slice_s:g} ms has time for few calls of {duration(1e6 * longest_s)}, so their times are "
        f"not judged well: give -p slice_ms {enough_ms}"
    )
