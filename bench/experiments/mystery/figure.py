"""Panels of server boxes with one fault each: RTT, clients, payloads, and the kernel's counters."""

import json

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.comparison import effect
from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    Look,
    RangeRow,
    band,
    beside,
    distribution_axes,
    distribution_line,
    hold,
    lane_places,
    lane_scale,
    linear_axis,
    log_axis,
    look,
    name_lanes,
    name_rows,
    near,
    nothing,
    payload_axis,
    range_rows,
    ticks_at,
    time_axis,
    times,
)
from bench.experiments.mystery.findings import P50, alone, boxes, crowded, name_of
from bench.run.frames import Run, numbered
from bench.text import duration

TITLE = "Which fault does each server have?"

MARKERS = ("o", "s", "^", "D", "P", "X")  # one for each box, so that no two are equal in grey

COUNTERS = {  # per call: its name in the ledger
    "TCP segments sent": ("tcp_segments_out", "o", SYSTEM_COLOURS[0]),
    "TCP connections opened": ("tcp_connections", "s", SYSTEM_COLOURS[2]),
    "delayed ACKs": ("tcp_delayed_acks", "D", SYSTEM_COLOURS[3]),
}


def look_of(run: Run) -> dict[str, Look]:
    """Return colour and marker of each box; the sound one is grey."""
    names = [box for box in alone(run)["box"] if box != "sound"]
    known = {name: Look(look(place).colour, MARKERS[place]) for place, name in enumerate(names)}
    return known | {"sound": Look(GREY, "v")}


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT for each box, one client."""
    for box, row in alone(run).iterrows():
        (colour, marker), line = look_of(run)[str(box)], ":" if box == "sound" else "-"
        distribution_line(run, axes, int(row["case"]), colour, line, marker, name_of(str(box)))
    distribution_axes(axes)
    axes.set_title("Distribution of the RTT, one client")


def in_order(run: Run, axes: Axes) -> None:
    """Draw the RTT of every call against time: a lane for each box, its starts end to end."""
    rows = alone(run)
    seconds = lane_scale(run, [int(case) for case in rows["case"]])
    for lane, (box, row) in enumerate(rows.iterrows()):
        for start, left, second in lane_places(run, int(row["case"]), lane, seconds):
            calls = run.samples[run.samples["start"] == start]
            x = left + second * calls["t_send_ns"] / 1e9
            axes.plot(x, calls["rtt_ns"] / 1e3, ".", ms=2.5, mew=0, color=look_of(run)[str(box)].colour, alpha=0.6)
    axes.set_yscale("log")
    time_axis(axes.yaxis)
    name_lanes(axes, map(name_of, rows["box"]), seconds)
    axes.set_ylabel("RTT")
    axes.set_title("Every call, one client")


def by_callers(run: Run, axes: Axes) -> None:
    """Draw the throughput of several clients as a multiple of that of one, for each box and block."""
    rows, many = alone(run), crowded(run)
    if many.empty:
        return nothing(axes, "one client only: set the parameter callers")
    shown = []
    for box, row in rows.iterrows():
        one, more = (
            run.starts_of(case).set_index("block")["rate_per_s"]
            for case in (row["case"], _case_of(many, str(box), run))
        )
        colour, marker = look_of(run)[str(box)]
        gain = effect(run, int(row["case"]), _case_of(many, str(box), run), "rate_per_s")
        shown.append(RangeRow((more / one).dropna(), colour, marker=marker, words=times(gain), line=gain.middle))
    range_rows(axes, shown, "× {:.2f}".format, is_log=False)
    callers = int(many["callers"].iloc[0])
    for ratio, words in ((1, "no gain"), (callers, f"{callers} times")):
        axes.axvline(ratio, color=GREY, ls="--", lw=1)
        axes.text(ratio, len(rows) - 0.55, f" {words}", color=GREY, va="center", fontsize=9)
    name_rows(axes, map(name_of, rows["box"]))
    axes.set_xlim(0, 1.05 * max(callers, axes.dataLim.intervalx[1]))
    axes.set_xlabel(f"throughput of {callers} clients / throughput of one, each block; line: estimate")
    axes.set_title(f"Throughput gain of {callers} clients over one [95 % CI]")
    return None


def _case_of(rows: pd.DataFrame, box: str, run: Run) -> int:
    """Return the number of the case of a box in these rows."""
    return run.find(box=box, callers=int(rows.loc[box, "callers"]))[0]


def by_payload(run: Run, axes: Axes) -> None:
    """Draw the median RTT against the payload for each box, one client."""
    rows = boxes(run)
    rows = rows[rows["callers"] == 1]
    for box, mine in rows.groupby("box", sort=False):
        mine, line = mine.sort_values("payload_bytes"), ":" if box == "sound" else "-"
        (colour, marker), name = look_of(run)[str(box)], name_of(str(box))
        axes.plot(mine["payload_bytes"], mine[P50], marker, ls=line, ms=5, lw=1.8, color=colour, label=name)
        band(axes, mine, "payload_bytes", P50, colour, 0.12)
    axes.set(xscale="log", yscale="log")
    payload_axis(axes, rows["payload_bytes"])
    time_axis(axes.yaxis)
    hold(axes, rows[P50], rows[f"{P50}_low"], rows[f"{P50}_high"], duration)
    axes.set_ylabel("median RTT; band: range over starts")
    axes.legend(fontsize=9)
    axes.set_title("Median RTT by payload, one client")


def counters(run: Run, axes: Axes) -> None:
    """Draw the kernel's TCP counters per call, one client: median over starts."""
    rows = alone(run)
    if run.starts[[field for field, *_ in COUNTERS.values()]].isna().all(axis=None):
        return nothing(axes, "this kernel does not report these counters: see the reference run")
    most = 1.0
    for place, (name, (field, marker, colour)) in enumerate(COUNTERS.items()):
        each = run.starts[field] / run.starts["calls"]
        middle = each.groupby(run.starts["case"]).median()[rows["case"]]
        at = np.arange(len(rows)) + 0.24 * (place - 1)  # side by side: many are 0
        axes.plot(middle, at, marker, ms=7, color=colour, label=name, ls="none")
        most = max(most, middle.max())
    axes.set_xscale("symlog", linthresh=0.1)
    axes.set_xlim(-0.02, 1.25 * most)
    ticks_at(axes.xaxis, [tick for tick in (0, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100) if tick <= 1.25 * most])
    linear_axis(axes.xaxis)
    name_rows(axes, map(name_of, rows["box"]))
    axes.yaxis.grid(False)
    for edge in range(1, len(rows)):
        axes.axhline(edge - 0.5, color="#dddddd", lw=0.8)
    axes.set_xlabel("count per call (network of the whole machine), median over starts")
    axes.legend(fontsize=9)
    axes.set_title("TCP counters of the kernel, per call")
    return None


def cpu(run: Run, axes: Axes) -> None:
    """Draw the server's CPU time per call against the payload, one client."""
    rows = boxes(run)
    rows = rows[rows["callers"] == 1]
    for box, mine in rows.groupby("box", sort=False):
        mine, line = mine.sort_values("payload_bytes"), ":" if box == "sound" else "-"
        used, (colour, marker) = mine["server_cpu_us_per_call"], look_of(run)[str(box)]
        axes.plot(mine["payload_bytes"], used, marker, ls=line, ms=5, lw=1.8, color=colour, label=name_of(str(box)))
    axes.set(xscale="log", yscale="log")
    payload_axis(axes, rows["payload_bytes"])
    log_axis(axes.yaxis, duration)
    axes.set_ylabel("server CPU time per call")
    axes.legend(fontsize=9)
    axes.set_title("Server CPU time per call, one client")


def by_worker(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start of one client, marked by the process that answered most of its calls."""
    rows, answered = alone(run), run.starts.dropna(subset="server_worker_calls")
    if answered.empty:
        return nothing(axes, "which process answered is not reported")
    for y, (box, row) in enumerate(rows.iterrows()):
        for _, start in numbered(answered[answered["case"] == row["case"]]):
            shares = json.loads(start["server_worker_calls"])
            most = int(np.argmax(shares))
            marker, face = "os"[most % 2], look_of(run)[str(box)].colour
            axes.plot(start[P50], y, marker, ms=9, mec=face, mew=1.6, mfc="white" if most else face, alpha=0.85)
        beside(axes, y, f"{len(shares)} process{'es' if len(shares) > 1 else ''}", 9)
    axes.plot([], [], "o", ms=9, color=GREY, ls="none", label="answered by the first process, or most of it")
    axes.plot([], [], "s", ms=9, mec=GREY, mfc="white", mew=1.6, ls="none", label="answered by the second")
    name_rows(axes, map(name_of, rows["box"]))
    near(axes)
    axes.set_xlabel("median RTT of each start")
    axes.legend(fontsize=9)
    axes.set_title("Median RTT by answering process, one client")
    return None


PANELS = (distribution, by_callers, by_payload, counters)
