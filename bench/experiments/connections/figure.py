"""Panels of connections: time and CPU time per call when they are renewed, depth, head-of-line blocking, TIME_WAIT."""

from collections.abc import Callable

import pandas as pd
from matplotlib.axes import Axes

from bench import stats
from bench.drawing.axes import (
    GREY,
    LINE_STYLES,
    Look,
    RangeRow,
    draw_line,
    draw_spreads,
    label_axis,
    log_axis,
    look,
    median_rows,
    name_rows,
    ratio_text,
    say_why_empty,
    ticks_at,
)
from bench.experiments.connections.findings import (
    MOST_DIFFERENT,
    Beside,
    beside,
    blocking,
    churn,
    cpu_per_call_us,
    depth,
    difference,
    large_calls,
    levels,
    time_per_call_us,
)
from bench.run.frames import Run, column, number_of
from bench.text import duration, quantity

TITLE = "One connection or many, persistent or new?"
P50 = column(0.5)


def _look_of(run: Run, system: str) -> Look:
    """Return a system's colour and marker, the same in all panels."""
    systems = list(dict.fromkeys(case.system for case in run.plan.cases if case.system != "loopback"))
    return look(systems.index(system))


def time_per_call(run: Run, axes: Axes) -> None:
    """Draw the mean time per call against the calls of each connection, opening and closing included."""
    axes.set_title("Time per call, opening and closing included")
    axes.set_ylabel("mean time per call; band: range over starts")
    _against_churn(run, axes, time_per_call_us)


def cpu_per_call(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of client and server against the calls of each connection."""
    axes.set_title("CPU time per call, client and server")
    axes.set_ylabel("CPU time per call; band: range over starts")
    _against_churn(run, axes, cpu_per_call_us)


def _against_churn(run: Run, axes: Axes, of: Callable[[Run, int], "pd.Series[float]"]) -> None:
    """Draw a time of each start against the calls of each connection."""
    rows, order = churn(run), levels(run)
    if rows.empty:
        return say_why_empty(axes, "no connections were renewed in this run")
    for system, cases in rows.groupby("system", sort=False):
        places = [order.index(int(calls)) for calls in cases["calls_per_connection"]]
        times_us = [stats.across_starts(of(run, number_of(case))) for case in cases.index]
        draw_spreads(axes, places, times_us, _look_of(run, str(system)), str(system))
    log_axis(axes.yaxis)
    axes.set_xticks(range(len(order)), [f"{calls:,}" if calls else "persistent" for calls in order])
    axes.set_xlabel("calls per connection, before a new one is opened")


def throughput(run: Run, axes: Axes) -> None:
    """Draw calls per second against the calls under way on each connection."""
    axes.set_title(f"Throughput of {_connections(run)}")
    axes.set_ylabel("calls per second; band: range over starts")
    _against_depth(run, axes, "rate_per_s", quantity)


def round_trips(run: Run, axes: Axes) -> None:
    """Draw the median RTT against the calls under way on each connection."""
    axes.set_title(f"Median RTT over {_connections(run)}")
    axes.set_ylabel("median RTT; band: range over starts")
    _against_depth(run, axes, P50, duration)


def _connections(run: Run) -> str:
    rows = depth(run)
    most = int(rows["callers"].max()) if len(rows) else 1
    return "one connection" if most == 1 else f"{most} connections"


def _against_depth(run: Run, axes: Axes, name: str, text: Callable[[float], str]) -> None:
    """Draw a column of ``Run.cases`` against the calls under way."""
    rows = depth(run)
    if rows.empty:
        return say_why_empty(axes, "no connection with several calls under way in this run")
    for (system, transport), cases in rows.groupby(["system", "transport"], sort=False):
        line = LINE_STYLES[str(transport)] if rows["transport"].nunique() > 1 else "-"
        draw_line(run, axes, cases, "outstanding", name, _look_of(run, str(system)), str(system), line)
    axes.set_xscale("log")
    log_axis(axes.yaxis, text)
    ticks_at(axes.xaxis, sorted(rows["outstanding"].unique()))
    axes.set_xlabel("calls under way at once on each connection")


def head_of_line(run: Run, axes: Axes) -> None:
    """Draw the median RTT of small calls in each start: alone, beside large ones on their connection and on another."""
    names, rows = [], []
    for system in beside(run):
        colour, marker = _look_of(run, system.system)
        for case, words in ((system.alone, "alone"), (system.same, "same connection"), (system.own, "own connection")):
            if case is not None:
                names.append(f"{system.system}, {words}")
                more, shows_nothing = _over(run, system, case), case == system.same and not large_calls(run, case)
                more += "  no large call answered" if shows_nothing else ""
                rows.append(RangeRow(run.starts_of(case)[P50], colour, more, marker=marker, is_hollow=shows_nothing))
    if rows:
        median_rows(axes, rows)
        name_rows(axes, names)
        unlike = f"\n* the numbers of large calls differ by more than {MOST_DIFFERENT:.0%}: not decided"
        axes.set_xlabel(
            "median RTT of small calls; bar: range over starts; ×: same connection / own [95 % CI]"
            + unlike * any(row.more.endswith("*") for row in rows)
        )
    else:
        say_why_empty(axes, "no small calls beside large ones in this run")
    axes.set_title("Small calls beside large ones")


def _over(run: Run, system: Beside, case: int) -> str:
    """Return in words how many times as long small calls take on the shared connection as on one of their own."""
    effect = blocking(run, system) if case == system.same else None
    if effect is None:
        return ""
    undecided = "*" * (difference(run, system) > MOST_DIFFERENT)
    return f"  {ratio_text(effect.interval)}{undecided}"


def time_wait(run: Run, axes: Axes) -> None:
    """Draw how many ports a window leaves in TIME_WAIT, each start, against the connections opened in it."""
    axes.set_title("Connections opened, and sockets left in TIME_WAIT")
    rows = churn(run)
    rows = rows[rows["calls_per_connection"] > 0]
    starts = run.starts[run.starts["case"].isin(rows.index)].dropna(subset=["tcp_connections", "tcp_time_wait"])
    if starts.empty:
        return say_why_empty(axes, "the kernel's counters of connections are not known in this run")
    for system, shown in starts.groupby("system", sort=False):
        colour, marker = _look_of(run, str(system))
        axes.plot(shown["tcp_connections"], shown["tcp_time_wait"], marker, ms=5.5, color=colour, label=str(system))
    most = float(starts["tcp_connections"].max())
    axes.plot([0, most], [0, most], ":", color=GREY, lw=1, label="one for each connection")
    label_axis(axes.xaxis, quantity)
    label_axis(axes.yaxis, quantity)
    axes.set_xlabel("TCP connections opened in the window")
    axes.set_ylabel("more sockets in TIME_WAIT after it")


PANELS = (time_per_call, cpu_per_call, throughput, head_of_line)
