"""Panels of every system side by side: RTT above the baseline, CPU time, throughput."""

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.axes import Axes

from bench.analysis.comparison import effect
from bench.analysis.quantiles import quantile
from bench.analysis.resources import total_cpu
from bench.drawing.axes import (
    GREY,
    MARKS,
    MOST_CURVES,
    SMALL,
    Look,
    RangeRow,
    cpu_bars,
    distribution_of,
    draw_cdfs,
    hides_bars,
    hollow,
    log_axis,
    look,
    name_rows,
    of_first_size,
    quantile_axes,
    quantile_row,
    range_row,
    ratio_text,
    write_beside,
)
from bench.drawing.borrowed import marked, shown
from bench.experiments.overview.findings import GROUP_WORDS, P50, group_of, ranked, rates
from bench.run.frames import Run, numbered, once
from bench.stats.intervals import Interval
from bench.text import duration, listed, quantity

TITLE = "How much does each RPC system add to a raw socket?"

BASELINE = "sockets"
MOST_ABSENT = 3  # rows of systems that were not measured; more are named in the conclusion only
ROWS = 18  # that fit into the usual height of a figure
APART = 0.17  # of a row: one client above, two below
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
    """Return the systems that are drawn, the shortest RTT first: those of the run, then those that it borrows."""
    return [
        Subject(part, case, row["system"], marked(f"{row['system']} {row['transport']}", part is not run),
                group_of(part, case), part is not run)
        for part in shown(run)
        for case, row in numbered(ranked(part))
    ]  # fmt: skip


@once
def places(run: Run) -> dict[str, int]:
    """Return the row of each system, the same in every panel."""
    return {subject.system: place for place, subject in enumerate(subjects(run))}


def height(run: Run) -> float:
    """Return how many inches the whole figure is to be taller than usual, so that its rows can be read."""
    return 2 * EACH * max(0, len(places(run)) + len(_absent(run)) - ROWS)


@once
def groups(run: Run) -> dict[str, Look]:
    """Return colour and marker of each group of systems, where there are too many systems for one each."""
    drawn = subjects(run)
    names = [name for name in GROUP_WORDS if any(subject.group == name for subject in drawn)]
    return {name: look(place) for place, name in enumerate(names)} if len(drawn) > MOST_CURVES else {}


@once
def look_of(run: Run) -> dict[str, Look]:
    """Return colour and marker of each system, in the order of their rows; of many systems those of their group."""
    return {of.system: groups(run).get(of.group, look(place)) for place, of in enumerate(subjects(run))}


def layers(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each system, and in words its ratio to that of raw sockets over the same transport."""
    _range_rows(run, axes, P50, duration, lambda subject: above(subject.run, subject.case))
    cases = {baseline_of(run, case) for case, _ in numbered(ranked(run))} - {None}
    baselines = sorted((run.cases.loc[case, P50], run.case(case).transport) for case in cases if case is not None)
    for rtt_us, _ in baselines:
        axes.axvline(rtt_us, color=GREY, lw=1, ls="--")
    dashed = f"; dashed: raw sockets, {listed(transport for _, transport in baselines)}" if baselines else ""
    log_axis(axes.xaxis)
    axes.set_xlabel(f"median RTT of each start{dashed}")
    axes.set_title("Median RTT, one client; × raw sockets [95 % CI]")


def _range_rows(
    run: Run, axes: Axes, name: str, text: Callable[[float], str], more: Callable[[Subject], str] = lambda subject: ""
) -> None:
    """Draw a column of ``Run.starts`` for each of ``subjects``, with words behind its median."""
    for subject in subjects(run):
        colour, marker = look_of(run)[subject.system]
        values = subject.run.starts_of(subject.case)[name]
        row = RangeRow(values, colour, more(subject), marker=marker, is_hollow=subject.is_borrowed)
        range_row(axes, places(run)[subject.system], row, text)
    for name, (colour, marker) in groups(run).items():
        axes.plot([], [], marker, ms=6, color=colour, label=name)
    _name_systems(run, axes)


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
    """Name the systems on the vertical axis; below them, those that are not installed."""
    absent = _absent(run)
    name_rows(axes, [*(subject.name for subject in subjects(run)), *absent], SMALL)
    for y, reason in enumerate(absent.values(), len(places(run))):
        text = f"not measured: {reason.rpartition(': ')[2]}"  # the command that ends the reason
        axes.text(0.02, y, text, color=GREY, transform=axes.get_yaxis_transform(), va="center", fontsize=SMALL)


def _absent(run: Run) -> dict[str, str]:
    """Return the systems that have no values and have a row, with the reason; none where they are many."""
    absent = {name: reason for name, reason in run.plan.absent.items() if name not in places(run)}
    return absent if len(absent) <= MOST_ABSENT else {}


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call by role, systems in the order of the other panels."""
    is_log = hides_bars(us for part in shown(run) for us in total_cpu(ranked(part)))
    for part in shown(run):
        cases = ranked(part)
        with hollow(axes, part is not run):
            at = [places(run)[row["system"]] for _, row in numbered(cases)]
            cpu_bars(part, axes, cases, at=at, is_log=is_log)
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
        axes.plot([], [], "o", ms=6, color=GREY, mfc="white", mew=1.6, label="one client (above)")
        axes.plot([], [], "o", ms=6, color=GREY, label="two clients (below)")
        for name, (colour, marker) in groups(run).items():
            axes.plot([], [], marker, ms=6, color=colour, label=name)
        _name_systems(run, axes)
        axes.set_xlabel("calls per second (closed loop); bar: range over starts")
        axes.set_title("Throughput, 1 and 2 clients; gain [95 % CI]")
    log_axis(axes.xaxis, quantity)


def _gains(run: Run, measured: Run, axes: Axes) -> None:
    """Draw one client above and two below it, of each system that a run, or the reference run, measured with both."""
    for system, row in rates(measured).iterrows():
        y, (colour, marker) = places(run)[str(system)], look_of(run)[str(system)]
        axes.plot([row["one"], row["two"]], [y - APART, y + APART], color=colour, lw=1.2)
        for name, at in (("one", y - APART), ("two", y + APART)):
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            axes.plot(ends, [at, at], color=colour, lw=4, alpha=0.3, solid_capstyle="round")
        axes.plot(row["two"], y + APART, marker, ms=6, color=colour)
        with hollow(axes):
            axes.plot(row["one"], y - APART, marker, ms=6, color=colour)
        gain_text = ratio_text(gain(measured, str(system), str(row["placement"])))
        two = measured.over_starts(row["ratio"].other, row["ratio"].name)
        write_beside(axes, y, f"{two.values(quantity)}  {gain_text}")


def gain(run: Run, system: str, placement: str) -> Interval:
    """Return the calls per second of two clients divided by those of one."""
    lone, pair = (run.find(system=system, placement=placement, clients=clients)[0] for clients in (1, 2))
    return effect(run, lone, pair, "rate_per_s")


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of every system, one client; of many systems three quantiles each."""
    if len(subjects(run)) > MOST_CURVES:
        for subject in subjects(run):
            quantiles = {p: quantile(subject.run, subject.case, p) for p in MARKS}
            with hollow(axes, subject.is_borrowed):
                quantile_row(axes, places(run)[subject.system], quantiles, look_of(run)[subject.system].colour)
        for name, (colour, _) in groups(run).items():
            axes.plot([], [], color=colour, lw=2, label=name)
        quantile_axes(axes)
        _name_systems(run, axes)
    else:
        draw_cdfs(axes, [
            distribution_of(of.run, of.case, look_of(run)[of.system], "--" if of.is_borrowed else "-", of.name,
                            of.is_borrowed)
            for of in subjects(run)
        ])  # fmt: skip
    axes.set_title(f"Distribution of the RTT, one client{of_first_size(run)}")


PANELS = (layers, cost, distribution, two_clients)
