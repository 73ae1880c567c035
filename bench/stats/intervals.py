"""Intervals without assuming a distribution: for quantiles of dependent calls, and for ratios of two groups of starts.

Sources: order statistics (David & Nagaraja 2003, 7.1), moving blocks (Künsch 1989), bursts (Ferro & Segers 2003),
initial positive sequence (Geyer 1992), Hodges & Lehmann 1963.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

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
    """Return the 95 % interval of the ``p`` quantile, or None if the values are worth too few independent ones.

    values: in the order of the calls, which shows their bursts. starts: the start of each, in which calls follow each
    other; None: all of one. The interval holds for these starts only. It consists of order statistics, for as many
    independent values as these are worth: their number over how much bursts spread the number of slow calls, at the
    quantile and at both ends (``clustering``).
    """
    series = np.asarray(values)
    edges = np.flatnonzero(np.diff(np.zeros(len(series)) if starts is None else starts)) + 1
    ordered, bursts = np.sort(series), clustering(np.split(series > quantile(series, p), edges))
    first = _order_statistics(ordered, p, bursts)
    if first is None:
        return None
    at_ends = (clustering(np.split(series >= end, edges)) for end in first)
    return _order_statistics(ordered, p, max(bursts, *at_ends))


def _order_statistics(ordered: Array, p: float, bursts: float) -> tuple[float, float] | None:
    """Return the 95 % interval of a quantile of sorted values; None if they are worth too few."""
    n, worth = len(ordered), math.floor(len(ordered) / bursts)
    if worth < needed_samples(p, CONFIDENCE):
        return None
    tail = (1 - CONFIDENCE) / 2
    low, high = (math.ceil(special.bdtrik(q, worth, p)) for q in (tail, 1 - tail))
    first, last = math.floor(low * n / worth), math.ceil((high + 1) * n / worth)
    return float(ordered[max(first - 1, 0)]), float(ordered[min(last - 1, n - 1)])


BLOCK_BURSTS = 4  # a block is at least so many times as long as the longest burst: it then cuts few bursts in two


def clustering(is_slow: Sequence[Array]) -> float:
    """Return by how much bursts raise the variance of the number of slow calls, over that of independent calls; >= 1.

    is_slow: for each start a flag of each call, in the order of the calls. The variance is that of a moving-block
    bootstrap inside each start, in closed form: from all blocks of its calls in a circle (Künsch 1989; Politis &
    Romano 1992), without their bias of 1 - block length / calls.
    """
    n, count = sum(map(len, is_slow)), sum(map(np.count_nonzero, is_slow))
    if count < 2 or count == n:
        return 1.0
    longest = max(longest_burst(start) for start in is_slow)
    return max(1.0, sum(_variance(start, longest) for start in is_slow) / (count * (1 - count / n)))


def _variance(is_slow: Array, longest: int) -> float:
    """Return the variance of the number of slow calls of a start, whose bursts are up to so many calls long."""
    n = len(is_slow)
    length = min(max(BLOCK_BURSTS * longest, math.ceil(n ** (1 / 3))), n // 2)
    if not length:
        return 0.0
    until = np.concatenate([[0], np.cumsum(np.concatenate([is_slow, is_slow[:length]]))])
    in_block = until[length:][:n] - until[:n]
    return float(np.var(in_block)) * n / length / (1 - length / n)


def longest_burst(is_slow: Array) -> int:
    """Return how many calls the longest burst of slow calls spans, the calls taken in a circle; 0 of no slow call.

    The largest gaps between slow calls separate bursts; how many do follows from how unequal all gaps are: the
    intervals estimator of the extremal index (Ferro & Segers 2003).
    """
    n, places = len(is_slow), np.flatnonzero(is_slow)
    if len(places) < 2:
        return len(places)
    gaps = np.diff(places, append=places[0] + n).astype(float)
    index = 2 * (gaps - 1).sum() ** 2 / max(1.0, len(gaps) * ((gaps - 1) * (gaps - 2)).sum())
    bursts = math.floor(min(1.0, index) * len(gaps))
    if bursts == len(gaps):
        return 1
    last = np.flatnonzero(gaps > np.sort(gaps)[::-1][bursts])
    if not len(last):
        return n
    first = (np.roll(last, 1) + 1) % len(gaps)
    return int(((places[last] - places[first]) % n).max()) + 1


def autocorrelation(values: Array) -> Array:
    """Return the autocorrelation at lags 0 to n/2 of a series; all zero but the first where it does not vary."""
    series = np.asarray(values, float)
    series = series - series.mean()
    n = len(series)
    length = 2 ** math.ceil(math.log2(2 * n))
    covariance = np.fft.irfft(np.abs(np.fft.rfft(series, length)) ** 2, length)[: n // 2 + 1]
    if covariance[0] <= 0:
        return np.eye(1, n // 2 + 1)[0]
    return covariance / covariance[0]


def ranks(values: Array) -> Array:
    """Return the rank of each value; ties share their mean rank. One slow call then weighs no more than it should.

    The same as ``scipy.stats.rankdata``, without the seconds of CPU time that importing scipy.stats takes.
    """
    _, places, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def effective_size(values: Array) -> float:
    """Return how many independent values a series of calls is worth: n / (1 + 2 sum rho_k), on ranks.

    The sum ends where a pair of neighbouring lags is no longer positive (Geyer's initial positive sequence).
    """
    n = len(values)
    if n < 4:
        return float(n)
    rho = autocorrelation(ranks(values))
    pairs = rho[1 : 2 * ((len(rho) - 1) // 2) + 1].reshape(-1, 2).sum(axis=1)
    ends = np.flatnonzero(pairs <= 0)
    total = pairs[: ends[0] if len(ends) else None].sum()
    return float(min(n, n / (1 + 2 * max(0.0, total))))


def _signed_rank_tail(n: int) -> Array:
    """Return for each signed-rank sum 0 ... n(n+1)/2 how likely one up to it is between equals."""
    if n > EXACT:
        return _normal_tail(n * (n + 1) // 2, n * (n + 1) * (2 * n + 1) / 24)
    counts = np.zeros(n * (n + 1) // 2 + 1)
    counts[0] = 1
    for rank in range(1, n + 1):
        counts[rank:] = counts[rank:] + counts[: len(counts) - rank]
    return np.cumsum(counts) / counts.sum()


def _mann_whitney_tail(n: int, m: int) -> Array:
    """Return for each Mann-Whitney count 0 ... n m how likely one up to it is between equals.

    Exact by the Gaussian binomial coefficients, which are whole numbers, while these are small enough.
    """
    if max(n, m) > EXACT:
        return _normal_tail(n * m, n * m * (n + m + 1) / 12)
    counts = [1] + [0] * (n * m)
    for i in range(1, m + 1):  # times (1 - q^(n+i)) / (1 - q^i)
        for place in range(n * m, n + i - 1, -1):
            counts[place] -= counts[place - n - i]
        for place in range(i, n * m + 1):
            counts[place] += counts[place - i]
    total = sum(counts)
    return np.array([below / total for below in itertools.accumulate(counts)])


def _normal_tail(most: int, variance: float) -> Array:
    """Return P(sum <= 0 ... ``most``) by the normal approximation, with continuity correction, shape (most + 1,)."""
    return np.asarray(special.ndtr((np.arange(most + 1) + 0.5 - most / 2) / math.sqrt(variance)))


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
        middle = float(np.median(self.ordered))
        cut = int(np.searchsorted(self.tail, (1 - confidence) / 2, side="right"))
        if cut == 0:
            return Interval(middle)
        ends = float(self.ordered[cut - 1]), float(self.ordered[-cut])
        return Interval(middle, *ends, float(1 - 2 * self.tail[cut - 1]))


def paired(differences: Array) -> Shift:
    """Return the shift of paired differences: the means of all pairs of them, and the signed-rank test."""
    d = np.asarray(differences, float)
    first, second = np.triu_indices(len(d))
    return Shift(np.sort((d[first] + d[second]) / 2), _signed_rank_tail(len(d)))


def unpaired(ours: Array, theirs: Array) -> Shift:
    """Return the shift of one group against another: all differences, and the Mann-Whitney test."""
    differences = np.subtract.outer(np.asarray(ours, float), np.asarray(theirs, float)).ravel()
    return Shift(np.sort(differences), _mann_whitney_tail(len(ours), len(theirs)))


def paired_shift(differences: Array, confidence: float = CONFIDENCE) -> Interval:
    """Return the Hodges-Lehmann centre of paired differences: the median of the means of all pairs of them.

    Its interval inverts the signed-rank test; below six differences none covers with 95 %.
    """
    return paired(differences).interval(confidence)


def shift(ours: Array, theirs: Array, confidence: float = CONFIDENCE) -> Interval:
    """Return the Hodges-Lehmann shift of one group against another, and its Mann-Whitney interval."""
    return unpaired(ours, theirs).interval(confidence)


def together(shifts: Sequence[Shift], confidences: Sequence[float]) -> list[Interval]:
    """Return the intervals of shifts that are looked at together, each of its confidence if it were alone.

    Of those that exclude 0, at most 5 % are expected to do so although nothing differs: the largest number of them that
    still exclude it when each may err by this number over all times 5 % (Benjamini & Hochberg 1995), and all intervals
    have that confidence (Benjamini & Yekutieli 2005). So an interval and the verdict on it never disagree.
    """
    found: list[Interval] = []
    for chosen in range(len(shifts), 0, -1):
        errors = ((1 - confidence) * chosen / len(shifts) for confidence in confidences)
        found = [of.interval(1 - error) for of, error in zip(shifts, errors, strict=True)]
        if sum(one.excludes(0) for one in found) >= chosen:
            break
    return found


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
