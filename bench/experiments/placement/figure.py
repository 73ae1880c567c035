"""Panels that compare placements."""

from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.resources import total_cpu
from bench.experiments.axes import distribution_axes, distribution_line, first_size, linear_axis, range_row, rtt_axis
from bench.run.frames import Run, column
from bench.text import duration

TITLE = "Which CPU did it run on?"

PLACEMENT_COLOURS = {"split": "#0173b2", "same": "#de8f05", "free": "#029e73"}


def placements(run: Run, axes: Axes) -> None:
    """Draw each start's median under each placement."""
    _by_placement(run, axes, run.starts[column(0.5)], duration)
    rtt_axis(axes)
    axes.set_title("Median RTT: each start, by placement")


def placement_distribution(run: Run, axes: Axes) -> None:
    """Draw the distribution of raw sockets' calls, and of the system's, under each placement; one transport."""
    transport = run.case(0).transport
    for case in first_size(run):
        of = run.case(case)
        if of.transport == transport:
            line, marker = ("-", "o") if of.system == "sockets" else ("--", "s")
            distribution_line(run, axes, case, PLACEMENT_COLOURS[of.placement], line, marker)
    distribution_axes(axes)
    axes.set_title(f"Distribution over {transport}")


def placement_cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time of a call, client and server together, under each placement."""
    _by_placement(run, axes, total_cpu(run.starts), duration)
    axes.set_xlim(0, axes.dataLim.intervalx[1] * 1.18)
    linear_axis(axes.xaxis)
    axes.set_xlabel("CPU time of one call, both sides [µs]")
    axes.set_title("What a call costs in CPU, by placement")


def placement_switches(run: Run, axes: Axes) -> None:
    """Draw how often the server went to sleep for each call."""
    _by_placement(run, axes, run.starts["server_sleeps_per_call"], lambda v: f"{v:.2f}")
    axes.set_xlim(0, axes.dataLim.intervalx[1] * 1.18)
    axes.set_xlabel("times that the server went to sleep, for each call")
    axes.set_title("Sleeps and wake-ups of the server, by placement")


def _by_placement(run: Run, axes: Axes, values: "pd.Series[float]", text: Callable[[float], str]) -> None:
    """Draw a row for each case, grouped by system and transport, coloured by placement."""
    pairs = list(dict.fromkeys((case.system, case.transport) for case in run.plan.cases))
    for case in run.numbers:
        of = run.case(case)
        y = 4 * pairs.index((of.system, of.transport)) + list(PLACEMENT_COLOURS).index(of.placement)
        range_row(axes, y, values[run.starts_of(case).index], PLACEMENT_COLOURS[of.placement], text)
    for edge in range(1, len(pairs)):
        axes.axhline(4 * edge - 1, color="#bbbbbb", lw=0.8)
    for name, colour in PLACEMENT_COLOURS.items():
        axes.plot([], [], lw=7, color=colour, label=name)
    axes.yaxis.grid(False)
    axes.set_yticks([4 * place + 1 for place in range(len(pairs))], [" ".join(pair) for pair in pairs])
    axes.set_ylim(4 * len(pairs) - 1, -1)
    axes.legend(loc="best", title=None)


PANELS = (placements, placement_distribution, placement_cpu, placement_switches)
