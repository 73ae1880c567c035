"""The figure of several certificates: what each generator's checks found, its times, its load, and its CPU time."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.drawing.axes import (
    GREY,
    SMALL,
    log_axis,
    look,
    name_rows,
    ratio_axis,
    row_fontsize,
    sheet,
    ticks_at,
    write_beside,
)
from bench.referees.comparison import GROUPS, Row, of_group
from bench.referees.figure import MARKERS
from bench.text import duration

TITLE = "Do load generators tell the truth?"
TIMES = ("single", "many", "half-load", "freeze")  # scenarios whose times are compared
FROZEN = "open-in-freeze"


def draw(rows: Sequence[Row], *panels: str) -> Figure:
    """Return a figure of some panels, named as their functions, one below the other."""
    size = (10, (1.6 + 0.34 * len(rows)) * len(panels))
    return sheet(size, len(panels), [partial(panel_of_rows, globals()[name], _filled(rows)) for name in panels])


def whole(rows: Sequence[Row]) -> Figure:
    """Return the figure: all panels."""
    draws = [partial(panel_of_rows, panel, _filled(rows)) for panel in PANELS]
    return sheet((14, 5.4 + 0.6 * len(rows)), 2, draws)


def _filled(rows: Sequence[Row]) -> Sequence[Row]:
    """Return the rows so that stored ones are hollow beside those that were made here, and filled without any."""
    return rows if any(not row.is_stored for row in rows) else [replace(row, is_stored=False) for row in rows]


def panel_of_rows(panel: Callable[[Axes, Sequence[Any]], None], rows: Sequence[Any], axes: Axes) -> None:
    """Draw a panel that has a row for each load generator, and name its rows."""
    panel(axes, rows)
    name_rows(axes, [row.name for row in rows], row_fontsize(len(rows)))


def verdicts(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw what the checks of each kind found."""
    for y, row in enumerate(rows):
        for x, names in enumerate(GROUPS.values()):
            if found := of_group(row, names):
                _mark(axes, x, y, *MARKERS[found], found, row)
    ticks_at(axes.xaxis, range(len(GROUPS)))
    axes.set_xticklabels(GROUPS, rotation=30, ha="right", fontsize=SMALL)
    axes.set_xlim(-0.6, len(GROUPS) - 0.4)
    axes.set_title("What the checks found")


def times(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the reported p99 divided by the true one, in each scenario whose times are compared."""
    for place, name in enumerate(TIMES):
        for y, row in enumerate(rows):
            if ratio := row.p99_ratio(name):
                drawn = look(place)
                _mark(axes, ratio, y + 0.12 * (place - 1.5), drawn.colour, drawn.marker, name, row)
    ratio_axis(axes)
    axes.set_xlabel("reported p99 divided by the true p99, in four scenarios")
    axes.set_title("Reported times")


def frozen(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw how many of the requests that were due while the server was frozen were sent then."""
    for y, row in enumerate(rows):
        check = row.check("freeze", FROZEN)
        if check is None:
            write_beside(axes, y, "no open load")
            continue
        share = 100 * (check["found"] or 0) / check["expected"]
        axes.barh(y, share, color=look(0).colour, height=0.6, alpha=0.4 if row.is_stored else 1)
        write_beside(axes, y, f"{share:.0f} %")
    axes.axvline(100, color=GREY, ls="--", lw=1)
    axes.set_xlabel("requests sent while the server was frozen, of those due [%]")
    axes.set_title("An open load stays open")


def cost(axes: Axes, rows: Sequence[Row]) -> None:
    """Draw the generator's CPU time per request: of a closed load of many connections, and of an open load."""
    for place, (name, load) in enumerate((("many", "closed load"), ("half-load", "open load"))):
        for y, row in enumerate(rows):
            used = row.scenario(name).get("generator_cpu_us_per_request")
            if used and math.isfinite(used):
                drawn = look(place)
                _mark(axes, used, y + 0.16 * (place - 0.5), drawn.colour, drawn.marker, load, row)
    log_axis(axes.xaxis)
    axes.set_xlabel("CPU time of the generator per request")
    axes.xaxis.set_major_formatter(lambda value, _: duration(value))
    axes.set_title("CPU time")


PANELS = (verdicts, times, frozen, cost)


def _mark(axes: Axes, x: float, y: float, colour: str, marker: str, label: str, row: Row) -> None:
    face = "white" if row.is_stored else colour
    axes.plot([x], [y], ls="", marker=marker, color=colour, mfc=face, ms=7, label=label, clip_on=False)
