"""Panels of boxes with one thing wrong with each: times, callers, payloads, and what the kernel counted."""

import json
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.experiments.axes import (
    COLOURS,
    GREY,
    RangeRow,
    band,
    distribution_axes,
    distribution_line,
    linear_axis,
    log_axis,
    name_lanes,
    name_rows,
    nothing,
    payload_axis,
    range_rows,
    rtt_axis,
    ticks_at,
    time_axis,
)
from bench.experiments.mystery.findings import P50, alone, boxes, crowded, name_of
from bench.run.frames import Run, numbered
from bench.text import duration

TITLE = "What is wrong with this server?"

COUNTERS = {  # of a call: what it is called in the ledger
    "TCP segments": ("tcp_segments_out", "o", "#0173b2"),
    "TCP connections opened": ("tcp_connections", "s", "#029e73"),
    "delayed acknowledgements": ("tcp_delayed_acks", "D", "#d55e00"),
}


def colour_of(run: Run) -> dict[str, Any]:
    """Return a colour for each box; the sound one is grey."""
    names = [box for box in alone(run)["box"] if box != "sound"]
    return dict(zip(names, COLOURS, strict=False)) | {"sound": GREY}


def distribution(run: Run, axes: Axes) -> None:
    """Draw the distribution of round trips for each box, one caller."""
    for box, row in alone(run).iterrows():
        colour, line = colour_of(run)[str(box)], ":" if box == "sound" else "-"
        distribution_line(run, axes, int(row["case"]), colour, line, "o", name_of(str(box)))
    distribution_axes(axes)
    axes.set_title("Round trips of one caller: the distribution")


def in_order(run: Run, axes: Axes) -> None:
    """Draw every call in order: a lane for each box, its starts one behind the other."""
    rows = alone(run)
    for lane, (box, row) in enumerate(rows.iterrows()):
        starts = run.ledger_of(row["case"]).index
        for place, start in enumerate(starts):
            calls = run.samples[run.samples["start"] == start]
            time = calls["t_send_ns"] / max(1, calls["t_send_ns"].max())
            x = lane + 0.04 + 0.92 * (place + 0.92 * time) / len(starts)
            axes.plot(x, calls["rtt_ns"] / 1e3, ".", ms=2.5, mew=0, color=colour_of(run)[str(box)], alpha=0.6)
    axes.set_yscale("log")
    time_axis(axes.yaxis)
    name_lanes(axes, map(name_of, rows["box"]))
    axes.set_ylabel("RTT")
    axes.set_title("Every call, in order: the starts of a box side by side")


def by_callers(run: Run, axes: Axes) -> None:
    """Draw how many times one caller's calls per second several callers make, for each box and block."""
    rows, many = alone(run), crowded(run)
    if many.empty:
        return nothing(axes, "one caller only: give callers")
    shown = []
    for box, row in rows.iterrows():
        one, more = (
            run.starts_of(case).set_index("block")["rate_per_s"]
            for case in (row["case"], _case_of(many, str(box), run))
        )
        shown.append(RangeRow((more / one).dropna(), colour_of(run)[str(box)]))
    range_rows(axes, shown, "× {:.2f}".format)
    callers = int(many["callers"].iloc[0])
    for times, words in ((1, "no more"), (callers, f"{callers} times")):
        axes.axvline(times, color=GREY, ls="--", lw=1)
        axes.text(times, -0.5, f" {words}", color=GREY, va="center", fontsize=9.5)
    name_rows(axes, map(name_of, rows["box"]))
    axes.set_xlim(0, 1.35 * max(callers, axes.dataLim.intervalx[1]))
    axes.set_xlabel(f"calls per second by {callers} callers over those by one: each block")
    axes.set_title(f"{callers} callers instead of one")
    return None


def _case_of(rows: pd.DataFrame, box: str, run: Run) -> int:
    """Return the number of the case that stands for a box in these rows."""
    return run.find(box=box, callers=int(rows.loc[box, "callers"]))[0]


def by_payload(run: Run, axes: Axes) -> None:
    """Draw the median round trip against the payload for each box, one caller."""
    rows = boxes(run)
    rows = rows[rows["callers"] == 1]
    for box, mine in rows.groupby("box", sort=False):
        mine, line = mine.sort_values("payload_bytes"), ":" if box == "sound" else "-"
        colour = colour_of(run)[str(box)]
        axes.plot(mine["payload_bytes"], mine[P50], "o", ls=line, ms=5, lw=1.8, color=colour, label=name_of(str(box)))
        band(axes, mine, "payload_bytes", P50, colour, 0.12)
    axes.set(xscale="log", yscale="log")
    payload_axis(axes, rows["payload_bytes"])
    time_axis(axes.yaxis)
    axes.set_ylim(top=4 * rows[P50].max())
    axes.set_ylabel("median RTT; band: range over starts")
    axes.legend(loc="upper left", ncols=4, fontsize=9.5)
    axes.set_title("One caller, by payload")


def counters(run: Run, axes: Axes) -> None:
    """Draw what the kernel's TCP counted for each call of one caller: the middle of the starts."""
    rows = alone(run)
    if run.starts[[field for field, *_ in COUNTERS.values()]].isna().all(axis=None):
        return nothing(axes, "this kernel does not count: see the reference run")
    for name, (field, marker, colour) in COUNTERS.items():
        each = run.starts[field] / run.starts["calls"]
        middle = each.groupby(run.starts["case"]).median()[rows["case"]]
        axes.plot(middle, range(len(rows)), marker, ms=8, color=colour, alpha=0.85, label=name, ls="none")
    axes.set_xscale("symlog", linthresh=0.1)
    axes.set_xlim(-0.02, 100)
    ticks_at(axes.xaxis, [0, 0.1, 1, 2, 5, 10, 20])
    linear_axis(axes.xaxis)
    name_rows(axes, map(name_of, rows["box"]))
    axes.set_ylim(len(rows) + 1.2, -0.6)
    axes.set_xlabel("of a call, this machine's whole network: median over starts")
    axes.legend(loc="lower right", fontsize=9.5)
    axes.set_title("What the kernel counted")
    return None


def cpu(run: Run, axes: Axes) -> None:
    """Draw the server's CPU time of a call against the payload, one caller: what waits uses none."""
    rows = boxes(run)
    rows = rows[rows["callers"] == 1]
    for box, mine in rows.groupby("box", sort=False):
        mine, line = mine.sort_values("payload_bytes"), ":" if box == "sound" else "-"
        used, colour = mine["server_cpu_us_per_call"], colour_of(run)[str(box)]
        axes.plot(mine["payload_bytes"], used, "o", ls=line, ms=5, lw=1.8, color=colour, label=name_of(str(box)))
    axes.set(xscale="log", yscale="log")
    payload_axis(axes, rows["payload_bytes"])
    log_axis(axes.yaxis, duration)
    axes.set_ylim(top=4 * rows["server_cpu_us_per_call"].max())
    axes.set_ylabel("server CPU time of a call")
    axes.legend(loc="upper left", ncols=4, fontsize=9.5)
    axes.set_title("What a call costs the server")


def by_worker(run: Run, axes: Axes) -> None:
    """Draw the median round trip of each start of one caller, told apart by the process that answered most of it."""
    rows, answered = alone(run), run.starts.dropna(subset="server_worker_calls")
    if answered.empty:
        return nothing(axes, "who answered is not known")
    for y, (box, row) in enumerate(rows.iterrows()):
        for _, start in numbered(answered[answered["case"] == row["case"]]):
            shares = json.loads(start["server_worker_calls"])
            most = int(np.argmax(shares))
            marker, face = "os"[most % 2], colour_of(run)[str(box)]
            axes.plot(start[P50], y, marker, ms=9, mec=face, mew=1.6, mfc="white" if most else face, alpha=0.85)
        axes.text(1, y, f"{len(shares)} process{'es' if len(shares) > 1 else ''} ",
                  ha="right", va="center", color=GREY, transform=axes.get_yaxis_transform())  # fmt: skip
    axes.plot([], [], "o", ms=9, color=GREY, ls="none", label="answered by the first process, or mostly")
    axes.plot([], [], "s", ms=9, mec=GREY, mfc="white", mew=1.6, ls="none", label="by the second")
    name_rows(axes, map(name_of, rows["box"]))
    rtt_axis(axes)
    axes.set_ylim(len(rows) + 1.2, -0.6)
    axes.legend(loc="lower center", fontsize=9.5)
    axes.set_title("Each start of one caller, and which process answered it")
    return None


PANELS = (distribution, by_callers, by_payload, counters)
