"""Results on one axis, as HTML: a name, an interval, and its numbers. Light enough to be drawn while measuring."""

import html
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from matplotlib.ticker import LogLocator, MaxNLocator

from bench import stats
from bench.analysis.converging import of_medians
from bench.apps import growing
from bench.drawing.axes import look
from bench.stats.intervals import Interval
from bench.text import duration, plain

LEAST_RATIO, LEAST_TIME = math.log(1.01), math.log(1.05)  # the axis reaches at least so far beyond what it shows
ROOM = 0.06  # of the axis, beyond the intervals
NARROW = 2.5  # ends of an axis that are closer are labelled at equal distances


@dataclass(frozen=True, eq=False)
class Shown:
    """One result: the median of each start in us, and its median divided by that of the first, if they took turns.

    is_base: the others are divided by this one. note: what is said below its name. over: the offered rate exceeds the
    capacity, so no time is reported.
    """

    name: str
    medians: stats.Array
    ratio: Interval | None = None
    is_base: bool = False
    note: str = ""
    over: str = ""


class Axis(NamedTuple):
    """A logarithmic axis from ``low`` to ``high``: of ratios, or of times in us."""

    low: float
    high: float
    is_of_ratios: bool

    def place(self, value: float) -> float:
        """Return where a value is, in per cent of the axis."""
        return 100 * math.log(value / self.low) / math.log(self.high / self.low)

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
    held = [value(row, is_of_ratios) for row in shown]
    ends = [end for each in held if each for end in (each.low, each.middle, each.high) if not math.isnan(end)]
    if not ends:
        return None
    logs = [math.log(end) for end in ends]
    least = LEAST_RATIO if is_of_ratios else LEAST_TIME
    low, high = min(logs) - least, max(logs) + least
    room = ROOM * (high - low)
    low, high = math.exp(low - room), math.exp(high + room)
    if before and before.is_of_ratios == is_of_ratios:
        low, high = min(low, before.low), max(high, before.high)
    return Axis(low, high, is_of_ratios)


def value(row: Shown, is_of_ratios: bool) -> Interval | None:
    """Return what of a result is on the axis: its ratio, 1 for the one that the others are divided by; or its time."""
    if row.over or not len(row.medians):
        return None
    if is_of_ratios:
        return Interval(1.0) if row.is_base else row.ratio
    return of_medians(row.medians)


def have_ends(shown: Sequence[Shown]) -> bool:
    """Return whether every result that has a value on the axis has its interval."""
    is_of_ratios = any(row.ratio for row in shown)
    held = [value(row, is_of_ratios) for row in shown if not (is_of_ratios and row.is_base)]
    return any(held) and all(each.has_ends for each in held if each)


def drawn(row: Shown, place: int, on: Axis | None) -> str:
    """Return one result as HTML; ``place``: which, for its colour."""
    marks = [_at("rt-grid", on.place(tick)) for tick in on.ticks()] if on else []
    if on and (found := value(row, on.is_of_ratios)):
        marks += [_at("rt-one", on.place(1))] if on.is_of_ratios else []
        marks += [_bar(on, found, place)] if found.has_ends else []
        marks += [_at("rt-dot", on.place(found.middle), f"background:{look(place).colour}")]
    name = (
        f'<div class="rt-name"><span class="rt-swatch" style="background:{look(place).colour}"></span>'
        f'<b>{html.escape(row.name)}</b><div class="rt-small">{html.escape(row.note)}</div></div>'
    )
    return f'<div class="rt-row">{name}<div class="rt-track">{"".join(marks)}</div>{_numbers(row, on)}</div>'


def _numbers(row: Shown, on: Axis | None) -> str:
    if row.over:
        return f'<div class="rt-value">{row.over}: no time is reported</div>'
    if not len(row.medians):
        return '<div class="rt-value"></div>'
    time = f"<b>{stats.across_starts(row.medians).values(duration)}</b>"
    if not (on and on.is_of_ratios):
        of = of_medians(row.medians)
        ends = " [{}, {}]".format(*of.ends(duration)) if of.has_ends else ""
        return f'<div class="rt-value">{time}{ends}</div>'
    ratio = "1" if row.is_base else growing.in_words(row.ratio) if row.ratio else "took no turns: no ratio"
    return f'<div class="rt-value">{time}<br>{ratio}</div>'


def below(shown: Sequence[Shown], on: Axis | None) -> str:
    """Return the marked values of the axis, and what it shows, as HTML."""
    if on is None:
        return ""
    labels = "".join(
        f'<span style="left:{on.place(tick):.2f}%{";font-weight:600" * (on.is_of_ratios and tick == 1)}">'
        f"{on.label(tick)}</span>"
        for tick in on.ticks()
    )
    base = next((row.name for row in shown if row.is_base), "")
    what = (
        f"median RTT divided by that of <b>{html.escape(base)}</b>; bar: 95 % confidence interval"
        if on.is_of_ratios
        else "median RTT (open loop: median response time); bar: 95 % confidence interval"
    )
    return (
        f'<div class="rt-row rt-axis"><div class="rt-name"></div><div class="rt-ticks">{labels}</div>'
        f'<div class="rt-value"></div></div><div class="rt-what">{what}</div>'
    )


def _bar(on: Axis, found: Interval, place: int) -> str:
    left, right = on.place(found.low), on.place(found.high)
    return f'<i class="rt-bar" style="left:{left:.2f}%;width:{right - left:.2f}%;background:{look(place).colour}"></i>'


def _at(kind: str, place: float, more: str = "") -> str:
    return f'<i class="{kind}" style="left:{place:.2f}%;{more}"></i>'
