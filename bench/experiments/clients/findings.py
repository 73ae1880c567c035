"""Which cases repeat the class lab, which add client after client, and how many times one client's calls they make."""

import pandas as pd

from bench.experiments.case_ratios import RATE, Ratio, ratio
from bench.run.frames import Run, number_of


def bursts(run: Run) -> pd.DataFrame:
    """Return the cases that repeat the lab: a limited number of calls."""
    return run.cases_with(is_short=True)


def grown(run: Run) -> pd.DataFrame:
    """Return the cases with more and more clients for a whole window, by their number."""
    return run.cases_with(is_short=False).sort_values("clients")


def gain(run: Run, rows: pd.DataFrame, clients: int) -> Ratio | None:
    """Return how many times one client's calls per second some clients make under one load, or None if not measured.

    rows: ``bursts(run)`` or ``grown(run)``; the two are different loads, and their ratios differ.
    """
    cases = {int(row["clients"]): number_of(case) for case, row in rows.iterrows()}
    return ratio(run, cases[1], cases[clients], RATE) if {1, clients} <= cases.keys() else None


def best(run: Run) -> int:
    """Return the number of clients with the highest median rate over a whole window."""
    rows = grown(run)
    return int(rows.loc[rows["rate_per_s"].idxmax(), "clients"])


def ratios(run: Run) -> list[Ratio]:
    """Return the gain of two clients in a burst, and of two and of the best number in a whole window."""
    wanted = [(bursts(run), 2), *((grown(run), clients) for clients in dict.fromkeys((2, best(run))) if clients > 1)]
    return [multiple for rows, clients in wanted if (multiple := gain(run, rows, clients))]


def first_calls_us(run: Run) -> "pd.Series[float]":
    """Return the time of the first call, which connects, of each start of one client, in us."""
    return run.ledger.loc[run.ledger["clients"] == 1, "first_rtt_ns"] / 1e3
