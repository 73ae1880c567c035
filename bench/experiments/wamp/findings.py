"""Effects of factors in a full factorial: one factor at a time, averaged over the levels of all others."""

import json
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench import stats
from bench.experiments.published import wamp_replicas
from bench.grammar.contrast import P50, Ratio, ratio
from bench.run.frames import Run, number_of, once
from bench.stats import intervals
from bench.stats.intervals import Interval

FACTORS = {"transport": "ipc", "framing": "rawsocket", "serializer": "msgpack"}  # and the level compared with


@dataclass(frozen=True)
class Effect:
    """What one level of a factor adds to the median RTT, against the factor's first level.

    us: for each block of starts, the mean difference over all combinations of the other factors. low and high: their
    range. ratio: the same as a factor, the Hodges-Lehmann median of each block's mean ratio on logs.
    """

    factor: str
    level: str
    against: str
    us: stats.Array
    low: float
    high: float
    ratio: float

    @property
    def middle(self) -> float:
        """The effect in us: the Hodges-Lehmann estimate over the blocks."""
        return self.interval.middle

    @property
    def is_certain(self) -> bool:
        """Whether the 95 % interval of the effect, paired by block, excludes zero; not below six blocks."""
        return self.interval.excludes(0)

    @property
    def interval(self) -> Interval:
        """The effect's 95 % interval, paired by block, in us."""
        return intervals.paired_shift(self.us)

    @property
    def name(self) -> str:
        """Return the effect in words."""
        return f"{self.factor}: {self.level} instead of {self.against}"


@once
def effects(run: Run) -> list[Effect]:
    """Return the effect of each level of each factor; none where a factor has one level only.

    Blocks in which a combination is missing are left out: an average over others would not be one factor's.
    """
    rows = run.starts[run.starts["system"] == "wamp_crossbar"].copy()
    for option in ("framing", "serializer"):
        rows[option] = rows["options"].map(lambda text, name=option: json.loads(text).get(name))
    table = rows.set_index(["block", *FACTORS])[P50].sort_index().unstack("block").dropna(axis="columns")
    estimated = []
    for factor, first in FACTORS.items():
        levels = list(table.index.unique(factor))
        if first in levels and len(table.columns):
            estimated += [_effect(table, factor, level, first) for level in levels if level != first]
    return estimated


def _effect(table: pd.DataFrame, factor: str, level: str, first: str) -> Effect:
    changed, base = table.xs(level, level=factor), table.xs(first, level=factor)
    us = (changed - base).mean().to_numpy()
    ratio = intervals.paired_shift(np.log(changed / base).mean()).exp().middle
    return Effect(factor, level, first, us, us.min(), us.max(), ratio)


def is_larger(one: Effect, other: Effect) -> bool:
    """Return whether an effect is larger than another: the 95 % interval of their difference by block is above zero."""
    return intervals.paired_shift(one.us - other.us).low > 0


def quickest(run: Run) -> int | None:
    """Return the routed case with the shortest median RTT, or None."""
    routed = run.cases_with(system="wamp_crossbar").dropna(subset="router_cpu_us_per_call")
    return None if routed.empty else number_of(routed[P50].idxmin())


def combined(run: Run) -> Ratio | None:
    """Return the median RTT of the origin's second combination over that of its first, or None if one is missing."""
    cases = list(wamp_replicas(run).values())
    return ratio(run, cases[0], cases[1], P50) if len(cases) == 2 else None


def without_router(run: Run) -> list[Ratio]:
    """Return the median RTT of the quickest routed case over each system's without a router, same transport."""
    routed = quickest(run)
    if routed is None:
        return []
    direct = [
        case for case in run.find(transport=run.case(routed).transport) if run.case(case).system != "wamp_crossbar"
    ]
    return [rtt_ratio for case in direct if not math.isnan((rtt_ratio := ratio(run, case, routed, P50)).value)]


def ratios(run: Run) -> list[Ratio]:
    """Return the origin's two combinations compared, and the quickest routed case compared with no router."""
    two = combined(run)
    return [*([two] if two else []), *without_router(run)]
