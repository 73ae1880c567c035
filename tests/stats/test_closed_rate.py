"""The rate of closed loops: a call that an edge of the time cuts counts by its share, so few calls do not bias it."""

import math

import numpy as np
import pytest

from bench import stats

CALL_NS = 1_000_000
CALLERS = 16
TIMES = {
    "constant": lambda chance, count: np.full(count, CALL_NS),
    "exponential": lambda chance, count: np.ceil(chance.exponential(CALL_NS, count)).astype("i8"),
}


def start(chance, times, window, in_step, callers=CALLERS):
    """Return send and receive times and clients of callers that stop as the loops do: with a call that passes the end.

    window: in calls. Those that are not in step have called since long before the window.
    """
    parts = []
    for client in range(callers):
        begin = 0 if in_step else -int(chance.uniform(30, 31) * CALL_NS)
        ends = begin + np.cumsum(TIMES[times](chance, int(1.5 * (window * CALL_NS - begin) / CALL_NS) + 60))
        sent = np.concatenate([[begin], ends[:-1]])
        made = (sent < window * CALL_NS) & (ends > 0)
        parts.append(np.stack([sent[made], ends[made], np.full(made.sum(), client)]))
    return np.concatenate(parts, axis=1)


def rates(times, window, in_step, starts):
    """Return the rates of many starts over the true one, after a warm-up."""
    chance, rates_per_s = np.random.default_rng(1), []
    for _ in range(starts):
        calls = start(chance, times, window, in_step)
        rates_per_s.append(stats.closed_rate(*calls, int(calls[0][calls[0] >= 0.2 * window * CALL_NS].min())))
    return np.array(rates_per_s) * CALL_NS / 1e9 / CALLERS


@pytest.mark.parametrize("in_step", [True, False])
@pytest.mark.parametrize("window", [2.5, 10, 1000])
def test_equal_call_times_give_the_exact_rate(window, in_step):
    shares = rates("constant", window, in_step, 10)
    assert shares == pytest.approx(1, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("in_step", [True, False])
@pytest.mark.parametrize(("window", "starts"), [(2.5, 1500), (10, 800), (1000, 10)])
def test_call_times_that_vary_give_the_true_rate_in_the_mean(window, starts, in_step):
    shares = rates("exponential", window, in_step, starts)
    if window == 2.5 and in_step:
        assert 1.01 < np.mean(shares) < 1.05  # as its docstring says
    else:
        assert np.mean(shares) == pytest.approx(1, abs=0.01)


def test_calls_count_only_while_all_clients_run():
    send = np.array([0, 100, 0, 100, 200, 300]) * 1_000_000
    recv = np.array([100, 200, 100, 200, 300, 400]) * 1_000_000
    client = np.array([0, 0, 1, 1, 1, 1])
    assert stats.closed_rate(send, recv, client) == pytest.approx(4 / 0.2)  # client 0 stopped at 200 ms
    late = send + np.where(client == 1, 50_000_000, 0)  # client 1 began at 50 ms: from there on it counts
    assert stats.closed_rate(late, late + 100_000_000, client) == pytest.approx(3 / 0.15)
    assert math.isnan(stats.closed_rate(send, recv, client, 200_000_000))
    assert math.isnan(stats.closed_rate(send[:0], recv[:0], client[:0]))


def test_a_call_under_way_when_the_time_begins_or_ends_counts_by_its_share():
    send, recv = np.array([0, 0, 50, 100, 150]) * 1_000_000, np.array([400, 50, 100, 150, 200]) * 1_000_000
    client = np.array([0, 1, 1, 1, 1])
    assert stats.closed_rate(send, recv, client, 100_000_000) == pytest.approx((2 + 100 / 400) / 0.1)


def test_slow_clients_beside_fast_ones_add_their_own_rates():
    slow, fast = np.arange(3) * CALL_NS, np.arange(250) * CALL_NS // 100
    send, recv = np.concatenate([slow, fast]), np.concatenate([slow + CALL_NS, fast + CALL_NS // 100])
    assert stats.closed_rate(send, recv, np.repeat([0, 1], [3, 250])) == pytest.approx(101e3)


def test_one_client_has_whole_calls_only():
    send, recv = np.array([0, 10, 40, 50]), np.array([10, 40, 50, 90])
    assert stats.closed_rate(send, recv, np.zeros(4, int), 10) == pytest.approx(3 / 80e-9)
