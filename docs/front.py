"""README.md's picture: the RTT of eight systems divided by that of a raw socket, and where the time goes."""

import math
from collections.abc import Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.analysis.published import Published
from bench.experiments import anatomy
from bench.grammar.axes import GREY, legend_entries, log_axis, look, style, write_beside
from bench.plan.case import BASELINE
from bench.run.frames import Run
from bench.text import quantity
from docs.published_tables import WELL_KNOWN, WELL_KNOWN_OVER, mean_us, rounded, well_known_rows

NAMES = {BASELINE: "raw socket"} | WELL_KNOWN
OTHERS_LAST = ("waking", anatomy.legend_words(("", anatomy.OTHER)))  # in the legend, behind the roles


def draw(published: Published, traced: Run) -> Figure:
    """Return the picture; traced: a run of anatomy with the same systems, over the same transport, on separate CPUs."""
    names = [BASELINE, *(row.system for row in well_known_rows(published))]
    with style():
        figure = Figure(figsize=(12.8, 4.6), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
        _ratios(published, left)
        _times(traced, {name: mean_us(published, name) for name in names}, right)
        for axes in (left, right):
            axes.set_yticks(range(len(names)), [NAMES[name] for name in names])
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.grid(axis="y", visible=False)
        right.tick_params("y", labelleft=False)
        entries = legend_entries(right)
        ordered = sorted(entries, key=lambda label: (label in OTHERS_LAST, label.partition(",")[0], "kernel" in label))
        close: dict[str, Any] = {"ncols": len(entries), "columnspacing": 1.3, "handlelength": 1.5, "frameon": False}
        figure.legend([entries[label] for label in ordered], ordered, loc="outside lower right", **close)
    return figure


def _ratios(published: Published, axes: Axes) -> None:
    for y, row in enumerate(well_known_rows(published), 1):
        values = [math.exp(ln) for ln in row.on.values()]
        axes.plot([min(values), max(values)], [y, y], lw=3, alpha=0.35, color=look(0).colour)
        axes.plot(values, [y] * len(values), look(0).marker, ms=5.5, mec="white", mew=0.6, color=look(0).colour)
    axes.axvline(1, color=GREY, lw=1, ls="--")
    log_axis(axes.xaxis, quantity)
    axes.set_xlabel("median RTT divided by a raw socket's; a dot is a machine")
    axes.set_title("How many times a raw socket's time?")


def _times(run: Run, of_systems: Mapping[str, float], axes: Axes) -> None:
    """Draw the median RTT of each system, in us, divided like its traced calls."""
    cases = {name: run.first(system=name, transport=WELL_KNOWN_OVER, traced=True) for name in of_systems}
    traced = anatomy.breakdowns_us(run, [case for case in cases.values() if case is not None])
    longest = max(of_systems.values())
    for y, (name, us) in enumerate(of_systems.items()):
        if (parts := traced.get(cases[name])) is not None:
            scale = us / sum(parts.values())
            anatomy.draw_bar(axes, y, {row: part_us * scale for row, part_us in parts.items()}, longest)
        write_beside(axes, y, rounded(us))
    axes.set_xlim(0, 1.02 * longest)
    axes.set_xlabel("median RTT [µs]: mean of the machines; parts: traced calls on one")
    axes.set_title("Where does that time go?")
