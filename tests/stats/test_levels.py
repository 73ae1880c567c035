"""Two levels of repetitions: found where they are, and by chance in at most one set of twenty."""

import numpy as np
import pytest

from bench.stats.levels import two_levels


def test_two_speeds_of_a_machine_are_two_levels():
    levels = two_levels([23.4, 24.4, 24.4, 35.8, 36.9, 38.6])
    assert (levels.low, levels.high) == (pytest.approx(24.4), pytest.approx(36.9)) and levels.chance < 0.05


@pytest.mark.parametrize(
    "values",
    [
        [1.0, 1.0, 1.0, 1.02, 1.02, 1.02],  # nearer than a tenth
        [1.0, 1.01, 1.02, 1.03, 1.04, 9.0],  # one start is no level
        [1.0, 1.0, 2.0, 2.0, 2.0],  # fewer than six
        [1.0] * 8,
    ],
)
def test_what_is_no_level(values):
    assert two_levels(values) is None


@pytest.mark.parametrize("count", [6, 12, 40])
@pytest.mark.parametrize("deviation", [0.02, 0.1, 0.5])
def test_normal_starts_have_two_levels_in_one_set_of_twenty_at_most(count, deviation):
    draws = np.random.default_rng(count).standard_normal((1000, count))
    levels = [two_levels(np.exp(deviation * draw)) for draw in draws]
    assert sum(pair is not None and pair.chance <= 0.05 for pair in levels) <= 65  # 50 expected, 6.9 deviation
