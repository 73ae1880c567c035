"""Panels of published numbers beside those of this run: times, rates, speed-ups, and ratios inside an origin."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    Look,
    beside,
    hollow,
    name_rows,
    near,
    ratio_axis,
    small,
)
from bench.drawing.borrowed import marked, shown
from bench.experiments.origins.findings import CLAIMS, Relation, Replica, relations, replicas
from bench.experiments.sentences import factor
from bench.run.frames import Run
from bench.text import duration, quantity

TITLE = "How do published numbers compare with those measured here?"

ORIGINS = ("ZeroMQ", "Web, 2015", "WAMP, 2016", "gRPC lab, 2022", "Xmlrpc-c, 1999")
LOOKS = dict(zip(ORIGINS, map(Look, SYSTEM_COLOURS, (*SYSTEM_MARKERS, "v")), strict=False))


FEW = 14  # rows with letters so large that long names are wider than their place
Row = tuple[Replica, bool]  # and whether it is borrowed from the reference run


def _replicas(run: Run) -> list[Row]:
    """Return the numbers that are drawn: those of the run, then those that it borrows."""
    return [(one, each is not run) for each in shown(run) for one in replicas(each)]


def _name(axes: Axes, rows: list[Row]) -> None:
    """Name the rows; where few of them have large letters, a borrowed one in two lines."""
    gap = "\n" if len(rows) < FEW else " "
    names = [marked(one.name, is_borrowed).replace(" (", f"{gap}(") for one, is_borrowed in rows]
    name_rows(axes, names, small(len(rows)))


def _key(axes: Axes, rows: Sequence[tuple[Any, bool]]) -> None:
    """Add hollow markers to the legend, where there are some."""
    if any(is_borrowed for _, is_borrowed in rows):
        axes.plot([], [], "o", ms=7, mfc="white", mec="black", mew=1.3, label="reference run, on another machine")


def _pairs(axes: Axes, rows: list[Row], text: Any) -> None:
    """Draw the published value and the measured one in one row each."""
    for y, (one, is_borrowed) in enumerate(rows):
        colour, marker = LOOKS[one.origin]
        axes.plot(one.theirs, [y, y], color=GREY, lw=4, alpha=0.5, solid_capstyle="round")
        axes.plot(sum(one.theirs) / 2, y, "s", ms=7, mfc="white", mec=GREY, mew=1.6)
        with hollow(axes, is_borrowed):
            axes.plot([one.here.low, one.here.high], [y, y], color=colour, lw=6, alpha=0.4, solid_capstyle="round")
            axes.plot(one.here.middle, y, marker, ms=7, color=colour)
            beside(axes, y, text(one.here.middle), 9.5)
    _name(axes, rows)
    axes.plot([], [], "s", ms=7, mfc="white", mec=GREY, mew=1.6, label="published, on its machine")
    axes.plot([], [], "o", ms=7, color="black", label="here: median and range over starts")
    _key(axes, rows)
    near(axes, text)
    axes.legend(fontsize=9)


def times(run: Run, axes: Axes) -> None:
    """Draw the published times and those measured here; published half round trips are doubled."""
    _pairs(axes, [row for row in _replicas(run) if row[0].unit == "us"], duration)
    axes.set_xlabel("time per call (whole round trips)")
    axes.set_title("Times: published and measured here")


def rates(run: Run, axes: Axes) -> None:
    """Draw the published rates and those measured here."""
    _pairs(axes, [row for row in _replicas(run) if row[0].unit == "1/s"], quantity)
    axes.set_xlabel("calls, requests or messages per second")
    axes.set_title("Rates: published and measured here")


def faster(run: Run, axes: Axes) -> None:
    """Draw the speed-up of each number: how many times as fast it is here as published."""
    rows = _replicas(run)
    for y, (one, is_borrowed) in enumerate(rows):
        colour, marker = LOOKS[one.origin]
        with hollow(axes, is_borrowed):
            axes.plot([1, one.ratio], [y, y], color=colour, lw=1.5, alpha=0.6)
            axes.plot(one.ratio, y, marker, ms=7, color=colour)
            beside(axes, y, f"× {factor(one.ratio)}", 9)
    axes.axvline(1, color="black", lw=1)
    near(axes)
    ratio_axis(axes.xaxis, "× {:g}".format)
    _name(axes, rows)
    axes.set_xlabel("speed-up over the published number; machine, versions, methods differ")
    axes.set_title("Speed-up over the published number")


def shapes(run: Run, axes: Axes) -> None:
    """Draw ratios of two numbers of one origin, published and measured here; those not measured are named."""
    rows = [(one, each is not run) for each in shown(run) for one in relations(each)]
    for y, (one, is_borrowed) in enumerate(rows):
        colour, marker = LOOKS[one.origin]
        axes.plot(one.theirs, y, "s", ms=8, mfc="white", mec=GREY, mew=1.6)
        width = 6 if one.is_paired else 2  # without an interval: the widest ratio that the two ranges allow
        with hollow(axes, is_borrowed):
            axes.plot([one.here.low, one.here.high], [y, y], color=colour, lw=width, alpha=0.4, solid_capstyle="round")
            axes.plot(one.here.middle, y, marker, ms=7, color=colour)
            beside(axes, y, f"× {one.here.middle:.3g}{direction(one)}", 9)
    axes.axvline(1, color="black", lw=1)
    near(axes)
    ratio_axis(axes.xaxis)
    without = [claim for claim, *_ in CLAIMS if claim not in {one.claim for one, _ in rows}]
    for place, _ in enumerate(without):
        axes.text(0.02, len(rows) + place, "not measured", color=GREY, va="center", fontsize=9,
                  transform=axes.get_yaxis_transform())  # fmt: skip
    claims = [*(marked(one.claim, is_borrowed) for one, is_borrowed in rows), *without]
    name_rows(axes, [claim.replace(": ", ":\n") for claim in claims], 8.5)
    axes.plot([], [], "s", ms=8, mfc="white", mec=GREY, mew=1.6, label="published")
    axes.plot([], [], "o", ms=7, color="black", label="here; bar: 95 % CI")
    _key(axes, rows)
    axes.legend(fontsize=9)
    axes.set_xlabel("ratio of two numbers of one origin")
    axes.set_title("Ratios within one origin")


def direction(one: Relation) -> str:
    """Return what is said of a ratio whose ends enclose 1, or that is on the other side of 1 than the published one."""
    if one.here.low <= 1 <= one.here.high:
        return "\n(contains 1)"
    if not one.is_paired:
        return "\n(medians; line: ranges)"
    return "" if (one.here.low > 1) == (one.theirs > 1) else "\n(other side of 1)"


PANELS = (times, rates, faster, shapes)
