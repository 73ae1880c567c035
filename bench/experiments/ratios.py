"""A ratio of two cases in words: the estimate, and its confidence interval where there is one."""

from bench.stats.intervals import Interval


def times(found: Interval) -> str:
    """Return "1.90 times (95 % CI 1.70 to 2.10)", for ``bench.analysis.comparison.effect``."""
    if found.middle != found.middle:
        return "an unknown number of times"
    ends = f" ({found.confidence:.0%} CI {found.low:.2f} to {found.high:.2f})" if found.low == found.low else ""
    return f"{found.middle:.2f} times{ends}"
