"""Effects of several machines, pooled: the random-effects model, by the method of moments.

Sources: DerSimonian & Laird 1986 (the variance between machines), Hartung & Knapp 2001 (the interval), Higgins,
Thompson & Spiegelhalter 2009 (the prediction interval).
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
    that is between machines. predicted: the 95 % prediction interval of one more machine; None for fewer than three.
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
    ahead = float(special.stdtrit(k - 2, UPPER)) * math.sqrt(tau2 + error**2) if k >= LEAST_MACHINES else 0.0
    predicted = (middle - ahead, middle + ahead) if k >= LEAST_MACHINES else None
    return Pool(k, middle, error, middle - half, middle + half, tau2, q, i2, predicted)


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
