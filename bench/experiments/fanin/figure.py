"""Panels of many clients: calls per second, round trip, CPU time per call by role, and what was saturated."""

from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.analysis.resources import FULL, WORDS, cpu_over_starts, resources
from bench.drawing.axes import (
    GREY,
    ROLE_COLOURS,
    ROLE_HATCHES,
    ROLE_MARKERS,
    Look,
    draw_line,
    hollow,
    interval_row,
    label_axis,
    log_axis,
    look,
    name_rows,
    separate_rows,
    stacked_bar,
    ticks_at,
    write_beside,
)
from bench.drawing.borrowed import marked, shown
from bench.experiments.case_ratios import P50, RATE
from bench.experiments.fanin.findings import ROLES, best, fewest, grown, is_brokered, most, of, systems
from bench.run.frames import Run
from bench.stats import across_starts
from bench.text import counted, duration, quantity

SHARED = Look("black", "*")  # a CPU that several roles share
TITLE = "How do brokers and servers perform with many clients?"


def _subjects(run: Run) -> list[tuple[Run, str]]:
    """Return the systems that are drawn, each with the run that measured it: those of this run first."""
    return [(part, system) for part in shown(run) for system in systems(part)]


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
    for place, (measured, system) in enumerate(_subjects(run)):
        line, label = "-" if is_brokered(measured, system) else "--", _label(measured, system, measured is not run)
        with hollow(axes, measured is not run):
            draw_line(measured, axes, of(measured, system), "connected", name, look(place), label, line)
    axes.set_xscale("log")
    log_axis(axes.yaxis, text)
    ticks_at(axes.xaxis, sorted(set(pd.concat([grown(part) for part in shown(run)])["connected"])))
    axes.set_xlabel("clients, each with one call under way")


def cpu_by_role(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call by role, of each system with the fewest clients and with the most."""
    rows = [
        (measured, system, case)
        for measured, system in _subjects(run)
        for case in dict.fromkeys((fewest(measured, system), most(measured, system)))
    ]
    for y, (measured, _, case) in enumerate(rows):
        spent = {role: float(measured.cases.loc[case, f"{role}_cpu_us_per_call"]) for role in ROLES}
        with hollow(axes, measured is not run):
            stacked_bar(axes, y, (("broker" if role == "router" else role, us, ROLE_COLOURS[role], ROLE_HATCHES[role])
                                  for role, us in spent.items()))  # fmt: skip
            write_beside(axes, y, cpu_over_starts(measured, case).values(duration))
    name_rows(axes, [_row(run, *row) for row in rows])
    axes.yaxis.grid(False)
    axes.xaxis.set_major_locator(MaxNLocator(4))  # words such as "750 µs" beside each other
    label_axis(axes.xaxis, duration)
    axes.set_xlabel("CPU time per call: median of each role; right: median of their sum")
    axes.set_title("CPU time per call, by role")


def _row(run: Run, measured: Run, system: str, case: int) -> str:
    """Return the name of a row: the system and its number of clients, and whether it was measured elsewhere."""
    return marked(f"{system}, {counted(measured.case(case).under_way, 'client')}", measured is not run)


def busy(run: Run, axes: Axes) -> None:
    """Draw how many CPUs each role used at each system's highest rate, and their sum where they share one."""
    rows = [(measured, system, best(measured, system)) for measured, system in _subjects(run)]
    for role, dy in zip(ROLES, (-0.27, -0.09, 0.09), strict=True):
        label = "broker" if role == "router" else WORDS[role]
        for y, (measured, _, case) in enumerate(rows):
            used = measured.starts_of(case)[f"{role}_cpu_percent"].dropna() / 100
            if len(used):
                with hollow(axes, measured is not run):
                    interval_row(axes, y + dy, across_starts(used.to_list()),
                                 Look(ROLE_COLOURS[role], ROLE_MARKERS[role]), label=label)  # fmt: skip
    for y, (measured, _, case) in enumerate(rows):
        for resource in resources(measured, case):
            if resource.cpus == 1 and len(resource.roles) > 1:
                starts = measured.starts_of(case)
                used = sum(starts[f"{role}_cpu_percent"].fillna(0) for role in resource.roles) / 100
                with hollow(axes, measured is not run):
                    interval_row(axes, y + 0.27, across_starts(used.to_list()), SHARED,
                                 label=resource.name.removeprefix("the ").replace("router", "broker"))  # fmt: skip
    axes.axvline(FULL, color=GREY, ls=":", lw=1.2, label=f"{FULL:.0%} of one CPU")
    label_axis(axes.xaxis, quantity)
    name_rows(axes, [_row(run, *row) for row in rows])
    separate_rows(axes, [y + 0.5 for y in range(len(rows) - 1)])
    axes.set_xlim(left=0)
    axes.set_xlabel("CPUs in use\nmarker: median, or the two middle starts; bar: range over starts")
    axes.set_title("CPUs in use at the highest rate")


PANELS = (throughput, round_trips, cpu_by_role, busy)
