"""Panels of rates: one-way streams by payload, calls by the number of parallel clients."""

import pandas as pd
from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    LINE_STYLES,
    ROLE_COLOURS,
    ROLE_MARKERS,
    Look,
    draw_line,
    label_axis,
    lines,
    log_axis,
    looks,
    payload_axis,
    say_why_empty,
    ticks_at,
)
from bench.run.frames import Run, numbered
from bench.text import quantity

TITLE = "How many messages and calls per second are possible?"


def stream_messages(run: Run, axes: Axes) -> None:
    """Draw one-way messages per second against the payload: as received, and as sent."""
    for case, row in numbered(_stream_lines(run, axes, "rate_per_s")):
        sent = run.over_starts(case, "send_rate_per_s").medians
        axes.plot([row["payload_bytes"]] * len(sent), sent, "_", ms=20, mew=1.8, color=looks(run)[case].colour,
                  zorder=1.5)  # fmt: skip
        axes.plot([], [], "_", ms=20, mew=1.8, color=GREY, label="sent")
    axes.set_ylabel("messages per second; band: range over starts")
    axes.set_title("One-way streams: messages per second received")


def stream_bits(run: Run, axes: Axes) -> None:
    """Draw the goodput of one-way streams, in megabits of payload per second, against the payload."""
    _stream_lines(run, axes, "rate_mbit_per_s")
    axes.set_ylabel("goodput: payload received [Mb/s]")
    axes.set_title("One-way streams: goodput")


def _stream_lines(run: Run, axes: Axes, name: str) -> pd.DataFrame:
    """Draw a number of all streams against payload; return the streams, or say that there are none."""
    cases = run.cases_with(load="stream")
    if len(cases):
        lines(run, axes, cases, "payload_bytes", name)
        payload_axis(axes, cases["payload_bytes"])
        log_axis(axes.yaxis, quantity)
    else:
        target = ": how many reach the target is not known here" if run.cases["target"].any() else ""
        say_why_empty(axes, f"no one-way streams in this run{target}")
    return cases


def calls_by_clients(run: Run, axes: Axes) -> None:
    """Draw the throughput in calls per second against the number of parallel clients."""
    cases = run.round_trips()
    if cases.empty:
        return say_why_empty(axes, "no parallel clients in this run")
    lines(run, axes, cases, "clients", "rate_per_s")
    _client_axis(axes, cases)
    axes.set_ylim(0)
    label_axis(axes.yaxis, quantity)
    axes.set_ylabel("calls per second; band: range over starts")
    axes.set_title("Throughput by number of clients (closed loop)")


def _client_axis(axes: Axes, cases: pd.DataFrame) -> None:
    axes.set_xscale("log", base=2)
    ticks_at(axes.xaxis, sorted(cases["clients"].unique()))
    axes.set_xlabel("parallel client processes")


def load_by_clients(run: Run, axes: Axes) -> None:
    """Draw the CPU utilization of clients and server against the number of parallel clients."""
    cases = run.round_trips()
    if cases.empty:
        return say_why_empty(axes, "no parallel clients in this run")
    for (_, transport), rows in cases.groupby(["system", "transport"], sort=False):
        for role in ("client", "server", "router"):
            if rows[f"{role}_cpu_percent"].notna().any():
                label = f"{'all clients' if role == 'client' else role}, {transport}"
                draw_line(run, axes, rows.sort_values("clients"), "clients", f"{role}_cpu_percent",
                          Look(ROLE_COLOURS[role], ROLE_MARKERS[role]), label, LINE_STYLES[str(transport)])  # fmt: skip
    _client_axis(axes, cases)
    axes.axhline(100, color="#888888", lw=1, ls=(0, (2, 2)))
    axes.set_ylim(0)
    axes.set_ylabel("CPU utilization [% of one CPU]")
    unknown = " (the target's own is not known)" if cases["target"].any() else ""
    axes.set_title(f"CPU utilization by role{unknown}")


PANELS = (stream_messages, stream_bits, calls_by_clients, load_by_clients)
