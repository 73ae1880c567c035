"""How late the requests of open loads were sent on idle connections, an error of the load generator; and its limit."""

import math
from collections.abc import Iterable

from bench.analysis.overload import RESPONSE
from bench.analysis.quantiles import Quantile, quantile
from bench.run.frames import Run

MOST_LATE = 0.1  # the p99 lateness over the median response time of its case


def lateness(run: Run, cases: Iterable[int]) -> dict[int, Quantile]:
    """Return the p99 lateness of the cases that have enough requests for it, by case."""
    quantiles = {case: quantile(run, case, 0.99, "lag") for case in cases}
    return {case: late for case, late in quantiles.items() if not math.isnan(late.value)}


def limit_us(run: Run, case: int) -> float:
    """Return how late requests of a case may be sent, in us."""
    return MOST_LATE * float(run.cases.loc[case, RESPONSE])
