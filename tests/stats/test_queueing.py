"""How long a queue that begins empty takes to settle, against queues in simulated time."""

import numpy as np
import pytest

from bench.analysis.open_load import MOMENTS
from bench.stats import queueing

LAWS = {
    "constant": lambda chance, size: np.ones(size),
    "exponential": lambda chance, size: chance.exponential(1.0, size),
    "bimodal": lambda chance, size: np.where(chance.random(size) < 0.1, 5.5, 0.5),
}


def waiting_times(law, rate, arrivals, queues):
    """Return when requests arrive and how long each waits, of queues that begin empty, shape (queues, arrivals)."""
    chance = np.random.default_rng(1)
    gaps, service = chance.exponential(1 / rate, (queues, arrivals)), LAWS[law](chance, (queues, arrivals))
    waits = np.zeros((queues, arrivals))
    for number in range(1, arrivals):  # Lindley's recursion
        waits[:, number] = np.maximum(0, waits[:, number - 1] + service[:, number - 1] - gaps[:, number])
    return gaps.cumsum(axis=1), waits


@pytest.mark.parametrize("law", LAWS)
def test_the_settling_time_is_that_of_queues_in_simulated_time(law):
    rate, until = 0.5, 40.0
    at, waits = waiting_times(law, rate, 60, 60_000)
    steady = queueing.response(rate, 1.0, MOMENTS[law][0] - 1) - 1
    missing = ((steady - waits) * (at < until)).sum(axis=1).mean() / rate / steady
    assert missing == pytest.approx(queueing.settling(rate, (1.0, *MOMENTS[law])), rel=0.08)


def test_a_window_misses_no_more_of_the_delay_than_the_settling_times_share():
    rate, steady = 0.95, 19.0
    at, waits = waiting_times("exponential", rate, 800, 1000)
    for window in (100.0, 300.0, 600.0):
        short = 1 - waits[at < window].mean() / steady
        assert 0.1 < short <= queueing.settling(rate, (1.0, 2.0, 6.0)) / window


def test_the_settling_time_of_an_exponential_server_is_known():
    assert queueing.settling(np.array([0.5, 0.95, 1.0]), (1.0, 2.0, 6.0)) == pytest.approx([4, 400, np.inf])
