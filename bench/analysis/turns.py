"""What taking turns does to the cases of a run in slices: interference, and the work of those that sleep."""

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
