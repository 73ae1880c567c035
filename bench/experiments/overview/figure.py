"""Panels of every system side by side: RTT above the baseline, CPU time, throughput."""

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.axes import Axes

from bench.analysis.comparison import effect
from bench.analysis.quantiles import crossed, quantile
from bench.drawing.axes import (
    FURTHEST,
    GREY,
    Look,
    RangeRow,
    beside,
    cpu_bars,
    distribution_axes,
    distribution_line,
    hollow,
    look,
    near,
    of_first_size,
    range_row,
    reach,
    small,
    times,
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
    found = [
        Subject(each, case, row["system"], marked(f"{row['system']} {row['transport']}", each is not run),
                row["group"], each is not run)
        for each in shown(run)
        for case, row in numbered(grouped(each))
    ]  # fmt: skip
    return sorted(found, key=lambda one: GROUP_WORDS.index(one.group))


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
    groups = list(dict.fromkeys(one.group for one in subjects(run)))
    for group in groups:
        if len(groups) > 1:
            headings[len(places) + len(headings)] = group
        for one in subjects(run):
            if one.group == group:
                places[one.system] = len(places) + len(headings)
    return Rows(places, headings)


def height(run: Run) -> float:
    """Return how many inches the whole figure is to be taller than usual, so that its rows can be read."""
    return 2 * EACH * max(0, rows_of(run).count + len(_absent(run)) - ROWS)


@once
def look_of(run: Run) -> dict[str, Look]:
    """Return colour and marker of each system, in the order of their rows; of many systems those of their group."""
    known = subjects(run)
    if len(known) > MOST_CURVES:
        groups = list(dict.fromkeys(one.group for one in known))
        return {one.system: look(groups.index(one.group)) for one in known}
    return {one.system: look(place) for place, one in enumerate(known)}


def layers(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each system, and in words its ratio to that of raw sockets over the same transport."""
    rows = []
    for one in subjects(run):
        draw, more = look_of(run)[one.system], "  baseline" if one.system == BASELINE else above(one.run, one.case)
        rows.append(RangeRow(one.run.starts_of(one.case)[P50], draw.colour, more, marker=draw.marker,
                             is_hollow=one.is_borrowed))  # fmt: skip
    _range_rows(run, axes, rows, duration)
    cases = grouped(run)
    found_baselines = {baseline_of(run, case): None for case, _ in numbered(cases)}
    baselines = sorted((one for one in found_baselines if one is not None), key=lambda one: run.cases.loc[one, P50])
    for baseline in baselines:
        axes.axvline(run.cases.loc[baseline, P50], color=GREY, lw=1, ls="--")
    _systems(run, axes)
    near(axes)
    axes.set_xlabel(f"median RTT of each start, one client{_dashed(run, baselines)}")
    axes.set_title("Median RTT; × raw sockets [95 % CI]")


def _range_rows(run: Run, axes: Axes, rows: list[RangeRow], text: Callable[[float], str]) -> None:
    """Draw the rows of all systems, one for each of ``subjects``."""
    within, size = reach(row.each for row in rows), _words(run)
    for one, row in zip(subjects(run), rows, strict=True):
        at = rows_of(run).places[one.system]
        range_row(axes, at, row.each, row.colour, text, row.more, row.marker, within, fontsize=size,
                  is_hollow=row.is_hollow)  # fmt: skip


def _dashed(run: Run, baselines: list[int]) -> str:
    """Return what the dashed lines are, from left to right."""
    return f"; dashed: raw sockets over {listed(run.case(one).transport for one in baselines)}" if baselines else ""


@once
def _words(run: Run) -> float:
    """Return the font size of the words beside the rows."""
    return min(10, small(rows_of(run).count) + 1)


def above(run: Run, case: int) -> str:
    """Return the ratio of a case's median RTT to that of raw sockets over the same transport, if it was measured."""
    baseline = baseline_of(run, case)
    if baseline is None:
        return f"  (no baseline over {run.case(case).transport})"
    return f"  {times(effect(run, baseline, case, P50))}"


def baseline_of(run: Run, case: int) -> int | None:
    """Return the case of raw sockets, one client, over a case's transport and under its placement."""
    of = run.case(case)
    return run.whole.first(system=BASELINE, clients=1, transport=of.transport, placement=of.placement)


def _systems(run: Run, axes: Axes) -> None:
    """Name the systems on the vertical axis under the headings of their groups; below them, those not installed."""
    rows, absent = rows_of(run), _absent(run)
    names = {rows.places[one.system]: one.name for one in subjects(run)}
    names |= rows.headings | {rows.count + place: name for place, name in enumerate(absent)}
    at = sorted(names)
    axes.set_yticks(at, [names[place] for place in at], fontsize=max(8.5, small(len(at))))
    for place, label in zip(at, axes.get_yticklabels(), strict=True):
        if place in rows.headings:
            label.set_fontweight("bold")
            axes.axhline(place, color="white", lw=3, zorder=0.8)  # over the grid: nothing is in this row
    axes.set_ylim(len(at) - 0.4, -0.6)
    for place, reason in enumerate(absent.values()):
        text = f"not measured: {reason.rpartition(': ')[2]}"  # the command that ends the reason
        side = axes.get_yaxis_transform()
        axes.text(0.02, rows.count + place, text, color=GREY, transform=side, va="center", fontsize=9)


def _absent(run: Run) -> dict[str, str]:
    """Return the systems that have no values and have a row, with the reason; none where they are many."""
    absent = {name: reason for name, reason in run.plan.absent.items() if name not in rows_of(run).places}
    return absent if len(absent) <= MOST_ABSENT else {}


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call by role, systems in the order of the other panels, on a linear axis."""
    right = 0.0
    for each in shown(run):
        cases = grouped(each)
        with hollow(axes, each is not run):
            cpu_bars(each, axes, cases, at=[rows_of(run).places[row["system"]] for _, row in numbered(cases)])
        right = max(right, axes.get_xlim()[1])
    axes.set_xlim(0, right)
    _systems(run, axes)
    axes.legend()
    axes.set_title("CPU time per call, by role")


def two_clients(run: Run, axes: Axes) -> None:
    """Draw the throughput of each system with one client and with two; bars: range over starts."""
    if rates(run).empty:
        return _one_client(run, axes)
    axes.set_title("Throughput, 1 and 2 clients; gain [95 % CI]")
    for each in shown(run):
        with hollow(axes, each is not run):
            _gains(run, each, axes)
    smaller = "; reference: the smaller marker" if len(shown(run)) > 1 else ""
    axes.plot([], [], "o", ms=9, color=GREY, mfc="white", mew=2, label=f"one client{smaller}")
    axes.plot([], [], "o", ms=9, color=GREY, label="two clients")
    _systems(run, axes)
    near(axes, quantity)
    axes.set_xlabel("calls per second (closed loop); bar: range over starts")
    axes.legend()
    return None


def _gains(run: Run, measured: Run, axes: Axes) -> None:
    """Draw one client and two of each system that a run, or the reference run, measured with both."""
    for system, row in rates(measured).iterrows():
        one, two = row["one"], row["two"]
        y, (colour, marker) = rows_of(run).places[str(system)], look_of(run)[str(system)]
        axes.plot([one, two], [y, y], color=colour, lw=2)
        for name in ("one", "two"):
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            axes.plot(ends, [y, y], color=colour, lw=8, alpha=0.2, solid_capstyle="round")
        axes.plot(one, y, marker, ms=8 if measured is run else 5, color=colour, mfc="white", mew=2)
        axes.plot(two, y, marker, ms=8, color=colour)
        gained = times(gain(measured, str(system), str(row["placement"])))
        beside(axes, y, f"{quantity(two)}  {gained}", _words(run))


def _one_client(run: Run, axes: Axes) -> None:
    """Draw the throughput of one client, where a second one was not measured."""
    rows = []
    for one in subjects(run):
        draw, each = look_of(run)[one.system], one.run.starts_of(one.case)["rate_per_s"]
        rows.append(RangeRow(each, draw.colour, marker=draw.marker, is_hollow=one.is_borrowed))
    _range_rows(run, axes, rows, quantity)
    _systems(run, axes)
    near(axes, quantity)
    axes.set_xlabel("calls per second of each start, one client (closed loop)")
    axes.set_title("Throughput, one client")


def gain(run: Run, system: str, placement: str) -> Interval:
    """Return how many times the calls per second of one client two clients make."""
    one, two = (run.find(system=system, placement=placement, clients=clients)[0] for clients in (1, 2))
    return effect(run, one, two, "rate_per_s")


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of every system, one client; of many systems three quantiles each."""
    axes.set_title(f"Distribution of the RTT, one client{of_first_size(run)}")
    if len(subjects(run)) > MOST_CURVES:
        return _quantiles(run, axes)
    for one in subjects(run):
        colour, marker = look_of(run)[one.system]
        with hollow(axes, one.is_borrowed):
            distribution_line(one.run, axes, one.case, colour, "--" if one.is_borrowed else "-", marker, one.name)
    distribution_axes(axes)
    axes.legend(fontsize=min(9, small(len(subjects(run)))))
    return None


MARKS = {0.5: "|", 0.9: "o", 0.99: "D"}


def _quantiles(run: Run, axes: Axes) -> None:
    """Draw p50, p90 and p99 of each system in a row; what is too far away is named beside it."""
    values = {one.system: [quantile(one.run, one.case, p).value for p in MARKS] for one in subjects(run)}
    most = FURTHEST * max(each[0] for each in values.values())
    for one in subjects(run):
        with hollow(axes, one.is_borrowed):
            _quantiles_of(run, axes, one, values[one.system], most)
    for p, mark in MARKS.items():
        axes.plot([], [], mark, ms=12 if mark == "|" else 6, mew=2, color=GREY, label=f"p{100 * p:g}")
    _systems(run, axes)
    near(axes)
    axes.set_xlabel("RTT: median over the starts, or of all calls where a start has too few")
    axes.legend(ncols=len(MARKS))


def _quantiles_of(run: Run, axes: Axes, one: Subject, values: list[float], most: float) -> None:
    """Draw the quantiles of one system in its row, and name those beyond ``most``."""
    y, colour, words = rows_of(run).places[one.system], look_of(run)[one.system].colour, []
    known = [value for value in values if value == value and value <= most]
    axes.plot([min(known), max(known)], [y, y], color=colour, lw=2)
    for (p, mark), value in zip(MARKS.items(), values, strict=True):
        if value != value:
            words.append(f"p{100 * p:g}: too few calls")
        elif value > most:
            words.append(f"p{100 * p:g} {duration(value)}, off the axis")
        else:
            axes.plot(value, y, mark, ms=12 if mark == "|" else 6, mew=2 if mark == "|" else 0.6, color=colour)
    order = crossed([(p, quantile(one.run, one.case, p)) for p in MARKS])
    tail = "" if words else f"p99 {duration(values[-1])}"
    beside(axes, y, "; ".join(filter(None, [tail, *words])) + order, _words(run))


PANELS = (layers, cost, distribution, two_clients)
