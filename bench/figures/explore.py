"""Panels of any cases side by side, and the rows that they are drawn from: a page adds rows as it measures them."""

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import seaborn as sns
from matplotlib.axes import Axes

from bench import stats
from bench.analysis import overload
from bench.analysis.quantiles import Quantile, quantile, times
from bench.figures.axes import (
    cpu_bars,
    distribution_axes,
    log_axis,
    name_rows,
    nothing,
    range_row,
    rtt_axis,
    tail_scale,
)
from bench.plan.case import Case
from bench.run.frames import Run, column
from bench.text import duration, plain, quantity

TITLE = "What changes when you change one thing?"

NO_ROWS = "nothing is measured yet"
LINES = ("-", "--", "-.", ":")


@dataclass(frozen=True, eq=False)
class Row:
    """What is drawn of one case.

    medians, rates: one value for each start, in us and in calls per second. values, fractions: the distribution of all
    its calls' times in us. told: what is known of each quantile. over: more was offered than could be done.
    """

    name: str
    paced: bool
    medians: stats.Array
    rates: stats.Array
    values: stats.Array
    fractions: stats.Array
    n: int
    told: tuple[tuple[float, Quantile], ...]
    over: bool = False


def time_of(case: Case) -> str:
    """Return which time of a case's calls is drawn: the round trip, or from when a request was due."""
    return "response" if case.load == "open" else "rtt"


def row(run: Run, case: int, name: str) -> Row:
    """Return what is drawn of one case of a run."""
    of = run.plan.cases[case]
    calls = times(run, case, time_of(of)).to_numpy()
    values, fractions = stats.distribution(calls)
    starts = run.starts[run.starts["case"] == case]
    medians = starts[column(0.5).replace("rtt", time_of(of))].to_numpy(float)
    told = tuple((p, quantile(run, case, p, time_of(of))) for p in stats.QUANTILES)
    over = of.load == "open" and case in overload.overloaded(run)
    rates = starts["rate_per_s"].to_numpy(float)
    return Row(name, of.load == "open", medians, rates, values, fractions, len(calls), told, over)


def rows(run: Run) -> list[Row]:
    """Return what is drawn of each case of a run."""
    return [row(run, int(case), run.labels[int(case)]) for case in run.cases.index]


def wrapped(names: Iterable[str]) -> list[str]:
    """Return names in lines that leave room for what they stand beside."""
    return [textwrap.fill(name, 24) for name in names]


def colour(place: int) -> Any:
    """Return the colour of the row at a place; colour-blind people can tell them apart."""
    return sns.color_palette("colorblind", 10)[place % 10]


def draw_medians(shown: Sequence[Row], axes: Axes) -> None:
    """Draw the median of each start, their range and their middle."""
    drawn = [each for each in shown if not each.over and not np.isnan(each.medians).all()]
    if not drawn:
        return nothing(axes, NO_ROWS if not shown else "no times to tell")
    for y, each in enumerate(shown):
        if each in drawn:
            range_row(axes, y, each.medians, colour(y), duration)
        else:
            axes.text(0.02, y, "overloaded: no time is told", transform=axes.get_yaxis_transform(), va="center")
    rtt_axis(axes)
    if any(each.paced for each in drawn):
        axes.set_xlabel("median RTT of a start (open loads: from when due)")
    name_rows(axes, wrapped(each.name for each in shown))
    axes.set_title("Median: each start, their range and middle")
    return None


def draw_distributions(shown: Sequence[Row], axes: Axes) -> None:
    """Draw the distribution of all calls of each row; at each quantile that they carry, a mark with its interval."""
    drawn = [(place, each) for place, each in enumerate(shown) if each.n and not each.over]
    if not drawn:
        return nothing(axes, NO_ROWS if not shown else "no times to tell")
    for place, each in drawn:
        line = LINES[place // 10 % len(LINES)]
        label = f"{each.name}, n = {each.n:,}"
        axes.plot(each.values, tail_scale(each.fractions), line, color=colour(place), lw=1.8, label=label)
        for p, found in each.told:
            ends = [found.low, found.high]
            axes.plot(found.value, tail_scale(p), "o", color=colour(place), ms=5)
            axes.plot(ends, [tail_scale(p)] * 2, color=colour(place), lw=4.5, alpha=0.3, solid_capstyle="round")
    distribution_axes(axes)
    if any(each.paced for _, each in drawn):
        axes.set_xlabel("RTT (open loads: from when due)")
    axes.set_title("Distribution; p50, p90, p99, p99.9 over starts")
    return None


def medians(run: Run, axes: Axes) -> None:
    """Draw each case's start medians."""
    draw_medians(rows(run), axes)


def distributions(run: Run, axes: Axes) -> None:
    """Draw each case's distribution."""
    draw_distributions(rows(run), axes)


def rates(run: Run, axes: Axes) -> None:
    """Draw the calls per second of each start, all callers together."""
    known = rows(run)
    for y, each in enumerate(known):
        range_row(axes, y, each.rates, colour(y), quantity)
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(low / (high / low) ** 0.12 / 1.02, high * (high / low) ** 0.22 * 1.08)
    log_axis(axes.xaxis, lambda value: plain(quantity(value)))
    axes.set_xlabel("calls per second of a start")
    name_rows(axes, wrapped(each.name for each in known))
    axes.set_title("Calls per second: each start, their range and middle")


def cpu_per_call(run: Run, axes: Axes) -> None:
    """Draw the CPU time of a call by role."""
    cases = run.cases.dropna(subset="client_cpu_us_per_call")
    cpu_bars(run, axes, cases)
    name_rows(axes, wrapped(cases["label"]))
    axes.legend(loc="best", frameon=True, framealpha=0.9)
    axes.set_title("CPU per call, by role")


PANELS = (medians, distributions, rates, cpu_per_call)
