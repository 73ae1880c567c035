"""Panels of Nagle's algorithm and delayed ACKs: rates, single calls, the kernel's counters, the payload."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    band,
    below_line,
    linear_axis,
    name_rows,
    near,
    nothing,
    range_row,
    size,
    small,
    time_axis,
)
from bench.experiments.nodelay.findings import DELAY_S, combinations
from bench.experiments.published import XMLRPC_C
from bench.run.frames import Run, column
from bench.text import duration, listed, plain, quantity

TITLE = "How much time do Nagle's algorithm and delayed ACKs add to a call?"

COLOURS = dict(zip(("both", "server only", "client only", "neither"), SYSTEM_COLOURS, strict=False))
MARKERS = dict(zip(COLOURS, SYSTEM_MARKERS, strict=False))


def _rows(run: Run) -> dict[tuple[str, str], int]:
    """Return the row of each system and sides."""
    pairs = dict.fromkeys((one.system, one.sides) for one in combinations(run))
    return {pair: place for place, pair in enumerate(pairs)}


def _name_rows(run: Run, axes: Axes) -> None:
    rows = _rows(run)
    name_rows(axes, [f"{system}: {sides}" for system, sides in rows], fontsize=min(9.5, small(len(rows))))


def rates(run: Run, axes: Axes) -> None:
    """Draw calls per second with one write and with two, the predicted rates, and those published by the origin."""
    rows = _rows(run)
    for one in combinations(run):
        y, each = rows[one.system, one.sides], run.starts_of(one.case)["rate_per_s"]
        colour, marker = COLOURS[one.sides], MARKERS[one.sides]
        if one.writes == 1:
            axes.plot(each, [y] * len(each), marker, ms=6, mfc="white", mec=colour, mew=1.5)
        else:
            axes.plot(each, [y] * len(each), marker, ms=6, mec="white", mew=0.5, color=colour)
        if one.stalls:
            axes.plot(one.rate_per_s, y, "|", ms=20, mew=2, color="black")
    theirs = XMLRPC_C["calls_per_s_held"].values()
    for rate in theirs:
        axes.axvline(rate, color=GREY, ls=":", lw=1.3)
    axes.plot([], [], "o", ms=6, mfc="white", mec=GREY, mew=1.5, label="one write: each start")
    axes.plot([], [], "o", ms=6, color=GREY, label="two writes: each start")
    axes.plot([], [], "|", ms=12, mew=2, color="black", label=f"predicted: 1/(k × {plain(duration(DELAY_S * 1e6))})")
    axes.plot([], [], ls=":", color=GREY, label=f"origin, about 1999: {listed(theirs)}")
    near(axes, quantity)
    _name_rows(run, axes)
    axes.set_xlabel("calls per second; row names: which side sets TCP_NODELAY")
    axes.legend(fontsize=9)
    axes.set_title("Calls per second: predicted and measured")


def calls(run: Run, axes: Axes) -> None:
    """Draw the RTT of each call against its number in the connection: two writes, the first system."""
    shown = [one for one in combinations(run) if one.writes == 2 and one.system == run.case(0).system]
    if not shown:
        return nothing(axes, "no case with two writes in this run")
    most = 0
    for one in shown:
        draw: dict[str, Any] = {"color": COLOURS[one.sides], "marker": MARKERS[one.sides]}
        for start, times in run.samples_of(one.case).groupby("start")["rtt_ns"]:
            each = np.array([run.ledger.loc[start, "first_rtt_ns"], *times]) / 1e3
            axes.plot(np.arange(1, len(each) + 1), each, ms=3.5, lw=0.8, alpha=0.6, **draw)
            most = max(most, len(each) if one.stalls else 0)
        axes.plot([], [], ms=5, label=one.sides, **draw)
    axes.set_xlim(0.5, 1.3 * most + 1)
    axes.set_yscale("log")
    time_axis(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("number of the call in its connection (the first ones)")
    axes.set_ylabel("RTT")
    axes.legend(title="TCP_NODELAY set by")
    axes.set_title(f"RTT of each call, two writes ({shown[0].system})")
    return None


def proof(run: Run, axes: Axes) -> None:
    """Draw the delayed ACKs per call that the kernel counted, and the predicted stalls; two writes."""
    rows = _rows(run)
    for one in combinations(run):
        starts = run.starts_of(one.case)
        each = (starts["tcp_delayed_acks"] / starts["calls"]).dropna()
        if one.writes == 2 and len(each):
            y = rows[one.system, one.sides]
            range_row(axes, y, each, COLOURS[one.sides], "{:.2f}".format, marker=MARKERS[one.sides])
            axes.plot(one.stalls, y, "|", ms=22, mew=2, color=GREY)
    linear_axis(axes.xaxis)
    axes.set_xlim(-0.1, 1.05 * max(2.0, axes.dataLim.intervalx[1]))
    _name_rows(run, axes)
    axes.set_xlabel("delayed ACKs per call, two writes; grey line: predicted stalls")
    axes.set_title("Delayed ACKs per call, counted by the kernel")


def by_size(run: Run, axes: Axes) -> None:
    """Draw the median RTT against the payload, TCP_NODELAY on neither side: a full segment is sent at once."""
    options = run.case(0).options | {"client_nodelay": False, "server_nodelay": False, "writes": 2}
    cases = run.cases_with(system="sockets", options=options).sort_values("payload_bytes")
    if len(cases) < 2:
        return nothing(axes, "one payload only: give sizes")
    p50 = column(0.5)
    axes.plot(cases["payload_bytes"], cases[p50], "o-", ms=6, lw=1.8, color=COLOURS["neither"])
    band(axes, cases, "payload_bytes", p50, COLOURS["neither"])
    for k in (1, 2):
        axes.axhline(k * DELAY_S * 1e6, color=GREY, ls="--", lw=1)
        below_line(axes, k * DELAY_S * 1e6, f"{k} × {plain(duration(DELAY_S * 1e6))}")
    axes.set_yscale("log")
    linear_axis(axes.xaxis, size)
    axes.set_xlabel("payload")
    time_axis(axes.yaxis)
    axes.set_ylabel("median RTT; band: range over starts")
    axes.set_title("RTT by payload, two writes, neither side (sockets)")
    return None


PANELS = (rates, calls, proof, by_size)
