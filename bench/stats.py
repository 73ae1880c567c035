"""Statistics: pure functions of arrays, each with one definition, tested with exact answers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

QUANTILES = (0.5, 0.9, 0.99, 0.999)
LEAST_STARTS = 6


def quantile(values: Array, p: float) -> float:
    """Return the smallest value that at least the fraction ``p`` of the values does not exceed.

    The inverse of the empirical distribution function (Hyndman & Fan 1996, definition 1): always a value
    that occurred. NaN for no values.
    """
    values = np.asarray(values)
    if values.size == 0:
        return math.nan
    rank = max(1, math.ceil(round(p * values.size, 9)))
    return float(np.partition(values, rank - 1)[rank - 1])


def needed_samples(p: float, confidence: float = 0.95) -> int:
    """Return how many samples give the ``p`` quantile a finite two-sided interval of this confidence.

    The interval is made of order statistics: its ends exist once p^n and (1-p)^n are below (1-confidence)/2.
    """
    tail = (1 - confidence) / 2
    return math.ceil(math.log(tail) / math.log(max(p, 1 - p)))


def carried(values: Array, p: float) -> float:
    """Return a start's quantile; above the median NaN if its calls do not carry it (starts carry the median)."""
    return quantile(values, p) if p <= 0.5 or len(values) >= needed_samples(p) else math.nan


def across_starts(values: Sequence[float]) -> tuple[float, float, float]:
    """Return (median, smallest, largest) of one number per start.

    With R starts the two ends enclose the true median with probability 1 - 2 * 2**-R: 96.9 % for R = 6.
    """
    array = np.asarray(values, float)
    array = array[~np.isnan(array)]
    if array.size == 0:
        return math.nan, math.nan, math.nan
    return float(np.median(array)), float(array.min()), float(array.max())


def coverage(starts: int) -> float:
    """Return the probability that [min, max] of this many start medians encloses the true median."""
    return max(0.0, 1 - 2.0 ** (1 - starts))


def warm_up_ns(window_s: float) -> int:
    """Return the time after *go* that is left out of quantiles: 0.2 s, at most a fifth of the window.

    The same for all starts of a case; the calls in it are kept and drawn.
    """
    return int(min(0.2, window_s / 5) * 1e9)


def closed_rate(send_ns: Array, recv_ns: Array, client: Array) -> float:
    """Return calls per second of parallel closed loops, while all of them ran.

    Counted are the calls that ended between the moment when the last client began and the one when the first
    stopped: rates over unequal windows are never added.
    """
    if len(recv_ns) == 0:
        return math.nan
    numbers = np.unique(client)
    began = max(int(send_ns[client == number].min()) for number in numbers)
    ended = min(int(recv_ns[client == number].max()) for number in numbers)
    if ended <= began:
        return math.nan
    return float(np.count_nonzero((recv_ns > began) & (recv_ns <= ended))) / ((ended - began) / 1e9)


def expanded(rtt: Array, interval: float) -> Array:
    """Return round trips with those added that a paced caller would have had during each long one.

    Coordinated omission, as HdrHistogram expands it: for a time v longer than the expected interval E also v - E,
    v - 2E, ... while above zero. A what-if of what was not measured: the added values are no samples.
    """
    rtt = np.asarray(rtt, float)
    long = rtt[rtt > interval]
    more = [np.arange(value - interval, 0, -interval) for value in long]
    return np.concatenate([rtt, *more])


def stream_rate(t_ns: Array, messages: Array) -> float:
    """Return messages per second between the first and the last mark: n - 1 intervals for n messages."""
    if len(t_ns) < 2 or t_ns[-1] <= t_ns[0]:
        return math.nan
    return float(messages[-1] - messages[0]) / (float(t_ns[-1] - t_ns[0]) / 1e9)


def distribution(values: Array, points: int = 2000) -> tuple[Array, Array]:
    """Return the empirical distribution function as (values, fractions), thinned for drawing.

    The points are dense in the upper tail: equally spaced in log(1 - fraction).
    """
    ordered = np.sort(values)
    n = len(ordered)
    if n == 0:
        return ordered, ordered
    ranks = np.unique(np.rint(n - np.geomspace(n, 1, min(points, max(n, 1)))).astype(int))
    ranks = np.unique(np.clip(np.append(ranks, n - 1), 0, n - 1))
    return ordered[ranks], (ranks + 1) / n
