"""The figure of a class: the forest of one claim, all claims, and the baselines that ratios are of."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.analysis.comparison import DIFFERENT, QUANTITIES, SAME, UNKNOWN
from bench.apps.classroom.merging import HOLDS, Claim, Room
from bench.apps.classroom.ratios import spoken, times
from bench.grammar import figure as panels
from bench.grammar.axes import (
    GREY,
    SYSTEM_COLOURS,
    Look,
    finish,
    log_axis,
    name_rows,
    range_row,
    ratio_axis,
    say_why_empty,
    style,
    wrapped,
    write_beside,
)
from bench.measurement import machine
from bench.stats.meta_analysis import LEAST_MACHINES
from bench.text import counted, duration, quantity

TITLE = "Which claims hold on every machine?"

COLOURS = {DIFFERENT: SYSTEM_COLOURS[0], SAME: SYSTEM_COLOURS[2], UNKNOWN: GREY}
POOLED = SYSTEM_COLOURS[3]
MOST_CLAIMS = 16


def forest(room: Room, axes: Axes) -> None:
    """Draw the chosen claim: the ratio of each machine, their pool, and the prediction for a new machine."""
    claim = room.chosen or room.claims[0]
    weights = np.array([1 / (ratio.error**2 + claim.pool.tau2) for ratio in claim.rows.values()])
    for y, (ratio, size) in enumerate(zip(claim.rows.values(), np.sqrt(weights / weights.sum()), strict=True)):
        axes.plot(_ends(ratio.effect.low, ratio.effect.high), [y, y], color=COLOURS[ratio.verdict], lw=1.8)
        axes.plot(times(ratio.effect.middle), y, "s", ms=4 + 8 * size, color=COLOURS[ratio.verdict])
        write_beside(axes, y, f"{times(ratio.effect.middle):.2f} ({spoken(ratio.effect.low, ratio.effect.high)})")
    _ratio_axis(axes, claim)
    name_rows(axes, wrapped([*claim.rows, *_pooled(axes, claim)]))
    axes.set_title(f"{claim.label}: {QUANTITIES[claim.quantity][0]} over raw sockets")


def _pooled(axes: Axes, claim: Claim) -> list[str]:
    """Draw the pool as a diamond and the prediction as a line below the rows; return the names of these rows."""
    y, pool = len(claim.rows), claim.pool
    axes.axhline(y - 0.5, color="#bbbbbb", lw=0.8)
    if pool.predicted is None:
        write_beside(axes, y, f"{LEAST_MACHINES} are needed")
        return ["pooled"]
    (low, high), middle, half = _ends(pool.low, pool.high), times(pool.middle), min(0.35, 0.015 * (y + 2))
    axes.fill([low, middle, high, middle], [y, y - half, y, y + half], color=POOLED, lw=0)
    write_beside(axes, y, f"{middle:.2f} ({spoken(pool.low, pool.high)})")
    ends, (left, right) = _ends(*pool.predicted), axes.get_xlim()
    axes.plot(ends, [y + 1, y + 1], color=POOLED, lw=1.8, ls=(0, (4, 2)))
    beyond = {"<": (left, ends[0] < left), ">": (right, ends[1] > right)}
    for mark, end in ((mark, end) for mark, (end, is_beyond) in beyond.items() if is_beyond):
        axes.plot(end, y + 1, mark, color=POOLED, ms=7, clip_on=False)
    write_beside(axes, y + 1, spoken(*pool.predicted))
    return ["pooled", "one more machine"]


def claims(room: Room, axes: Axes) -> None:
    """Draw every claim: the ratio of each row, and their pool with its interval where there are enough of them."""
    shown, first = room.claims[:MOST_CLAIMS], room.claims[0].quantity
    for y, claim in enumerate(shown):
        for ratio in claim.rows.values():
            axes.plot(times(ratio.effect.middle), y, "o", ms=5, mew=0, alpha=0.7, color=COLOURS[ratio.verdict])
        axes.plot(times(claim.pool.middle), y, "|", ms=12, mew=2, color=POOLED)
        if claim.pool.k >= LEAST_MACHINES:
            axes.plot(_ends(claim.pool.low, claim.pool.high), [y, y], color=POOLED, lw=7, alpha=0.25)
        write_beside(axes, y, f"{verdict(claim)} ({len(claim.rows)})")
    _ratio_axis(axes, *shown)
    names = [
        claim.label if claim.quantity == first else f"{claim.label}, {QUANTITIES[claim.quantity][0]}" for claim in shown
    ]
    name_rows(axes, wrapped(names))
    more = f"; {len(room.claims) - len(shown)} more in the table" if len(room.claims) > len(shown) else ""
    axes.set_title(f"All claims: every machine a dot{more}")


def verdict(claim: Claim) -> str:
    """Return a claim's verdict; where every row is on one side of 1 but their pool's interval contains 1, that."""
    contains_1 = claim.pool.k >= LEAST_MACHINES and claim.pool.low <= 0 <= claim.pool.high
    return "every row on one side,\npool contains 1" if claim.verdict == HOLDS and contains_1 else claim.verdict


def baselines(room: Room, axes: Axes) -> None:
    """Draw each start of raw sockets in each row: the baseline that the ratios divide by."""
    claim = room.chosen or room.claims[0]
    text = quantity if claim.quantity == "rate_per_s" else duration
    for y, ratio in enumerate(claim.rows.values()):
        range_row(axes, y, ratio.baseline, Look(GREY, "o"), text if len(claim.rows) < 20 else lambda _: "")
    log_axis(axes.xaxis, text)
    name_rows(axes, wrapped(claim.rows))
    axes.set_xlabel(f"{QUANTITIES[claim.quantity][0]} of raw sockets under the same factors; a dot is a start")
    axes.set_title("Baseline: raw sockets of each machine")


def _ends(low: float, high: float) -> list[float]:
    return [times(low), times(high)]


def _ratio_axis(axes: Axes, *shown: Claim) -> None:
    """Draw a logarithmic axis of ratios that contains 1 and every interval."""
    ends = [(ratio.effect.low, ratio.effect.high) for claim in shown for ratio in claim.rows.values()]
    ends += [(claim.pool.low, claim.pool.high) for claim in shown if claim.pool.k >= LEAST_MACHINES]
    low, high = min(0.0, *(low for low, _ in ends)) - 0.05, max(0.0, *(high for _, high in ends)) + 0.05
    ratio_axis(axes)
    axes.set_xlim(times(low - 0.05 * (high - low)), times(high + 0.05 * (high - low)))
    axes.set_xlabel("ratio to raw sockets on the same machine; 1: no difference")


def draw(room: Room, *names: str) -> Figure:
    """Return a figure of panels, named as their functions; of several the first is as high as the others together."""
    with style():
        rows = max((len(claim.rows) for claim in room.claims), default=0)
        size = (14, 10.4 + 0.36 * max(0, rows - 18)) if names[1:] else (10, 4.8 + 0.2 * max(0, rows - 18))
        figure = Figure(figsize=size, layout="constrained")
        sheets: list[Any] = [figure]
        if names[1:]:
            left, right = figure.subfigures(1, 2, squeeze=False).flat
            sheets = [left, *right.subfigures(len(names) - 1, 1, squeeze=False).flat]
        for name, sheet in zip(names, sheets, strict=True):
            axes = sheet.subplots()
            globals()[name](room, axes) if room.claims else say_why_empty(axes, "no submission could be used")
            finish(sheet, axes)
    return figure


def whole(room: Room) -> Figure:
    """Return the figure: all panels, title and caption."""
    return panels.framed(draw(room, "forest", "claims", "baselines"), TITLE, caption(room))


def caption(room: Room) -> str:
    """Return what the reader must know to judge the figure."""
    fewest = min((len(ratio.baseline) for claim in room.claims for ratio in claim.rows.values()), default=0)
    files, machines = counted(len({run.file for run in room.runs}), "submission"), counted(room.machines, "machine")
    return (
        f"{files} of {machines} ({room.source}); {counted(len(room.refusals), 'part')} not used; "
        f"data {room.data_hash}. Each row: one machine, at least {fewest} starts of each case, "
        "ratio to its own raw sockets block by block, 95 % interval by signed ranks. "
        f"Pooled by random effects (DerSimonian-Laird; interval by Hartung-Knapp, from {LEAST_MACHINES} rows on)."
    )


def save(room: Room) -> list[Path]:
    """Write the figure as SVG and PNG into ``figures/``; the same submissions give the same bytes."""
    metadata = panels.origin("classroom", TITLE, "submissions", room.data_hash, machine.git_revision())
    return panels.write(whole(room), "classroom", metadata)
