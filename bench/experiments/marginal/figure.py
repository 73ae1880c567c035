"""Panels of whole client processes: their time by calls, what a call costs, where starting goes, three methods."""

import itertools

import numpy as np
from matplotlib.axes import Axes

from bench.experiments.axes import COLOURS, GREY, ROLE_COLOURS, linear_axis, log_axis, name_rows, time_axis
from bench.experiments.marginal import findings
from bench.experiments.marginal.findings import cases
from bench.run.frames import Run
from bench.text import duration, quantity

TITLE = "What does one more call cost?"

WAITING = "#bbbbbb"
PHASES = {
    "interpreter": "#0173b2",
    "imports": "#56b4e9",
    "program, connect, first call": "#029e73",
    "connect, first call": "#de8f05",
    "other calls": "#cc78bc",
    "end": "#949494",
}


def whole(run: Run, axes: Axes) -> None:
    """Draw what each process with the smallest payload took, by its calls, and the line that was fitted."""
    for case, colour in zip(cases(run), itertools.cycle(COLOURS), strict=False):
        rows, size = findings.spent(run, case, "wall"), run.case(case).payload_bytes
        rows = rows[rows["payload_bytes"] == size]
        found = findings.costs(run, case, "wall")
        axes.plot(rows["calls"], rows["us"], "o", ms=4.5, mew=0, alpha=0.6, color=colour)
        grid = np.geomspace(rows["calls"].min(), rows["calls"].max(), 100)
        call = findings.call_us(run, case, "wall").middle
        axes.plot(grid, found.start.middle + call * grid, lw=1.8, color=colour, label=run.labels[case])
    axes.set(xscale="log", yscale="log")
    log_axis(axes.xaxis, quantity)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high * (high / low) ** 0.35)
    time_axis(axes.yaxis)
    axes.set_xlabel("calls that the process makes")
    axes.set_ylabel("from its start to its end")
    axes.legend(loc="upper left", fontsize=9.5)
    axes.set_title("Whole client processes; lines: T = a + b n")


def one_call(run: Run, axes: Axes) -> None:
    """Draw what one more call costs: CPU time of either side, and waiting; the line is the range over starts."""
    for y, case in enumerate(cases(run)):
        wall, client, server = (findings.call_us(run, case, kind) for kind in findings.KINDS)
        spent = [max(0.0, client.middle), max(0.0, server.middle) if server.middle == server.middle else 0.0]
        waiting = max(0.0, wall.middle - sum(spent))
        left = 0.0
        for width, colour in zip((*spent, waiting), (ROLE_COLOURS["client"], ROLE_COLOURS["server"], WAITING),
                                 strict=True):  # fmt: skip
            axes.barh(y, width, left=left, color=colour, height=0.6)
            left += width
        axes.hlines(y, wall.low, wall.high, color="black", lw=1.4)
        at = (max(left, wall.high), y)
        axes.annotate(duration(wall.middle), at, (6, 0), textcoords="offset points", va="center", fontsize=10.5)
    for name, colour in (("client CPU", ROLE_COLOURS["client"]), ("server CPU", ROLE_COLOURS["server"]),
                         ("waiting", WAITING)):  # fmt: skip
        axes.barh(0, 0, color=colour, label=name)
    name_rows(axes, [run.labels[case] for case in cases(run)], fontsize=9.5)
    axes.set_xlim(0, axes.get_xlim()[1] * 1.35)
    linear_axis(axes.xaxis)
    axes.set_xlabel("one more call [µs]; line: range over starts of the time")
    axes.legend(loc="lower right")
    axes.set_title("What a call costs when it is not the first")


def starting(run: Run, axes: Axes) -> None:
    """Draw where the time of a process with the fewest calls goes."""
    for y, case in enumerate(cases(run)):
        left = 0.0
        for name, us in findings.phases_us(run, case).items():
            axes.barh(y, us / 1e3, left=left, color=PHASES[name], height=0.6)
            left += us / 1e3
        axes.annotate(duration(left * 1e3), (left, y), (6, 0), textcoords="offset points", va="center", fontsize=10.5)
    phases = dict.fromkeys(name for case in cases(run) for name, us in findings.phases_us(run, case).items() if us > 0)
    for name in phases:
        axes.barh(0, 0, color=PHASES[name], label=name)
    name_rows(axes, [run.labels[case] for case in cases(run)], fontsize=9.5)
    axes.set_xlim(0, axes.get_xlim()[1] * 1.9)
    fewest = int(run.sessions["calls"].min())
    axes.set_xlabel(f"process with {fewest} call{'s' if fewest > 1 else ''} [ms]")
    axes.legend(loc="lower right", fontsize=9.5)
    axes.set_title("Where the time of a short process goes")


def methods(run: Run, axes: Axes) -> None:
    """Draw what three methods say of one call, each with its range over the starts."""
    ways = {
        "the origin's: a process with many calls minus one with 1": ("#d55e00", "s"),
        "regression over all processes": ("#0173b2", "o"),
        "stopwatch inside the process": ("#029e73", "D"),
    }
    hidden = False
    for y, case in enumerate(cases(run)):
        found = (findings.difference_us(run, case), findings.call_us(run, case, "wall"),
                 findings.stopwatch_us(run, case))  # fmt: skip
        for place, (one, (colour, marker)) in enumerate(zip(found, ways.values(), strict=True)):
            at = y + 0.24 * (place - 1)
            low = max(one.low, 1.0)  # a difference of two noisy times may be negative, which this axis cannot show
            hidden |= one.low < low
            axes.plot([low, max(one.high, low)], [at, at], color=colour, lw=5, alpha=0.35, solid_capstyle="butt")
            if one.middle > 0:
                axes.plot(one.middle, at, marker, ms=6, color=colour)
    for name, (colour, marker) in ways.items():
        axes.plot([], [], marker, color=colour, label=name)
    axes.set_xscale("log")
    time_axis(axes.xaxis)
    name_rows(axes, [run.labels[case] for case in cases(run)], fontsize=9.5)
    axes.set_ylim(len(cases(run)) + 0.5, -0.6)
    below = "; bars from the left edge: below zero" if hidden else ""
    axes.set_xlabel(f"one more call{below}")
    axes.legend(loc="lower left", fontsize=9)
    axes.axhline(len(cases(run)) - 0.5, color=GREY, lw=0)
    axes.set_title("Three ways to measure it")


PANELS = (whole, one_call, starting, methods)
