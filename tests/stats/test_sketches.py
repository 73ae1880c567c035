"""Sketches: the quantile of a sketch is that of the samples within its accuracy, and merging adds no error."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from bench import stats
from bench.stats.sketches import Sketch, merged

TIMES = some.lists(some.integers(0, 10**11), min_size=1, max_size=200).map(lambda values: np.array(values, "i8"))


@given(TIMES, some.floats(0, 1), some.sampled_from((0.001, 0.005, 0.02)))
def test_a_quantile_is_that_of_the_samples_within_the_accuracy(values, p, accuracy):
    true = stats.quantile(values, p)
    assert abs(Sketch.of(values, accuracy).quantile(p) - true) <= accuracy * true * (1 + 1e-9) + 1e-9


@given(TIMES, TIMES, TIMES)
def test_merging_is_sketching_all_samples(one, other, third):
    each, whole = (
        merged([Sketch.of(one), Sketch.of(other), Sketch.of(third)]),
        Sketch.of(np.concatenate([one, other, third])),
    )
    assert (each.first, each.zeros, each.counts.tolist()) == (whole.first, whole.zeros, whole.counts.tolist())


def test_counts_are_in_the_bucket_that_their_logarithm_says():
    sketch = Sketch.of(np.array([0, 0.9, 1.9, 3, 3.5, 3.9]), accuracy=1 / 3)  # buckets end at 1, 2, 4
    assert (sketch.zeros, sketch.first, sketch.counts.tolist(), sketch.samples) == (1, 0, [1, 1, 3], 6)
    assert [sketch.quantile(p) for p in (0.1, 0.3, 0.5, 1)] == pytest.approx([0, 2 / 3, 4 / 3, 8 / 3])


def test_without_samples_there_is_no_quantile():
    assert math.isnan(Sketch.of(np.zeros(0, "i8")).quantile(0.5))


def test_sketches_of_two_accuracies_are_not_merged():
    with pytest.raises(ValueError, match=r"accuracy 0\.01 and 0\.02"):
        Sketch.of(np.ones(1), 0.01).merged(Sketch.of(np.ones(1), 0.02))


def test_ten_million_samples_are_a_few_thousand_counts():
    chance = np.random.default_rng(1)
    assert Sketch.of(chance.lognormal(11, 1.5, 1_000_000)).counts.size < 3000


@given(TIMES)
def test_a_distribution_is_that_of_the_samples_within_the_accuracy(values):
    sketch = Sketch.of(values)
    found, fractions = sketch.distribution()
    assert fractions[-1] == 1 and (np.diff(fractions) > 0).all() and (np.diff(found) > 0).all()
    assert all(sketch.quantile(p) == pytest.approx(value) for value, p in zip(found, fractions, strict=True))
