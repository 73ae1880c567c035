"""Looks at results while they are measured, fixed beforehand, so that stopping at one of them keeps 95 % coverage.

An interval that is looked at until it is narrow enough covers less often than it says. Here the error of 5 % is spent
over the looks (Lan & DeMets 1983, "Discrete sequential boundaries for clinical trials", Biometrika 70): the intervals
of all looks together cover with 95 %, so that the one at which the measurement stops does, whatever made it stop
(repeated confidence intervals: Jennison & Turnbull 1989, J. R. Stat. Soc. B 51).
"""

import functools
import itertools
import math

import numpy as np
from scipy import special

from bench.stats.intervals import CONFIDENCE
from bench.stats.quantiles import Array

FIRST = 12  # blocks until the first look
GROWTH = 1.5  # so many times as many until the next one
NODES = 96  # of the Gauss-Legendre quadrature between two bounds


def looks(maximum: int) -> tuple[int, ...]:
    """Return after how many blocks results are looked at: 12, 18, 27, ..., and after all ``maximum``."""
    counts = itertools.accumulate(itertools.repeat(FIRST), lambda blocks, _: math.ceil(GROWTH * blocks))
    return (*itertools.takewhile(lambda blocks: GROWTH * blocks <= maximum, counts), maximum)


@functools.lru_cache(64)
def confidences(maximum: int) -> tuple[float, ...]:
    """Return the confidence of one interval at each of ``looks(maximum)``: all of them cover with 95 % together."""
    limits = bounds([blocks / maximum for blocks in looks(maximum)])
    return tuple(1 - 2 * float(special.ndtr(-bound)) for bound in limits)


def spent(share: float, error: float) -> float:
    """Return the part of the error that is spent when a share of all blocks is measured: Pocock-like.

    error * ln(1 + (e - 1) * share), Lan & DeMets 1983: about the same bound at each look.
    """
    return error * math.log1p((math.e - 1) * share)


def bounds(shares: list[float], error: float = 1 - CONFIDENCE) -> list[float]:
    """Return the two-sided bound of a standard normal statistic at each look, at these shares of all blocks.

    The sum of normal increments leaves the bounds for the first time at a look with the error spent since the look
    before it (Armitage, McPherson & Rowe 1969): its density inside them is carried on by quadrature.
    """
    limits: list[float] = []
    sums, density, before = np.zeros(1), np.ones(1), 0.0  # of the sum at the look before, times quadrature weights
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    for share in shares:
        step = math.sqrt(share - before)
        bound = _bound(sums, density, step, spent(share, error) - spent(before, error))
        at = bound * nodes
        inside = np.exp(-(((at[:, None] - sums) / step) ** 2) / 2) @ density / step / math.sqrt(2 * math.pi)
        sums, density, before = at, inside * bound * weights, share
        limits.append(bound / math.sqrt(share))
    return limits


def _bound(sums: Array, density: Array, step: float, error: float) -> float:
    """Return the bound that a sum leaves with this probability in a step of this standard deviation: bisection."""
    low, high = 0.0, 12.0
    for _ in range(60):
        middle = (low + high) / 2
        leaves = (special.ndtr((sums - middle) / step) + special.ndtr((-middle - sums) / step)) @ density
        low, high = (middle, high) if leaves > error else (low, middle)
    return (low + high) / 2
