"""Panels of published numbers beside those of this run: times, rates, speed-ups, and ratios inside an origin."""

from collections.abc import Sequence
from typing import Any

from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    SMALL,
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    Look,
    hollow,
    interval_row,
    log_axis,
    name_rows,
    ratio_axis,
    write_beside,
)
from bench.drawing.borrowed import marked, shown
from bench.experiments.origins.findings import CLAIMS, Relation, Replica, relations, replicas
from bench.experiments.sentences import factor
from bench.run.frames import Run
from bench.text import duration, quantity

TITLE = "How do published numbers compare with those measured here?"

ORIGINS = ("ZeroMQ", "Web, 2015", "WAMP, 2016", "gRPC greeter, 2022", "Xmlrpc-c, 1999")
LOOKS = dict(zip(ORIGINS, map(Look, SYSTEM_COLOURS, (*SYSTEM_MARKERS, "v")), strict=False))
APART = 0.18  # of a row: the published number above, the one measured here below

Row = tuple[Replica, bool]  # and whether it is borrowed from the reference run


def _replicas(run: Run) -> list[Row]:
    """Return the numbers that are drawn: those of the run, then those that it borrows."""
    return [(replica, part is not run) for part in shown(run) for replica in replicas(part)]


def _name(axes: Axes, rows: list[Row]) -> None:
    name_rows(axes, [marked(replica.name, is_borrowed) for replica, is_borrowed in rows])


def _key(axes: Axes, rows: Sequence[tuple[Any, bool]], here: str) -> None:
    """Explain the markers in the legend; hollow ones where there are some."""
    axes.plot([], [], "s", ms=7, mfc="white", color=GREY, mew=1.6, label="published, on its machine")
    axes.plot([], [], "o", ms=7, color="black", label=here)
    if any(is_borrowed for _, is_borrowed in rows):
        axes.plot([], [], "o", ms=7, mfc="white", color="black", mew=1.3, label="reference run, on another machine")


def _pairs(axes: Axes, rows: list[Row], text: Any) -> None:
    """Draw the published value and the measured one in one row each."""
    for y, (replica, is_borrowed) in enumerate(rows):
        above, below = y - APART, y + APART
        axes.plot(replica.theirs, [above, above], color=GREY, lw=4, alpha=0.5, solid_capstyle="round")
        axes.plot(sum(replica.theirs) / 2, above, "s", ms=6, mfc="white", mec=GREY, mew=1.6)
        with hollow(axes, is_borrowed):
            interval_row(axes, below, replica.here, LOOKS[replica.origin])
            write_beside(axes, y, replica.here.values(text))
    _name(axes, rows)
    _key(axes, rows, "here: median and range over starts")
    log_axis(axes.xaxis, text)


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
    for y, (replica, is_borrowed) in enumerate(rows):
        colour, marker = LOOKS[replica.origin]
        with hollow(axes, is_borrowed):
            axes.plot([1, replica.ratio], [y, y], color=colour, lw=1.5, alpha=0.6)
            axes.plot(replica.ratio, y, marker, ms=7, color=colour)
            write_beside(axes, y, f"× {factor(replica.ratio)}")
    ratio_axis(axes, "× {:g}".format)
    _name(axes, rows)
    axes.set_xlabel("published time / time here, or rate here / published rate")
    axes.set_title("Speed-up over the published number")


def shapes(run: Run, axes: Axes) -> None:
    """Draw ratios of two numbers of one origin, published and measured here; those not measured are named."""
    rows = [(relation, part is not run) for part in shown(run) for relation in relations(part)]
    for y, (relation, is_borrowed) in enumerate(rows):
        axes.plot(relation.theirs, y - APART, "s", ms=6, mfc="white", mec=GREY, mew=1.6)
        with hollow(axes, is_borrowed):
            interval_row(axes, y + APART, relation.here, LOOKS[relation.origin])
            write_beside(axes, y, f"× {relation.here.middle:.3g}{direction(relation)}")
    ratio_axis(axes)
    absent = [claim for claim, *_ in CLAIMS if claim not in {relation.claim for relation, _ in rows}]
    for y, _ in enumerate(absent, len(rows)):
        at = axes.get_yaxis_transform()
        axes.text(0.02, y, "not measured", color=GREY, va="center", fontsize=SMALL, transform=at)
    claims = [*(marked(relation.claim, is_borrowed) for relation, is_borrowed in rows), *absent]
    name_rows(axes, [claim.replace(": ", ":\n") for claim in claims])
    _key(axes, rows, "here; bar: 95 % CI")
    axes.set_xlabel("ratio of two numbers of one origin")
    axes.set_title("Ratios within one origin")


def direction(relation: Relation) -> str:
    """Return what is said of a ratio whose ends enclose 1, or that is on the other side of 1 than the published one."""
    if relation.here.low <= 1 <= relation.here.high:
        return "\n(contains 1)"
    if not relation.is_paired:
        return "\n(medians; bar: ranges)"
    return "" if (relation.here.low > 1) == (relation.theirs > 1) else "\n(other side of 1)"


def height(run: Run) -> float:
    """Return how many inches the figure is taller than usual: for a row of each number."""
    return max(0.0, 0.4 * (len(_replicas(run)) - 15))


PANELS = (times, rates, faster, shapes)
