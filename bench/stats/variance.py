"""Nested variance components, and the cheapest plan of repetitions for a budget.

Source: Kalibera & Jones 2013, "Rigorous Benchmarking in Reasonable Time". Levels from inner to outer: calls in a
window, windows (here: parts of a window) in a start, starts.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from bench.stats.intervals import CONFIDENCE, Interval
from bench.stats.quantiles import Array

POWER = 0.8  # of a detectable effect: in how many of all tries it is found
MOST_PARTS, MOST_STARTS = 1000, 10_000  # what is proposed at most


@dataclass(frozen=True)
class Components:
    """The variance between the parts of a window (T_1^2), and between starts apart from it (T_2^2)."""

    parts: float
    starts: float

    @property
    def share(self) -> float:
        """The share of the starts in the whole variance."""
        total = self.parts + self.starts
        return self.starts / total if total else 0.0


def nested(starts: Sequence[Array]) -> Components:
    """Return the variance components of values measured several times in each of several starts.

    S_1^2 is the mean variance inside a start, S_2^2 the variance of the starts' means; T_1^2 = S_1^2,
    T_2^2 = S_2^2 - S_1^2 / r with r values a start; a negative one is 0.
    """
    inside = float(np.mean([np.var(values, ddof=1) for values in starts]))
    outside = float(np.var([np.mean(values) for values in starts], ddof=1))
    repeats = float(np.mean([len(values) for values in starts]))
    return Components(inside, max(0.0, outside - inside / repeats))


def best_parts(of: Components, part_s: float, start_s: float) -> int:
    """Return how many parts of a window one start is worth: ceil(sqrt(c2/c1 * T1^2/T2^2))."""
    if not of.starts:
        return MOST_PARTS
    return max(1, min(MOST_PARTS, math.ceil(math.sqrt(start_s / part_s * of.parts / of.starts))))


def spread(found: Interval, starts: int, deviation: float) -> float:
    """Return the spread of ln(ratio) of a pair of starts that the interval of so many pairs has.

    A standard deviation counts the rare far block with its square, which the interval, of ranks, does not: what it can
    detect follows from its own width. Without an interval it is the standard ``deviation``.
    """
    if not found.has_ends:
        return deviation
    t = special.stdtrit(starts - 1, (1 + found.confidence) / 2)
    return float((found.high - found.low) / 2 * math.sqrt(starts) / t)


def detectable(spread: float, starts: int) -> float:
    """Return the effect that this many pairs of starts find with probability ``POWER``, as a ratio minus 1.

    ``spread``: standard deviation of ln(ratio) of a pair. An effect of half the width of the interval would be found in
    half of all tries at most.
    """
    if starts < 2:
        return math.inf
    t = special.stdtrit(starts - 1, (1 + CONFIDENCE) / 2) + special.stdtrit(starts - 1, POWER)
    return float(math.expm1(t * spread / math.sqrt(starts)))


def starts_for(spread: float, margin: float) -> int:
    """Return how many pairs of starts find a ratio of 1 + margin with probability ``POWER``."""
    number = 2
    while detectable(spread, number) > margin and number < MOST_STARTS:
        number += max(1, number // 20)
    return number
