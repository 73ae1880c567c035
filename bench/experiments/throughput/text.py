"""Sentences of throughput.ipynb: the highest one-way rates, the growth with clients, and its limit."""

import pandas as pd

from bench.experiments.claims import judged, with_verdict
from bench.experiments.sentences import clients_of, why_not_more
from bench.experiments.throughput.findings import bits_rise, ends, growth, sweeps
from bench.run.frames import Run, number_of
from bench.text import paragraphs, quantity


def answer(run: Run) -> str:
    """Return the highest one-way rates, and the highest rate of calls over each transport."""
    return paragraphs(_streams(run), *(_growth(run, rows) for rows in sweeps(run)))


def conclusion(run: Run) -> str:
    """Return the highest one-way rates, the growth with parallel clients over each transport, and what limited it."""
    rise = judged("the bit rate of one-way streams rises with the size of a message", bits_rise(run))
    return with_verdict(rise, _streams(run), *(_limit(run, rows) for rows in sweeps(run)))


def _streams(run: Run) -> str:
    cases = run.cases_with(load="stream")
    if cases.empty:
        return ""
    most, widest = cases.loc[cases["rate_per_s"].idxmax()], cases.loc[cases["rate_mbit_per_s"].idxmax()]
    rate = run.over_starts(number_of(most.name), "rate_per_s")
    bits = run.over_starts(number_of(widest.name), "rate_mbit_per_s")
    return (
        f"One-way: the highest median message rate is {rate.words(quantity)} messages/s ({most['transport']}, "
        f"{most['payload_bytes']:,} B). The highest median bit rate is {bits.words('{:,.0f}'.format)} Mb/s "
        f"({widest['transport']}, {widest['payload_bytes']:,} B)."
    )


def _limit(run: Run, rows: pd.DataFrame) -> str:
    """Return how calls per second grow with the clients, and what limits them at the highest rate."""
    return f"{_growth(run, rows)} {why_not_more(run, ends(rows)[1])}"


def _growth(run: Run, rows: pd.DataFrame) -> str:
    """Return the calls per second of the fewest clients, and the highest rate."""
    fewest, best = ends(rows)
    least, most = rows.loc[fewest], rows.loc[best]
    few, many = (run.over_starts(case, "rate_per_s").words(quantity) for case in (fewest, best))
    text = (
        f"**{least['target'] or least['transport']}**: {clients_of(least)} "
        f"{'makes' if least['clients'] == 1 else 'make'} {few} calls/s."
    )
    if best != fewest:
        text += (
            f" The highest rate over {most['transport']} is {many} calls/s with {clients_of(most)}: "
            f"{growth(run, rows)} the rate of {clients_of(least)}."
        )
    return text
