"""Panels that hold every system side by side: what each layer adds to the floor, and what it costs."""

import pandas as pd
from matplotlib.axes import Axes

from bench.experiments.axes import (
    COLOURS,
    GREY,
    RangeRow,
    cpu_bars,
    distribution_axes,
    distribution_line,
    log_room,
    range_rows,
    time_axis,
)
from bench.experiments.overview.findings import FLOOR, P50, ranked, rates
from bench.run.frames import Run, numbered
from bench.text import duration, quantity

TITLE = "How much does each layer cost?"

MOST = 8  # curves that can still be told apart


def colour_of(run: Run) -> dict[str, str]:
    """Return a colour for each system, in the order of their round trips."""
    return {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(ranked(run)["system"])}


def layers(run: Run, axes: Axes) -> None:
    """Draw each system's median RTT on one axis, the floor as a line, and what lies above it in words."""
    cases, colours = ranked(run), colour_of(run)
    floor = cases.loc[cases["system"] == FLOOR, P50].iloc[0]
    rows = []
    for case, row in numbered(cases):
        added = row[P50] - floor
        more = f" = floor + {duration(added)}  (× {row[P50] / floor:.1f})" if row["system"] != FLOOR else "  the floor"
        rows.append(RangeRow(run.starts_of(case)[P50], colours[row["system"]], more))
    range_rows(axes, rows)
    axes.axvline(floor, color=GREY, lw=1, ls="--")
    _systems(run, axes, cases)
    log_room(axes, 1.4, 1.1, 3)
    axes.set_xlabel("median RTT, one client: each start, their range and middle")
    axes.set_title("Round trip: the floor, and what each system adds")


def _systems(run: Run, axes: Axes, cases: pd.DataFrame) -> None:
    """Name the systems on the vertical axis; below them, those that are not installed."""
    labels = [f"{row['system']} {row['transport']}" for _, row in numbered(cases)]
    axes.set_yticks(range(len(labels) + len(run.plan.absent)), [*labels, *run.plan.absent])
    axes.set_ylim(len(labels) + len(run.plan.absent) - 0.4, -0.6)
    for place, reason in enumerate(run.plan.absent.values()):
        text = f"not here: {reason.rpartition(': ')[2]}"  # the command that ends the reason
        at = axes.get_yaxis_transform()
        axes.text(0.02, len(labels) + place, text, color=GREY, transform=at, va="center", fontsize=9)
    axes.yaxis.grid(False)


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time of a call by role, in the order of the round trips; a logarithm would hide the sums."""
    cases = ranked(run)
    cpu_bars(run, axes, cases)
    _systems(run, axes, cases)
    axes.legend(loc="upper right")
    axes.set_title("CPU per call, by role")


def two_clients(run: Run, axes: Axes) -> None:
    """Draw calls per second with one client and with two."""
    cases, colours = ranked(run), colour_of(run)
    for system, row in rates(run).iterrows():
        one, two = row["one"], row["two"]
        y, colour = list(cases["system"]).index(system), colours[str(system)]
        axes.plot([one, two], [y, y], color=colour, lw=2)
        for name in ("one", "two"):
            ends = [row[f"{name}_low"], row[f"{name}_high"]]
            axes.plot(ends, [y, y], color=colour, lw=8, alpha=0.2, solid_capstyle="round")
        axes.plot(one, y, "o", ms=9, color=colour, mfc="white", mew=2)
        axes.plot(two, y, "o", ms=9, color=colour)
        text = f"{quantity(two)}  (× {two / one:.2f})"
        at = (max(one, row["two_high"]), y)
        axes.annotate(text, at, (10, 0), textcoords="offset points", va="center", fontsize=10.5)
    axes.plot([], [], "o", ms=9, color=GREY, mfc="white", mew=2, label="one client")
    axes.plot([], [], "o", ms=9, color=GREY, label="two clients")
    _systems(run, axes, cases)
    log_room(axes, 1.6, 0.45, text=quantity)
    axes.set_xlabel("calls per second")
    axes.legend(loc="lower right")
    axes.set_title("Throughput: one client, and two")


def distribution(run: Run, axes: Axes) -> None:
    """Draw the distribution of each system's calls; of many, the first eight."""
    colours = colour_of(run)
    for case, row in numbered(ranked(run).head(MOST)):
        distribution_line(run, axes, case, colours[row["system"]], "-", "o", f"{row['system']} {row['transport']}")
    distribution_axes(axes)
    low, high = axes.dataLim.intervalx
    axes.set_xlim(low / 1.2, 15 * high)  # room for the legend beside the curves
    time_axis(axes.xaxis)
    axes.legend(loc="lower right", fontsize=9.5)
    axes.set_title("Distribution, one client")


PANELS = (layers, cost, distribution, two_clients)
