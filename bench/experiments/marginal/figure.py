"""Panels of whole client processes: time by number of calls, cost per call, start-up, three methods."""

import numpy as np
from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    ROLE_COLOURS,
    SYSTEM_COLOURS,
    beside,
    linear_axis,
    log_axis,
    look,
    name_rows,
    near,
    small,
    ticks_at,
    time_axis,
)
from bench.experiments.marginal import findings
from bench.experiments.marginal.findings import cases
from bench.run.frames import Run
from bench.text import duration, quantity

TITLE = "What does one more call cost a client process?"

WAITING = "#dddddd"
PHASES = {  # colour and hatch, for prints in grey
    "interpreter": (SYSTEM_COLOURS[0], ""),
    "imports": (SYSTEM_COLOURS[6], "//"),
    "program, connect, first call": (SYSTEM_COLOURS[2], ".."),
    "connect, first call": (SYSTEM_COLOURS[1], "xx"),
    "other calls": (SYSTEM_COLOURS[4], "||"),
    "end": ("#949494", ""),
}


def whole(run: Run, axes: Axes) -> None:
    """Draw the time of each process with the smallest payload against its number of calls, and the fitted line."""
    for place, case in enumerate(cases(run)):
        colour, marker = look(place)
        rows, size = findings.spent(run, case, "wall"), run.case(case).payload_bytes
        rows = rows[rows["payload_bytes"] == size]
        found = findings.costs(run, case, "wall")
        axes.plot(rows["calls"], rows["us"], marker, ms=4.5, mew=0, alpha=0.6, color=colour)
        grid = np.geomspace(rows["calls"].min(), rows["calls"].max(), 100)
        call = findings.call_us(run, case, "wall").middle
        axes.plot(grid, found.start.middle + call * grid, lw=1.8, color=colour)
        axes.plot([], [], marker=marker, ms=4.5, lw=1.8, color=colour, label=run.labels[case])
    axes.set(xscale="log", yscale="log")
    log_axis(axes.xaxis, quantity)
    time_axis(axes.yaxis)
    axes.set_xlabel("calls per process")
    axes.set_ylabel("time from start to end of the process")
    axes.legend(fontsize=9)
    axes.set_title("Whole client processes; line: fit of a + b n")


def one_call(run: Run, axes: Axes) -> None:
    """Draw the cost of one more call: CPU time of client and server, and waiting; the line is the range over starts."""
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
        words = f"\n(CPU: {duration(sum(spent))})" if sum(spent) > 1.05 * wall.middle else ""
        beside(axes, y, f"{duration(wall.middle)}{words}", 9.5)
    for name, colour in (("client CPU", ROLE_COLOURS["client"]), ("server CPU", ROLE_COLOURS["server"]),
                         ("waiting", WAITING)):  # fmt: skip
        axes.barh(0, 0, color=colour, label=name)
    name_rows(axes, [run.labels[case] for case in cases(run)], min(9.5, small(len(cases(run)))))
    linear_axis(axes.xaxis)
    axes.set_xlabel("time per additional call [µs]; line: range over starts")
    axes.legend(fontsize=9)
    axes.set_title("Cost of one more call")


def starting(run: Run, axes: Axes) -> None:
    """Draw the time of a process with the fewest calls by phase: interpreter, imports, first call, end."""
    for y, case in enumerate(cases(run)):
        left = 0.0
        for name, us in findings.phases_us(run, case).items():
            colour, hatch = PHASES[name]
            axes.barh(y, us / 1e3, left=left, color=colour, hatch=hatch, height=0.6)
            left += us / 1e3
        beside(axes, y, duration(left * 1e3))
    phases = dict.fromkeys(name for case in cases(run) for name, us in findings.phases_us(run, case).items() if us > 0)
    for name in phases:
        axes.barh(0, 0, color=PHASES[name][0], hatch=PHASES[name][1], label=name)
    name_rows(axes, [run.labels[case] for case in cases(run)], min(9.5, small(len(cases(run)))))
    fewest = int(run.sessions["calls"].min())
    axes.set_xlabel(f"time of a process with {fewest} call{'s' if fewest > 1 else ''} [ms], medians")
    axes.legend(fontsize=9)
    axes.set_title("Phases of a short process")


def methods(run: Run, axes: Axes) -> None:
    """Draw the time per call by three methods, each with its range over starts; a difference may be negative."""
    ways = {
        "difference: a process with many calls - one with 1": (SYSTEM_COLOURS[3], "s"),
        "regression over all processes": (SYSTEM_COLOURS[0], "o"),
        "timer inside the process": (SYSTEM_COLOURS[2], "D"),
    }
    found = [(findings.difference_us(run, case), findings.call_us(run, case, "wall"), findings.stopwatch_us(run, case))
             for case in cases(run)]  # fmt: skip
    for y, three in enumerate(found):
        for place, (one, (colour, marker)) in enumerate(zip(three, ways.values(), strict=True)):
            at = y + 0.24 * (place - 1)
            axes.plot([one.low, one.high], [at, at], color=colour, lw=5, alpha=0.35, solid_capstyle="butt")
            axes.plot(one.middle, at, marker, ms=6, color=colour)
    for name, (colour, marker) in ways.items():
        axes.plot([], [], marker, color=colour, label=name)
    known = [value for three in found for one in three for value in one if value == value]
    _signed_axis(axes, known) if min(known, default=1.0) <= 0 else near(axes)
    name_rows(axes, [run.labels[case] for case in cases(run)], min(9.5, small(len(cases(run)))))
    axes.set_xlabel(f"time per additional call{'; linear around 0' if min(known, default=1.0) <= 0 else ''}")
    axes.legend(fontsize=9)
    axes.set_title("Time per call by three methods")


def _signed_axis(axes: Axes, known: list[float]) -> None:
    """Draw an axis that is linear around 0 and logarithmic beyond, so that negative times have their place."""
    linear = 10.0 ** np.floor(np.log10(np.median(np.abs(known))))
    axes.set_xscale("symlog", linthresh=linear, linscale=0.5)
    low, high = min(known), max(known)
    axes.set_xlim(1.3 * min(low, -linear / 2), 1.3 * high)
    decades = [linear * step * 10**n for n in range(7) for step in (1, 3)]
    below, above = ([one for one in decades if one < 1.3 * end] for end in (-low, high))
    ticks_at(axes.xaxis, [*(-one for one in below), 0, *above])
    linear_axis(axes.xaxis, lambda us: duration(us) if us else "0 µs")
    axes.axvline(0, color=GREY, lw=1)


PANELS = (whole, one_call, starting, methods)
