"""Quantiles: of one start, over starts, and how many samples they need."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

QUANTILES = (0.5, 0.9, 0.99, 0.999)
LEAST_STARTS = 6


def quantile(values: Array, p: float) -> float:
    """Return the smallest value that at least the fraction ``p`` of the values does not exceed.

    The inverse of the empirical distribution function (Hyndman & Fan 1996, definition 1): always a value
    that occurred. NaN for no values. Not ``np.quantile(method="inverted_cdf")``: where p n is a whole number but its
    floating-point product is above it (0.07 of 100), that one returns the next larger value.
    """
    values = np.asarray(values)
    if values.size == 0:
        return math.nan
    rank = max(1, math.ceil(round(p * values.size, 9)))
    return float(np.partition(values, rank - 1)[rank - 1])


def needed_samples(p: float, confidence: float = 0.95) -> int:
    """Return how many samples give the ``p`` quantile a finite two-sided interval of this confidence.

    The interval is made of order statistics: its ends exist once p^n and (1-p)^n are below (1-confidence)/2.
    """
    tail = (1 - confidence) / 2
    return math.ceil(math.log(tail) / math.log(max(p, 1 - p)))


def carried(values: Array, p: float) -> float:
    """Return a start's quantile; NaN above the median if the start has too few calls for its interval."""
    return quantile(values, p) if p <= 0.5 or len(values) >= needed_samples(p) else math.nan


class Text(Protocol):
    """Returns a number in words, in the unit that suits it, or another one: ``like``."""

    def __call__(self, value: float, /, *, like: float | None = None) -> str:
        """Return the words."""


class Spread(NamedTuple):
    """The median over the starts, the smallest and largest of them, and their two levels where they have two.

    levels: the two middle values of an even number of starts, where the median between them is near neither; else None.
    """

    middle: float
    low: float
    high: float
    levels: tuple[float, float] | None = None

    @property
    def medians(self) -> tuple[float, ...]:
        """The median alone, or both levels: what is shown in its place."""
        return self.levels or (self.middle,)

    def words(self, text: Callable[[float], str]) -> str:
        """Return the median in words, or both levels: "24.4 or 35.8 µs"."""
        first, *second = dict.fromkeys(map(text, self.medians))
        if not second:
            return first
        number, _, unit = first.partition(" ")
        return f"{number if unit == second[0].partition(' ')[2] else first} or {second[0]}"

    def ends(self, text: Text) -> tuple[str, str]:
        """Return the smallest and the largest in words, in the unit of the median."""
        return text(self.low, like=self.medians[-1]), text(self.high, like=self.medians[-1])

    def times(self, factor: float) -> "Spread":
        """Return the spread of what is ``factor`` times as much, in another unit for example."""
        levels = self.levels and (factor * self.levels[0], factor * self.levels[1])
        return Spread(factor * self.middle, factor * self.low, factor * self.high, levels)


APART = 1.1  # a median between two values whose ratio is larger is a value that nobody measured


def across_starts(values: npt.ArrayLike) -> Spread:
    """Return the median, smallest and largest of one number per start, and its two levels; NaN where there is none.

    With R starts the two ends enclose the true median with probability 1 - 2 * 2**-R: 96.9 % for R = 6.
    """
    array = np.asarray(values, float)
    array = array[~np.isnan(array)]
    if array.size == 0:
        return Spread(math.nan, math.nan, math.nan)
    ordered = np.sort(array)
    lower, upper = float(ordered[(len(array) - 1) // 2]), float(ordered[len(array) // 2])
    levels = (lower, upper) if lower >= 0 and upper > APART * lower else None
    return Spread(float(np.median(array)), float(ordered[0]), float(ordered[-1]), levels)


def coverage(starts: int) -> float:
    """Return the probability that [min, max] of this many start medians encloses the true median."""
    return max(0.0, 1 - 2.0 ** (1 - starts))


def distribution(values: Array) -> tuple[Array, Array]:
    """Return the empirical distribution function as (values, fractions), thinned for drawing.

    The points are dense in the upper tail: equally spaced in log(1 - fraction).
    """
    ordered = np.sort(values)
    n = len(ordered)
    if n == 0:
        return ordered, ordered
    ranks = np.unique(np.rint(n - np.geomspace(n, 1, min(n, 2000))).astype(int))
    return ordered[ranks], (ranks + 1) / n
