"""Panels of many clients: calls per second, round trip, CPU time per call by role, and what was saturated."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.resources import FULL, WORDS
from bench.drawing.axes import (
    ROLE_COLOURS,
    ROLE_HATCHES,
    ROLE_MARKERS,
    band,
    hold,
    hollow,
    linear_axis,
    log_axis,
    look,
    name_rows,
    small,
    ticks_at,
)
from bench.drawing.borrowed import marked, shown
from bench.experiments.case_ratios import P50, RATE
from bench.experiments.fanin.findings import ROLES, best, cpu_us, fewest, grown, is_brokered, most, of, systems
from bench.run.frames import Run
from bench.text import duration, quantity

TITLE = "How do brokers and servers perform with many clients?"
MANY = 6  # lines whose legend needs smaller letters


def _subjects(run: Run) -> list[tuple[Run, str]]:
    """Return the systems that are drawn, each with the run that measured it: those of this run first."""
    return [(each, system) for each in shown(run) for system in systems(each)]


def _label(run: Run, system: str, is_borrowed: bool) -> str:
    return marked(system if is_brokered(run, system) else f"{system} (direct)", is_borrowed)


def throughput(run: Run, axes: Axes) -> None:
    """Draw calls per second against the number of clients."""
    axes.set_title("Throughput of all clients together")
    _against_clients(run, axes, RATE, quantity)
    axes.set_ylabel("calls per second; band: range over starts")


def round_trips(run: Run, axes: Axes) -> None:
    """Draw the median RTT against the number of clients."""
    axes.set_title("Median RTT")
    _against_clients(run, axes, P50, duration)
    axes.set_ylabel("median RTT; band: range over starts")


def _against_clients(run: Run, axes: Axes, name: str, text: Callable[[float], str]) -> None:
    rows = pd.concat([grown(each) for each in shown(run)])
    for place, (each, system) in enumerate(_subjects(run)):
        mine, (colour, marker) = of(each, system), look(place)
        style = "-" if is_brokered(each, system) else "--"
        with hollow(axes, each is not run):
            axes.plot(mine["connected"], mine[name], style, marker=marker, ms=6, lw=1.8, color=colour,
                      label=_label(each, system, each is not run))  # fmt: skip
            band(axes, mine, "connected", name, colour)
    axes.set(xscale="log", yscale="log")
    hold(axes, rows[name], rows[f"{name}_low"], rows[f"{name}_high"], text)
    log_axis(axes.yaxis, text)
    ticks_at(axes.xaxis, sorted(rows["connected"].unique()))
    linear_axis(axes.xaxis)
    axes.set_xlabel("clients, each with one call under way")
    axes.legend(fontsize=9 if len(_subjects(run)) > MANY else None)


def cpu_by_role(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call by role, of each system with the fewest clients and with the most."""
    axes.set_title("CPU time per call, by role")
    rows = [
        (each, system, case)
        for each, system in _subjects(run)
        for case in dict.fromkeys((fewest(each, system), most(each, system)))
    ]
    left = np.zeros(len(rows))
    for role in ROLES:
        values = np.nan_to_num([float(each.cases.loc[case, f"{role}_cpu_us_per_call"]) for each, _, case in rows])
        if values.any():
            for part in shown(run):
                at = [place for place, (each, *_) in enumerate(rows) if each is part]
                with hollow(axes, part is not run):
                    axes.barh(at, values[at], left=left[at], height=0.68, color=ROLE_COLOURS[role],
                              hatch=ROLE_HATCHES[role], label="broker" if role == "router" else role)  # fmt: skip
            left = left + values
    for place, (each, _, case) in enumerate(rows):
        with hollow(axes, each is not run):
            axes.annotate(duration(cpu_us(each, case)), (left[place], place), (4, 0), textcoords="offset points",
                          va="center", fontsize=9.5)  # fmt: skip
    name_rows(axes, [_row(run, *row) for row in rows], small(len(rows)) if len(rows) > 10 else None)
    axes.yaxis.grid(False)
    axes.set_xlim(0, 1.16 * left.max())
    linear_axis(axes.xaxis, duration)
    axes.set_xlabel("CPU time per call; rows: system, number of clients; right: all roles")
    axes.legend()


def _row(run: Run, measured: Run, system: str, case: int) -> str:
    """Return the name of a row: the system and its number of clients, and whether it was measured elsewhere."""
    return marked(f"{system}, {measured.case(case).under_way}", measured is not run)


def busy(run: Run, axes: Axes) -> None:
    """Draw how many CPUs each role used at each system's highest rate."""
    axes.set_title("CPUs in use at the highest rate")
    rows, drawn = [(each, system, best(each, system)) for each, system in _subjects(run)], set()
    for y, (each, _, case) in enumerate(rows):
        starts = each.starts_of(case)
        for dy, role in zip((-0.2, 0.0, 0.2), ROLES, strict=True):
            used = starts[f"{role}_cpu_percent"].dropna() / 100
            if len(used):
                with hollow(axes, each is not run):
                    axes.plot([used.min(), used.max()], [y + dy] * 2, color=ROLE_COLOURS[role], lw=4, alpha=0.4)
                    axes.plot(used.median(), y + dy, ROLE_MARKERS[role], color=ROLE_COLOURS[role], ms=7)
                drawn.add(role)
    for role in [role for role in ROLES if role in drawn]:
        word = "broker" if role == "router" else WORDS[role]
        axes.plot([], [], ROLE_MARKERS[role], color=ROLE_COLOURS[role], ms=7, label=word)
    axes.axvline(FULL, color="#6b6b6b", ls=":", lw=1.2, label=f"{FULL:.0%} of one CPU")
    linear_axis(axes.xaxis, quantity)
    name_rows(axes, [_row(run, *row) for row in rows])
    axes.set_xlim(left=0)
    axes.set_xlabel("CPUs; marker: median, bar: range over starts; rows: system, clients")
    axes.legend()


PANELS = (throughput, round_trips, cpu_by_role, busy)
