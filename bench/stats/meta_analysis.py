"""Effects of several machines, pooled: the random-effects model, by the method of moments.

Sources: DerSimonian & Laird 1986 (the variance between machines), Hartung & Knapp 2001 (the interval).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from bench.stats.intervals import CONFIDENCE, Interval
from bench.stats.quantiles import Array

UPPER = (1 + CONFIDENCE) / 2
LEAST_MACHINES = 3  # with fewer no prediction is possible, and an interval hardly


@dataclass(frozen=True)
class Pool:
    """Pooled estimate of k effects, on their own scale (here: ln of a ratio).

    middle: the mean of the effects of machines like these. error: its standard error. low, high: its 95 % interval.
    tau2: the variance of true effects between machines. q: Cochran's heterogeneity. i2: the share of the variance
    that is between machines. predicted: the 95 % prediction interval of what one more machine measures;
    None for fewer than three.
    """

    k: int
    middle: float
    error: float
    low: float
    high: float
    tau2: float
    q: float
    i2: float
    predicted: tuple[float, float] | None


def pool(effects: Sequence[float], errors: Sequence[float]) -> Pool:
    """Return the pool of effects with these standard errors, all above 0; one effect alone stays what it is."""
    y, v = np.asarray(effects, float), np.asarray(errors, float) ** 2
    q, tau2 = heterogeneity(y, v)
    weights = 1 / (v + tau2)
    middle = float(np.average(y, weights=weights))
    error = 1 / math.sqrt(weights.sum())
    k = len(y)
    spread = float(np.sum(weights * (y - middle) ** 2)) / (k - 1) if k > 1 else 0.0
    wide = float(special.stdtrit(k - 1, UPPER)) if k > 1 else float(special.ndtri(UPPER))
    half = wide * error * max(1.0, math.sqrt(spread))
    i2 = max(0.0, 1 - (k - 1) / q) if q > 0 else 0.0
    low, high = middle - half, middle + half
    predicted = _predicted(y)
    if predicted:  # one machine is known no better than their mean
        predicted = min(predicted[0], low), max(predicted[1], high)
    return Pool(k, middle, error, low, high, tau2, q, i2, predicted)


def _predicted(y: Array) -> tuple[float, float] | None:
    """Return the 95 % prediction interval of what one more machine measures; None for fewer than three machines.

    By what the machines measured, as it is: an interval of the variance between them alone collapses where this is
    estimated as 0, which it often is.
    """
    k = len(y)
    if k < LEAST_MACHINES:
        return None
    ahead = float(special.stdtrit(k - 1, UPPER)) * float(np.std(y, ddof=1)) * math.sqrt(1 + 1 / k)
    return float(y.mean()) - ahead, float(y.mean()) + ahead


def heterogeneity(y: Array, v: Array) -> tuple[float, float]:
    """Return Cochran's Q of effects with these variances, and the variance between them; never below 0."""
    weights = 1 / v
    if len(y) < 2:
        return 0.0, 0.0
    q = float(np.sum(weights * (y - np.average(y, weights=weights)) ** 2))
    scale = float(weights.sum() - (weights**2).sum() / weights.sum())
    return q, max(0.0, (q - (len(y) - 1)) / scale)


def standard_error(interval: Interval, starts: int) -> float:
    """Return the standard error of an interval from so many starts: half its width over Student's t."""
    return (interval.high - interval.low) / 2 / float(special.stdtrit(starts - 1, (1 + interval.confidence) / 2))
