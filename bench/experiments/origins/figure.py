"""Panels of the origins' numbers beside today's: times, rates, how much faster, and which relations survive."""

from typing import Any

from matplotlib.axes import Axes

from bench.experiments.axes import GREY, log_axis, name_rows, time_axis
from bench.experiments.origins.findings import Replica, relations, replicas
from bench.run.frames import Run
from bench.text import duration, quantity

TITLE = "What did they measure, and what do we get?"

COLOURS = {
    "WAMP, 2016": "#029e73",
    "Web, 2015": "#de8f05",
    "ZeroMQ": "#0173b2",
    "Xmlrpc-c, 1999": "#cc78bc",
    "gRPC lab, 2022": "#ca9161",
}


def _pairs(axes: Axes, rows: list[Replica], text: Any) -> None:
    """Draw theirs and ours in one row each."""
    for y, one in enumerate(rows):
        colour = COLOURS[one.origin]
        axes.plot(one.theirs, [y, y], color=GREY, lw=4, alpha=0.5, solid_capstyle="round")
        axes.plot(sum(one.theirs) / 2, y, "s", ms=7, mfc="white", mec=GREY, mew=1.6)
        axes.plot([one.here.low, one.here.high], [y, y], color=colour, lw=6, alpha=0.4, solid_capstyle="round")
        axes.plot(one.here.middle, y, "o", ms=7, color=colour)
        at = max(*one.theirs, one.here.high)
        words = text(one.here.middle)
        axes.annotate(words, (at, y), (9, 0), textcoords="offset points", va="center", fontsize=9.5)
    name_rows(axes, [one.name for one in rows], fontsize=9.5)
    axes.plot([], [], "s", ms=7, mfc="white", mec=GREY, mew=1.6, label="the origin, on its machine")
    axes.plot([], [], "o", ms=7, color="black", label="here: median and range of the starts")
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(low / 1.6, high * (high / low) ** 0.3)
    axes.set_ylim(len(rows) + 0.9, -0.6)
    axes.legend(loc="lower left", fontsize=9)


def times(run: Run, axes: Axes) -> None:
    """Draw the times that were published and those of today; half round trips are doubled."""
    _pairs(axes, [one for one in replicas(run) if one.unit == "us"], duration)
    time_axis(axes.xaxis)
    axes.set_xlabel("time; round trips are never halved")
    axes.set_title("Times")


def rates(run: Run, axes: Axes) -> None:
    """Draw the rates that were published and those of today."""
    _pairs(axes, [one for one in replicas(run) if one.unit == "1/s"], quantity)
    log_axis(axes.xaxis, quantity)
    axes.set_xlabel("per second")
    axes.set_title("Rates")


def faster(run: Run, axes: Axes) -> None:
    """Draw how many times as fast each number is here as there."""
    rows = replicas(run)
    for y, one in enumerate(rows):
        axes.plot([1, one.ratio], [y, y], color=COLOURS[one.origin], lw=1.5, alpha=0.6)
        axes.plot(one.ratio, y, "o", ms=7, color=COLOURS[one.origin])
        ahead = one.ratio >= 1
        axes.annotate(f"{one.ratio:.2g}", (one.ratio, y), (9 if ahead else -9, 0), textcoords="offset points",
                      va="center", ha="left" if ahead else "right", fontsize=9)  # fmt: skip
    axes.axvline(1, color="black", lw=1)
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(low / 5, high * 3)
    log_axis(axes.xaxis, lambda value: f"{value:g} times")
    name_rows(axes, [one.name for one in rows], fontsize=9)
    axes.set_xlabel("as fast here as there; machine, versions, methods differ")
    axes.set_title("How much faster than the origin")


def shapes(run: Run, axes: Axes) -> None:
    """Draw each origin's conclusion as a ratio, there and here."""
    rows = relations(run)
    for y, one in enumerate(rows):
        colour = COLOURS[one.origin]
        axes.plot(one.theirs, y, "s", ms=8, mfc="white", mec=GREY, mew=1.6)
        axes.plot([one.here.low, one.here.high], [y, y], color=colour, lw=6, alpha=0.4, solid_capstyle="round")
        axes.plot(one.here.middle, y, "o", ms=7, color=colour)
    axes.axvline(1, color="black", lw=1)
    axes.set_xscale("log")
    log_axis(axes.xaxis, lambda value: f"{value:g}")
    name_rows(axes, [one.claim for one in rows], fontsize=9)
    axes.plot([], [], "s", ms=8, mfc="white", mec=GREY, mew=1.6, label="the origin")
    axes.plot([], [], "o", ms=7, color="black", label="here, with what the ranges allow")
    axes.set_ylim(len(rows) + 0.4, -0.6)
    axes.legend(loc="lower right", fontsize=9)
    axes.set_xlabel("ratio of two numbers of one origin")
    axes.set_title("What survives: ratios inside an origin")


PANELS = (times, rates, faster, shapes)
