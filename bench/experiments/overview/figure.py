"""Panels of every system side by side: RTT above the baseline, CPU time, throughput."""

import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.comparison import effect
from bench.experiments.axes import (
    GREY,
    SYSTEM_COLOURS,
    Look,
    RangeRow,
    beside,
    cpu_bars,
    distribution_axes,
    distribution_line,
    look,
    near,
    of_first_size,
    range_rows,
    small,
    times,
)
from bench.experiments.overview.findings import P50, ranked, rates
from bench.run.frames import Run, numbered
from bench.stats.intervals import Interval
from bench.text import quantity

TITLE = "How much does each RPC system add to a raw socket?"

BASELINE = "sockets"


def look_of(run: Run) -> dict[str, Look]:
    """Return colour and marker of each system, in the order of their round-trip times."""
    return {name: look(place) for place, name in enumerate(ranked(run)["system"])}


def layers(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each system, and in words its ratio to that of raw sockets over the same transport."""
    cases, found, rows = ranked(run), look_of(run), []
    for case, row in numbered(cases):
        one, more = found[row["system"]], "  baseline" if row["system"] == BASELINE else above(run, case)
        rows.append(RangeRow(run.starts_of(case)[P50], one.colour, more, marker=one.marker))
    range_rows(axes, rows)
    for baseline in {baseline_of(run, case): None for case, _ in numbered(cases)}:
        if baseline is not None:
            axes.axvline(run.cases.loc[baseline, P50], color=GREY, lw=1, ls="--")
    _systems(run, axes, cases)
    near(axes)
    axes.set_xlabel("median RTT of each start, one client; dashed: baseline")
    axes.set_title("Median RTT; × raw sockets [95 % CI]")


def above(run: Run, case: int) -> str:
    """Return the ratio of a case's median RTT to that of raw sockets over the same transport, if it was measured."""
    baseline = baseline_of(run, case)
    if baseline is None:
        return f"  (no baseline over {run.case(case).transport})"
    return f"  {times(effect(run, baseline, case, P50))}"


def baseline_of(run: Run, case: int) -> int | None:
    """Return the case of raw sockets, one client, over a case's transport and under its placement."""
    of = run.case(case)
    return run.first(system=BASELINE, clients=1, transport=of.transport, placement=of.placement)


def _systems(run: Run, axes: Axes, cases: pd.DataFrame) -> None:
    """Name the systems on the vertical axis; below them, those that are not installed."""
    labels = [f"{row['system']} {row['transport']}" for _, row in numbered(cases)]
    names = [*labels, *run.plan.absent]
    axes.set_yticks(range(len(names)), names, fontsize=small(len(names)))
    axes.set_ylim(len(labels) + len(run.plan.absent) - 0.4, -0.6)
    for place, reason in enumerate(run.plan.absent.values()):
        text = f"not measured: {reason.rpartition(': ')[2]}"  # the command that ends the reason
        at = axes.get_yaxis_transform()
        axes.text(0.02, len(labels) + place, text, color=GREY, transform=at, va="center", fontsize=9)


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call by role, systems in the order of their median RTT, on a linear axis."""
    cases = ranked(run)
    cpu_bars(run, axes, cases)
    _systems(run, axes, cases)
    axes.legend()
    axes.set_title("CPU time per call, by role")


def two_clients(run: Run, axes: Axes) -> None:
    """Draw the throughput of each system with one client and with two; bars: range over starts."""
    cases, found = ranked(run), look_of(run)
    for system, row in rates(run).iterrows():
        one, two = row["one"], row["two"]
        y, (colour, marker) = list(cases["system"]).index(system), found[str(system)]
        axes.plot([one, two], [y, y], color=colour, lw=2)
        for name in ("one", "two"):
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            axes.plot(ends, [y, y], color=colour, lw=8, alpha=0.2, solid_capstyle="round")
        axes.plot(one, y, marker, ms=8, color=colour, mfc="white", mew=2)
        axes.plot(two, y, marker, ms=8, color=colour)
        beside(axes, y, f"{quantity(two)}  {times(gain(run, str(system), str(row['placement'])))}")
    axes.plot([], [], "o", ms=9, color=GREY, mfc="white", mew=2, label="one client")
    axes.plot([], [], "o", ms=9, color=GREY, label="two clients")
    _systems(run, axes, cases)
    near(axes, quantity)
    axes.set_xlabel("calls per second (closed loop); bar: range over starts")
    axes.legend()
    axes.set_title("Throughput, 1 and 2 clients; gain [95 % CI]")


def gain(run: Run, system: str, placement: str) -> Interval:
    """Return how many times the calls per second of one client two clients make."""
    one, two = (run.find(system=system, placement=placement, clients=clients)[0] for clients in (1, 2))
    return effect(run, one, two, "rate_per_s")


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of every system, one client."""
    found = look_of(run)
    for place, (case, row) in enumerate(numbered(ranked(run))):
        (colour, marker), line = found[row["system"]], "-" if place < len(SYSTEM_COLOURS) else "--"
        distribution_line(run, axes, case, colour, line, marker, f"{row['system']} {row['transport']}")
    distribution_axes(axes)
    axes.legend(fontsize=min(9, small(len(found))))
    axes.set_title(f"Distribution of the RTT, one client{of_first_size(run)}")


PANELS = (layers, cost, distribution, two_clients)
