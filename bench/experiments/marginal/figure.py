"""Panels of whole client processes: time by number of calls, cost per call, start-up, three methods."""

import numpy as np
from matplotlib.axes import Axes

from bench.drawing.axes import (
    ROLE_COLOURS,
    SYSTEM_COLOURS,
    Look,
    interval_row,
    label_axis,
    log_axis,
    look,
    name_rows,
    stacked_bar,
    write_beside,
)
from bench.experiments.marginal import findings
from bench.experiments.marginal.findings import cases
from bench.run.frames import Run
from bench.text import counted, duration, quantity

TITLE = "What does one more call cost a client process?"

WAITING = "#dddddd"
LEAST = 0.01  # of the time per call: less waiting cannot be seen
PHASES = {  # colour and hatch, for prints in grey
    "interpreter": (SYSTEM_COLOURS[0], ""),
    "imports": (SYSTEM_COLOURS[6], "//"),
    "program, connect, first call": (SYSTEM_COLOURS[2], ".."),
    "connect, first call": (SYSTEM_COLOURS[1], "xx"),
    "other calls": (SYSTEM_COLOURS[4], "||"),
    "end": ("#949494", ""),
}
METHODS = {
    "difference: a process with many calls - one with 1": Look(SYSTEM_COLOURS[3], "s"),
    "regression over all processes": Look(SYSTEM_COLOURS[0], "o"),
    "timer inside the process": Look(SYSTEM_COLOURS[2], "D"),
}


def whole(run: Run, axes: Axes) -> None:
    """Draw the time of each process with the smallest payload against its number of calls, and the fitted line."""
    for place, case in enumerate(cases(run)):
        colour, marker = look(place)
        rows, size = findings.spent(run, case, "wall"), run.case(case).payload_bytes
        rows = rows[rows["payload_bytes"] == size]
        start = findings.costs(run, case, "wall").start.middle
        axes.plot(rows["calls"], rows["us"], marker, ms=4.5, mew=0, alpha=0.6, color=colour)
        grid = np.geomspace(rows["calls"].min(), rows["calls"].max(), 100)
        call = findings.call_us(run, case, "wall").middle
        axes.plot(grid, start + call * grid, lw=1.8, color=colour, label=run.labels[case])
    log_axis(axes.xaxis, quantity)
    log_axis(axes.yaxis)
    axes.set_xlabel("calls per process")
    axes.set_ylabel("time from start to end of the process")
    axes.set_title("Whole client processes; line: fit of a + b n")


def one_call(run: Run, axes: Axes) -> None:
    """Draw the cost of one more call: CPU time of client and server, and waiting; the line is the range over starts."""
    for y, case in enumerate(cases(run)):
        wall, *cpu = (findings.call_us(run, case, kind) for kind in findings.KINDS)
        client, server = (float(np.nan_to_num(max(0.0, spread.middle))) for spread in cpu)
        waiting = wall.middle - client - server
        parts = (
            ("client CPU", client, ROLE_COLOURS["client"], ""),
            ("server CPU", server, ROLE_COLOURS["server"], ""),
            ("waiting", waiting if waiting > LEAST * wall.middle else 0.0, WAITING, ""),
        )
        stacked_bar(axes, y, parts)
        axes.hlines(y, wall.low, wall.high, color="black", lw=1.4)
        words = f"\n(CPU: {duration(client + server)})" if client + server > 1.05 * wall.middle else ""
        write_beside(axes, y, f"{wall.values(duration)}{words}")
    name_rows(axes, [run.labels[case] for case in cases(run)])
    axes.set_xlabel("time per additional call [µs]; line: range over starts")
    axes.set_title("Cost of one more call")


def starting(run: Run, axes: Axes) -> None:
    """Draw the time of a process with the fewest calls by phase: interpreter, imports, first call, end."""
    for y, case in enumerate(cases(run)):
        phases = findings.phases_us(run, case)
        end_ms = stacked_bar(axes, y, ((name, us / 1e3, *PHASES[name]) for name, us in phases.items()))
        write_beside(axes, y, duration(1e3 * end_ms))
    name_rows(axes, [run.labels[case] for case in cases(run)])
    axes.set_xlabel(f"time of a process with {counted(int(run.sessions['calls'].min()), 'call')} [ms], medians")
    axes.set_title("Phases of a short process")


def methods(run: Run, axes: Axes) -> None:
    """Draw the time per call by three methods, each with its range over starts; a difference may be negative."""
    for y, case in enumerate(cases(run)):
        spreads = (
            findings.difference_us(run, case),
            findings.call_us(run, case, "wall"),
            findings.stopwatch_us(run, case),
        )
        for dy, spread, (name, drawn) in zip((-0.24, 0.0, 0.24), spreads, METHODS.items(), strict=True):
            interval_row(axes, y + dy, spread, drawn, label=name)
    axes.axvline(0, color="#888888", lw=0.8)
    label_axis(axes.xaxis, duration)
    name_rows(axes, [run.labels[case] for case in cases(run)])
    axes.set_xlabel("time per additional call")
    axes.set_title("Time per call by three methods")


PANELS = (whole, one_call, starting, methods)
