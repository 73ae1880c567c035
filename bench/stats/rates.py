"""Rates of one window, and which part of it counts."""

import math

import numpy as np

from bench.stats.quantiles import Array


def warm_up_ns(window_s: float) -> int:
    """Return the time after *go* that is left out of quantiles: 0.2 s, at most a fifth of the window.

    The same for all starts of a case; the calls in it are kept and drawn.
    """
    return int(min(0.2, window_s / 5) * 1e9)


def closed_rate(send_ns: Array, recv_ns: Array, client: Array, from_ns: int = 0) -> float:
    """Return calls per second of parallel closed loops while all of them ran.

    from_ns: when the first call was sent that counts; the calls before it belong to the arrays, too. The time that
    counts begins then, or when the last client began, and ends when the first client stopped: rates over unequal
    windows are never added. A call that lies partly in this time counts by the share of its duration that does. Each
    closed loop records the call that passes the end of its window, so all shares are known.

    Whole calls, counted by their ends, would lose up to one call per client. Shares lose none: equal call times give
    the exact rate, in step or not. In a steady state calls and time are right in the mean, whatever the distribution of
    call times: the time begins with the first call sent after an instant, and ends with the first reply after another.
    One client alone has whole calls only. What remains: the rate of few, varying calls of clients that begin in step is
    too high, because short calls among the first are complete: by 2 to 5 % for 2.5 exponential call times, of which the
    warm-up is a fifth, by less than 1 % for 10.

    NaN without calls, or where the clients have no time in common.
    """
    if len(recv_ns) == 0:
        return math.nan
    numbers = np.unique(client)
    began = max(from_ns, *(int(send_ns[client == number].min()) for number in numbers))
    ended = min(int(recv_ns[client == number].max()) for number in numbers)
    if ended <= began:
        return math.nan
    is_whole = (send_ns >= began) & (recv_ns <= ended)
    is_cut = (send_ns < ended) & (recv_ns > began) & ~is_whole
    sent, received = send_ns[is_cut], recv_ns[is_cut]
    shares = (np.minimum(received, ended) - np.maximum(sent, began)) / (received - sent)
    return (np.count_nonzero(is_whole) + float(shares.sum())) / ((ended - began) / 1e9)


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
