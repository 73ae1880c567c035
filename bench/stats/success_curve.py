"""At which rate tries still succeed: a logistic curve of success against the rate, from single tries at a few rates.

The posterior on a grid (a flat prior of ln(rate) at half success, and of ln of the curve's width): it has an interval
also where the tries do not overlap, which maximum likelihood has not. Which rates are tried next may depend on earlier
tries. Source: Kuss, Jäkel & Wichmann 2005, "Bayesian inference for psychometric functions", Journal of Vision 5.
"""

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from bench.stats.intervals import CONFIDENCE, Interval
from bench.stats.quantiles import Array

WIDTHS = (0.01, 1.0)  # in ln(rate), by which success falls from 73 % to 50 %: sharp, and over half a decade
BEYOND = math.log(4)  # how far below and above the rates that were tried the curve may lie
GRID = 161
LAPSES = (1, 2, 4)  # shares of the tries that fail at any rate, each a multiple of the share that may fail


def rate_of_success(rates: Sequence[float], succeeded: Sequence[bool], share: float) -> Interval:
    """Return the rate at which this share of all tries succeeds, with its 95 % interval; NaN of no tries.

    NaN, too, if the tries fit better to failures at any rate, so many that no rate has this share of successes.
    """
    if not len(rates):
        return Interval(math.nan)
    logs, wins = np.log(np.asarray(rates, float)), np.asarray(succeeded, bool)
    half = np.linspace(logs.min() - BEYOND, logs.max() + BEYOND, 2 * GRID)[:, None]
    width = np.geomspace(*WIDTHS, GRID)[None, :]
    success = [special.expit((half - ln) / width) for ln in logs]
    lapses = [0.0, *(times * (1 - share) for times in LAPSES if times * (1 - share) < 1)]
    logs_of_lapses = np.array([_log_likelihood(success, wins, lapse) for lapse in lapses])
    weights, *lapsing = np.exp(logs_of_lapses - logs_of_lapses.max())
    if np.mean(lapsing) > weights.mean():
        return Interval(math.nan)
    values = (half - width * special.logit(share)).ravel()
    order = np.argsort(values)
    covered = np.cumsum(weights[order]) / weights.sum()
    tail = (1 - CONFIDENCE) / 2
    low, middle, high = (float(values[order][np.searchsorted(covered, p)]) for p in (tail, 0.5, 1 - tail))
    return Interval(math.exp(middle), math.exp(low), math.exp(high))


def _log_likelihood(success: Sequence[Array], wins: Array, lapse: float) -> Array:
    """Return ln of the likelihood of the tries on the grid, if this share of them fails at any rate."""
    chances = ((1 - lapse) * p if won else 1 - (1 - lapse) * p for p, won in zip(success, wins, strict=True))
    return np.sum([np.log(np.maximum(chance, 1e-12)) for chance in chances], axis=0).ravel()


def share_of_successes(count: int, tries: int) -> Interval:
    """Return the chance of success with its exact 95 % interval (Clopper & Pearson 1934), from a number of tries."""
    tail = (1 - CONFIDENCE) / 2
    low = float(special.betaincinv(count, tries - count + 1, tail)) if count else 0.0
    high = float(special.betaincinv(count + 1, tries - count, 1 - tail)) if count < tries else 1.0
    return Interval(count / tries if tries else math.nan, low, high)


def chance_of_so_few(count: int, tries: int, others_count: int, others_tries: int) -> float:
    """Return the chance of so few successes or fewer among these tries, if all tries are equally likely to succeed.

    The one-sided exact test of Fisher (1935): the total of successes is given. NaN without tries.
    """
    total, all_tries = count + others_count, tries + others_tries
    ways = [math.comb(tries, k) * math.comb(others_tries, total - k) for k in range(total + 1)]
    return sum(ways[: count + 1]) / math.comb(all_tries, total) if tries and others_tries else math.nan
