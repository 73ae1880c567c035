"""Panels of server boxes with one fault each: RTT, clients, payloads, and the kernel's counters."""

import json

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.comparison import effect
from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    TAIL_TOP,
    Look,
    RangeRow,
    distribution_of,
    draw_cdfs,
    draw_line,
    end_to_end,
    log_axis,
    look,
    name_rows,
    payload_axis,
    range_rows,
    ratio_text,
    say_why_empty,
    separate_rows,
    tail_scale,
    ticks_at,
    write_beside,
)
from bench.experiments.mystery.findings import P50, alone, boxes, crowded, name_of
from bench.run.frames import Run, numbered

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
    looks = {name: Look(look(place).colour, MARKERS[place]) for place, name in enumerate(names)}
    return looks | {"sound": Look(GREY, "v")}


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT for each box, one client; that of the sound one as the edge of a grey area."""
    rows = alone(run)
    draw_cdfs(axes, [distribution_of(run, int(row["case"]), look_of(run)[str(box)], name=name_of(str(box)))
                     for box, row in rows.iterrows() if box != "sound"])  # fmt: skip
    ends = axes.get_xlim()
    for case in rows[rows["box"] == "sound"]["case"].astype(int):
        values, fractions = run.distribution_us(case)
        heights = tail_scale(np.minimum(fractions, TAIL_TOP))
        axes.fill_between([*values, max(ends[1], values[-1])], [*heights, heights[-1]], color=GREY, alpha=0.18, lw=0,
                          label=f"{name_of('sound')}, n = {run.count(case):,}")  # fmt: skip
    axes.set_xlim(ends)
    axes.set_title("Distribution of the RTT, one client")


def in_order(run: Run, axes: Axes) -> None:
    """Draw the RTT of every call against time: the starts of all boxes, end to end."""
    box_of = {int(row["case"]): str(box) for box, row in alone(run).iterrows()}
    for case, start, begin in end_to_end(run, box_of):
        calls = run.calls.of(start)
        axes.plot(begin + calls.t_send_ns / 1e9, calls.rtt_ns / 1e3, ".", ms=2.5, mew=0, alpha=0.6,
                  color=look_of(run)[box_of[case]].colour)  # fmt: skip
    for box in box_of.values():
        axes.plot([], [], "o", ms=5, color=look_of(run)[box].colour, label=name_of(box))
    log_axis(axes.yaxis)
    axes.set_xlabel("time [s]: the starts of each box, end to end")
    axes.set_ylabel("RTT")
    axes.set_title("Every call, one client")


def by_callers(run: Run, axes: Axes) -> None:
    """Draw the throughput of several clients as a multiple of that of one, for each box and block."""
    rows, many = alone(run), crowded(run)
    if many.empty:
        return say_why_empty(axes, "one client only: set the parameter callers")
    shown = []
    for box, row in rows.iterrows():
        pair = int(row["case"]), _case_of(many, str(box), run)
        lone, together = (run.starts_of(case).set_index("block")["rate_per_s"] for case in pair)
        (colour, marker), gain = look_of(run)[str(box)], effect(run, *pair, "rate_per_s")
        shown.append(RangeRow((together / lone).dropna(), colour, marker=marker, words=ratio_text(gain),
                              line=gain.middle))  # fmt: skip
    range_rows(axes, shown, "× {:.2f}".format)
    callers = int(many["callers"].iloc[0])
    axes.axvline(1, color=GREY, ls=":", lw=1, label="no gain")
    axes.axvline(callers, color=GREY, ls="--", lw=1, label=f"{callers} times")
    name_rows(axes, map(name_of, rows["box"]))
    axes.set_xlim(left=0)
    axes.set_xlabel(f"throughput of {callers} clients / throughput of one, each block; line: estimate")
    axes.set_title(f"Throughput gain of {callers} clients over one [95 % CI]")


def _case_of(rows: pd.DataFrame, box: str, run: Run) -> int:
    """Return the number of the case of a box in these rows."""
    return run.find(box=box, callers=int(rows.loc[box, "callers"]))[0]


def by_payload(run: Run, axes: Axes) -> None:
    """Draw the median RTT against the payload for each box, one client."""
    _against_payload(run, axes, P50)
    axes.set_ylabel("median RTT; band: range over starts")
    axes.set_title("Median RTT by payload, one client")


def cpu(run: Run, axes: Axes) -> None:
    """Draw the server's CPU time per call against the payload, one client."""
    _against_payload(run, axes, "server_cpu_us_per_call")
    axes.set_ylabel("server CPU time per call; band: range over starts")
    axes.set_title("Server CPU time per call, one client")


def _against_payload(run: Run, axes: Axes, name: str) -> None:
    rows = boxes(run)
    rows = rows[rows["callers"] == 1]
    for box, cases in rows.groupby("box", sort=False):
        ordered = cases.sort_values("payload_bytes")
        if box == "sound":
            ends = (ordered[f"{name}_{end}"] for end in ("low", "high"))
            axes.fill_between(ordered["payload_bytes"], *ends, color=GREY, alpha=0.5, lw=2,
                              label=name_of(str(box)))  # fmt: skip
        else:
            draw_line(run, axes, ordered, "payload_bytes", name, look_of(run)[str(box)], name_of(str(box)))
    payload_axis(axes, rows["payload_bytes"])
    log_axis(axes.yaxis)


def counters(run: Run, axes: Axes) -> None:
    """Draw the kernel's TCP counters per call, one client: median over starts."""
    rows = alone(run)
    if run.starts[[field for field, *_ in COUNTERS.values()]].isna().all(axis=None):
        return say_why_empty(axes, "this kernel does not report these counters: see the reference run")
    for dy, (name, (field, marker, colour)) in zip((-0.3, 0.0, 0.3), COUNTERS.items(), strict=True):
        per_call = (run.starts[field] / run.starts["calls"]).groupby(run.starts["case"]).median()[rows["case"]]
        axes.plot(per_call, np.arange(len(rows)) + dy, marker, ms=6, color=colour, label=name)  # many are 0
    axes.set_xscale("symlog", linthresh=0.1)
    axes.set_xlim(left=-0.02)
    ticks = (0, 0.1, 0.5, 1, 2, 5, 10, 20, 50, 100)
    ticks_at(axes.xaxis, [tick for tick in ticks if tick <= max(1, axes.get_xlim()[1])])
    name_rows(axes, map(name_of, rows["box"]))
    axes.yaxis.grid(False)
    separate_rows(axes, np.arange(1, len(rows)) - 0.5)
    axes.set_xlabel("count per call (network of the whole machine), median over starts")
    axes.set_title("TCP counters of the kernel, per call")


def by_worker(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start of one client, marked by the process that answered most of its calls."""
    rows, answered = alone(run), run.starts.dropna(subset="server_worker_calls")
    if answered.empty:
        return say_why_empty(axes, "which process answered is not reported")
    for y, (box, row) in enumerate(rows.iterrows()):
        for _, start in numbered(answered[answered["case"] == row["case"]]):
            shares = json.loads(start["server_worker_calls"])
            most = int(np.argmax(shares))
            marker, face = "os"[most % 2], look_of(run)[str(box)].colour
            axes.plot(start[P50], y, marker, ms=9, mec=face, mew=1.6, mfc="white" if most else face, alpha=0.85)
        write_beside(axes, y, f"{len(shares)} process{'es' if len(shares) > 1 else ''}")
    axes.plot([], [], "o", ms=9, color=GREY, label="answered by the first process, or most of it")
    axes.plot([], [], "s", ms=9, mec=GREY, mfc="white", mew=1.6, label="answered by the second")
    name_rows(axes, map(name_of, rows["box"]))
    log_axis(axes.xaxis)
    axes.set_xlabel("median RTT of each start")
    axes.set_title("Median RTT by answering process, one client")


PANELS = (distribution, by_callers, by_payload, counters)
