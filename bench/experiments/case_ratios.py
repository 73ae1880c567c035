"""Ratios of two cases of a run: one estimator for sentences, tables, figures, scores and expected results."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd

from bench.analysis.comparison import QUANTITIES, effect
from bench.run.frames import Run, column, number_of
from bench.stats.intervals import Interval
from bench.text import few, ratio_ends

P50, RATE = column(0.5), "rate_per_s"


@dataclass(frozen=True)
class Ratio:
    """A quantity of one case divided by the same quantity of another, by ``comparison.effect``.

    base, other: numbers of the cases; the ratio is other over base. name: a column of ``Run.starts``. interval: the
    Hodges-Lehmann median of the ratios of each block, with its 95 % interval (NaN below six blocks).
    """

    base: int
    other: int
    name: str
    interval: Interval

    @property
    def value(self) -> float:
        """The ratio."""
        return self.interval.middle

    @property
    def quantity(self) -> str:
        """The quantity in words."""
        return QUANTITIES[self.name][0] if self.name in QUANTITIES else self.name.replace("_us", "").replace("_", " ")

    @property
    def words(self) -> str:
        """The ratio in words, without its interval."""
        return _ends(self.interval)[0]

    @property
    def is_certain(self) -> bool:
        """Whether the interval excludes 1: the two cases are distinguishable."""
        return self.interval.excludes(1)

    @property
    def doubt(self) -> str:
        """What a sentence says behind the ratio of two cases that are not distinguishable; else nothing."""
        return "" if self.is_certain else ", not distinguishable"

    @property
    def range(self) -> str:
        """The interval in words."""
        return confidence(self.interval)

    def __str__(self) -> str:
        return times(self.interval)


def times(found: Interval) -> str:
    """Return a ratio with its interval, as ``comparison.effect`` gives it: 1.53 times (95 % CI 1.41 to 1.66)."""
    if math.isnan(found.middle):
        return "an unknown number of times"
    return f"{_ends(found)[0]} times ({confidence(found)})"


def confidence(interval: Interval) -> str:
    """Return the ends of an interval in words, or why there are none."""
    if not interval.has_ends:
        return "no 95 % CI from fewer than six blocks"
    return "95 % CI {1} to {2}".format(*_ends(interval))


def _ends(interval: Interval) -> tuple[str, str, str]:
    return ratio_ends(interval.middle, interval.low, interval.high)


def ratio(run: Run, base: int, other: int, name: str) -> Ratio:
    """Return the ratio of one quantity of two cases, other over base."""
    return Ratio(base, other, name, effect(run, base, other, name))


def across(run: Run, rows: pd.DataFrame, name: str) -> Ratio | None:
    """Return the ratio of the last case of some rows of ``Run.cases`` over the first; None of fewer than two."""
    return ratio(run, number_of(rows.index[0]), number_of(rows.index[-1]), name) if len(rows) > 1 else None


def beside_medians(run: Run, found: Iterable[Ratio | None]) -> str:
    """Say of which ratios the medians that stand beside them have another ratio, outside the interval; "" if of none.

    A machine that changes its speed between blocks moves medians, and no ratio of one block.
    """
    others = [run.labels[one.other] for one in found if one and _is_beyond(run, one)]
    if not others:
        return ""
    return (
        f"The medians have another ratio, outside the interval, for {few(others)}: ratios are Hodges-Lehmann medians "
        "of the blocks' ratios."
    )


def _is_beyond(run: Run, of: Ratio) -> bool:
    """Return whether the ratio of two medians is outside the interval of their cases' ratio, by more than 0.1 %."""
    medians = run.cases.loc[of.other, of.name] / run.cases.loc[of.base, of.name]
    return bool(medians < 0.999 * of.interval.low or medians > 1.001 * of.interval.high)


def load_of(run: Run, case: int) -> str:
    """Return how many calls a case makes in a start: a burst and a whole window are different loads."""
    of = run.case(case)
    if of.is_short:
        return f"{of.max_calls // of.clients} calls per client"
    return "whole window" if case in run.plan.apart else "slices"
