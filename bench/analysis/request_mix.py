"""The requests of a service's mix, each by itself: which there are, their calls, their medians."""

import numpy as np
import pandas as pd

from bench import stats
from bench.run.calls import Calls
from bench.run.frames import Run, once_per_run


@once_per_run
def counts(run: Run, case: int) -> dict[str, int]:
    """Return how many of the calls that quantiles describe made each request, most first; none of one request."""
    if not (kinds := run.calls.requests):
        return {}
    made = sum(
        (np.bincount(calls.request + 1, minlength=len(kinds) + 1)[1:] for _, calls in run.described_calls(case)),
        np.zeros(len(kinds), int),
    )
    there = [(name, int(count)) for name, count in zip(kinds, made, strict=True) if count]
    return dict(sorted(there, key=lambda pair: -pair[1]))


def of_request(run: Run, calls: Calls, name: str) -> Calls:
    """Return those of some calls that made a request."""
    return calls.select(calls.request == run.calls.requests.index(name))


@once_per_run
def medians_us(run: Run, case: int, name: str) -> "pd.Series[float]":
    """Return the median RTT of a request in each start of a case that has calls of it, in us; index: start."""
    of_starts = {start: of_request(run, calls, name).rtt_ns for start, calls in run.described_calls(case)}
    return pd.Series({start: stats.quantile(ns, 0.5) / 1e3 for start, ns in of_starts.items() if len(ns)}, dtype=float)
