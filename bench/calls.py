"""What the calls of a run tell start by start: the length of a caller's cycle, the drift of its level."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from bench.run.frames import Run
from bench.stats import Array, steady_state


def cycle_s(calls: pd.DataFrame) -> "pd.Series[float]":
    """Return each start's mean round trip plus the mean gap until the same caller's next call, in s."""
    callers = calls.groupby(["start", "client"])
    size, spans = callers.size(), callers["t_send_ns"].max() - callers["t_send_ns"].min()
    served = callers["rtt_ns"].sum() - callers["rtt_ns"].last()
    gap = (spans - served).groupby("start").sum() / (size - 1).clip(lower=1).groupby("start").sum()
    return (calls.groupby("start")["rtt_ns"].mean() + gap) / 1e9


def drifts(run: Run, starts: Iterable[int]) -> Array:
    """Return for each start of a case how far its level moved over the window, as a share of its median."""
    warm = run.samples[run.samples["warm"] & run.samples["start"].isin(starts)]
    each = [
        steady_state.drift(rows["rtt_ns"].to_numpy(), rows["t_send_ns"].to_numpy()) for _, rows in warm.groupby("start")
    ]
    return np.array(each)
