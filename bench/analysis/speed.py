"""Whether the machine was as fast in every block as in the others: what the speed probes say."""

import math

import numpy as np
import pandas as pd

from bench.run.frames import Run, once

STEADY = 0.05  # range of the speed over the blocks, as a share
MIDDLE = (0.1, 0.9)  # a robust range: of the blocks between these quantiles
WORK = {"spin_ns": "a fixed loop", "syscall_ns": "a system call", "switch_ns": "a switch between threads"}


@once
def by_block(run: Run) -> pd.DataFrame:
    """Return ln of how long each work took in each block, over its median; index: block, columns as ``WORK``.

    Of each set of CPUs its own median, because CPUs differ. Empty where nothing was probed, as on other hosts.
    """
    ledger = run.ledger.dropna(subset=list(WORK))
    logs = np.log(ledger[list(WORK)].astype(float))
    cpus = ledger[["client_cpus", "server_cpus", "router_cpus"]].fillna("").agg(" ".join, axis=1)
    relative = logs - logs.groupby(cpus).transform("median")
    return relative.groupby(ledger["block"]).median()


def ranges(run: Run) -> "pd.Series[float]":
    """Return by which share the time of each work differs between the blocks, p10 to p90; none of one block."""
    blocks = by_block(run)
    if len(blocks) < 2:
        return pd.Series(dtype=float)
    low, high = (blocks.quantile(p) for p in MIDDLE)
    return np.expm1(high - low)


def speed_range(run: Run) -> float | None:
    """Return by which share the machine's speed differs between the blocks, of the work that differs most.

    p10 to p90 of the blocks' medians; 0.05 is 5 %. None where nothing was probed, or in one block only.
    """
    return None if (found := ranges(run)).empty else float(found.max())


def levels_ns(run: Run, work: str) -> tuple[float, float]:
    """Return the ends of that range for one work, in ns, about the median of all starts."""
    usual = float(run.ledger[work].median())
    low, high = by_block(run)[work].quantile(list(MIDDLE))
    return usual * math.exp(low), usual * math.exp(high)
