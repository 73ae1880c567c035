"""README.md's picture: the RTT of eight systems divided by that of a raw socket, and where the time goes."""

import math
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.analysis.published import Published, ratio_text
from bench.experiments import anatomy
from bench.grammar.axes import GREY, legend_entries, log_axis, look, style, write_beside
from bench.run.frames import Run
from bench.text import quantity
from docs.published_tables import WELL_KNOWN, WELL_KNOWN_OVER, well_known_rows


def draw(published: Published, traced: Run) -> Figure:
    """Return the picture; traced: a run of anatomy with the same systems, over the same transport, on separate CPUs."""
    names = [row.system for row in well_known_rows(published)]
    with style():
        figure = Figure(figsize=(12.8, 4.6), layout="constrained")
        left, right = figure.subplots(1, 2, width_ratios=(1, 1.1))
        _ratios(published, left)
        _shares(traced, names, right)
        for axes in (left, right):
            axes.set_yticks(range(len(names)), [WELL_KNOWN[name] for name in names])
            axes.set_ylim(len(names) - 0.5, -0.5)
            axes.grid(axis="y", visible=False)
        right.tick_params("y", labelleft=False)
        entries = legend_entries(right)
        close: dict[str, Any] = {"ncols": len(entries), "columnspacing": 1.3, "handlelength": 1.5, "frameon": False}
        figure.legend(entries.values(), entries, loc="outside lower right", **close)
    return figure


def _ratios(published: Published, axes: Axes) -> None:
    for y, row in enumerate(well_known_rows(published)):
        values = [math.exp(ln) for ln in row.on.values()]
        axes.plot([min(values), max(values)], [y, y], lw=3, alpha=0.35, color=look(0).colour)
        axes.plot(values, [y] * len(values), look(0).marker, ms=5.5, mec="white", mew=0.6, color=look(0).colour)
        write_beside(axes, y, ratio_text(row))
    axes.axvline(1, color=GREY, lw=1, ls="--")
    log_axis(axes.xaxis, quantity)
    axes.set_xlabel("ratio; dot: one machine; at the right: smallest to largest")
    axes.set_title("Median RTT divided by a raw socket's (log scale)")


def _shares(run: Run, names: list[str], axes: Axes) -> None:
    cases = {name: run.first(system=name, transport=WELL_KNOWN_OVER, traced=True) for name in names}
    shown = anatomy.breakdowns_us(run, [case for case in cases.values() if case is not None])
    for y, case in enumerate(cases.values()):
        if case in shown:
            anatomy.draw_bar(axes, y, shown[case])
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of its RTT [%]")
    axes.set_title("Where does the time of traced calls go? (one machine)")
