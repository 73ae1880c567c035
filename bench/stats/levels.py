"""Whether repetitions of one thing fall into two levels, as they do on a machine with two speeds."""

import functools
import math
from typing import NamedTuple

import numpy as np

from bench.stats.quantiles import APART, LEAST_STARTS, Array

SHARE = 0.25  # of the repetitions that each level has at least
SIMULATED = 20_000


class Levels(NamedTuple):
    """The medians of two groups of repetitions, and the probability of so large a gap between them by chance.

    gap: the largest value of the lower group and the smallest of the upper one.
    """

    low: float
    high: float
    chance: float
    gap: tuple[float, float]

    @property
    def between(self) -> float:
        """A value in the gap."""
        return math.sqrt(math.prod(self.gap))


def two_levels(values: Array) -> Levels | None:
    """Return the groups on both sides of the largest gap; None if it is below a tenth, or of fewer than 6 values.

    Each group has at least a quarter of the values. chance: of normal ln(values) with any deviation, how often their
    largest gap is so many deviations wide; from 20,000 simulated sets of as many values, with a fixed seed.
    """
    logs = np.sort(np.log(np.asarray(values, float)))
    if len(logs) < LEAST_STARTS or not (deviation := float(logs.std())):
        return None
    least = _least(len(logs))
    gaps = np.diff(logs)[least - 1 : len(logs) - least]
    widest = int(np.argmax(gaps))
    if gaps[widest] <= math.log(APART):
        return None
    null = _largest_gaps(len(logs))
    chance = (1 + np.count_nonzero(null >= gaps[widest] / deviation)) / (1 + len(null))
    groups = np.split(logs, [least + widest])
    low, high = (math.exp(float(np.median(group))) for group in groups)
    below, above = logs[least + widest - 1 : least + widest + 1]
    return Levels(low, high, chance, (math.exp(float(below)), math.exp(float(above))))


def _least(count: int) -> int:
    return max(2, math.ceil(SHARE * count))


@functools.cache
def _largest_gaps(count: int) -> Array:
    """Return the largest gap of each simulated set of normal values, in its deviations; shape (``SIMULATED``,)."""
    drawn = np.sort(np.random.default_rng(count).standard_normal((SIMULATED, count)), axis=1)
    least = _least(count)
    gaps = np.diff(drawn, axis=1)[:, least - 1 : count - least]
    return np.asarray(gaps.max(axis=1) / drawn.std(axis=1))
