"""Panels of rates: one-way streams by payload, calls by the number of parallel clients."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    LINE_STYLES,
    ROLE_COLOURS,
    ROLE_MARKERS,
    band,
    linear_axis,
    lines,
    log_axis,
    looks,
    nothing,
    payload_axis,
    ticks_at,
)
from bench.run.frames import Run, numbered
from bench.text import quantity

TITLE = "How many messages and calls per second are possible?"


def stream_messages(run: Run, axes: Axes) -> None:
    """Draw one-way messages per second against the payload: as received, and as sent."""
    axes.set_title("One-way streams: messages per second received")
    cases = _stream_lines(run, axes, "rate_per_s")
    if cases.empty:
        return
    for case, row in numbered(cases):
        axes.plot(row["payload_bytes"], row["send_rate_per_s"], "x", ms=8, color=looks(run)[case].colour)
    axes.plot([], [], "x", ms=8, color=GREY, label="sent")
    axes.legend()
    log_axis(axes.yaxis, quantity)
    axes.set_ylabel("messages per second; band: range over starts")


def stream_bits(run: Run, axes: Axes) -> None:
    """Draw the goodput of one-way streams, in megabits of payload per second, against the payload."""
    axes.set_title("One-way streams: goodput")
    if not _stream_lines(run, axes, "rate_mbit_per_s").empty:
        log_axis(axes.yaxis, quantity)
        axes.set_ylabel("goodput: payload received [Mb/s]")
        axes.legend()


def _stream_lines(run: Run, axes: Axes, name: str) -> pd.DataFrame:
    """Draw a number of all streams against payload; return the streams, or say that there are none."""
    cases = run.cases_with(load="stream")
    if len(cases):
        axes.set(xscale="log", yscale="log")
        lines(run, axes, cases, "payload_bytes", name, quantity)
        payload_axis(axes, cases["payload_bytes"])
    else:
        target = ": how many reach the target is not known here" if run.cases["target"].any() else ""
        nothing(axes, f"no one-way streams in this run{target}")
    return cases


def calls_by_clients(run: Run, axes: Axes) -> None:
    """Draw the throughput in calls per second against the number of parallel clients."""
    cases = run.round_trips()
    if cases.empty:
        return nothing(axes, "no parallel clients in this run")
    lines(run, axes, cases, "clients", "rate_per_s", quantity)
    _client_axis(axes, cases)
    axes.set_ylim(0)
    linear_axis(axes.yaxis, quantity)
    axes.set_ylabel("calls per second; band: range over starts")
    axes.legend()
    axes.set_title("Throughput by number of clients (closed loop)")
    return None


def _client_axis(axes: Axes, cases: pd.DataFrame) -> None:
    axes.set_xscale("log", base=2)
    ticks_at(axes.xaxis, sorted(cases["clients"].unique()))
    linear_axis(axes.xaxis)
    axes.set_xlabel("parallel client processes")


def load_by_clients(run: Run, axes: Axes) -> None:
    """Draw the CPU utilization of clients and server against the number of parallel clients."""
    cases = run.round_trips()
    if cases.empty:
        return nothing(axes, "no parallel clients in this run")
    for (_, transport), rows in cases.groupby(["system", "transport"], sort=False):
        for role in ("client", "server", "router"):
            if rows[f"{role}_cpu_percent"].notna().any():
                _load_line(axes, rows.sort_values("clients"), role, str(transport))
    _client_axis(axes, cases)
    ends = [cases["clients"].min(), cases["clients"].max()]
    axes.plot(ends, [100, 100], color="#888888", lw=1, ls=(0, (2, 2)))  # data, so that no legend covers it
    axes.set_ylim(0, max(108, axes.dataLim.intervaly[1] * 1.08))
    axes.set_ylabel("CPU utilization [% of one CPU]")
    axes.legend()
    unknown = " (the target's own is not known)" if cases["target"].any() else ""
    axes.set_title(f"CPU utilization by role{unknown}")
    return None


def _load_line(axes: Axes, rows: pd.DataFrame, role: str, transport: str) -> None:
    name = "all clients" if role == "client" else role
    draw: dict[str, Any] = {"color": ROLE_COLOURS[role], "ls": LINE_STYLES[transport], "marker": ROLE_MARKERS[role]}
    key = f"{role}_cpu_percent"
    axes.plot(rows["clients"], rows[key], lw=1.8, ms=6, label=f"{name}, {transport}", **draw)
    band(axes, rows, "clients", key, draw["color"], 0.15)


PANELS = (stream_messages, stream_bits, calls_by_clients, load_by_clients)
