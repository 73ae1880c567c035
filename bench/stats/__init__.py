"""Pure functions of arrays, each with one definition, tested with exact answers.

Quantiles and rates have their names here: ``stats.quantile``, ``stats.closed_rate``. What is larger is a module:
``intervals``, ``steady_state``, ``queueing``, ``scalability``, ``meta_analysis``.
"""

from bench.stats.quantiles import (
    LEAST_STARTS,
    QUANTILES,
    Array,
    Spread,
    Text,
    across_starts,
    carried,
    coverage,
    distribution,
    needed_samples,
    quantile,
)
from bench.stats.rates import closed_rate, corrected, stream_rate, warm_up_ns
