"""How the lower end of a search for a capacity is confirmed: by which starts, and how many of them have to meet it."""

import math
from dataclasses import dataclass

from scipy import special

from bench.plan import parameters

USUAL, MLPERF, FIXED = "usual", "mlperf", "fixed"
MULTIPLE = 2**13  # to which MLPerf rounds numbers of requests up


@dataclass(frozen=True)
class Rule:
    """Further starts at the rate that others chose.

    starts: how many. requests: of each, 0: as many as a probe has. needs_all: whether all of them have to meet the
    objective, or most.
    """

    name: str
    starts: int
    requests: int = 0
    needs_all: bool = False

    def window_s(self, rate: float) -> float:
        """Return how long a start takes to send its requests at a rate, in s."""
        return self.requests / rate


def rule(name: object, starts: int, p: float) -> Rule:
    """Return a rule by its name: ``usual`` or ``fixed`` with so many starts, or ``mlperf`` for the ``p`` quantile.

    ``fixed`` searches no rate: it has these starts at the first one.
    """
    if (chosen := parameters.one_name(name, "rule", (USUAL, MLPERF, FIXED))) != MLPERF:
        return Rule(chosen, starts)
    return Rule(MLPERF, 5, MULTIPLE * math.ceil(mlperf_requests(p) / MULTIPLE), needs_all=True)


def mlperf_requests(p: float) -> float:
    """Return from how many requests MLPerf takes a ``p`` quantile: n = z^2 p (1 - p) / m^2.

    The share of requests below the limit is then known with 99 % confidence within the margin m = (1 - p) / 20
    (Reddi et al., "MLPerf Inference Benchmark", ISCA 2020, section 4.3; its server scenario has five runs).
    """
    z, margin = float(special.ndtri(1 - 0.01 / 2)), (1 - p) / 20
    return z**2 * p * (1 - p) / margin**2
