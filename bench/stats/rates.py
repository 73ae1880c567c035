"""Rates of one window, and which part of it counts."""

import math

import numpy as np

from bench.stats.quantiles import Array


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


def stream_rate(t_ns: Array, messages: Array) -> float:
    """Return messages per second between the first and the last mark: n - 1 intervals for n messages."""
    if len(t_ns) < 2 or t_ns[-1] <= t_ns[0]:
        return math.nan
    return float(messages[-1] - messages[0]) / (float(t_ns[-1] - t_ns[0]) / 1e9)


def corrected(rtt: Array, interval: float) -> Array:
    """Return round trips corrected for coordinated omission, shape (n + added,), in the unit of ``rtt``.

    interval: the time E between two requests of the load one asks about. For each value v above E also v - E,
    v - 2E, ..., down to E itself, are added, as HdrHistogram does; never a value below the smallest measured one.
    The added values are a what-if, not samples: they do not count in n.
    """
    rtt = np.asarray(rtt, float)
    if not rtt.size:
        return rtt
    least = max(interval, float(rtt.min())) * (1 - 1e-9)  # v - kE misses E by rounding
    more = [value - interval * np.arange(1, int((value - least) / interval) + 1) for value in rtt[rtt > interval]]
    return np.concatenate([rtt, *more])
