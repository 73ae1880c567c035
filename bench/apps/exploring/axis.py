"""Results on one axis, as HTML: a name, an interval, and its numbers. Light enough to be drawn while measuring."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from matplotlib.ticker import LogLocator, MaxNLocator

from bench import stats
from bench.analysis.converging import of_medians
from bench.apps import growing
from bench.grammar.axes import look
from bench.grammar.markup import template
from bench.stats.intervals import Interval
from bench.text import duration, plain

LEAST_RATIO, LEAST_TIME = math.log(1.01), math.log(1.05)  # the axis reaches at least so far beyond what it shows
ROOM = 0.06  # of the axis, beyond the intervals
NARROW = 2.5  # ends of an axis that are closer are labelled at equal distances
BASE = Interval(1.0)  # the ratio of the result that the others are divided by
NO_RATIO = "took no turns: no ratio"
ROWS: Any = template(Path(__file__).with_name("rows.html.j2")).module  # its macros


@dataclass(frozen=True, eq=False)
class Shown:
    """One result: the median of each start in us, and its median divided by that of the base, if they took turns.

    note: what is said below its name. over: why no time is reported, at an offered rate above the capacity.
    """

    name: str
    medians: stats.Array
    ratio: Interval | None = None
    note: str = ""
    over: str = ""

    def value(self, is_of_ratios: bool) -> Interval | None:
        """Return what of it is on an axis: its ratio, or its time in us; None where there is none."""
        if self.over or not len(self.medians):
            return None
        return self.ratio if is_of_ratios else of_medians(self.medians)

    @property
    def time(self) -> str:
        """Return its median in words; nothing without one."""
        return "" if self.over or not len(self.medians) else stats.across_starts(self.medians).words(duration)

    def interval(self, is_of_ratios: bool) -> str:
        """Return the interval of its median or, on an axis of ratios, its ratio; or why there is none."""
        if not self.time:
            return f"{self.over}: no time is reported" if self.over else ""
        if is_of_ratios:
            return "1" if self.ratio is BASE else growing.in_words(self.ratio) if self.ratio else NO_RATIO
        spread = of_medians(self.medians)
        return "[{}, {}]".format(*spread.ends(duration)) if spread.has_ends else ""


class Axis(NamedTuple):
    """A logarithmic axis from ``low`` to ``high``: of ratios, or of times in us."""

    low: float
    high: float
    is_of_ratios: bool

    def place(self, value: float) -> float:
        """Return where a value is, in per cent of the axis."""
        return round(100 * math.log(value / self.low) / math.log(self.high / self.low), 2)

    def ticks(self) -> list[float]:
        """Return the values that are marked."""
        is_narrow = self.high / self.low < NARROW
        locator = MaxNLocator(4, steps=[1, 2, 5, 10]) if is_narrow else LogLocator(subs=(1.0, 2.0, 5.0), numticks=9)
        marked = [float(tick) for tick in locator.tick_values(self.low, self.high) if self.low <= tick <= self.high]
        return marked if len(marked) < 8 else [tick for tick in marked if math.log10(tick).is_integer()]

    def label(self, tick: float) -> str:
        """Return a marked value in words."""
        return f"{tick:.4g}" if self.is_of_ratios else plain(duration(tick))


def axis(shown: Sequence[Shown], before: Axis | None = None) -> Axis | None:
    """Return an axis that holds all results, and what an axis ``before`` holds; None of no result.

    One that keeps its ends shows how intervals become narrower.
    """
    is_of_ratios = any(row.ratio for row in shown)
    values = [value for row in shown if (value := row.value(is_of_ratios))]
    ends = [end for value in values for end in (value.low, value.middle, value.high) if not math.isnan(end)]
    if not ends:
        return None
    least = LEAST_RATIO if is_of_ratios else LEAST_TIME
    low, high = math.log(min(ends)) - least, math.log(max(ends)) + least
    room = ROOM * (high - low)
    low, high = math.exp(low - room), math.exp(high + room)
    if before and before.is_of_ratios == is_of_ratios:
        low, high = min(low, before.low), max(high, before.high)
    return Axis(low, high, is_of_ratios)


def have_ends(shown: Sequence[Shown]) -> bool:
    """Return whether every result that has a value on the axis has its interval."""
    is_of_ratios = any(row.ratio for row in shown)
    values = [value for row in shown if (value := row.value(is_of_ratios)) and value is not BASE]
    return bool(values) and all(value.has_ends for value in values)


def drawn(row: Shown, index: int, on: Axis | None) -> str:
    """Return one result as HTML; ``index``: which, for its colour."""
    return str(ROWS.row(row, look(index).colour, on))


def below(shown: Sequence[Shown], on: Axis | None) -> str:
    """Return the marked values of the axis, and what it shows, as HTML."""
    base = next((row.name for row in shown if row.ratio is BASE), "")
    return str(ROWS.below(on, base)) if on else ""
