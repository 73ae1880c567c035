"""Which cases repeat the class lab, and which add client after client."""

import pandas as pd

from bench.run.frames import Run


def bursts(run: Run) -> pd.DataFrame:
    """Return the cases that repeat the lab: a limited number of calls."""
    return run.cases_with(is_short=True)


def grown(run: Run) -> pd.DataFrame:
    """Return the cases with more and more clients, by their number."""
    return run.cases_with(is_short=False).sort_values("clients")
