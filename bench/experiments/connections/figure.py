"""Panels of connections: time and CPU time per call when they are renewed, depth, head-of-line blocking, TIME_WAIT."""

from collections.abc import Callable

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench import stats
from bench.drawing.axes import (
    LINE_STYLES,
    RangeRow,
    band,
    hold,
    linear_axis,
    log_axis,
    look,
    name_rows,
    near,
    nothing,
    range_rows,
    small,
    ticks_at,
    time_axis,
    times,
)
from bench.experiments.connections.findings import (
    Beside,
    beside,
    blocking,
    churn,
    cpu_per_call_us,
    depth,
    levels,
    time_per_call_us,
)
from bench.run.frames import Run, column, number_of
from bench.text import duration, quantity

TITLE = "One connection or many, persistent or new?"
P50 = column(0.5)
NO_CHURN = "no connections were renewed in this run"
NO_DEPTH = "no connection with several calls under way in this run"


def _look_of(run: Run, system: str) -> tuple[str, str]:
    """Return a system's colour and marker, the same in all panels."""
    systems = list(dict.fromkeys(case.system for case in run.plan.cases if case.system != "loopback"))
    return look(systems.index(system))


def time_per_call(run: Run, axes: Axes) -> None:
    """Draw the mean time per call against the calls of each connection, opening and closing included."""
    axes.set_title("Time per call, opening and closing included")
    if _against_churn(run, axes, time_per_call_us):
        axes.set_ylabel("mean time per call; band: range over starts")


def cpu_per_call(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of client and server against the calls of each connection."""
    axes.set_title("CPU time per call, client and server")
    if _against_churn(run, axes, cpu_per_call_us):
        axes.set_ylabel("CPU time per call; band: range over starts")


def _against_churn(run: Run, axes: Axes, of: Callable[[Run, int], "pd.Series[float]"]) -> bool:
    """Draw a time of each start against the calls of each connection; return whether there is something to draw."""
    rows = churn(run)
    if rows.empty:
        nothing(axes, NO_CHURN)
        return False
    order, values = levels(run), []
    for system, mine in rows.groupby("system", sort=False):
        colour, marker = _look_of(run, str(system))
        places = [order.index(int(n)) for n in mine["calls_per_connection"]]
        each = np.array([stats.across_starts(of(run, number_of(case))) for case in mine.index])
        axes.plot(places, each[:, 0], marker=marker, ms=6, lw=1.8, color=colour, label=str(system))
        axes.fill_between(places, each[:, 1], each[:, 2], color=colour, alpha=0.2, lw=0)
        values.append(each)
    axes.set_yscale("log")
    medians, low, high = np.concatenate(values).T
    hold(axes, medians, low, high, duration)
    time_axis(axes.yaxis)
    axes.set_xticks(range(len(order)), [f"{n:,}" if n else "persistent" for n in order])
    axes.set_xlabel("calls per connection, before a new one is opened")
    axes.legend()
    return True


def throughput(run: Run, axes: Axes) -> None:
    """Draw calls per second against the calls under way on each connection."""
    axes.set_title(f"Throughput of {_connections(run)}")
    if _against_depth(run, axes, "rate_per_s", quantity):
        axes.set_ylabel("calls per second; band: range over starts")


def round_trips(run: Run, axes: Axes) -> None:
    """Draw the median RTT against the calls under way on each connection."""
    axes.set_title(f"Median RTT over {_connections(run)}")
    if _against_depth(run, axes, P50, duration):
        axes.set_ylabel("median RTT; band: range over starts")


def _connections(run: Run) -> str:
    rows = depth(run)
    most = int(rows["callers"].max()) if len(rows) else 1
    return "one connection" if most == 1 else f"{most} connections"


def _against_depth(run: Run, axes: Axes, name: str, text: Callable[[float], str]) -> bool:
    """Draw a column of ``Run.cases`` against the calls under way; return whether there is something to draw."""
    rows = depth(run)
    if rows.empty:
        nothing(axes, NO_DEPTH)
        return False
    for (system, transport), mine in rows.groupby(["system", "transport"], sort=False):
        colour, marker = _look_of(run, str(system))
        line = LINE_STYLES[str(transport)] if rows["transport"].nunique() > 1 else "-"
        axes.plot(mine["outstanding"], mine[name], line, marker=marker, ms=6, lw=1.8, color=colour, label=str(system))
        band(axes, mine, "outstanding", name, colour, 0.2)
    axes.set(xscale="log", yscale="log")
    hold(axes, rows[name], rows[f"{name}_low"], rows[f"{name}_high"], text)
    log_axis(axes.yaxis, text)
    ticks_at(axes.xaxis, sorted(rows["outstanding"].unique()))
    linear_axis(axes.xaxis)
    axes.set_xlabel("calls under way at once on each connection")
    axes.legend()
    return True


def head_of_line(run: Run, axes: Axes) -> None:
    """Draw the median RTT of small calls in each start: alone, beside large ones on their connection and on another."""
    axes.set_title("Head-of-line blocking: small calls beside large ones")
    found = beside(run)
    if not found:
        return nothing(axes, "no small calls beside large ones in this run")
    names, rows = [], []
    for one in found:
        colour, marker = _look_of(run, one.system)
        for case, words in ((one.alone, "alone"), (one.same, "same connection"), (one.own, "own connection")):
            if case is not None:
                names.append(f"{one.system}, {words}")
                rows.append(RangeRow(run.starts_of(case)[P50], colour, _over(run, one, case), marker=marker))
    range_rows(axes, rows)
    name_rows(axes, names, small(len(rows) + 3))
    near(axes)
    axes.set_xlabel("median RTT of small calls; bar: range over starts; ×: same connection / own [95 % CI]")
    return None


def _over(run: Run, one: Beside, case: int) -> str:
    """Return in words how many times as long small calls take on the shared connection as on one of their own."""
    effect = blocking(run, one) if case == one.same else None
    return "" if effect is None or effect.value != effect.value else f"  {times(effect.interval)}"


def time_wait(run: Run, axes: Axes) -> None:
    """Draw how many ports a window leaves in TIME_WAIT, each start, against the connections opened in it."""
    axes.set_title("Connections opened, and sockets left in TIME_WAIT")
    rows = churn(run)
    rows = rows[rows["calls_per_connection"] > 0]
    known = run.starts[run.starts["case"].isin(rows.index)].dropna(subset=["tcp_connections", "tcp_time_wait"])
    if known.empty:
        return nothing(axes, "the kernel's counters of connections are not known in this run")
    for system, mine in known.groupby("system", sort=False):
        colour, marker = _look_of(run, str(system))
        axes.plot(mine["tcp_connections"], mine["tcp_time_wait"], marker, ms=5.5, color=colour, label=str(system))
    most = float(known["tcp_connections"].max())
    axes.plot([0, most], [0, most], ":", color="#6b6b6b", lw=1, label="one for each connection")
    linear_axis(axes.xaxis, quantity)
    linear_axis(axes.yaxis, quantity)
    axes.set_xlabel("TCP connections opened in the window")
    axes.set_ylabel("more sockets in TIME_WAIT after it")
    axes.legend()
    return None


PANELS = (time_per_call, cpu_per_call, throughput, head_of_line)
