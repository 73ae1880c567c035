"""Nested variance components.

Source: Kalibera & Jones 2013, "Rigorous Benchmarking in Reasonable Time". Levels from inner to outer: calls in a
window, windows (here: parts of a window) in a start, starts.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.stats.quantiles import Array


@dataclass(frozen=True)
class Components:
    """The variance between the parts of a window (T_1^2), and between starts apart from it (T_2^2)."""

    parts: float
    starts: float

    @property
    def share(self) -> float:
        """The share of the starts in the whole variance."""
        total = self.parts + self.starts
        return self.starts / total if total else 0.0


def nested(starts: Sequence[Array]) -> Components:
    """Return the variance components of values measured several times in each of several starts.

    S_1^2 is the mean variance inside a start, S_2^2 the variance of the starts' means; T_1^2 = S_1^2,
    T_2^2 = S_2^2 - S_1^2 / r with r values a start; a negative one is 0.
    """
    inside = float(np.mean([np.var(values, ddof=1) for values in starts]))
    outside = float(np.var([np.mean(values) for values in starts], ddof=1))
    repeats = float(np.mean([len(values) for values in starts]))
    return Components(inside, max(0.0, outside - inside / repeats))
