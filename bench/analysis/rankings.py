"""Whether cases have the same order on one CPU and on separate CPUs."""

import itertools
import json
import math
from dataclasses import asdict
from typing import NamedTuple

import numpy as np

from bench.analysis.comparison import effect
from bench.run.frames import P50, Run, once_per_run

BEYOND = 1.05  # a ratio nearer to 1 orders nothing


class Reversed(NamedTuple):
    """Two cases on the same CPU whose order is another on separate CPUs, and their ratio in both."""

    base: int
    other: int
    same: float
    split: float


@once_per_run
def in_both(run: Run) -> dict[int, int]:
    """Return the closed loops that the run has in the placement same, each with that in split; without loopback."""
    groups: dict[str, dict[str, int]] = {}
    for case in run.round_trips().index:
        factors = asdict(run.case(case))
        groups.setdefault(json.dumps(factors | {"placement": ""}, sort_keys=True), {})[factors["placement"]] = case
    return {places["same"]: places["split"] for places in groups.values() if {"same", "split"} <= places.keys()}


@once_per_run
def reversed_pairs(run: Run) -> list[Reversed]:
    """Return the pairs that both placements order, by the median RTT, and oppositely; the largest change first.

    A placement orders two cases if the whole interval of their ratio is beyond ``BEYOND``. Compared are cases of the
    same load and payload.
    """
    matched = in_both(run)
    level = {case: math.log(run.cases.loc[case, P50]) for pair in matched.items() for case in pair}
    pairs = []
    for a, b in itertools.combinations(matched, 2):
        changes = level[b] - level[a], level[matched[b]] - level[matched[a]]
        if changes[0] * changes[1] < 0 and _asked(run, a) == _asked(run, b):
            base, other = (a, b) if changes[0] < 0 else (b, a)
            same, split = (effect(run, *pair, P50) for pair in ((base, other), (matched[base], matched[other])))
            if same.high < 1 / BEYOND and split.low > BEYOND:
                pairs.append(Reversed(base, other, same.middle, split.middle))
    return sorted(pairs, key=lambda pair: np.log(pair.same) - np.log(pair.split))


def _asked(run: Run, case: int) -> tuple[object, ...]:
    factors = run.case(case)
    return factors.payload_bytes, factors.message, factors.under_way, factors.p99_bytes, factors.calls_per_connection
