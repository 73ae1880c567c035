"""Panels of languages: round trips, the share that is Python's on each side, CPU time by role, calls per second."""

from collections.abc import Callable
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.drawing.axes import (
    GREY,
    ROLE_COLOURS,
    ROLE_HATCHES,
    RangeRow,
    beside,
    hollow,
    linear_axis,
    look,
    median_rows,
    name_rows,
    near,
    nothing,
    range_rows,
    small,
    times,
)
from bench.drawing.borrowed import marked, shown
from bench.experiments.languages import findings
from bench.experiments.languages.findings import Cross
from bench.run.frames import Run
from bench.stats import across_starts
from bench.stats.intervals import Interval
from bench.text import duration, quantity

TITLE = "How much of it is Python?"

MARKERS = {"both Python": "o", "client native": "<", "server native": ">", "both native": "D"}
SIDES = {"client native": "client", "server native": "server", "both native": "native"}  # fields of Cross
SHARES = {  # what is drawn: colour, marker, words
    "native": (GREY, "D", "left with both sides native"),
    "client": (ROLE_COLOURS["client"], "<", "removed by a native client"),
    "server": (ROLE_COLOURS["server"], ">", "removed by a native server"),
}


class Subject(NamedTuple):
    """What is drawn of one combination: the run that measured it, and whether that is the run that is drawn."""

    run: Run
    cross: Cross
    is_borrowed: bool


def _subjects(run: Run, of: Callable[[Run], list[Cross]]) -> list[Subject]:
    """Return the combinations that are drawn: those of the run first."""
    return [Subject(each, cross, each is not run) for each in shown(run) for cross in of(each)]


def _rows(found: list[Subject]) -> list[tuple[int, Subject, str, int]]:
    """Return (place of the system, its combination, what is native, case) of each row."""
    return [(place, one, words, case) for place, one in enumerate(found) for words, case in one.cross.cases.items()]


def _name(axes: Axes, found: list[Subject]) -> None:
    """Name the rows: the first of a system with its name, the others by what is native; a line between systems."""
    is_mixed = len({one.cross.transport for one in found}) > 1
    names = [
        f"{marked(one.cross.name if is_mixed else one.cross.system, one.is_borrowed)}: Python"
        if words == "both Python"
        else words
        for _, one, words, _ in _rows(found)
    ]
    name_rows(axes, names, small(len(names)))
    for edge in range(1, len(found)):
        axes.axhline(4 * edge - 0.5, color="#bbbbbb", lw=0.8)


def _ranges(found: list[Subject], name: str, ratio: Callable[[Run, Cross, str], Interval]) -> list[RangeRow]:
    """Return a row for each combination: a quantity of each start, and its ratio to both sides in Python."""
    rows = []
    for place, (run, cross, is_borrowed), words, case in _rows(found):
        more = f", {times(ratio(run, cross, SIDES[words]))}" if words in SIDES else ""
        each, colour = run.starts_of(case)[name], look(place).colour
        rows.append(RangeRow(each, colour, more, marker=MARKERS[words], is_hollow=is_borrowed))
    return rows


def medians(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start with client and server in either language; ×: over both in Python."""
    found = _subjects(run, findings.single)
    if not found:
        return nothing(axes, "no system with all four combinations in this run")
    median_rows(axes, _ranges(found, findings.RTT, findings.remaining))
    _name(axes, found)
    axes.set_title("Median RTT of each start")
    return None


def shares(run: Run, axes: Axes) -> None:
    """Draw the shares of the RTT with both sides in Python that each side removes if native, and what is left."""
    found = _subjects(run, findings.single)
    if not found:
        return nothing(axes, "no system with all four combinations in this run")
    lowest, highest = 0.0, 1.0
    for y, (each, cross, is_borrowed) in enumerate(found):
        for place, (which, (colour, marker, _)) in enumerate(SHARES.items()):
            one = findings.remaining(each, cross) if which == "native" else findings.removed(each, cross, which)
            with hollow(axes, is_borrowed):
                _share(axes, y + 0.26 * (place - 1), one, colour, marker)
            lowest, highest = min(lowest, one.middle, _end(one)[0]), max(highest, one.middle, _end(one)[1])
    for colour, marker, words in SHARES.values():
        axes.plot([], [], marker, ms=7, color=colour, label=words)
    name_rows(axes, [marked(one.cross.name, one.is_borrowed) for one in found])
    axes.axvline(0, color="#888888", lw=0.8)
    axes.set_xlim(1.05 * lowest - 0.02, 1.02 * highest)
    linear_axis(axes.xaxis, lambda share: f"{100 * share:.0f} %")
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlabel("share of the RTT with both sides in Python; bar: 95 % CI")
    axes.legend(fontsize=9)
    axes.set_title("Shares of the round trip, by side")
    return None


def _end(one: Interval) -> tuple[float, float]:
    """Return the ends of an interval, or its estimate twice where there are none."""
    return (one.low, one.high) if one.low == one.low else (one.middle, one.middle)


def _share(axes: Axes, y: float, one: Interval, colour: str, marker: str) -> None:
    low, high = _end(one)
    axes.plot([low, high], [y, y], color=colour, lw=5, alpha=0.35, solid_capstyle="butt")
    axes.plot(one.middle, y, marker, ms=6.5, color=colour)
    beside(axes, y, f"{round(100 * one.middle)} %", 9)


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of client and server in either language, over that of both sides in Python."""
    found = _subjects(run, findings.single)
    if not found:
        return nothing(axes, "no system with all four combinations in this run")
    for y, (_, (each, cross, is_borrowed), _, case) in enumerate(_rows(found)):
        whole_us = sum(_cpu_us(each, cross.python, role) for role in findings.CPU)
        left = 0.0
        with hollow(axes, is_borrowed):
            for role in findings.CPU:
                share = _cpu_us(each, case, role) / whole_us
                label = role if y == 0 else None
                axes.barh(y, share, left=left, color=ROLE_COLOURS[role], hatch=ROLE_HATCHES[role], height=0.62,
                          label=label)  # fmt: skip
                left += share
            beside(axes, y, duration(left * whole_us))
    _name(axes, found)
    axes.set_xlim(left=0)
    linear_axis(axes.xaxis, lambda share: f"{100 * share:.0f} %")
    axes.set_xlabel("CPU time over that of both sides in Python; median")
    axes.legend(fontsize=9)
    axes.set_title("CPU time per call, by role")
    return None


def _cpu_us(run: Run, case: int, role: str) -> float:
    """Return the median over starts of a role's CPU time per call, in us."""
    return across_starts(findings.cpu_us(run, case, role)).middle


def rates(run: Run, axes: Axes) -> None:
    """Draw the calls per second of several callers with each side in either language; ×: over both in Python."""
    found = _subjects(run, findings.several)
    if not found:
        return nothing(axes, "no system with several callers in this run")
    range_rows(axes, _ranges(found, findings.RATE, findings.rate_gain), quantity)
    near(axes, quantity)
    _name(axes, found)
    axes.set_xlabel("calls per second of each start; bar: their range, line: their median")
    axes.set_title(f"Throughput, one client process with {found[0].cross.callers} callers")
    return None


PANELS = (medians, shares, cpu, rates)
