"""The figure of a load generator's capacity: rates and p99, against the rate that is asked for."""

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.grammar.axes import GREY, label_axis, log_axis, look, sheet, ticks_at
from bench.text import capitalized, counted, quantity
from certify.capacity import SHARES, Capacity, Point
from certify.capacity_report import capacity

PANEL = (5.2, 4.0)  # inches
DELIVERED, REPORTED = look(0), look(3)
LEAST_US = 0.1  # a response time that is drawn: no clock here resolves less


def whole(measurement: Capacity) -> Figure:
    """Return the figure: for each number of connections the rates, and below them p99; of closed loads one column."""
    columns = {
        _title(measurement.full(count)): points
        for count in measurement.connections
        if (points := measurement.opened(count))
    }
    columns = columns or {"closed load": measurement.points}
    draws = [partial(rates, title=title, points=points) for title, points in columns.items()]
    below = [partial(p99, points=points, way_us=measurement.path_us.p50) for points in columns.values()]
    figure = sheet((max(7.5, PANEL[0] * len(columns)), 2 * PANEL[1] + 1.0), 2, [*draws, *below])
    figure.suptitle(f"{measurement.name}\n{capitalized(capacity(measurement))}", wrap=True, fontsize=12)
    return figure


def _title(full: Point) -> str:
    return f"{counted(full.connections, 'connection')}, capacity {quantity(full.delivered_per_s)}/s"


def rates(axes: Axes, title: str, points: Sequence[Point]) -> None:
    """Draw the rates that were delivered and reported: of open loads as shares of the capacity."""
    x, is_open = _x(axes, points), points[0].share is not None
    scale = [100 * (point.share or 1.0) / (point.asked_per_s or 1.0) if is_open else 1.0 for point in points]
    delivered = [point.answers_per_s * factor for point, factor in zip(points, scale, strict=True)]
    label = "delivered: answers divided by their time"
    axes.plot(x, delivered, DELIVERED.marker, ls="-", color=DELIVERED.colour, ms=7, label=label)
    _reported(axes, x, [(point.reported_per_s or 0.0) * factor for point, factor in zip(points, scale, strict=True)])
    if is_open:  # rates have no common scale
        ends = [0, 100 * max(SHARES)]
        axes.plot(ends, ends, color=GREY, ls="--", lw=1, label="as asked for")
        axes.set_ylabel("rate [% of the capacity]")
        axes.set_ylim(bottom=0)
    else:
        axes.set_ylabel("requests/s")
        log_axis(axes.yaxis, quantity)
    axes.set_title(title)


def p99(axes: Axes, points: Sequence[Point], way_us: float) -> None:
    """Draw the true p99, from the arrival and from when requests were due, with what the way adds, and the reported."""
    x = _x(axes, points)
    arrived = [max((point.true_us.p99 or 0) + way_us, LEAST_US) for point in points]
    axes.plot(x, arrived, color=DELIVERED.colour, ls=":", label="true, from the arrival (with the way)")
    due = [
        (at, point.due_us.p99 + way_us)
        for at, point in zip(x, points, strict=True)
        if point.due_us and point.due_us.p99 is not None
    ]
    if due:
        label = "true, from when due (with the way)"
        axes.plot(*zip(*due, strict=True), DELIVERED.marker, ls="-", color=DELIVERED.colour, ms=7, label=label)
    _reported(axes, x, [max(point.reported_us.p99, LEAST_US) if point.reported_us.p99 else 0.0 for point in points])
    axes.set_ylabel("p99 of the response time")
    log_axis(axes.yaxis)


def _x(axes: Axes, points: Sequence[Point]) -> list[float]:
    """Return where points are drawn: at shares of the capacity, or at numbers of connections; label that axis."""
    if points[0].share is None:
        x: list[float] = [point.connections for point in points]
        axes.set_xscale("log")
        axes.set_xlabel("connections")
    else:
        x = [round(100 * (point.share or 0.0)) for point in points]
        axes.set_xlim(left=0, right=105 * max(SHARES))
        axes.set_xlabel("rate asked for [% of the capacity]")
    ticks_at(axes.xaxis, x)
    label_axis(axes.xaxis, "{:g}".format)
    return x


def _reported(axes: Axes, x: Sequence[float], values: Sequence[float]) -> None:
    """Draw what is reported; 0 where nothing is."""
    at = [pair for pair in zip(x, values, strict=True) if pair[1]]
    if at:
        axes.plot(*zip(*at, strict=True), REPORTED.marker, ls="", color=REPORTED.colour, mfc="none", mew=1.8, ms=10,
                  label="reported")  # fmt: skip
