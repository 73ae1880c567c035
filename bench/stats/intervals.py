"""Intervals without assuming a distribution: for quantiles of dependent calls, and for ratios of two groups of starts.

Sources: order statistics (David & Nagaraja 2003, 7.1), batch means (Conway 1963, Fishman 1978), Hodges & Lehmann 1963.
"""

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import special

from bench.stats.quantiles import Array, Text, needed_samples, quantile

CONFIDENCE = 0.95
EXACT = 25  # up to so many starts of each side distributions are exact, above them normal
LEAST_PAIRS = 6  # with fewer no signed-rank interval covers with 95 %


@dataclass(frozen=True)
class Interval:
    """An estimate with its interval, in the unit of the data, and the probability that it covers.

    low, high: NaN where no interval of so few values covers with 95 %. middle: NaN of no values.
    """

    middle: float
    low: float = math.nan
    high: float = math.nan
    confidence: float = CONFIDENCE

    @property
    def has_ends(self) -> bool:
        """Whether there were enough values for an interval."""
        return not math.isnan(self.low)

    def excludes(self, value: float) -> bool:
        """Return whether a value is outside the interval: the estimate is distinguishable from it."""
        return self.low > value or self.high < value

    @property
    def half_width(self) -> float:
        """The larger distance of an end from a ratio, as a share of it; infinite without ends."""
        return max(self.high / self.middle, self.middle / self.low) - 1 if self.has_ends else math.inf

    def ends(self, text: Text) -> tuple[str, str]:
        """Return both ends in words, in the unit of the estimate."""
        return text(self.low, like=self.middle), text(self.high, like=self.middle)

    def exp(self) -> "Interval":
        """Return the interval of a ratio from that of its logarithm."""
        return Interval(math.exp(self.middle), math.exp(self.low), math.exp(self.high), self.confidence)


def quantile_interval(values: Array, p: float, starts: Array | None = None) -> tuple[float, float] | None:
    """Return the 95 % interval of the ``p`` quantile of the calls of some starts; None where they do not support one.

    values, starts: as in ``dependence``. The interval holds for these starts only. It consists of order statistics, for
    as many independent calls as these are worth.
    """
    dependent = dependence(values, p, starts)
    return None if dependent.has_few_changes else order_statistics(values, p, dependent.worth)


def order_statistics(values: Array, p: float, worth: int | None = None) -> tuple[float, float] | None:
    """Return the 95 % interval of the ``p`` quantile of values in any order; None if they are worth too few.

    worth: how many independent values they are worth; None: they are independent.
    """
    n, ordered = len(values), np.sort(values)
    worth = n if worth is None else worth
    if worth < needed_samples(p, CONFIDENCE):
        return None
    tail = (1 - CONFIDENCE) / 2
    low, high = (math.ceil(special.bdtrik(q, worth, p)) for q in (tail, 1 - tail))
    first, last = math.floor(low * n / worth), math.ceil((high + 1) * n / worth)
    return float(ordered[max(first - 1, 0)]), float(ordered[min(last - 1, n - 1)])


BLOCKS = 40  # of a start, at least, as long as it has so many calls
ALIKE = 1 / 3  # the correlation of neighbouring blocks at which 40 of them are worth 20 independent ones


class Dependence(NamedTuple):
    """How much calls depend on those before them, where the slow ones are those above a quantile.

    worth: how many independent calls they are worth: their number, over how much the variance of the number of slow
    calls exceeds that of independent ones. alike: the correlation of neighbouring blocks of calls. Where the level
    changes fewer than about 20 times in a start, it is above ``ALIKE``: so few changes do not show how much changes
    move the quantile (Fishman 1978).
    """

    worth: int
    alike: float

    @property
    def has_few_changes(self) -> bool:
        """Whether the level changes too few times within a start for an interval."""
        return self.alike > ALIKE


def dependence(values: Array, p: float, starts: Array | None = None) -> Dependence:
    """Return how much calls depend on each other at their ``p`` quantile, and at both ends of its interval if larger.

    values: in the order of the calls, shape (n,). starts: the start of each, in which calls follow each other, shape
    (n,); None: all of one.
    """
    series = np.asarray(values)
    edges = np.flatnonzero(np.diff(np.zeros(len(series)) if starts is None else starts)) + 1
    middle = clustering(np.split(series > quantile(series, p), edges))
    ends = order_statistics(series, p, middle.worth) or ()
    clusterings = [middle, *(clustering(np.split(series >= end, edges)) for end in ends)]
    return Dependence(min(each.worth for each in clusterings), max(each.alike for each in clusterings))


def clustering(is_slow: Sequence[Array]) -> Dependence:
    """Return how much slow calls cluster, from a flag of each call in each start, in the order of the calls.

    The variance is that of the numbers of slow calls in blocks of neighbours (batch means, Conway 1963), times
    (1 + r) / (1 - r), where r is the correlation of neighbouring blocks.
    """
    n, count = sum(map(len, is_slow)), sum(map(np.count_nonzero, is_slow))
    variance = squares = products = 0.0
    for start in is_slow:
        size = max(1, len(start) // BLOCKS)
        slow = start[: len(start) // size * size].reshape(-1, size).sum(axis=1)
        if len(slow) > 1:
            apart = slow - slow.mean()
            square = float(apart @ apart)
            variance += square / (len(slow) - 1) * len(start) / size
            squares += square
            products += float(apart[1:] @ apart[:-1]) + square / len(slow)  # without the bias of -1 / blocks
    if not squares:
        return Dependence(n, 0.0)
    alike = min(max(0.0, products / squares), 1 - 1 / n)
    excess = variance * (1 + alike) / (1 - alike) / (count * (1 - count / n))
    return Dependence(math.floor(n / max(1.0, excess)), alike)


@functools.lru_cache(8)
def _pairs(n: int) -> tuple[Array, ...]:
    """Return the indices of both values of all pairs of n values, each with itself too."""
    return np.triu_indices(n)


@functools.lru_cache(8)
def _signed_rank_tail(n: int) -> Array:
    """Return for each signed-rank sum 0 ... n(n+1)/2 how likely one up to it is between equals."""
    if n > EXACT:
        return _normal_tail(n * (n + 1) // 2, n * (n + 1) * (2 * n + 1) / 24)
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[: len(counts) - rank]
    return np.cumsum(counts) / counts.sum()


@functools.lru_cache(8)
def _mann_whitney_tail(n: int, m: int) -> Array:
    """Return for each Mann-Whitney count 0 ... n m how likely one up to it is between equals.

    Exact by the Gaussian binomial coefficients, which are whole numbers, while these are small enough.
    """
    if max(n, m) > EXACT:
        return _normal_tail(n * m, n * m * (n + m + 1) / 12)
    counts = [1] + [0] * (n * m)
    for i in range(1, m + 1):  # times (1 - q^(n+i)) / (1 - q^i)
        for rank in range(n * m, n + i - 1, -1):
            counts[rank] -= counts[rank - n - i]
        for rank in range(i, n * m + 1):
            counts[rank] += counts[rank - i]
    total = sum(counts)
    return np.array([below / total for below in itertools.accumulate(counts)])


def _normal_tail(maximum: int, variance: float) -> Array:
    """Return P(sum <= 0 ... maximum) by the normal approximation with continuity correction, shape (maximum + 1,)."""
    return np.asarray(special.ndtr((np.arange(maximum + 1) + 0.5 - maximum / 2) / math.sqrt(variance)))


ROUNDING = 1e-12  # of a tail: the confidence of an interval gives its rank again


@dataclass(frozen=True)
class Shift:
    """How far two groups of values are apart: the interval of any confidence, all from one test of ranks.

    ordered: all differences, or means of two of them, in order. tail: for each value of the test's statistic, from 0,
    how likely one up to it is between equals.
    """

    ordered: Array
    tail: Array

    def interval(self, confidence: float = CONFIDENCE) -> Interval:
        """Return the median of the differences, between the k-th smallest and the k-th largest with this confidence."""
        if not len(self.ordered):
            return Interval(math.nan)
        middle, rank = float(np.median(self.ordered)), self.rank(confidence)
        if rank == 0:
            return Interval(middle)
        ends = float(self.ordered[rank - 1]), float(self.ordered[-rank])
        return Interval(middle, *ends, float(1 - 2 * self.tail[rank - 1]))

    def rank(self, confidence: float) -> int:
        """Return k of the k-th smallest and the k-th largest that have this confidence, 0 if none have."""
        return int(np.searchsorted(self.tail, (1 - confidence) / 2 + ROUNDING, side="right"))


def paired(differences: Array) -> Shift:
    """Return the shift of paired differences: the means of all pairs of them, and the signed-rank test."""
    d = np.asarray(differences, float)
    return Shift(np.sort(means_of_pairs(d)), _signed_rank_tail(len(d)))


def unpaired(ours: Array, theirs: Array) -> Shift:
    """Return the shift of one group against another: all differences, and the Mann-Whitney test."""
    differences = all_differences(np.asarray(ours, float), np.asarray(theirs, float))
    return Shift(np.sort(differences), _mann_whitney_tail(len(ours), len(theirs)))


def means_of_pairs(values: Array) -> Array:
    """Return the means of all pairs of n values, each with itself too, shape (n (n + 1) / 2,)."""
    first, second = _pairs(len(values))
    return (values[first] + values[second]) / 2


def all_differences(ours: Array, theirs: Array) -> Array:
    """Return each value of one group less each of another, shape (n m,)."""
    return np.asarray(np.subtract.outer(ours, theirs).ravel())


def paired_shift(differences: Array, confidence: float = CONFIDENCE) -> Interval:
    """Return the Hodges-Lehmann centre of paired differences: the median of the means of all pairs of them.

    Its interval inverts the signed-rank test; below six differences none covers with 95 %.
    """
    return paired(differences).interval(confidence)


def together(shifts: Sequence[Shift], confidences: Sequence[float]) -> list[Interval]:
    """Return the intervals of shifts that are looked at together, each of its confidence if it were alone.

    Of those that exclude 0, at most 5 % are expected to do so although nothing differs: the largest number of them that
    still exclude it when each may err by this number over all times 5 % (Benjamini & Hochberg 1995), and all intervals
    have that confidence (Benjamini & Yekutieli 2005). So an interval and the verdict on it never disagree.
    """
    intervals: list[Interval] = []
    for chosen in range(len(shifts), 0, -1):
        errors = ((1 - confidence) * chosen / len(shifts) for confidence in confidences)
        intervals = [shift.interval(1 - error) for shift, error in zip(shifts, errors, strict=True)]
        if sum(interval.excludes(0) for interval in intervals) >= chosen:
            break
    return intervals


def least_pairs(comparisons: int) -> int:
    """Return of how many pairs an interval can exclude 0, when so many comparisons are looked at together."""
    return next(count for count in itertools.count(LEAST_PAIRS) if 2.0 ** (1 - count) <= (1 - CONFIDENCE) / comparisons)


def false_discovery(p_values: Array) -> Array:
    """Return p-values adjusted for making many comparisons at once (Benjamini & Hochberg 1995), in the order given.

    Of the comparisons whose adjusted value is at most 0.05, at most 5 % are expected to be of equals.
    """
    p = np.asarray(p_values, float)
    order = np.argsort(p)[::-1]
    adjusted = np.minimum.accumulate(np.minimum(1, p[order] * len(p) / np.arange(len(p), 0, -1)))
    result = np.empty(len(p))
    result[order] = adjusted
    return result
