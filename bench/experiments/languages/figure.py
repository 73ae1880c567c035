"""Panels of languages: round trips, the share that is Python's on each side, CPU time by role, calls per second."""

from collections.abc import Callable
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from bench.drawing.axes import (
    GREY,
    ROLE_COLOURS,
    ROLE_HATCHES,
    Look,
    RangeRow,
    ends_of,
    hollow,
    interval_row,
    log_axis,
    look,
    median_rows,
    name_rows,
    range_rows,
    ratio_text,
    say_why_empty,
    separate_rows,
    stacked_bar,
    write_beside,
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
SHARES = {  # what is drawn, and in which words
    "native": (Look(GREY, "D"), "left with both sides native"),
    "client": (Look(ROLE_COLOURS["client"], "<"), "removed by a native client"),
    "server": (Look(ROLE_COLOURS["server"], ">"), "removed by a native server"),
}
NONE = "no system with all four combinations in this run"


class Subject(NamedTuple):
    """What is drawn of one combination: the run that measured it, and whether that is the run that is drawn."""

    run: Run
    cross: Cross
    is_borrowed: bool


def _subjects(run: Run, of: Callable[[Run], list[Cross]]) -> list[Subject]:
    """Return the combinations that are drawn: those of the run first."""
    return [Subject(part, cross, part is not run) for part in shown(run) for cross in of(part)]


def _rows(subjects: list[Subject]) -> list[tuple[int, Subject, str, int]]:
    """Return (place of the system, its combination, what is native, case) of each row."""
    return [(place, of, words, case) for place, of in enumerate(subjects) for words, case in of.cross.cases.items()]


def _name(axes: Axes, subjects: list[Subject]) -> None:
    """Name the rows: the first of a system with its name, the others by what is native; a line between systems."""
    is_mixed = len({of.cross.transport for of in subjects}) > 1
    names = [
        f"{marked(of.cross.name if is_mixed else of.cross.system, of.is_borrowed)}: Python"
        if words == "both Python"
        else words
        for _, of, words, _ in _rows(subjects)
    ]
    name_rows(axes, names)
    separate_rows(axes, [4 * edge - 0.5 for edge in range(1, len(subjects))])


def _ranges(subjects: list[Subject], name: str, ratio: Callable[[Run, Cross, str], Interval]) -> list[RangeRow]:
    """Return a row for each combination: a quantity of each start, and its ratio to both sides in Python."""
    rows = []
    for place, (run, cross, is_borrowed), words, case in _rows(subjects):
        more = f", {ratio_text(ratio(run, cross, SIDES[words]))}" if words in SIDES else ""
        values, colour = run.starts_of(case)[name], look(place).colour
        rows.append(RangeRow(values, colour, more, marker=MARKERS[words], is_hollow=is_borrowed))
    return rows


def medians(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start with client and server in either language; ×: over both in Python."""
    subjects = _subjects(run, findings.single)
    if not subjects:
        return say_why_empty(axes, NONE)
    median_rows(axes, _ranges(subjects, findings.RTT, findings.remaining))
    _name(axes, subjects)
    return None


def shares(run: Run, axes: Axes) -> None:
    """Draw the shares of the RTT with both sides in Python that each side removes if native, and what is left."""
    subjects = _subjects(run, findings.single)
    if not subjects:
        return say_why_empty(axes, NONE)
    for y, (part, cross, is_borrowed) in enumerate(subjects):
        for dy, (which, (drawn, words)) in zip((-0.26, 0.0, 0.26), SHARES.items(), strict=True):
            share = findings.remaining(part, cross) if which == "native" else findings.removed(part, cross, which)
            with hollow(axes, is_borrowed):
                interval_row(axes, y + dy, ends_of(share), drawn, f"{round(100 * share.middle)} %", words)
    name_rows(axes, [marked(of.cross.name, of.is_borrowed) for of in subjects])
    axes.axvline(0, color="#888888", lw=0.8)
    axes.xaxis.set_major_formatter(PercentFormatter(1, 0))
    axes.set_xlabel("share of the RTT with both sides in Python; bar: 95 % CI")
    axes.set_title("Shares of the round trip, by side")
    return None


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of client and server in either language, over that of both sides in Python."""
    subjects = _subjects(run, findings.single)
    if not subjects:
        return say_why_empty(axes, NONE)
    for y, (_, (part, cross, is_borrowed), _, case) in enumerate(_rows(subjects)):
        whole_us = sum(_cpu_us(part, cross.python, role) for role in findings.CPU)
        with hollow(axes, is_borrowed):
            end = stacked_bar(axes, y, ((role, _cpu_us(part, case, role) / whole_us, ROLE_COLOURS[role],
                                         ROLE_HATCHES[role]) for role in findings.CPU))  # fmt: skip
            write_beside(axes, y, duration(end * whole_us))
    _name(axes, subjects)
    axes.xaxis.set_major_formatter(PercentFormatter(1, 0))
    axes.set_xlabel("CPU time over that of both sides in Python; median")
    axes.set_title("CPU time per call, by role")
    return None


def _cpu_us(run: Run, case: int, role: str) -> float:
    """Return the median over starts of a role's CPU time per call, in us."""
    return across_starts(findings.cpu_us(run, case, role)).middle


def rates(run: Run, axes: Axes) -> None:
    """Draw the calls per second of several callers with each side in either language; ×: over both in Python."""
    subjects = _subjects(run, findings.several)
    if not subjects:
        return say_why_empty(axes, "no system with several callers in this run")
    range_rows(axes, _ranges(subjects, findings.RATE, findings.rate_gain), quantity)
    log_axis(axes.xaxis, quantity)
    _name(axes, subjects)
    axes.set_xlabel("calls per second of each start; bar: their range, line: their median")
    axes.set_title(f"Throughput, one client process with {subjects[0].cross.callers} callers")
    return None


PANELS = (medians, shares, cpu, rates)
