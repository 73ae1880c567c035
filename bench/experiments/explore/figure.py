"""Panels of any cases side by side, and the rows that they are drawn from: the page adds rows as it measures them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bench.analysis.quantiles import crossed
from bench.drawing.axes import (
    SYSTEM_COLOURS,
    RangeRow,
    cpu_bars,
    distribution_axes,
    look,
    median_rows,
    name_rows,
    near,
    nothing,
    quantile_marks,
    range_rows,
    small,
    tail_scale,
)
from bench.experiments.explore.findings import Row, rows, wrapped
from bench.run.frames import Run
from bench.text import quantity

TITLE = "What changes when you change one factor?"

NO_ROWS = "nothing is measured yet"
NO_TIMES = "no times: every case is overloaded"
LINES = ("-", "--", "-.", ":")


def colour(place: int) -> Any:
    """Return the colour of the row at a place: one of those that colour-blind people can distinguish."""
    return look(place).colour


def draw_medians(shown: Sequence[Row], axes: Axes) -> None:
    """Draw the median RTT of each start, their range and their median."""
    drawn = [each for each in shown if not each.over and not np.isnan(each.medians).all()]
    if not drawn:
        return nothing(axes, NO_ROWS if not shown else NO_TIMES)
    instead = ["" if each in drawn else "overloaded: no time is reported" for each in shown]
    median_rows(
        axes,
        (RangeRow(each.medians, colour(y), instead=instead[y], marker=look(y).marker) for y, each in enumerate(shown)),
    )
    if any(each.paced for each in drawn):
        axes.set_xlabel("median RTT of each start (open loop: median response time)")
    name_rows(axes, wrapped(each.name for each in shown), small(len(shown)))
    return None


def draw_distributions(shown: Sequence[Row], axes: Axes) -> None:
    """Draw the empirical CDF of all calls of each row; at each quantile a marker with the range over starts."""
    drawn = [(place, each) for place, each in enumerate(shown) if each.n and not each.over]
    if not drawn:
        return nothing(axes, NO_ROWS if not shown else NO_TIMES)
    for place, each in drawn:
        line, mine = LINES[place // len(SYSTEM_COLOURS) % len(LINES)], look(place)
        label = f"{each.name}, n = {each.n:,}{crossed(each.quantiles)}"
        draw: dict[str, Any] = {"color": mine.colour, "marker": mine.marker, "markevery": (each.n, 1), "ms": 5.5}
        axes.plot(each.values, tail_scale(each.fractions), line, lw=1.8, label=label, **draw)
        quantile_marks(axes, each.values, each.fractions, each.quantiles, *mine)
    distribution_axes(axes)
    if any(each.paced for _, each in drawn):
        axes.set_xlabel(axes.get_xlabel().replace("RTT", "RTT (open loop: response time)", 1))
    axes.set_title("Distribution of the RTT")
    return None


def medians(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start of each case."""
    draw_medians(rows(run), axes)


def distributions(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of each case."""
    draw_distributions(rows(run), axes)


def rates(run: Run, axes: Axes) -> None:
    """Draw the throughput of each start in calls per second, all clients together."""
    known = rows(run)
    shown = (RangeRow(each.rates, colour(y), marker=look(y).marker) for y, each in enumerate(known))
    range_rows(axes, shown, quantity)
    near(axes, quantity)
    axes.set_xlabel("calls per second of each start; bar: their range, line: their median")
    name_rows(axes, wrapped(each.name for each in known), small(len(known)))
    axes.set_title("Throughput of each start")


def cpu_per_call(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call by role."""
    cases = run.cases.dropna(subset="client_cpu_us_per_call")
    cpu_bars(run, axes, cases)
    name_rows(axes, wrapped(cases["label"]), small(len(cases)))
    axes.legend()
    axes.set_title("CPU time per call, by role")


PANELS = (medians, distributions, rates, cpu_per_call)
