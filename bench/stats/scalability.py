"""Throughput against workers: Amdahl's law and the universal scalability law, fitted where there are enough points.

Sources: Amdahl 1967; Gunther 2007, "Guerrilla Capacity Planning", chapter 4.
"""

import functools
from dataclasses import dataclass

import numpy as np

from bench.stats.quantiles import Array

LEAST_POINTS = 6


@dataclass(frozen=True)
class Fit:
    """A fitted law: one worker's rate, the serial share (contention), the cost of each pair of workers (coherency).

    Without coherence this is Amdahl's law.
    """

    one: float
    contention: float
    coherence: float

    def rates(self, workers: Array) -> Array:
        """Return the rate for numbers of workers."""
        return law(np.asarray(workers, float), self.one, self.contention, self.coherence)


def law(workers: Array, rate: float, contention: float, coherence: float) -> Array:
    """Return the universal scalability law: one N / (1 + contention (N - 1) + coherence N (N - 1))."""
    return rate * workers / (1 + contention * (workers - 1) + coherence * workers * (workers - 1))


def why_not(workers: Array, cores: int) -> str | None:
    """Return why no law is fitted, or None: it has three parameters, and holds for workers that can run in parallel."""
    points = len(np.unique(workers))
    if points < LEAST_POINTS:
        return f"{points} numbers of workers; a fit needs {LEAST_POINTS}"
    if cores < LEAST_POINTS:
        return f"{cores} CPUs; a fit needs {LEAST_POINTS}, because more workers than CPUs take turns"
    return None


def fit(workers: Array, rates: Array, amdahl: bool = False) -> Fit:
    """Return the least-squares fit with parameters >= 0, the serial share at most 1; ``amdahl``: without coherency."""
    from scipy.optimize import curve_fit

    x, y = np.asarray(workers, float), np.asarray(rates, float)
    single = float(np.median(y / x))
    start, most = [single, 0.05, 0.001], [np.inf, 1, np.inf]
    if amdahl:
        of_amdahl = functools.partial(law, coherence=0.0)
        fitted, _ = curve_fit(of_amdahl, x, y, p0=start[:2], bounds=(0, most[:2]))
    else:
        fitted, _ = curve_fit(law, x, y, p0=start, bounds=(0, most))
    return Fit(*(float(value) for value in [*fitted, 0.0][:3]))
