"""Panels that compare placements of client and server on CPUs."""

from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.resources import total_cpu
from bench.drawing.axes import (
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    Look,
    RangeRow,
    distribution_of,
    draw_cdfs,
    first_size,
    log_axis,
    of_first_size,
    range_row,
    separate_rows,
)
from bench.run.frames import Run, column
from bench.text import duration

TITLE = "How does CPU placement change the round-trip time?"

LOOKS = dict(zip(("split", "same", "free"), map(Look, SYSTEM_COLOURS, SYSTEM_MARKERS), strict=False))


def placements(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start under each placement."""
    _by_placement(run, axes, run.starts[column(0.5)], duration)
    log_axis(axes.xaxis)
    axes.set_xlabel("median RTT of each start; bar: their range, line: their median")
    axes.set_title("Median RTT by placement")


def placement_distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of raw sockets, and of the system, under each placement; one transport."""
    transport = run.case(0).transport
    cases = [case for case in first_size(run) if run.case(case).transport == transport]
    draw_cdfs(axes, [
        distribution_of(run, case, LOOKS[of.placement], "-" if of.system == "sockets" else "--")
        for case, of in ((case, run.case(case)) for case in cases)
    ])  # fmt: skip
    axes.set_title(f"Distribution of the RTT over {transport}{of_first_size(run)}")


def placement_cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call, client and server together, under each placement."""
    _by_placement(run, axes, total_cpu(run.starts), duration)
    axes.set_xlim(left=0)
    axes.set_xlabel("CPU time per call, both sides [µs], each start")
    axes.set_title("CPU time per call, by placement")


def placement_switches(run: Run, axes: Axes) -> None:
    """Draw the voluntary context switches of the server per call, under each placement."""
    _by_placement(run, axes, run.starts["server_sleeps_per_call"], "{:.2f}".format)
    axes.set_xlim(left=0)
    axes.set_xlabel("voluntary context switches of the server per call, each start")
    axes.set_title("Context switches of the server, by placement")


def _by_placement(run: Run, axes: Axes, values: "pd.Series[float]", text: Callable[[float], str]) -> None:
    """Draw a row for each case, grouped by system and transport, coloured by placement."""
    pairs = list(dict.fromkeys((case.system, case.transport) for case in run.plan.cases))
    for case in run.numbers:
        of = run.case(case)
        y = 4 * pairs.index((of.system, of.transport)) + list(LOOKS).index(of.placement)
        colour, marker = LOOKS[of.placement]
        range_row(axes, y, RangeRow(values[run.starts_of(case).index], colour, marker=marker), text)
    for name, (colour, marker) in LOOKS.items():
        axes.plot([], [], marker, ms=7, color=colour, label=name)
    separate_rows(axes, [4 * edge - 1 for edge in range(1, len(pairs))])
    axes.yaxis.grid(False)
    axes.set_yticks([4 * place + 1 for place in range(len(pairs))], [" ".join(pair) for pair in pairs])
    axes.set_ylim(4 * len(pairs) - 1, -1)


PANELS = (placements, placement_distribution, placement_cpu, placement_switches)
