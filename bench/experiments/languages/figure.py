"""Panels of languages: round trips, the share that is Python's on each side, CPU time by role, calls per second."""

import functools
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
    name_rows,
    range_row,
    ratio_text,
    say_why_empty,
    separate_rows,
    stacked_bar,
    write_beside,
)
from bench.drawing.borrowed import marked, shown
from bench.experiments.languages import findings, servers_figure
from bench.experiments.languages.findings import Cross
from bench.run.frames import Run
from bench.stats import across_starts
from bench.stats.intervals import Interval
from bench.text import duration, quantity

TITLE = "How much of it is Python?"

LANGUAGES = {  # of each field of Cross: the name of its row, and its marker
    "python": ("client Python, server Python", "o"),
    "client": ("client C++, server Python", "<"),
    "server": ("client Python, server C++", ">"),
    "native": ("client C++, server C++", "D"),
}
SHARES = {  # what is drawn, and in which words
    "native": (Look(GREY, "D"), "left with both sides in C++"),
    "client": (Look(ROLE_COLOURS["client"], "<"), "removed by a client in C++"),
    "server": (Look(ROLE_COLOURS["server"], ">"), "removed by a server in C++"),
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


class Place(NamedTuple):
    """A row of a panel: a case of a combination, and which languages its client and its server have."""

    y: int
    of: Subject
    which: str
    case: int


EACH = len(LANGUAGES) + 1  # rows of a system: its name, and below it its cases


def _rows(subjects: list[Subject]) -> list[Place]:
    """Return the rows of the cases, below the name of their system."""
    return [
        Place(EACH * place + below, of, which, getattr(of.cross, which))
        for place, of in enumerate(subjects)
        for below, which in enumerate(LANGUAGES, 1)
    ]


def _name(axes: Axes, subjects: list[Subject]) -> None:
    """Name the rows by their languages, below the name of the system; a line between systems."""
    systems = {EACH * place: marked(of.cross.name, of.is_borrowed) for place, of in enumerate(subjects)}
    names = systems | {row.y: LANGUAGES[row.which][0] for row in _rows(subjects)}
    name_rows(axes, [names[y] for y in sorted(names)])
    for y in systems:
        axes.get_yticklabels()[y].set_fontweight("bold")
        axes.axhline(y, color="white", lw=3, zorder=0.8)  # over the grid: this row is empty
    separate_rows(axes, [edge - 0.5 for edge in systems if edge])


def _ranges(
    axes: Axes,
    subjects: list[Subject],
    name: str,
    ratio: Callable[[Run, Cross, str], Interval],
    text: Callable[[float], str] = duration,
) -> None:
    """Draw a row for each combination: a quantity of each start, and its ratio to both sides in Python."""
    for y, (run, cross, is_borrowed), which, case in _rows(subjects):
        more = "" if which == "python" else f", {ratio_text(ratio(run, cross, which))}"
        colour, marker = look(y // EACH).colour, LANGUAGES[which][1]
        row = RangeRow(run.starts_of(case)[name], colour, more, marker=marker, is_hollow=is_borrowed)
        range_row(axes, y, row, text)
    log_axis(axes.xaxis, text)
    _name(axes, subjects)


def _or_of_servers(draw: Callable[[Run, Axes], None]) -> Callable[[Run, Axes], None]:
    """Return a panel that draws its twin in ``servers_figure`` for a run of servers in other languages."""

    @functools.wraps(draw)
    def panel(run: Run, axes: Axes) -> None:
        (servers_figure.PANELS[draw.__name__] if findings.servers(run) else draw)(run, axes)

    return panel


@_or_of_servers
def medians(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start with client and server in either language; ×: over both in Python."""
    subjects = _subjects(run, findings.single)
    if not subjects:
        return say_why_empty(axes, NONE)
    _ranges(axes, subjects, findings.RTT, findings.remaining)
    axes.set_xlabel("median RTT of each start; line: median\n×: ratio, by block, to Python [95 % CI]")
    axes.set_title("Median RTT by language of client and server")


@_or_of_servers
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


@_or_of_servers
def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of client and server in either language, over that of both sides in Python."""
    subjects = _subjects(run, findings.single)
    if not subjects:
        return say_why_empty(axes, NONE)
    for y, (part, cross, is_borrowed), _, case in _rows(subjects):
        whole_us = sum(_cpu_us(part, cross.python, role) for role in findings.CPU)
        with hollow(axes, is_borrowed):
            end = stacked_bar(axes, y, ((role, _cpu_us(part, case, role) / whole_us, ROLE_COLOURS[role],
                                         ROLE_HATCHES[role]) for role in findings.CPU))  # fmt: skip
            write_beside(axes, y, duration(end * whole_us))
    _name(axes, subjects)
    axes.xaxis.set_major_formatter(PercentFormatter(1, 0))
    axes.set_xlabel("CPU time over that of both sides in Python; median")
    axes.set_title("CPU time per call, by role")


def _cpu_us(run: Run, case: int, role: str) -> float:
    """Return the median over starts of a role's CPU time per call, in us."""
    return across_starts(findings.cpu_us(run, case, role)).middle


@_or_of_servers
def rates(run: Run, axes: Axes) -> None:
    """Draw the calls per second of several callers with each side in either language; ×: over both in Python."""
    subjects = _subjects(run, findings.several)
    if not subjects:
        return say_why_empty(axes, "no system with several callers in this run")
    _ranges(axes, subjects, findings.RATE, findings.rate_gain, quantity)
    axes.set_xlabel("calls per second of each start; line: median\n×: ratio, by block, to Python [95 % CI]")
    axes.set_title(f"Throughput, one client process with {subjects[0].cross.callers} callers")


def title(run: Run) -> str:
    """Return the question that a run answers."""
    return servers_figure.TITLE if findings.servers(run) else TITLE


def height(run: Run) -> float:
    """Return how many inches the figure is taller than usual: for the rows of all systems."""
    return max(0.0, 0.36 * (EACH * len(_subjects(run, findings.single)) - 16))


PANELS = (medians, shares, cpu, rates)
