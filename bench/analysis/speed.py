"""Whether the machine was as fast in each part of a run as in the others: what the speed probes say."""

import numpy as np
import pandas as pd

from bench.run.frames import Run, once_per_run

STEADY = 0.05  # range of the speed over the parts, as a share
PARTS = 6  # a run's blocks, in their order, are divided into so many parts: speeds of less than a second average out
MIDDLE = (0.1, 0.9)  # a robust range: of the parts between these quantiles
WORK = {"spin_ns": "a fixed loop", "syscall_ns": "a system call", "switch_ns": "a switch between threads"}


@once_per_run
def by_part(run: Run) -> pd.DataFrame:
    """Return ln of how long the fixed work took in each part of a run, over its median: columns ``WORK`` and ``all``.

    all: the mean of the three. Of each set of CPUs its own median, because CPUs differ. Empty where nothing was probed,
    as on other hosts.
    """
    ledger = run.ledger.dropna(subset=list(WORK))
    if ledger.empty:
        return pd.DataFrame(columns=[*WORK, "all"], dtype=float)
    logs = np.log(ledger[list(WORK)].astype(float))
    cpus = ledger[["client_cpus", "server_cpus", "router_cpus"]].fillna("").agg(" ".join, axis=1)
    relative = logs - logs.groupby(cpus).transform("median")
    blocks = np.unique(ledger["block"], return_inverse=True)[1]
    parts = relative.groupby(blocks * PARTS // max(PARTS, blocks.max() + 1)).median()
    return parts.assign(all=parts.mean(axis=1))


def ranges(run: Run) -> "pd.Series[float]":
    """Return by which share the time of the work differs between the parts, p10 to p90; none of one block."""
    parts = by_part(run)
    if len(parts) < 2:
        return pd.Series(dtype=float)
    low, high = (parts.quantile(p) for p in MIDDLE)
    return np.expm1(high - low)


def speed_range(run: Run) -> float | None:
    """Return by which share the machine's speed differs between the parts of a run; 0.05 is 5 %.

    Speed: the geometric mean of the fixed works. None where nothing was probed, or in one block only.
    """
    return None if (shares := ranges(run)).empty else float(shares["all"])
