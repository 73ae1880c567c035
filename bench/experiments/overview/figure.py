"""Panels of every system side by side: RTT above the baseline, CPU time, throughput."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.axes import Axes

from bench.analysis.comparison import effect
from bench.analysis.quantiles import crossed, quantile
from bench.drawing.axes import (
    GREY,
    Look,
    RangeRow,
    cpu_bars,
    distribution_axes,
    distribution_line,
    hollow,
    log_axis,
    look,
    of_first_size,
    range_row,
    ratio_text,
    row_fontsize,
    write_beside,
)
from bench.drawing.borrowed import marked, shown
from bench.experiments.overview.findings import GROUP_WORDS, P50, grouped, rates
from bench.run.frames import Run, numbered, once
from bench.stats.intervals import Interval
from bench.text import duration, listed, quantity

TITLE = "How much does each RPC system add to a raw socket?"

BASELINE = "sockets"
MOST_CURVES = 12  # of a panel of distributions; more systems are drawn as a row of quantiles each
MOST_ABSENT = 3  # rows of systems that were not measured; more are named in the conclusion only
ROWS = 18  # that fit into the usual height of a figure
EACH = 0.3  # inches that each further row makes it taller


@dataclass(frozen=True)
class Subject:
    """What is drawn of one system: its case with one client, and the run that measured it."""

    run: Run
    case: int
    system: str
    name: str
    group: str
    is_borrowed: bool


@once
def subjects(run: Run) -> list[Subject]:
    """Return the systems that are drawn, by group: those of the run by their RTT, then those that it borrows."""
    drawn = [
        Subject(part, case, row["system"], marked(f"{row['system']} {row['transport']}", part is not run),
                row["group"], part is not run)
        for part in shown(run)
        for case, row in numbered(grouped(part))
    ]  # fmt: skip
    return sorted(drawn, key=lambda subject: GROUP_WORDS.index(subject.group))


@dataclass(frozen=True)
class Rows:
    """Where things are on the vertical axis: the row of each system, and the heading of each group."""

    places: dict[str, int]
    headings: dict[int, str]

    @property
    def count(self) -> int:
        """How many rows there are, headings included."""
        return len(self.places) + len(self.headings)


@once
def rows_of(run: Run) -> Rows:
    """Return the rows: the systems in the order of ``subjects``, a heading before each group if there are several."""
    places: dict[str, int] = {}
    headings: dict[int, str] = {}
    groups = dict.fromkeys(subject.group for subject in subjects(run))
    for group in groups:
        if len(groups) > 1:
            headings[len(places) + len(headings)] = group
        for subject in subjects(run):
            if subject.group == group:
                places[subject.system] = len(places) + len(headings)
    return Rows(places, headings)


def height(run: Run) -> float:
    """Return how many inches the whole figure is to be taller than usual, so that its rows can be read."""
    return 2 * EACH * max(0, rows_of(run).count + len(_absent(run)) - ROWS)


@once
def look_of(run: Run) -> dict[str, Look]:
    """Return colour and marker of each system, in the order of their rows; of many systems those of their group."""
    drawn = subjects(run)
    if len(drawn) > MOST_CURVES:
        groups = list(dict.fromkeys(subject.group for subject in drawn))
        return {subject.system: look(groups.index(subject.group)) for subject in drawn}
    return {subject.system: look(place) for place, subject in enumerate(drawn)}


def layers(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each system, and in words its ratio to that of raw sockets over the same transport."""
    _range_rows(run, axes, P50, duration, lambda subject: above(subject.run, subject.case))
    cases = {baseline_of(run, case) for case, _ in numbered(grouped(run))} - {None}
    baselines = sorted((run.cases.loc[case, P50], run.case(case).transport) for case in cases if case is not None)
    for rtt_us, _ in baselines:
        axes.axvline(rtt_us, color=GREY, lw=1, ls="--")
    dashed = f"; dashed: raw sockets over {listed(transport for _, transport in baselines)}" if baselines else ""
    log_axis(axes.xaxis)
    axes.set_xlabel(f"median RTT of each start, one client{dashed}")
    axes.set_title("Median RTT; × raw sockets [95 % CI]")


def _range_rows(
    run: Run, axes: Axes, name: str, text: Callable[[float], str], more: Callable[[Subject], str] = lambda subject: ""
) -> None:
    """Draw a column of ``Run.starts`` for each of ``subjects``, with words behind its median."""
    for subject in subjects(run):
        colour, marker = look_of(run)[subject.system]
        values = subject.run.starts_of(subject.case)[name]
        row = RangeRow(values, colour, more(subject), marker=marker, is_hollow=subject.is_borrowed)
        range_row(axes, rows_of(run).places[subject.system], row, text, _fontsize(run))
    _name_systems(run, axes)


@once
def _fontsize(run: Run) -> float:
    """Return the font size of the words beside the rows."""
    return min(10, row_fontsize(rows_of(run).count) + 1)


def above(run: Run, case: int) -> str:
    """Return the ratio of a case's median RTT to that of raw sockets over the same transport, if it was measured."""
    if run.case(case).system == BASELINE:
        return "  baseline"
    baseline = baseline_of(run, case)
    if baseline is None:
        return f"  (no baseline over {run.case(case).transport})"
    return f"  {ratio_text(effect(run, baseline, case, P50))}"


def baseline_of(run: Run, case: int) -> int | None:
    """Return the case of raw sockets, one client, over a case's transport and under its placement."""
    of = run.case(case)
    return run.whole.first(system=BASELINE, clients=1, transport=of.transport, placement=of.placement)


def _name_systems(run: Run, axes: Axes) -> None:
    """Name the systems on the vertical axis under the headings of their groups; below them, those not installed."""
    rows, absent = rows_of(run), _absent(run)
    names = {rows.places[subject.system]: subject.name for subject in subjects(run)}
    names |= rows.headings | {rows.count + place: name for place, name in enumerate(absent)}
    at = sorted(names)
    axes.set_yticks(at, [names[place] for place in at], fontsize=max(8.5, row_fontsize(len(at))))
    for place, label in zip(at, axes.get_yticklabels(), strict=True):
        if place in rows.headings:
            label.set_fontweight("bold")
            axes.axhline(place, color="white", lw=3, zorder=0.8)  # over the grid: this row is empty
    axes.set_ylim(len(at) - 0.4, -0.6)
    for y, reason in enumerate(absent.values(), rows.count):
        text = f"not measured: {reason.rpartition(': ')[2]}"  # the command that ends the reason
        axes.text(0.02, y, text, color=GREY, transform=axes.get_yaxis_transform(), va="center", fontsize=9)


def _absent(run: Run) -> dict[str, str]:
    """Return the systems that have no values and have a row, with the reason; none where they are many."""
    absent = {name: reason for name, reason in run.plan.absent.items() if name not in rows_of(run).places}
    return absent if len(absent) <= MOST_ABSENT else {}


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call by role, systems in the order of the other panels, on a linear axis."""
    for part in shown(run):
        cases = grouped(part)
        with hollow(axes, part is not run):
            cpu_bars(part, axes, cases, at=[rows_of(run).places[row["system"]] for _, row in numbered(cases)])
    _name_systems(run, axes)
    axes.set_title("CPU time per call, by role")


def two_clients(run: Run, axes: Axes) -> None:
    """Draw the throughput of each system with one client and with two; bars: range over starts."""
    if rates(run).empty:
        _range_rows(run, axes, "rate_per_s", quantity)
        axes.set_xlabel("calls per second of each start, one client (closed loop)")
        axes.set_title("Throughput, one client")
    else:
        for part in shown(run):
            with hollow(axes, part is not run):
                _gains(run, part, axes)
        smaller = "; reference: the smaller marker" if len(shown(run)) > 1 else ""
        axes.plot([], [], "o", ms=8, color=GREY, mfc="white", mew=2, label=f"one client{smaller}")
        axes.plot([], [], "o", ms=8, color=GREY, label="two clients")
        _name_systems(run, axes)
        axes.set_xlabel("calls per second (closed loop); bar: range over starts")
        axes.set_title("Throughput, 1 and 2 clients; gain [95 % CI]")
    log_axis(axes.xaxis, quantity)


def _gains(run: Run, measured: Run, axes: Axes) -> None:
    """Draw one client and two of each system that a run, or the reference run, measured with both."""
    for system, row in rates(measured).iterrows():
        y, (colour, marker) = rows_of(run).places[str(system)], look_of(run)[str(system)]
        axes.plot([row["one"], row["two"]], [y, y], color=colour, lw=2)
        for name in ("one", "two"):
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            axes.plot(ends, [y, y], color=colour, lw=8, alpha=0.2, solid_capstyle="round")
        axes.plot(row["one"], y, marker, ms=8 if measured is run else 5, color=colour, mfc="white", mew=2)
        axes.plot(row["two"], y, marker, ms=8, color=colour)
        gain_text = ratio_text(gain(measured, str(system), str(row["placement"])))
        two = measured.over_starts(row["ratio"].other, row["ratio"].name)
        write_beside(axes, y, f"{two.values(quantity)}  {gain_text}", _fontsize(run))


def gain(run: Run, system: str, placement: str) -> Interval:
    """Return the calls per second of two clients divided by those of one."""
    lone, pair = (run.find(system=system, placement=placement, clients=clients)[0] for clients in (1, 2))
    return effect(run, lone, pair, "rate_per_s")


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of every system, one client; of many systems three quantiles each."""
    if len(subjects(run)) > MOST_CURVES:
        _quantiles(run, axes)
    else:
        for subject in subjects(run):
            (colour, marker), line = look_of(run)[subject.system], "--" if subject.is_borrowed else "-"
            with hollow(axes, subject.is_borrowed):
                distribution_line(subject.run, axes, subject.case, colour, line, marker, subject.name)
        distribution_axes(axes)
    axes.set_title(f"Distribution of the RTT, one client{of_first_size(run)}")


MARKS = {0.5: "|", 0.9: "o", 0.99: "D"}


def _quantiles(run: Run, axes: Axes) -> None:
    """Draw p50, p90 and p99 of each system in a row."""
    for subject in subjects(run):
        y, colour = rows_of(run).places[subject.system], look_of(run)[subject.system].colour
        quantiles = {p: quantile(subject.run, subject.case, p) for p in MARKS}
        values = [us for of in quantiles.values() for us in of.spread.medians if not math.isnan(us)]
        with hollow(axes, subject.is_borrowed):
            axes.plot([min(values), max(values)], [y, y], color=colour, lw=2)
            for p, mark in MARKS.items():
                medians = quantiles[p].spread.medians
                axes.plot(medians, [y] * len(medians), mark, ls="", ms=12 if mark == "|" else 6,
                          mew=2 if mark == "|" else 0.6, color=colour)  # fmt: skip
            few = [f"p{100 * p:g}: too few calls" for p, of in quantiles.items() if math.isnan(of.value)]
            words = "; ".join(few) or f"p99 {quantiles[0.99].spread.values(duration)}"
            write_beside(axes, y, words + crossed(quantiles.items()), _fontsize(run))
    for p, mark in MARKS.items():
        axes.plot([], [], mark, ms=12 if mark == "|" else 6, mew=2, color=GREY, label=f"p{100 * p:g}")
    _name_systems(run, axes)
    log_axis(axes.xaxis)
    axes.set_xlabel("RTT: median over the starts, or of all calls where a start has too few")


PANELS = (layers, cost, distribution, two_clients)
