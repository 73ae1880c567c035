"""Steady state of a start: change points of its time series, a label, and where to cut the warm-up.

Source: Barrett et al. 2017, "Virtual Machine Warmup Blows Hot and Cold": change points, labels by segments.
"""

import functools
import itertools
import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from bench.stats.quantiles import Array

BINS = 250
SHORTEST = 5  # bins of a segment
PENALTY = 15.0  # times ln(bins), for unit noise
SAME = 0.05  # segments whose levels differ by less than this share are one
FLAT, WARM_UP, SLOW_DOWN, UNSETTLED = "flat", "warm-up", "slow-down", "not in steady state"


@dataclass(frozen=True)
class Settling:
    """Steady state of one start: its label, the first call of the steady part, and the level (median) of each segment.

    cut: index of the first steady call, 0 where all are steady. levels: in the unit of the values, first to last.
    """

    label: str
    cut: int
    levels: tuple[float, ...]


def bins(values: Array, max_bins: int = BINS) -> tuple[Array, Array]:
    """Return the medians of at most ``max_bins`` runs of about equal length, and the index at which each begins."""
    values = np.asarray(values, float)
    count = min(max_bins, len(values))
    edges = np.linspace(0, len(values), count + 1).astype(int)
    return np.array([np.median(values[begin:end]) for begin, end in itertools.pairwise(edges)]), edges[:-1]


def settle(values: Array) -> Settling:
    """Return the steady state of one start's times, in the order of their calls."""
    middles, begins = bins(values)
    if len(middles) < 10:
        return Settling(FLAT, 0, (float(np.median(values)),) if len(values) else ())
    edges = [0, *change_points(middles)]
    levels = [float(np.median(middles[begin:end])) for begin, end in itertools.pairwise(edges)]
    first = _begin_of_last_level(levels)
    cut, steady = edges[first], float(np.median(middles[edges[first] :]))
    if len(middles) - cut < len(middles) / 2:
        label = UNSETTLED
    elif cut == 0:
        label = FLAT
    else:
        label = WARM_UP if np.median(middles[:cut]) > steady else SLOW_DOWN
    return Settling(label, int(begins[cut]), tuple(levels))


def change_points(series: Array) -> list[int]:
    """Return the ends of the segments of a series (the last is its length): least squares plus a penalty for each.

    The optimal partition (Jackson et al. 2005), which PELT finds too; of at most ``BINS`` values it needs no pruning.
    """
    noise = np.median(np.abs(np.diff(series))) / (0.6745 * math.sqrt(2))
    if noise <= 0:
        noise = np.std(series) or 1.0
    capped = np.clip((series - np.median(series)) / noise, -8, 8)  # a lone slow bin is no new level
    return _partition(capped, PENALTY * math.log(len(series)))


def _partition(series: Array, price: float) -> list[int]:
    """Return the ends of the segments that make squared error plus ``price`` a segment least."""
    n = len(series)
    sums, squares = (np.concatenate([[0.0], np.cumsum(part)]) for part in (series, series**2))
    error = _errors(sums, squares)
    best, begin = np.full(n + 1, np.inf), [0] * (n + 1)
    best[0] = -price
    for end in range(SHORTEST, n + 1):
        until = end - SHORTEST + 1
        total = best[:until] + error[end, :until]
        total += price
        begin[end] = first = int(total.argmin())
        best[end] = total[first]
    ends = [n]
    while begin[ends[-1]] > 0:
        ends.append(begin[ends[-1]])
    return ends[::-1]


def _errors(sums: Array, squares: Array) -> Array:
    """Return the squared error of the segment from each begin (column) to each end (row), which comes after it."""
    explained = sums[:, None] - sums
    np.square(explained, out=explained)
    explained /= _lengths(len(sums))
    error = squares[:, None] - squares
    error -= explained
    return error


@functools.lru_cache(4)
def _lengths(count: int) -> Array:
    """Return the length of the segment from each begin (column) to each end (row), at least 1."""
    places = np.arange(count)
    return np.maximum(places[:, None] - places, 1)


def _begin_of_last_level(levels: list[float]) -> int:
    """Return the first of the segments at the end that are as high as the last, within ``SAME``."""
    first = len(levels) - 1
    while first and abs(levels[first - 1] - levels[-1]) <= SAME * levels[-1]:
        first -= 1
    return first


def drift(values: Array, times: Array) -> float:
    """Return how far the level moves over the window, as a share of the median: Theil-Sen slope times the window.

    The same slope as ``scipy.stats.theilslopes``, without the seconds of CPU time that importing scipy.stats takes.
    """
    middles, begins = bins(values, 200)
    if len(middles) < 3 or not np.median(middles):
        return 0.0
    at = np.asarray(times, float)[begins]
    if at[-1] <= at[0]:
        return 0.0
    first, second = np.triu_indices(len(middles), 1)
    apart = at[second] > at[first]  # calls of several hosts can have one time
    first, second = first[apart], second[apart]
    slope = np.median((middles[second] - middles[first]) / (at[second] - at[first]))
    return float(slope * (at[-1] - at[0]) / np.median(middles))


def agree(drifts: Array, cases: int) -> bool:
    """Return whether the starts of a case agree that its level moves: Student's t, 5 % shared by all ``cases``."""
    if len(drifts) < 3 or not np.std(drifts):
        return bool(len(drifts) and np.mean(drifts))
    t = abs(float(np.mean(drifts))) / float(np.std(drifts, ddof=1)) * len(drifts) ** 0.5
    return bool(t > special.stdtrit(len(drifts) - 1, 1 - 0.025 / cases))
