"""Statistics have exact answers."""

import math

import numpy as np
import pytest

from bench import stats
from bench.text import duration


@pytest.mark.parametrize("n", range(1, 60))
def test_quantile_is_the_smallest_value_that_covers_its_fraction(n):
    values = np.arange(1, n + 1)
    for p in (0.01, 0.25, 0.5, 0.9, 0.95, 0.99):
        quantile = stats.quantile(values, p)
        assert quantile / n >= p - 1e-12
        assert (quantile - 1) / n < p


def test_quantile_of_few_values():
    assert math.isnan(stats.quantile(np.array([]), 0.5))
    assert stats.quantile(np.array([7]), 0.999) == 7
    assert stats.quantile(np.array([3, 3, 3]), 0.5) == 3


@pytest.mark.parametrize(
    ("p", "needed"), [(0.5, 6), (0.9, 36), (0.95, 72), (0.99, 368), (0.999, 3_688), (0.9999, 36_887)]
)
def test_needed_samples(p, needed):
    assert stats.needed_samples(p) == needed


def test_range_over_starts():
    assert stats.across_starts([3, 1, 2]) == (2, 1, 3, None)
    assert stats.across_starts([3.1, math.nan, 3]) == (3.05, 3, 3.1, None)
    assert all(math.isnan(value) for value in stats.across_starts([])[:3]) and stats.across_starts([]).levels is None
    assert stats.coverage(6) == pytest.approx(0.96875)
    assert stats.coverage(1) == 0


def test_a_median_between_two_levels_is_named_as_both():
    thrift = stats.across_starts([23.4, 43.6, 24.4, 36.9, 24.4, 35.8])  # two speeds of a machine
    assert thrift.levels == thrift.medians == (24.4, 35.8) and thrift.middle == pytest.approx(30.1)
    assert thrift.words("{:g} µs".format) == "24.4 or 35.8 µs"
    assert stats.across_starts([900, 1500]).words(duration) == "900 µs or 1.50 ms"
    assert thrift.times(2).levels == (48.8, 71.6)
    assert thrift.words("{:.0e}".format) == "2e+01 or 4e+01"


@pytest.mark.parametrize(
    ("values", "levels"),
    [
        ([10, 10.9], None),
        ([10, 11.1], (10, 11.1)),
        ([1, 10, 20], None),  # some start had the median
        ([0, 0], None),
        ([0, 3], (0, 3)),
        ([-1, 5], None),  # a difference around zero
        ([1, 2, math.inf, math.inf], (2, math.inf)),
    ],
)
def test_starts_have_two_levels_where_an_even_number_of_them_has_a_gap_in_the_middle(values, levels):
    spread = stats.across_starts(values)
    assert spread.levels == levels
    assert (" or " in spread.words(str)) == (levels is not None)


def test_stream_rate_has_one_interval_less_than_messages():
    assert stats.stream_rate(np.array([0, 10**9]), np.array([1, 101])) == 100
    assert math.isnan(stats.stream_rate(np.array([5]), np.array([1])))


def test_distribution_ends_at_one_and_keeps_the_extremes():
    values, fractions = stats.distribution(np.random.default_rng(2).permutation(np.arange(1, 100_001)))
    assert values[0] == 1 and fractions[0] == 1e-5
    assert values[-1] == 100_000 and fractions[-1] == 1
    assert np.array_equal(values / 100_000, fractions)
    assert len(values) <= 2001
    assert np.all(np.diff(fractions) > 0)


@pytest.mark.parametrize("n", [0, 1, 2, 3])
def test_distribution_of_few_values(n):
    values, fractions = stats.distribution(np.arange(n))
    assert list(values) == list(range(n))
    assert n == 0 or fractions[-1] == 1
