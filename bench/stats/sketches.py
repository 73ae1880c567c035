"""Sketches: counts of samples in logarithmic buckets, from which quantiles follow within a stated relative error.

The DDSketch of Masson, Rim and Lee (VLDB 2019). Sketches of several hosts or starts are merged without a further error.
"""

import math
from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np

from bench.stats.quantiles import Array

ACCURACY = 0.005  # a quantile of a sketch differs by at most this share of it from that of the samples


@dataclass(frozen=True)
class Sketch:
    """Samples as counts.

    accuracy: largest relative error of a quantile. first: number of the first bucket; bucket i holds the samples in
    (g^(i-1), g^i] with g = (1 + accuracy) / (1 - accuracy). counts: samples by bucket, int64. zeros: samples that are
    not above 0, which have no logarithm and count as 0.
    """

    accuracy: float
    first: int
    counts: Array
    zeros: int = 0

    @classmethod
    def of(cls, values: Array, accuracy: float = ACCURACY) -> Self:
        """Return the sketch of samples."""
        values = np.asarray(values)
        above = values[values > 0]
        if not above.size:
            return cls(accuracy, 0, np.zeros(0, "i8"), values.size)
        buckets = np.ceil(np.log(above) / math.log(_ratio(accuracy))).astype("i8")
        first = int(buckets.min())
        return cls(accuracy, first, np.bincount(buckets - first).astype("i8"), values.size - above.size)

    @property
    def samples(self) -> int:
        """How many samples it holds."""
        return self.zeros + int(self.counts.sum())

    def quantile(self, p: float) -> float:
        """Return the quantile as ``bench.stats.quantile`` defines it, within ``accuracy``; NaN without samples."""
        if not self.samples:
            return math.nan
        rank = max(1, math.ceil(round(p * self.samples, 9)))
        if rank <= self.zeros:
            return 0.0
        bucket = self.first + int(np.searchsorted(np.cumsum(self.counts), rank - self.zeros))
        ratio = _ratio(self.accuracy)
        return 2 * ratio**bucket / (ratio + 1)  # equally far, in proportion, from both ends of the bucket

    def distribution(self) -> tuple[Array, Array]:
        """Return the empirical distribution function as (values, fractions), at most one value for each bucket."""
        buckets = np.flatnonzero(self.counts)
        ratio = _ratio(self.accuracy)
        values = 2 * ratio ** (self.first + buckets.astype(float)) / (ratio + 1)
        fractions = (self.zeros + np.cumsum(self.counts)[buckets]) / max(1, self.samples)
        if not self.zeros:
            return values, fractions
        return np.concatenate([[0.0], values]), np.concatenate([[self.zeros / self.samples], fractions])

    def merged(self, other: Self) -> Self:
        """Return the sketch of the samples of both; ValueError for two accuracies."""
        if self.accuracy != other.accuracy:
            raise ValueError(f"sketches of accuracy {self.accuracy:g} and {other.accuracy:g} cannot be merged")
        if not other.counts.size or not self.counts.size:
            larger = self if self.counts.size else other
            return type(self)(self.accuracy, larger.first, larger.counts, self.zeros + other.zeros)
        first = min(self.first, other.first)
        counts = np.zeros(max(one.first + one.counts.size for one in (self, other)) - first, "i8")
        for one in (self, other):
            counts[one.first - first :][: one.counts.size] += one.counts
        return type(self)(self.accuracy, first, counts, self.zeros + other.zeros)


def _ratio(accuracy: float) -> float:
    """Return the upper end of a bucket divided by its lower end."""
    return (1 + accuracy) / (1 - accuracy)


def merged(sketches: list[Sketch]) -> Sketch:
    """Return the sketch of the samples of all; at least one is needed."""
    return reduce(Sketch.merged, sketches)
