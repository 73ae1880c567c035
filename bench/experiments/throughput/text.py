"""Sentences of throughput.ipynb: the highest one-way rates, the growth with clients, and its limit."""

import pandas as pd

from bench.experiments.sentences import clients_of, why_not_more
from bench.experiments.throughput.findings import ends, growth, sweeps
from bench.run.frames import Run
from bench.text import paragraphs, quantity


def conclusion(run: Run) -> str:
    """Return the highest one-way rates, the growth with parallel clients over each transport, and what limited it."""
    return paragraphs(_streams(run), *(_limit(run, rows) for rows in sweeps(run)))


def _streams(run: Run) -> str:
    cases = run.cases_with(load="stream")
    if cases.empty:
        return ""
    most, widest = cases.loc[cases["rate_per_s"].idxmax()], cases.loc[cases["rate_mbit_per_s"].idxmax()]
    return (
        f"One-way: the highest message rate is {quantity(most['rate_per_s'])} messages/s ({most['transport']}, "
        f"{most['payload_bytes']:,} B); the highest bit rate is {widest['rate_mbit_per_s']:,.0f} Mb/s "
        f"({widest['transport']}, {widest['payload_bytes']:,} B)."
    )


def _limit(run: Run, rows: pd.DataFrame) -> str:
    """Return how calls per second grow with the clients, and what limits them at the highest rate."""
    fewest, best = ends(rows)
    least, most = rows.loc[fewest], rows.loc[best]
    text = (
        f"**{least['target'] or least['transport']}**: {clients_of(least)} "
        f"{'makes' if least['clients'] == 1 else 'make'} {quantity(least['rate_per_s'])} calls/s."
    )
    if best != fewest:
        text += (
            f" The highest rate is {quantity(most['rate_per_s'])} calls/s with {clients_of(most)}: "
            f"{growth(run, rows)} the rate of {clients_of(least)}."
        )
    return f"{text} {why_not_more(run, best)}"
