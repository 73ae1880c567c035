"""Which differences ``compare`` finds with its default plan: ``python -m selfcheck.resolution [--write]``.

For each pair of cases A, A again and B are measured in many blocks, on a quiet machine and beside two busy processes.
One try is what a default run would have seen: as many blocks as it has, drawn from these in pieces of ``PIECE``
neighbours, so that what neighbours have in common is kept. Its B over A is moved to the difference that is asked for,
and judged as every comparison is. ``--write`` keeps the ratios of the blocks in docs/resolution.json.
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bench.analysis.comparison import DIFFERENT, MARGIN, judge, ratios, shown
from bench.experiments.compare import AGAIN, A, B
from bench.grammar.experiment import experiment
from bench.measurement import runner
from bench.run.frames import P50, Run
from bench.stats import intervals
from bench.stats.quantiles import Array
from selfcheck import keeping, surroundings

FILE = "docs/resolution.json"
BLOCKS = int(os.environ.get("BLOCKS", "200"))  # of each pair
TRIES, PIECE, BUSY = 400, 10, 2
NAMES = {P50: "median RTT", "cpu_us_per_call": "CPU time per call"}


class Pair(NamedTuple):
    """Two cases, and the difference that is to be found between them on a quiet machine."""

    name: str
    a: str
    b: str
    effect: float


PAIRS = (
    Pair(
        "two builds of one system, on one CPU",
        "{system: delayed, transport: ipc, placement: same, options: {turns: 0}}",
        "{system: delayed, transport: ipc, placement: same, options: {turns: 12}}",
        0.01,
    ),
    Pair(
        "sockets and zeromq, on one CPU",
        "{system: sockets, transport: ipc, placement: same}",
        "{system: zeromq, transport: ipc, placement: same}",
        0.02,
    ),
    Pair(
        "sockets and zeromq, on two CPUs",
        "{system: sockets, transport: ipc, placement: split}",
        "{system: zeromq, transport: ipc, placement: split}",
        0.04,
    ),
)


def measured(pair: Pair, busy: int) -> dict[str, Any]:
    """Measure a pair beside so many busy processes; return what ``of_run`` does."""
    usual = experiment("compare").plan(a=pair.a, b=pair.b)
    with surroundings.busy(busy):
        return of_run(Run(runner.run(replace(usual, starts=BLOCKS))), pair, busy, usual.starts)


def of_run(run: Run, pair: Pair, busy: int, usual: int) -> dict[str, Any]:
    """Return the ln ratios of each block, by quantity: B over A, and A again over A; ``usual``: blocks of a run."""
    logs = {
        name: {other: ratios(run, A, case, name).round(5).tolist() for other, case in (("B", B), ("A", AGAIN))}
        for name in NAMES
    }
    return {"pair": pair.name, "busy": busy, "effect": pair.effect, "blocks": usual, "logs": logs}


def tried(record: Mapping[str, Any], name: str, effect: float) -> tuple[float, float, float]:
    """Return the share of tries that call B different from A, and A again from A, and the median half width.

    effect: the true ratio - 1, to which the ratios of B over A are moved.
    """
    ours, same = (np.array(record["logs"][name][other]) for other in ("B", "A"))
    ours = ours - intervals.paired_shift(ours).middle + np.log1p(effect)
    same = same - intervals.paired_shift(same).middle
    chance, seen = np.random.default_rng(1), []
    for _ in range(TRIES):
        drawn = pieces(len(ours), record["blocks"], chance)
        shift, twin = intervals.paired_shift(ours[drawn]), intervals.paired_shift(same[drawn])
        verdict = judge(*_ends(shift), MARGIN, float(np.expm1(shown(twin))))
        seen.append((verdict == DIFFERENT, judge(*_ends(twin), MARGIN) == DIFFERENT, (shift.high - shift.low) / 2))
    shares = np.array(seen, float)
    return float(shares[:, 0].mean()), float(shares[:, 1].mean()), float(np.median(shares[:, 2]))


def _ends(interval: intervals.Interval) -> tuple[float, float]:
    return float(np.exp(interval.low)), float(np.exp(interval.high))


def pieces(length: int, wanted: int, chance: np.random.Generator) -> Array:
    """Return ``wanted`` places below ``length``, drawn in pieces of ``PIECE`` neighbours."""
    begins = chance.integers(0, length, -(-wanted // PIECE))
    return ((begins[:, None] + np.arange(PIECE)) % length).ravel()[:wanted]


def table() -> tuple[pd.DataFrame, str]:
    """Return the table of what was kept last, and how it was measured."""
    stored = keeping.read(FILE)
    frame, false = summary(stored["found"])
    return frame, (
        f"{TRIES:,} tries of each; measured {stored['measured']} on {stored['machine']}. Over all rows A and A are "
        f"called different in {false:.1%} of the tries; a row, whose tries share their blocks, varies around that."
    )


def summary(measured: list[dict[str, Any]]) -> tuple[pd.DataFrame, float]:
    """Return a row for each pair, load and quantity, and the share of all tries that call A different from A."""
    rows, false_shares = [], []
    for record in measured:
        effect = record["effect"] * (1.5 if record["busy"] else 1)
        for name, words in NAMES.items():
            different, false, half = tried(record, name, effect)
            false_shares.append(false)
            rows.append({
                "A and B": record["pair"],
                "beside": f"{record['busy']} busy processes" if record["busy"] else "nothing",
                "quantity": words,
                "blocks in a run (measured)": f"{record['blocks']} ({len(record['logs'][name]['B'])})",
                "half width of the 95 % CI": f"{half:.2%}",
                "true difference": f"{effect:.1%}",
                "called different": f"{different:.0%}",
                "A and A called different": f"{false:.1%}",
            })  # fmt: skip
    return pd.DataFrame(rows).set_index("A and B"), float(np.mean(false_shares))


def main() -> None:
    """Measure each pair, quiet and disturbed; print the table."""
    records = []
    with surroundings.own_systems(), surroundings.temporary_runs():
        for busy in (0, BUSY):
            for pair in PAIRS:
                print(f"{pair.name}, {busy} busy processes: {BLOCKS} blocks", flush=True)
                records.append(measured(pair, busy))
                if "--write" in sys.argv:
                    keeping.write(FILE, found=records)
    print(summary(records)[0].to_string())


if __name__ == "__main__":
    main()
