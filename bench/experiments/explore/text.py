"""Sentences of explore.ipynb: the shortest time, and which cases are distinguishable from it."""

import math
from collections.abc import Sequence

import numpy as np

from bench import stats
from bench.experiments.explore.findings import Row, ratio_of, rows
from bench.experiments.sentences import ranged
from bench.grammar.contrast import confidence
from bench.run.frames import Run
from bench.stats import intervals
from bench.stats.intervals import Interval
from bench.text import ratio_ends

NO_RATIO = "no ratio (measured apart, or another time)"


def conclusion(run: Run) -> str:
    """Return the shortest median and the ratio of every other case to it; a warning where cases did not take turns."""
    if len(set(run.manifest.get("collected", ()))) < 2:
        return sentences(rows(run), paired(run))
    return sentences(rows(run), paired(run)) + (
        " Cases of different runs were measured one after another, so a change of the machine in between looks like a "
        "difference. The page gives the command that measures them in turns."
    )


def paired(run: Run) -> dict[tuple[str, str], Interval]:
    """Return the ratio of the medians of all pairs of cases with the same load that share blocks; by (base, other)."""
    pairs = [(base, other) for base in run.numbers for other in run.numbers]
    return {
        (run.labels[base], run.labels[other]): found for base, other in pairs if (found := ratio_of(run, base, other))
    }


def sentences(shown: Sequence[Row], known: dict[tuple[str, str], Interval] | None = None) -> str:
    """Return the shortest median, and of every other its ratio to it with the 95 % interval.

    known: ratios paired by block; pairs that it lacks have no ratio. Without any of them starts are compared without
    pairing (Mann-Whitney).
    """
    over = [f"**{row.name}** at its rate: {row.over}, so no time is reported." for row in shown if row.over]
    medians = [(row, stats.across_starts(row.medians)) for row in shown if not row.over]
    medians = sorted((entry for entry in medians if not math.isnan(entry[1].middle)), key=lambda entry: entry[1].middle)
    if not medians:
        return " ".join(over)
    first, shortest = medians[0]
    said = [f"{'The' if len(medians) == 1 else 'The shortest'} median is that of **{first.name}**: "
            f"{ranged(shortest)}."]  # fmt: skip
    for row, spread in medians[1:]:
        interval = unpaired(first, row) if known is None else known.get((first.name, row.name))
        said.append(f"**{row.name}**: {ranged(spread)}, {_ratio(interval) if interval else NO_RATIO}.")
    return " ".join([*said, *over])


def unpaired(base: Row, other: Row) -> Interval:
    """Return the ratio of two results' start medians, not paired: Hodges-Lehmann with the Mann-Whitney interval."""
    return intervals.shift(np.log(other.medians), np.log(base.medians)).exp()


def _ratio(interval: Interval) -> str:
    """Return a ratio with its interval; where the interval holds 1, that the two are not distinguishable."""
    text = f"{ratio_ends(interval.middle, interval.low, interval.high)[0]} times the shortest ({confidence(interval)})"
    return f"{text}: not distinguishable from it" if interval.low <= 1 <= interval.high else text
