"""What grows in proportion: a straight line by least squares, with the intervals of its slope and of what it predicts.

The intervals are those of ordinary least squares: for independent, equally scattered deviations from the line.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from bench.stats.intervals import CONFIDENCE, Interval
from bench.stats.quantiles import Array

LEAST = 3  # points: two parameters, and one that deviates


@dataclass(frozen=True)
class Line:
    """y = base + each n, fitted to points; spread: the standard deviation around it, of n - 2 degrees of freedom."""

    base: float
    each: Interval
    spread: float
    points: int
    centre: float
    squares: float

    def at(self, n: float) -> Interval:
        """Return what the line predicts for one more measurement at n, with the 95 % prediction interval."""
        middle = self.base + self.each.middle * n
        half = _student(self.points) * self.spread
        half *= math.sqrt(1 + 1 / self.points + (n - self.centre) ** 2 / self.squares)
        return Interval(middle, middle - half, middle + half)


def line(n: Array, y: Array) -> Line:
    """Return the line through points, as many y as n; ValueError for fewer than three, or all at one n."""
    n, y = np.asarray(n, float), np.asarray(y, float)
    squares = float(np.sum((n - n.mean()) ** 2)) if len(n) else 0.0
    if len(n) < LEAST or not squares:
        raise ValueError(f"{len(n)} points, at {len(np.unique(n))} places, make no line with an interval")
    slope = float(np.sum((n - n.mean()) * (y - y.mean()))) / squares
    base = float(y.mean() - slope * n.mean())
    spread = math.sqrt(float(np.sum((y - base - slope * n) ** 2)) / (len(n) - 2))
    half = _student(len(n)) * spread / math.sqrt(squares)
    return Line(base, Interval(slope, slope - half, slope + half), spread, len(n), float(n.mean()), squares)


def _student(points: int) -> float:
    """Return the quantile of Student's distribution that 95 % intervals of a line through so many points take."""
    return float(special.stdtrit(points - 2, (1 + CONFIDENCE) / 2))
