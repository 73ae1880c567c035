"""A straight line by least squares: as by hand, and its intervals cover."""

import numpy as np
import pytest

from selfcheck import growth


def test_four_points_by_hand():
    line = growth.line([0, 1, 2, 3], [0, 2, 1, 3])  # slope 0.8, base 0.3, squares of deviations 1.8
    assert (line.base, line.each.middle) == (pytest.approx(0.3), pytest.approx(0.8))
    assert line.spread == pytest.approx(0.9**0.5)
    assert line.each.high == pytest.approx(0.8 + 4.302653 * (0.9 / 5) ** 0.5, rel=1e-6)
    assert line.at(1.5).high == pytest.approx(1.5 + 4.302653 * (0.9 * 1.25) ** 0.5, rel=1e-6)


def test_its_prediction_covers_as_often_as_it_says():
    random, n = np.random.default_rng(7), np.repeat([2.0, 8.0, 32.0], 3)
    hits = 0
    for _ in range(2000):
        prediction = growth.line(n, 5 + 2 * n + random.normal(0, 1, len(n))).at(64)
        hits += prediction.low <= 5 + 2 * 64 + random.normal(0, 1) <= prediction.high
    assert 0.935 <= hits / 2000 <= 0.965
