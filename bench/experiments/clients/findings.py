"""Which cases repeat the class lab, and which add client after client."""

import pandas as pd

from bench.run.frames import Run


def bursts(run: Run) -> pd.DataFrame:
    """Return the cases that repeat the lab: a limited number of calls."""
    return run.cases[[run.plan.cases[case].is_short for case in run.cases.index]]


def grown(run: Run) -> pd.DataFrame:
    """Return the cases with more and more clients, by their number."""
    return run.cases[[not run.plan.cases[case].is_short for case in run.cases.index]].sort_values("clients")
