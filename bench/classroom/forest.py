"""The figure of a class: the forest of one claim, all claims, the baselines, and the claim without each row."""

import math
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import figures, machine, paths
from bench.classroom.merging import DEPENDS, HOLDS, MACHINE, NOTHING, Claim, Room
from bench.classroom.pooling import LEAST_MACHINES, Pool
from bench.classroom.ratios import counted
from bench.comparing import DIFFERENT, QUANTITIES, SAME
from bench.figures.axes import GREY, log_axis, name_rows, nothing, range_row, style, time_axis
from bench.units import duration, quantity

TITLE = "Which claims hold on every machine?"

NONE = "no submission could be used"
COLOURS = {DIFFERENT: "#0173b2", SAME: "#029e73", HOLDS: "#0173b2", NOTHING: "#029e73", DEPENDS: "#d55e00"}
POOLED = "#d55e00"
MOST_CLAIMS = 16
USUAL_ROWS = 12


def forest(room: Room, axes: Axes) -> None:
    """Draw the chosen claim: each row's ratio with its interval, their pool, and where one more machine would lie."""
    axes.set_title("One claim, row by row")
    if (claim := room.chosen) is None:
        return nothing(axes, NONE)
    sizes = weights(claim)
    for y, ratio in enumerate(claim.rows.values()):
        colour = COLOURS.get(ratio.verdict, GREY)
        low, middle, high = np.exp([ratio.effect.low, ratio.effect.middle, ratio.effect.high])
        axes.plot([low, high], [y, y], color=colour, lw=1.8)
        axes.plot(middle, y, "s", ms=4 + 8 * math.sqrt(sizes[y]), color=colour)
        _at_right(axes, y, f"{middle:.2f} [{low:.2f}, {high:.2f}]")
    _ratio_axis(axes, claim)
    names = [*claim.rows, *_pooled(axes, claim)]
    name_rows(axes, names, fontsize=_fontsize(len(names)))
    axes.set_title(f"{claim.label}: {QUANTITIES[claim.quantity][0]} over raw sockets")
    return None


def _pooled(axes: Axes, claim: Claim) -> list[str]:
    """Draw the pool as a diamond and the prediction as a line below the rows; return the names of these rows."""
    y, found = len(claim.rows), claim.pool
    axes.axhline(y - 0.5, color="#bbbbbb", lw=0.8)
    if found.k < LEAST_MACHINES:
        _at_right(axes, y, f"{LEAST_MACHINES} are needed")
        return ["pooled"]
    low, middle, high = np.exp([found.low, found.middle, found.high])
    height = min(0.35, 0.03 * (y + 2))
    axes.fill([low, middle, high, middle], [y, y - height, y, y + height], color=POOLED, lw=0)
    _at_right(axes, y, f"{middle:.2f} [{low:.2f}, {high:.2f}]")
    if claim.predicted is None:
        return ["pooled"]
    first, last = np.exp(claim.predicted)
    axes.plot([first, last], [y + 1, y + 1], color=POOLED, lw=1.8, ls=(0, (4, 2)))
    left, right = axes.get_xlim()
    for end, is_beyond, mark in ((left, first < left, "<"), (right, last > right, ">")):
        if is_beyond:
            axes.plot(end, y + 1, mark, color=POOLED, ms=7, clip_on=False)
    _at_right(axes, y + 1, f"[{first:.2g}, {last:.2g}]")
    return ["pooled", "one more machine"]


def claims(room: Room, axes: Axes) -> None:
    """Draw every claim: the ratio of each row, and their pool with its interval where there are enough of them."""
    axes.set_title("All claims")
    shown = room.claims[:MOST_CLAIMS]
    if not shown:
        return nothing(axes, NONE)
    several = len({claim.quantity for claim in shown}) > 1
    for y, claim in enumerate(shown):
        for ratio in claim.rows.values():
            axes.plot(
                math.exp(ratio.effect.middle), y, "o", ms=5, mew=0, alpha=0.7, color=COLOURS.get(ratio.verdict, GREY)
            )
        _bar(axes, y, claim.pool)
        _at_right(axes, y, f"{claim.verdict} ({len(claim.rows)})")
    _ratio_axis(axes, *shown)
    names = [f"{claim.label}{', ' + QUANTITIES[claim.quantity][0] if several else ''}" for claim in shown]
    name_rows(axes, names, fontsize=_fontsize(len(names)))
    more = f"; {len(room.claims) - len(shown)} more in the table" if len(room.claims) > len(shown) else ""
    axes.set_title(f"All claims: every {room.unit} a dot{more}")
    return None


def baselines(room: Room, axes: Axes) -> None:
    """Draw raw sockets of each row, start by start: what the ratios are of, and what they take out."""
    axes.set_title("What the ratios are of: raw sockets")
    if (claim := room.chosen) is None:
        return nothing(axes, NONE)
    is_time = claim.quantity != "rate_per_s"
    for y, ratio in enumerate(claim.rows.values()):
        range_row(axes, y, ratio.floor, GREY, duration if is_time else quantity)
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(low / 1.15, high * 1.15 * (high / low) ** 0.35 * 1.2)
    time_axis(axes.xaxis) if is_time else log_axis(axes.xaxis, quantity)
    name_rows(axes, claim.rows, fontsize=_fontsize(len(claim.rows)))
    axes.set_xlabel(f"{QUANTITIES[claim.quantity][0]} of raw sockets under the same factors; a dot is a start")
    axes.set_title(f"What the ratios are of: raw sockets of each {room.unit}")
    return None


def without_one(room: Room, axes: Axes) -> None:
    """Draw the pool once more without each row: does the answer hang on one of them?"""
    axes.set_title("The pool without each row")
    claim = room.chosen
    if claim is None or len(claim.rows) < 2:
        return nothing(axes, NONE if claim is None else f"one {room.unit} alone: nothing is left without it")
    pools = [claim.pool, *map(claim.without, claim.rows)]
    for y, found in enumerate(pools):
        _bar(axes, y, found)
        _at_right(axes, y, f"{math.exp(found.middle):.2f}")
    axes.axvline(math.exp(claim.pool.middle), color=POOLED, lw=1, ls=":")
    _ratio_axis(axes, claim)
    name_rows(axes, ["all", *(f"without {row}" for row in claim.rows)], fontsize=_fontsize(len(pools)))
    axes.set_title(f"The pool without each {room.unit}")
    return None


PANELS = (forest, claims, baselines, without_one)


def weights(claim: Claim) -> "list[float]":
    """Return what each row weighs in the pool; together 1."""
    weights = np.array([1 / (ratio.error**2 + claim.pool.tau2) for ratio in claim.rows.values()])
    return list(weights / weights.sum())


def _bar(axes: Axes, y: float, found: Pool) -> None:
    """Draw a pool as a stroke, with its interval as a bar if it is of enough rows to have one."""
    axes.plot(math.exp(found.middle), y, "|", ms=12, mew=2, color=POOLED)
    if found.k >= LEAST_MACHINES:
        ends = [math.exp(found.low), math.exp(found.high)]
        axes.plot(ends, [y, y], color=POOLED, lw=7, alpha=0.25, solid_capstyle="butt")


def _ratio_axis(axes: Axes, *shown: Claim) -> None:
    """Draw a logarithmic axis of ratios that holds 1 and every row's interval, with room for words on the right."""
    effects = [ratio.effect for claim in shown for ratio in claim.rows.values()]
    pools = [claim.pool for claim in shown if claim.pool.k >= LEAST_MACHINES]
    low = min(0.0, *(one.low for one in effects), *(one.low for one in pools)) - 0.05
    high = max(0.0, *(one.high for one in effects), *(one.high for one in pools)) + 0.05
    axes.set_xscale("log")
    axes.set_xlim(math.exp(low - 0.05 * (high - low)), math.exp(high + 0.55 * (high - low)))
    log_axis(axes.xaxis, lambda value: f"{value:g}")
    axes.axvline(1, color="black", lw=1)
    axes.set_xlabel("ratio to raw sockets on the same machine; 1: no difference")


def _at_right(axes: Axes, y: float, text: str) -> None:
    box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1}
    axes.text(
        0.99, y, text, ha="right", va="center", fontsize=9, transform=axes.get_yaxis_transform(), bbox=box, clip_on=True
    )


def _fontsize(rows: int) -> float:
    return 10 if rows <= USUAL_ROWS else 9


def panel(room: Room, name: str) -> Figure:
    """Return a figure that shows one panel, named as its function; higher for more rows than usual."""
    with style():
        figure = Figure(figsize=(10, 4.2 + _more(room) / 2), layout="constrained")
        globals()[name](room, figure.subplots())
    return figure


def whole(room: Room) -> Figure:
    """Return the figure: four panels, title and caption."""
    with style():
        figure = Figure(figsize=(14, 10.4 + _more(room)), layout="constrained")
        for axes, draw in zip(figure.subplots(2, 2).flat, PANELS, strict=True):
            draw(room, axes)
        figure.suptitle(TITLE, fontsize=17, fontweight="bold", x=0.01, ha="left")
        figure.supxlabel(caption(room), fontsize=9.5, x=0.01, ha="left", color="#444444")
    return figure


def _more(room: Room) -> float:
    """Return how many inches more than usual the rows of the chosen claim need."""
    rows = len(room.chosen.rows) if room.chosen else 0
    return 0.5 * max(0, rows - USUAL_ROWS)


def caption(room: Room) -> str:
    """Return what the reader must know to judge the figure."""
    files = {run.file for run in room.runs}
    fewest = [len(ratio.floor) for claim in room.claims for ratio in claim.rows.values()]
    starts = f"at least {min(fewest)} starts of each case" if fewest else "no starts"
    each = "machine" if room.unit == MACHINE else "placement of a machine"
    return (
        f"{counted(len(files), 'zip')} of {counted(room.machines, 'machine')} ({room.source}); "
        f"{counted(len(room.refusals), 'part')} not used; data "
        f"{room.data_hash}. Each row: one {each}, {starts},\n"
        "ratio to its own raw sockets block by block, 95 % interval by signed ranks. "
        f"Pooled by random effects (DerSimonian-Laird; interval by Hartung-Knapp, from {LEAST_MACHINES} rows on)."
    )


def save(room: Room) -> list[Path]:
    """Write the figure as SVG and PNG into ``figures/``; the same zips give the same bytes."""
    git = machine.git_revision()
    dirty = " (with changes)" if git["dirty"] else ""
    text = f"run=submissions data={room.data_hash} revision={git['revision']}{dirty} notebook=classroom (roundtrip)"
    targets = [paths.figures() / f"classroom.{kind}" for kind in ("svg", "png")]
    figure = whole(room)
    with style():
        for target in targets:
            figures.write(figure, target, {"Title": TITLE, "Description": text})
    return targets
