"""Effects of factors in a full factorial: one factor at a time, averaged over the levels of all others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench.run.frames import Run
from bench.stats import Array, intervals
from bench.stats.intervals import Interval


@dataclass(frozen=True)
class Effect:
    """What one level of a factor adds to a quantity, against the factor's first level.

    added: for each block of starts, the mean difference over all combinations of the other factors, shape (blocks,).
    ratio: the same as a factor, the Hodges-Lehmann median of each block's mean ratio on logs.
    """

    factor: str
    level: str
    against: str
    added: Array
    ratio: float

    @property
    def interval(self) -> Interval:
        """The Hodges-Lehmann estimate over the blocks with its 95 % interval, paired by block."""
        return intervals.paired_shift(self.added)

    @property
    def is_certain(self) -> bool:
        """Whether the interval excludes zero; not below six blocks."""
        return self.interval.excludes(0)

    def minus(self, other: "Effect") -> Interval:
        """Return by how much this effect is larger than another, paired by block."""
        return intervals.paired_shift(self.added - other.added)


def effects(run: Run, cases: Sequence[int], firsts: Mapping[str, str], name: str) -> list[Effect]:
    """Return the effect of each level of each factor on a column of ``Run.starts``; none of a factor with one level.

    cases: all combinations. firsts: the factors with the level that others are compared with. Blocks in which a
    combination is missing are left out: an average over others would not be one factor's.
    """
    rows = run.starts[run.starts["case"].isin(cases)]
    rows = rows.assign(**{factor: [run.case(case).factor(factor) for case in rows["case"]] for factor in firsts})
    table = rows.set_index(["block", *firsts])[name].sort_index().unstack("block").dropna(axis="columns")
    estimated = []
    for factor, first in firsts.items():
        levels = list(table.index.unique(factor))
        if first in levels and len(table.columns):
            estimated += [_effect(table, factor, level, first) for level in levels if level != first]
    return estimated


def _effect(table: pd.DataFrame, factor: str, level: str, first: str) -> Effect:
    changed, base = table.xs(level, level=factor), table.xs(first, level=factor)
    ratio = intervals.paired_shift(np.log(changed / base).mean().to_numpy()).exp().middle
    return Effect(factor, level, first, (changed - base).mean().to_numpy(), ratio)
