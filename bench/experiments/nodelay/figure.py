"""Panels of Nagle's algorithm and delayed ACKs: rates, single calls, the kernel's counters, the payload."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench import stats
from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    Look,
    draw_line,
    interval_row,
    label_axis,
    level,
    log_axis,
    name_rows,
    say_why_empty,
)
from bench.experiments.nodelay.findings import DELAY_S, combinations
from bench.experiments.published import XMLRPC_C
from bench.run.frames import Run, column
from bench.text import duration, in_bytes, listed, plain, quantity

TITLE = "How much time do Nagle's algorithm and delayed ACKs add to a call?"

SIDES = ("both", "server only", "client only", "neither")  # that set TCP_NODELAY
APART = 0.22  # of a row: two writes above, one write below
LOOKS = dict(zip(SIDES, map(Look, SYSTEM_COLOURS, SYSTEM_MARKERS), strict=False))


def _rows(run: Run) -> dict[tuple[str, str], int]:
    """Return the row of each system and sides."""
    pairs = dict.fromkeys((of.system, of.sides) for of in combinations(run))
    return {pair: place for place, pair in enumerate(pairs)}


def _name_rows(run: Run, axes: Axes) -> None:
    name_rows(axes, [f"{system}: {sides}" for system, sides in _rows(run)])


def rates(run: Run, axes: Axes) -> None:
    """Draw calls per second with one write and with two, the predicted rates, and those published by the origin."""
    for of in combinations(run):
        y, values = _rows(run)[of.system, of.sides], run.starts_of(of.case)["rate_per_s"]
        colour, marker = LOOKS[of.sides]
        at = y + (APART if of.writes == 1 else -APART)
        axes.plot(values, [at] * len(values), marker, ms=5, mew=1, color=colour,
                  mfc="white" if of.writes == 1 else colour)  # fmt: skip
        if of.stalls:
            axes.plot(of.rate_per_s, at, "|", ms=11, mew=2, color="black")
    theirs = XMLRPC_C["calls_per_s_held"].values()
    for rate in theirs:
        axes.axvline(rate, color=GREY, ls=":", lw=1.3, label=f"origin, about 1999: {listed(theirs)}")
    axes.plot([], [], "o", ms=6, mfc="white", color=GREY, mew=1.2, label="one write: each start")
    axes.plot([], [], "o", ms=6, color=GREY, label="two writes: each start")
    axes.plot([], [], "|", ms=12, mew=2, color="black", label=f"predicted: 1/(k × {plain(duration(DELAY_S * 1e6))})")
    log_axis(axes.xaxis, quantity)
    _name_rows(run, axes)
    axes.set_xlabel("calls per second; row names: which side sets TCP_NODELAY")
    axes.set_title("Calls per second: predicted and measured")


def calls(run: Run, axes: Axes) -> None:
    """Draw the RTT of each call against its number in the connection: two writes, the first system."""
    shown = [of for of in combinations(run) if of.writes == 2 and of.system == run.case(0).system]
    if not shown:
        return say_why_empty(axes, "no case with two writes in this run")
    most = 0
    for place, of in enumerate(shown):
        colour, marker = LOOKS[of.sides]
        for start, times in run.calls_of(of.case):
            rtt_us = np.array([run.ledger.loc[start, "first_rtt_ns"], *times.rtt_ns]) / 1e3
            numbers = np.arange(1, len(rtt_us) + 1) + 0.08 * (place - (len(shown) - 1) / 2)  # side by side
            axes.plot(numbers, rtt_us, color=colour, marker=marker, ms=3.5, lw=0.8, alpha=0.6,
                      label=f"TCP_NODELAY: {of.sides}")  # fmt: skip
            most = max(most, len(rtt_us) if of.stalls else 0)
    axes.set_xlim(0.5, 1.3 * most + 1)
    log_axis(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("number of the call in its connection (the first ones)")
    axes.set_ylabel("RTT")
    axes.set_title(f"RTT of each call, two writes ({shown[0].system})")


def proof(run: Run, axes: Axes) -> None:
    """Draw the delayed ACKs per call that the kernel counted, and the predicted stalls; two writes."""
    for of in combinations(run):
        starts, y = run.starts_of(of.case), _rows(run)[of.system, of.sides]
        per_call = (starts["tcp_delayed_acks"] / starts["calls"]).dropna()
        if of.writes == 2 and len(per_call):
            colour, marker = LOOKS[of.sides]
            axes.plot(of.stalls, y, "|", ms=17, mew=7, color=GREY, alpha=0.4, label="predicted stalls")
            values = stats.across_starts(per_call)
            interval_row(axes, y, values, Look(colour, marker), values.values("{:.2f}".format))
    _name_rows(run, axes)
    axes.set_xlabel("delayed ACKs per call, two writes; bar: range over starts")
    axes.set_title("Delayed ACKs per call, counted by the kernel")


def by_size(run: Run, axes: Axes) -> None:
    """Draw the median RTT against the payload, TCP_NODELAY on neither side: a full segment is sent at once."""
    options = run.case(0).options | {"client_nodelay": False, "server_nodelay": False, "writes": 2}
    cases = run.cases_with(system="sockets", options=options).sort_values("payload_bytes")
    if len(cases) < 2:
        return say_why_empty(axes, "one payload only: give sizes")
    draw_line(run, axes, cases, "payload_bytes", column(0.5), LOOKS["neither"], "")
    for k in (1, 2):
        level(axes, k * DELAY_S * 1e6, f"{k} × {plain(duration(DELAY_S * 1e6))}")
    label_axis(axes.xaxis, in_bytes)
    log_axis(axes.yaxis)
    axes.set_xlabel("payload")
    axes.set_ylabel("median RTT; band: range over starts")
    axes.set_title("RTT by payload, two writes, neither side (sockets)")


PANELS = (rates, calls, proof, by_size)
