"""A straight line by least squares: exact where there is none to doubt, and as textbooks and SciPy have it."""

import numpy as np
import pytest
import scipy  # its parts are imported when they are used

from benchmarks import growth


def test_points_on_a_line_leave_no_doubt():
    found = growth.line([2, 8, 32, 64], [7, 19, 67, 131])
    assert found.base == pytest.approx(3) and found.each.middle == pytest.approx(2)
    assert found.each.high - found.each.low == pytest.approx(0, abs=1e-9)
    assert found.at(1000).middle == pytest.approx(2003) and found.at(1000).low == pytest.approx(2003)


def test_four_points_by_hand():
    found = growth.line([0, 1, 2, 3], [0, 2, 1, 3])  # slope 0.8, base 0.3, squares of deviations 1.8
    assert (found.base, found.each.middle) == (pytest.approx(0.3), pytest.approx(0.8))
    assert found.spread == pytest.approx(0.9**0.5)
    assert found.each.high == pytest.approx(0.8 + 4.302653 * (0.9 / 5) ** 0.5, rel=1e-6)
    assert found.at(1.5).high == pytest.approx(1.5 + 4.302653 * (0.9 * 1.25) ** 0.5, rel=1e-6)


def test_it_agrees_with_scipy():
    random = np.random.default_rng(1)
    n = np.repeat([2, 8, 32, 64], 5)
    y = 30 + 18 * n + random.normal(0, 40, len(n))
    found, known = growth.line(n, y), scipy.stats.linregress(n, y)
    half = scipy.stats.t.ppf(0.975, len(n) - 2) * known.stderr
    assert (found.base, found.each.middle) == (pytest.approx(known.intercept), pytest.approx(known.slope))
    assert (found.each.low, found.each.high) == (pytest.approx(known.slope - half), pytest.approx(known.slope + half))


def test_its_prediction_covers_as_often_as_it_says():
    random, n = np.random.default_rng(7), np.repeat([2.0, 8.0, 32.0], 3)
    hits = 0
    for _ in range(2000):
        found = growth.line(n, 5 + 2 * n + random.normal(0, 1, len(n))).at(64)
        hits += found.low <= 5 + 2 * 64 + random.normal(0, 1) <= found.high
    assert 0.935 <= hits / 2000 <= 0.965


@pytest.mark.parametrize(("n", "y"), [([], []), ([1, 2], [1, 2]), ([3, 3, 3], [1, 2, 3])])
def test_no_line_without_enough_points(n, y):
    with pytest.raises(ValueError, match=str(len(n))):
        growth.line(n, y)
