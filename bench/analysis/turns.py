"""What taking turns does to the cases of a run in slices: interference, the work of those that sleep, A/A ratios."""

import itertools
import math

import numpy as np
import pandas as pd

from bench.plan import slicing
from bench.run.frames import Run, column, number_of, once
from bench.stats import intervals
from bench.stats.intervals import Interval

MOST_INTERFERENCE = 0.02  # of a level, above which it is a caution
MOST_AWAKE = 0.01  # of a CPU that the processes of a sleeping case may use


@once
def interference(run: Run) -> dict[int, Interval]:
    """Return for each case in slices the level (median RTT) in its slices over the level alone.

    Alone: the last of several slices in a row, one such stretch in each block, of another case each time. The
    Hodges-Lehmann median over these blocks with its interval.
    """
    rows = run.slices[run.slices["calls"] > 0]
    level = np.log(rows.set_index(["case", "block"])[column(0.5)])
    in_rounds = level[(rows["round"] > slicing.WARM_UP).to_numpy()].groupby(level=["case", "block"]).median()
    alone = level[rows["round"].isna().to_numpy()].groupby(level=["case", "block"]).last()
    logs = (in_rounds - alone).dropna()
    return {number_of(case): intervals.paired_shift(of.to_numpy()).exp() for case, of in logs.groupby(level="case")}


def most_disturbed(run: Run) -> int | None:
    """Return the case whose level taking turns changes most; None where none was measured alone."""
    found = interference(run)
    return max(found, key=lambda case: abs(math.log(found[case].middle)), default=None)


@once
def awake(run: Run) -> "pd.Series[float]":
    """Return the share of a CPU that the processes of each case used while they slept: the median over blocks."""
    ledger = run.ledger.dropna(subset="asleep_s")
    return (ledger["asleep_cpu_ns"] / 1e9 / ledger["asleep_s"]).groupby(ledger["case"]).median()


def twins(run: Run) -> list[tuple[int, int]]:
    """Return the pairs of cases that are one case under two names."""
    return [pair for pair in itertools.combinations(run.numbers, 2) if run.case(pair[0]) == run.case(pair[1])]


def halves(run: Run, case: int) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return ln(odd rounds / even rounds) of a case's median RTT in each block: the case with itself.

    Every second round has the reverse order of the one before.
    """
    turns = run.slices[(run.slices["case"] == case) & (run.slices["round"] > slicing.WARM_UP)]
    level = np.log(turns[column(0.5)]).groupby([turns["block"], turns["round"] % 2 == 1]).median().unstack()
    return (level[True] - level[False]).dropna().to_numpy() if level.shape[1] == 2 else np.array([])
