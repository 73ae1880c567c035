"""The figure of a load generator's capacity: rates and p99, against the rate that is asked for."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.drawing.axes import GREY, label_axis, legend_entries, log_axis, look, style, ticks_at
from bench.referees.capacity import SHARES, Capacity, Point
from bench.referees.capacity_report import capacity
from bench.text import capitalized, counted, quantity

PANEL = (4.9, 3.3)  # inches
DELIVERED, REPORTED = look(0), look(3)
LEAST_US = 0.1  # a response time that is drawn: no clock here resolves less


def write(found: Capacity, file: Path, kind: str = "png") -> None:
    """Draw it into a file of that kind: png, svg, pdf."""
    with style():
        whole(found).savefig(file, format=kind)


def whole(found: Capacity) -> Figure:
    """Return the figure: for each number of connections the rates, and below them p99; of closed loads one column."""
    columns = [
        (_title(found.full(connections)), points)
        for connections in found.connections
        if (points := found.opened(connections))
    ]
    draw: Callable[[Axes, Axes, Sequence[Point]], None] = _open
    if not columns:
        columns, draw = [("closed load", found.points)], _closed
    width = max(PANEL[0] * len(columns), 1.5 * PANEL[0])
    figure = Figure(figsize=(width, 2 * PANEL[1] + 1.2), layout="constrained")
    figure.suptitle(f"{found.name}\n{capitalized(capacity(found))}", wrap=True, fontsize=12)
    grid = figure.subplots(2, len(columns), squeeze=False, sharex="col", sharey="row")
    for place, (title, points) in enumerate(columns):
        rates, times = grid[0][place], grid[1][place]
        draw(rates, times, points)
        _p99(times, points, found)
        rates.set_title(title)
    _rows(grid)
    entries = legend_entries(*grid.flat)
    figure.legend(entries.values(), entries, loc="outside lower left", ncols=max(2, len(columns) + 1))
    return figure


def _title(full: Point) -> str:
    return f"{counted(full.connections, 'connection')}, capacity {quantity(full.delivered_per_s)}/s"


def _rows(grid: Any) -> None:
    """Label the axes that all panels of a row share."""
    first = grid[0][0]
    if first.get_xscale() == "linear":  # shares of each capacity: rates have no common scale
        first.set_ylabel("rate [% of the capacity]")
        first.set_ylim(bottom=0)
    else:
        first.set_ylabel("requests/s")
        log_axis(first.yaxis, quantity)
    grid[1][0].set_ylabel("p99 of the response time")
    log_axis(grid[1][0].yaxis)


def _open(rates: Axes, times: Axes, points: Sequence[Point]) -> None:
    asked = _x(points)
    capacity_per_s = [(point.asked_per_s or 0.0) / (point.share or 1.0) for point in points]
    rates.plot([0, 100 * max(SHARES)], [0, 100 * max(SHARES)], color=GREY, ls="--", lw=1, label="as asked for")
    _rates(rates, asked, points, [100 / per_s for per_s in capacity_per_s])
    ticks_at(times.xaxis, asked)
    times.set_xlim(left=0)
    times.set_xlabel("rate asked for [% of the capacity]")


def _closed(rates: Axes, times: Axes, points: Sequence[Point]) -> None:
    _rates(rates, _x(points), points, [1.0] * len(points))
    for axes in (rates, times):
        axes.set_xscale("log")
    ticks_at(times.xaxis, _x(points))
    label_axis(times.xaxis, "{:g}".format)
    times.set_xlabel("connections")


def _x(points: Sequence[Point]) -> list[float]:
    return [point.connections if point.share is None else round(100 * point.share) for point in points]


def _rates(axes: Axes, x: Sequence[float], points: Sequence[Point], scale: Sequence[float]) -> None:
    delivered = [point.mean_per_s * by for point, by in zip(points, scale, strict=True)]
    reported = [(at, point.reported_per_s * by) for at, point, by in zip(x, points, scale, strict=True)
                if point.reported_per_s is not None]  # fmt: skip
    label = "delivered: answers divided by their time"
    axes.plot(x, delivered, DELIVERED.marker, ls="-", color=DELIVERED.colour, ms=7, label=label)
    _reported(axes, reported)


def _p99(axes: Axes, points: Sequence[Point], found: Capacity) -> None:
    """Draw the true p99, from the arrival and from when requests were due, with what the way adds, and the reported."""
    x, way_us = _x(points), found.path_us.p50
    since = "true, from the arrival (with the way)"
    axes.plot(x, [max((point.true_us.p99 or 0) + way_us, LEAST_US) for point in points], color=DELIVERED.colour,
              ls=":", label=since)  # fmt: skip
    due = [(at, point.due_us.p99 + way_us) for at, point in zip(x, points, strict=True)
           if point.due_us and point.due_us.p99 is not None]  # fmt: skip
    if due:
        axes.plot(*zip(*due, strict=True), DELIVERED.marker, ls="-", color=DELIVERED.colour, ms=7,
                  label="true, from when due (with the way)")  # fmt: skip
    _reported(axes, [(at, max(point.reported_us.p99, LEAST_US)) for at, point in zip(x, points, strict=True)
                     if point.reported_us.p99 is not None])  # fmt: skip


def _reported(axes: Axes, at: Sequence[tuple[float, float]]) -> None:
    if at:
        axes.plot(*zip(*at, strict=True), REPORTED.marker, ls="", color=REPORTED.colour, mfc="none", mew=1.8, ms=10,
                  label="reported")  # fmt: skip
