"""Effects of several machines or occasions, pooled: the random-effects model, by the method of moments.

Sources: DerSimonian & Laird 1986 (the variance between machines), Hartung & Knapp 2001 (the interval), Higgins,
Thompson & Spiegelhalter 2009 (the prediction interval), Paule & Mandel 1982 (the variance between occasions).
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


@dataclass(frozen=True)
class Prediction:
    """What another occasion will measure, from k occasions, on the scale of their effects.

    low, high: the 95 % prediction interval of the effect that it measures, NaN for fewer than three occasions.
    tau: the standard deviation of the true effects between occasions.
    """

    k: int
    middle: float
    low: float
    high: float
    tau: float

    @property
    def has_ends(self) -> bool:
        """Whether there were enough occasions for an interval."""
        return not math.isnan(self.low)


LEAST_ERROR = 1e-9  # of an effect; a baseline's over itself has none


def predict(effects: Sequence[float], errors: Sequence[float]) -> Prediction:
    """Return what one more occasion will measure, from effects with these standard errors.

    mean +- t(k-1) sqrt(tau2 + error of the mean^2 + error of the new effect^2), the new effect being as exact as these
    are in the mean: exact for effects of equal errors, where it is that of one more value of a normal sample. Unlike
    ``pool``, which predicts a true effect, it is compared with what is measured.
    """
    y, v = np.asarray(effects, float), np.maximum(np.asarray(errors, float), LEAST_ERROR) ** 2
    k, tau2 = len(y), paule_mandel(y, v)
    weights = 1 / (v + tau2)
    middle, half = float(np.average(y, weights=weights)), math.nan
    if k >= LEAST_MACHINES:
        variance = tau2 + 1 / float(weights.sum()) + float(v.mean())
        half = float(special.stdtrit(k - 1, UPPER)) * math.sqrt(variance)
    return Prediction(k, middle, middle - half, middle + half, math.sqrt(tau2))


def paule_mandel(y: Array, v: Array) -> float:
    """Return the variance between effects with these variances, by the method of Paule and Mandel; never below 0.

    The variance at which Cochran's Q is what it is expected to be, k - 1; found by Newton's method, which comes from
    below (DerSimonian & Kacker 2007). With it the factor of Hartung and Knapp is 1.
    """
    tau2 = 0.0
    for _ in range(100):
        weights = 1 / (v + tau2)
        off = y - np.average(y, weights=weights)
        excess = float(np.sum(weights * off**2)) - (len(y) - 1)
        if excess <= 1e-9 * len(y):
            break
        tau2 += excess / float(np.sum((weights * off) ** 2))
    return tau2


def times(logarithm: float) -> float:
    """Return exp(log), clipped so that it stays finite."""
    return math.exp(max(-700.0, min(700.0, logarithm)))


def spoken(low: float, high: float) -> str:
    """Return the ratios between two logarithms in words."""
    return f"{times(low):.2f} to {times(high):.3g}"


def standard_error(found: Interval, starts: int) -> float:
    """Return the standard error of an interval from so many starts: half its width over Student's t."""
    return (found.high - found.low) / 2 / float(special.stdtrit(starts - 1, (1 + found.confidence) / 2))
