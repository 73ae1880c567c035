"""Laws that every statistic keeps: the unit, ties, and next to nothing to work with."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from bench import stats
from bench.stats import intervals, steady_state

samples = some.lists(some.floats(0.1, 1e6), min_size=1, max_size=60).map(np.asarray)
units = some.sampled_from([1e-3, 1e3, 1e6])

OF_SAMPLES = {  # what it is called: a function of a sample
    "p50": lambda x: stats.quantile(x, 0.5),
    "p99": lambda x: stats.carried(x, 0.99),
    "over starts": lambda x: stats.across_starts(x.tolist())[:3],
    "distribution": lambda x: np.concatenate(stats.distribution(x)),
    "paired shift": lambda x: _ends(intervals.paired_shift(x - 3e5)),
    "shift": lambda x: _ends(intervals.unpaired(x, x[: len(x) // 2 + 1]).interval()),
    "corrected": lambda x: np.sort(stats.corrected(x, 2e5)),
}
SCALING = {  # what is in the unit of the data
    **{name: OF_SAMPLES[name] for name in ("p50", "p99", "over starts")},
    "interval of p50": lambda x: intervals.quantile_interval(x, 0.5) or (math.nan, math.nan),
}
UNITLESS = {  # what does not know the unit
    "worth": lambda x: intervals.dependence(x, 0.5).worth,
    "drift": lambda x: steady_state.drift(x, np.arange(len(x)) * 1000),
    "settling": lambda x: (steady_state.settle(x).label, steady_state.settle(x).cut),
}


def _ends(interval):
    return interval.middle, interval.low, interval.high


def same(one, other):
    if isinstance(one, tuple) and isinstance(one[0], str):
        return one == other
    return np.allclose(one, other, rtol=1e-6, atol=1e-9, equal_nan=True)


@pytest.mark.parametrize("name", SCALING)
@given(values=samples, unit=units)
def test_results_scale_with_the_unit(name, values, unit):
    assert same(SCALING[name](unit * values), unit * np.asarray(SCALING[name](values)))


@pytest.mark.parametrize("name", UNITLESS)
@given(values=samples, unit=some.sampled_from([2.0**-10, 2.0**10]))  # exact: no rank changes by rounding
def test_what_has_no_unit_knows_none(name, values, unit):
    assert same(UNITLESS[name](unit * values), UNITLESS[name](values))


@pytest.mark.parametrize("n", [1, 2, 7, 400])
def test_equal_values_are_no_trouble(n):
    equal = np.full(n, 5.0)
    assert stats.quantile(equal, 0.9) == 5 and stats.across_starts(equal.tolist()) == (5, 5, 5, None)
    ends = intervals.quantile_interval(equal, 0.5)
    assert ends == ((5, 5) if n >= 6 else None)
    assert intervals.dependence(equal, 0.5) == (n, 0)
    assert steady_state.drift(equal, np.arange(n)) == 0 and steady_state.settle(equal).label == steady_state.FLAT
    assert not steady_state.agree(np.zeros(n), 1)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_next_to_nothing_is_answered_and_not_made_up(n):
    few = np.arange(1.0, n + 1)
    for name, function in (OF_SAMPLES | UNITLESS).items():
        if n or name not in ("shift", "rank sum"):
            function(few)
    assert math.isnan(stats.carried(few, 0.99)) and intervals.quantile_interval(few, 0.5) is None
    assert not intervals.paired_shift(few).has_ends
    assert len(intervals.false_discovery(few / 10)) == n
    times = few.astype("i8")
    assert n == 2 or math.isnan(stats.stream_rate(times, times))
    assert math.isnan(stats.closed_rate(times[:0], times[:0], times[:0]))
