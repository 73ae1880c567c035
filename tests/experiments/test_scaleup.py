"""scaleup.ipynb: two workers compared with one, of runs whose answers are known."""

import numpy as np
import pytest
from handmade import handmade, measured

from bench.experiments import scaleup
from bench.grammar.claim import CONTRADICTED, HOLDS
from bench.grammar.experiment import experiment
from bench.plan.case import Case


def of_its_own_level(start, calls):
    """Return factors of a start whose level differs by up to a tenth from the others'."""
    return np.full(calls, 1 + 0.1 * np.random.default_rng(start).random())


WORKERS = [
    Case("http_aiohttp", "tcp", 16, {"resource": "bytes", "workers": n}, engine="wire", callers=2) for n in (1, 2)
]


def test_scaleup_says_whether_two_workers_served_more_than_twice_the_requests():
    twice, less = (measured("scaleup", WORKERS, each_us, callers=2) for each_us in ((100, 40), (100, 70)))
    assert [scaleup.claims[0].verdict(run) for run in (twice, less)] == [CONTRADICTED, HOLDS]
    assert [one.value for one in scaleup.second.ratios(less)] == [pytest.approx(100 / 70, rel=1e-3)]


def test_a_gain_of_workers_that_is_none_is_not_distinguishable():
    equal = handmade(WORKERS, (100, 99), notebook="scaleup", shape=of_its_own_level)
    (gain,) = scaleup.second.ratios(equal)
    assert not gain.is_certain and "not distinguishable" in experiment("scaleup").answer(equal)
