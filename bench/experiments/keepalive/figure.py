"""Panels of reused and new connections: round trips, CPU time by role, single calls, and the kernel's counters."""

from matplotlib.axes import Axes

from bench.analysis.comparison import effect
from bench.analysis.resources import total_cpu
from bench.drawing.axes import (
    RangeRow,
    cpu_bars,
    distribution_axes,
    distribution_line,
    look,
    median_rows,
    name_rows,
    nothing,
    range_rows,
)
from bench.drawing.axes import times as ratio_in_words
from bench.experiments.keepalive.findings import RTT, Pair, pairs, per_call
from bench.run.frames import Run

TITLE = "What does a new connection per call cost?"

COUNTERS = {"tcp_connections": "opened", "tcp_time_waits": "TIME_WAIT"}


def _rows(run: Run) -> list[tuple[Pair, int, str]]:
    """Return (pair, case, name) of each row: the reused connection, and below it the new ones."""
    return [
        row for pair in pairs(run) for row in ((pair, pair.reused, f"{pair.name}: reused"), (pair, pair.new, "new"))
    ]


def medians(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start; beside a row of new connections, the ratio to the reused one."""
    rows = []
    for pair, case, _ in _rows(run):
        colour, is_reused = look(pairs(run).index(pair)).colour, case == pair.reused
        more = "" if is_reused else f", {ratio_in_words(effect(run, pair.reused, pair.new, RTT))}"
        rows.append(RangeRow(run.starts_of(case)[RTT], colour, more, marker="o" if is_reused else "D"))
    median_rows(axes, rows)
    name_rows(axes, [name for *_, name in _rows(run)])


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of client and server, connection reused and new; each start as a line."""
    cases = [case for _, case, _ in _rows(run)]
    cpu_bars(run, axes, run.cases.loc[cases])
    for y, case in enumerate(cases):
        each = total_cpu(run.starts_of(case))
        axes.plot(each, [y] * len(each), "|", ms=9, color="black")
    name_rows(axes, [name for *_, name in _rows(run)])
    axes.legend(fontsize=9)
    axes.set_title("CPU time per call, by role")


def distributions(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT over tcp: dashed for new connections."""
    for place, pair in enumerate(pairs(run)):
        if pair.transport == "tcp":
            colour = look(place).colour
            distribution_line(run, axes, pair.reused, colour, "-", "o", f"{pair.system}, reused")
            distribution_line(run, axes, pair.new, colour, "--", "D", f"{pair.system}, new")
    if not axes.lines:
        return nothing(axes, "no system over tcp in this run")
    distribution_axes(axes)
    axes.set_title("Distribution of the RTT, tcp")
    return None


def counters(run: Run, axes: Axes) -> None:
    """Draw what the kernel counted per call over tcp: connections opened, and connections that entered TIME_WAIT."""
    rows, names = [], []
    for place, pair in enumerate(pairs(run)):
        for case, words in ((pair.reused, "reused"), (pair.new, "new")):
            for counter, what in COUNTERS.items():
                each = per_call(run, case, counter)
                if pair.transport == "tcp" and len(each):
                    marker = "o" if case == pair.reused else "D"
                    rows.append(RangeRow(each, look(place).colour, marker=marker))
                    names.append(f"{pair.system}\n{words}: {what}")
    if not rows:
        return nothing(axes, "no system over tcp in this run, or a kernel without these counters")
    range_rows(axes, rows, "{:.2f}".format, is_log=False)
    name_rows(axes, names, fontsize=9)
    axes.set_xlim(-0.05, max(1.1, 1.05 * axes.dataLim.intervalx[1]))
    axes.set_xlabel("opened, or put into TIME_WAIT; bar: range over starts")
    axes.set_title("Connections per call, tcp")
    return None


PANELS = (medians, cpu, distributions, counters)
