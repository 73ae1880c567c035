"""The two cases, and the comparisons of B and of A again with A."""

from bench.analysis.comparison import Comparison, compare_cases
from bench.run.frames import Run, once

A, AGAIN, B = 0, 1, 2  # the cases of the plan


@once
def pairs(run: Run) -> dict[str, list[Comparison]]:
    """Return the comparisons of B with A, and of A with itself."""
    return {"B": compare_cases(run, A, B), "A again": compare_cases(run, A, AGAIN)}
