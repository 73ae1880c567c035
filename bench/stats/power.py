"""Which difference a comparison finds in four of five tries, and how many starts find a given one."""

import math
from collections.abc import Callable

import numpy as np
from scipy import special

from bench.stats.intervals import CONFIDENCE, Shift, all_differences, means_of_pairs, paired, unpaired
from bench.stats.quantiles import Array

POWER = 0.8  # of a detectable effect: in how many of all tries it is found
MOST_STARTS = 10_000  # that are proposed
TRIES, MOST_WORK = 400, 20_000_000  # tries of a resampling, fewer where that many differences would be put in order
LEAST_TRIES = 50


def detectable(spread: float, starts: int) -> float:
    """Return the effect that this many pairs of starts find with probability ``POWER``, as a ratio minus 1.

    ``spread``: standard deviation of ln(ratio) of a pair, or what stands for it (``spread_of_pairs``). An effect of
    half the width of the interval would be found in half of all tries at most.
    """
    return float(math.expm1(_errors(starts) * spread / math.sqrt(starts))) if starts > 1 else math.inf


def starts_for(spread: float, margin: float) -> int:
    """Return how many pairs of starts find a ratio of 1 + margin with probability ``POWER``."""
    number = 2
    while detectable(spread, number) > margin and number < MOST_STARTS:
        number += max(1, number // 20)
    return number


def _errors(starts: int) -> float:
    """Return how many standard errors from 0 an effect is that the t test finds with probability ``POWER``."""
    return float(special.stdtrit(starts - 1, (1 + CONFIDENCE) / 2) + special.stdtrit(starts - 1, POWER))


def spread_of_pairs(differences: Array, confidence: float = CONFIDENCE) -> float:
    """Return the spread of ln(ratio) of a pair of starts: the normal one whose t test is as able as this comparison.

    The comparison itself is tried on samples of the differences, drawn with replacement: the effect that its intervals
    find in four of five tries follows from the noise as it is, far blocks and two levels included. The standard
    deviation where no interval of so few has this confidence.
    """
    d = np.asarray(differences, float)

    def resample(chance: np.random.Generator) -> Array:
        return means_of_pairs(_resampled(d, chance))

    return _spread(paired(d), resample, confidence, len(d), _deviation(d))


def spread_of_groups(ours: Array, theirs: Array, confidence: float = CONFIDENCE) -> float:
    """Return the same of two groups of starts that are compared as groups."""
    a, b = np.asarray(ours, float), np.asarray(theirs, float)

    def resample(chance: np.random.Generator) -> Array:
        return all_differences(_resampled(a, chance), _resampled(b, chance))

    deviation = math.hypot(_deviation(a), _deviation(b))
    return _spread(unpaired(a, b), resample, confidence, min(len(a), len(b)), deviation)


def _spread(
    shift: Shift, resample: Callable[[np.random.Generator], Array], confidence: float, starts: int, deviation: float
) -> float:
    rank = shift.rank(confidence)
    if not rank:
        return deviation
    chance, middle, size = np.random.default_rng(starts), float(np.median(shift.ordered)), len(shift.ordered)
    ends = [rank - 1, size - rank]  # indices, in order, of an interval's ends
    tries = max(LEAST_TRIES, min(TRIES, MOST_WORK // size))
    low, high = np.array([np.partition(resample(chance), ends)[ends] for _ in range(tries)]).T
    reaches = [middle - low, high - middle]
    effect = float(np.quantile(reaches, POWER)) * math.sqrt(starts / (starts - 1))  # samples of few vary too little
    return max(0.0, effect) * math.sqrt(starts) / _errors(starts)


def _resampled(values: Array, chance: np.random.Generator) -> Array:
    """Return as many of the values, drawn with replacement."""
    return values[chance.integers(len(values), size=len(values))]


def _deviation(values: Array) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0
