"""Effects of factors in a full factorial: one factor at a time, averaged over the levels of all others."""

import json
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench import stats
from bench.run.frames import Run, column, once

FACTORS = {"transport": "ipc", "framing": "rawsocket", "serializer": "msgpack"}  # and the level compared with


@dataclass(frozen=True)
class Effect:
    """What one level of a factor adds to the median RTT, against the factor's first level.

    us: for each block of starts, the mean difference over all combinations of the other factors. middle, low and high:
    their median and range. ratio: the same as a factor (median over blocks of the mean ratio on logs).
    """

    factor: str
    level: str
    against: str
    us: stats.Array
    middle: float
    low: float
    high: float
    ratio: float

    @property
    def name(self) -> str:
        """Return the effect in words."""
        return f"{self.factor}: {self.level} instead of {self.against}"


@once
def medians(run: Run, system: str) -> pd.DataFrame:
    """Return the median RTT in us of each start of a system; index: block and the three factors."""
    rows = run.starts[run.starts["system"] == system].copy()
    for option in ("framing", "serializer"):
        rows[option] = rows["options"].map(lambda text, name=option: json.loads(text).get(name))
    return rows.set_index(["block", *FACTORS])[[column(0.5)]].sort_index()


@once
def effects(run: Run, system: str = "wamp_crossbar") -> list[Effect]:
    """Return the effect of each level of each factor; none where a factor has one level only.

    Blocks in which a combination is missing are left out: an average over others would not be one factor's.
    """
    table = medians(run, system)[column(0.5)].unstack("block").dropna(axis="columns")
    found = []
    for factor, first in FACTORS.items():
        levels = list(table.index.unique(factor))
        if first in levels and len(table.columns):
            found += [_effect(table, factor, level, first) for level in levels if level != first]
    return found


def _effect(table: pd.DataFrame, factor: str, level: str, first: str) -> Effect:
    one, other = table.xs(level, level=factor), table.xs(first, level=factor)
    us = (one - other).mean().to_numpy()
    ratio = np.exp(np.log(one / other).mean()).median()
    return Effect(factor, level, first, us, *stats.across_starts(us), float(ratio))
