"""How calls per second grow with the clients, and bits per second with the size of a message."""

import itertools

import pandas as pd

from bench.experiments.claims import above
from bench.grammar.contrast import RATE, Ratio, ratio
from bench.run.frames import Run, number_of, numbered

BITS = "rate_mbit_per_s"


def sweeps(run: Run) -> list[pd.DataFrame]:
    """Return the cases of parallel clients, one frame for each transport."""
    return [rows for _, rows in run.round_trips().groupby("transport", sort=False)]


def ends(rows: pd.DataFrame) -> tuple[int, int]:
    """Return the case with the fewest clients, and the one with the highest median rate."""
    return number_of(rows["clients"].idxmin()), number_of(rows["rate_per_s"].idxmax())


def growth(run: Run, rows: pd.DataFrame) -> Ratio:
    """Return how many times the calls per second of the fewest clients the best number of clients makes."""
    return ratio(run, *ends(rows), RATE)


def ratios(run: Run) -> list[Ratio]:
    """Return the growth over each transport that has one."""
    return [growth(run, rows) for rows in sweeps(run) if len(set(ends(rows))) == 2]


def bits_rise(run: Run) -> dict[str, bool | None]:
    """Return by transport whether each larger message makes more bits per second; None: not distinguishable."""
    found: dict[str, bool | None] = {}
    for transport, rows in run.cases_with(load="stream").groupby("transport", sort=False):
        cases = [case for case, _ in numbered(rows.sort_values("payload_bytes"))]
        more = [above(ratio(run, small, large, BITS)) for small, large in itertools.pairwise(cases)]
        if more:
            found[str(transport)] = False if False in more else None if None in more else True
    return found
