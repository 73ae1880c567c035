"""Panels of any cases side by side, and the rows that they are drawn from: a page adds rows as it measures them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bench.experiments.axes import (
    COLOURS,
    RangeRow,
    cpu_bars,
    distribution_axes,
    log_axis,
    median_rows,
    name_rows,
    nothing,
    range_rows,
    tail_scale,
)
from bench.experiments.explore.findings import Row, rows, wrapped
from bench.run.frames import Run
from bench.text import quantity

TITLE = "What changes when you change one thing?"

NO_ROWS = "nothing is measured yet"
LINES = ("-", "--", "-.", ":")


def colour(place: int) -> Any:
    """Return the colour of the row at a place; colour-blind people can tell them apart."""
    return COLOURS[place % len(COLOURS)]


def draw_medians(shown: Sequence[Row], axes: Axes) -> None:
    """Draw the median of each start, their range and their middle."""
    drawn = [each for each in shown if not each.over and not np.isnan(each.medians).all()]
    if not drawn:
        return nothing(axes, NO_ROWS if not shown else "no times to tell")
    instead = ["" if each in drawn else "overloaded: no time is told" for each in shown]
    median_rows(axes, (RangeRow(each.medians, colour(y), instead=instead[y]) for y, each in enumerate(shown)))
    if any(each.paced for each in drawn):
        axes.set_xlabel("median RTT of a start (open loads: from when due)")
    name_rows(axes, wrapped(each.name for each in shown))
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
        for p, found in each.quantiles:
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
    range_rows(axes, (RangeRow(each.rates, colour(y)) for y, each in enumerate(known)), quantity)
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(low / (high / low) ** 0.12 / 1.02, high * (high / low) ** 0.22 * 1.08)
    log_axis(axes.xaxis, quantity)
    axes.set_xlabel("calls per second of a start")
    name_rows(axes, wrapped(each.name for each in known))
    axes.set_title("Calls per second: each start, their range and middle")


def cpu_per_call(run: Run, axes: Axes) -> None:
    """Draw the CPU time of a call by role."""
    cases = run.cases.dropna(subset="client_cpu_us_per_call")
    cpu_bars(run, axes, cases)
    name_rows(axes, wrapped(cases["label"]))
    axes.legend(loc="best")
    axes.set_title("CPU per call, by role")


PANELS = (medians, distributions, rates, cpu_per_call)
