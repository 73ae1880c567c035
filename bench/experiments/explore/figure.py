"""Panels of any cases side by side, and the rows that they are drawn from: the page adds rows as it measures them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bench.drawing.axes import (
    SYSTEM_COLOURS,
    Distribution,
    RangeRow,
    cpu_bars,
    draw_cdfs,
    ends_of,
    interval_row,
    log_axis,
    look,
    median_rows,
    name_rows,
    range_rows,
    ratio_axis,
    ratio_text,
    say_why_empty,
)
from bench.experiments.explore.findings import Row, ratio_of, rows, wrapped
from bench.run.frames import Run
from bench.text import quantity

TITLE = "What changes when you change one factor?"

NO_ROWS = "nothing is measured yet"
NO_TIMES = "no times: every case is overloaded, or its requests failed"
LINES = ("-", "--", "-.", ":")


def colour(place: int) -> Any:
    """Return the colour of the row at a place: one of those that colour-blind people can distinguish."""
    return look(place).colour


def draw_medians(shown: Sequence[Row], axes: Axes) -> None:
    """Draw the median RTT of each start, their range and their median."""
    drawn = [row for row in shown if not row.over and not np.isnan(row.medians).all()]
    if not drawn:
        return say_why_empty(axes, NO_ROWS if not shown else NO_TIMES)
    instead = ["" if row in drawn else f"{row.over or 'no reply'}: no time is reported" for row in shown]
    median_rows(axes, (RangeRow(row.medians, colour(place), instead=instead[place], marker=look(place).marker)
                       for place, row in enumerate(shown)))  # fmt: skip
    if any(row.paced for row in drawn):
        axes.set_xlabel("median RTT of each start (open loop: median response time)")
    name_rows(axes, wrapped(row.name for row in shown))


def draw_distributions(shown: Sequence[Row], axes: Axes) -> None:
    """Draw the empirical CDF of all calls of each row with a marker at each quantile; of many rows three quantiles."""
    drawn = [(place, row) for place, row in enumerate(shown) if row.n and not row.over]
    if not drawn:
        return say_why_empty(axes, NO_ROWS if not shown else NO_TIMES)
    draw_cdfs(axes, [
        Distribution(row.name, row.n, (row.values, row.fractions), dict(row.quantiles), look(place),
                     LINES[place // len(SYSTEM_COLOURS) % len(LINES)])
        for place, row in drawn
    ])  # fmt: skip
    if any(row.paced for _, row in drawn):
        axes.set_xlabel(axes.get_xlabel().replace("RTT", "RTT (open loop: response time)", 1))
    axes.set_title("Distribution of the RTT")


def medians(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start of each case."""
    draw_medians(rows(run), axes)


def distributions(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of each case."""
    draw_distributions(rows(run), axes)


def ratios(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each case divided by that of the first one, with its 95 % interval."""
    drawn = [(case, found) for case in run.numbers if (found := ratio_of(run, run.numbers[0], case))]
    if not drawn:
        return say_why_empty(axes, "no two cases share blocks: there is no ratio")
    for y, (case, found) in enumerate(drawn):
        interval_row(axes, y, ends_of(found), look(run.numbers.index(case)), ratio_text(found))
    ratio_axis(axes)
    name_rows(axes, wrapped(run.labels[case] for case, _ in drawn))
    axes.set_xlabel(f"median RTT divided by that of {run.labels[run.numbers[0]]}; bar: 95 % confidence interval")
    axes.set_title("Ratios of the median RTT")


def rates(run: Run, axes: Axes) -> None:
    """Draw the throughput of each start in calls per second, all clients together."""
    shown = rows(run)
    range_rows(
        axes,
        (RangeRow(row.rates, colour(place), marker=look(place).marker) for place, row in enumerate(shown)),
        quantity,
    )
    log_axis(axes.xaxis, quantity)
    axes.set_xlabel("calls per second of each start; bar: their range, line: their median, or the two middle starts")
    name_rows(axes, wrapped(row.name for row in shown))
    axes.set_title("Throughput of each start")


def cpu_per_call(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call by role."""
    cases = run.cases.dropna(subset="client_cpu_us_per_call")
    cpu_bars(run, axes, cases)
    name_rows(axes, wrapped(cases["label"]))
    axes.set_title("CPU time per call, by role")


PANELS = (medians, distributions, rates, cpu_per_call)
