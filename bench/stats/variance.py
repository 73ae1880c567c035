"""Nested variance components.

Source: Kalibera & Jones 2013, "Rigorous Benchmarking in Reasonable Time". Levels from inner to outer: calls in a
window, windows (here: parts of a window) in a start, starts.
"""

from collections.abc import Sequence

import numpy as np

from bench.stats.quantiles import Array


def share_between(starts: Sequence[Array]) -> float:
    """Return the share of the variance that is between starts, of values measured several times in each of them.

    S_1^2 is the mean variance inside a start, S_2^2 the variance of the starts' means; T_1^2 = S_1^2,
    T_2^2 = S_2^2 - S_1^2 / r with r values a start, a negative one is 0; the share is T_2^2 / (T_1^2 + T_2^2).
    """
    inside = float(np.mean([np.var(values, ddof=1) for values in starts]))
    repeats = float(np.mean([len(values) for values in starts]))
    between = max(0.0, float(np.var([np.mean(values) for values in starts], ddof=1)) - inside / repeats)
    return between / (inside + between) if inside + between else 0.0
