"""Panels of writes that are held back: the rate foretold and measured, each call, the kernel's own count, the size."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.experiments.axes import GREY, band, linear_axis, log_axis, name_rows, nothing, range_row, size, time_axis
from bench.experiments.nodelay.findings import DELAY_S, combinations
from bench.experiments.published import XMLRPC_C
from bench.run.frames import Run, column
from bench.text import duration, listed, plain, quantity

TITLE = "Where do forty milliseconds come from?"

COLOURS = {"both": "#0173b2", "server only": "#de8f05", "client only": "#029e73", "neither": "#d55e00"}


def _rows(run: Run) -> dict[tuple[str, str], int]:
    """Return the row of each system and sides."""
    pairs = dict.fromkeys((one.system, one.sides) for one in combinations(run))
    return {pair: place for place, pair in enumerate(pairs)}


def _name_rows(run: Run, axes: Axes) -> None:
    rows = _rows(run)
    name_rows(axes, [f"{system}: {sides}" for system, sides in rows], fontsize=9.5)


def rates(run: Run, axes: Axes) -> None:
    """Draw calls per second with one write and with two, what was foretold, and what the origin saw."""
    rows = _rows(run)
    for one in combinations(run):
        y, each = rows[one.system, one.sides], run.starts_of(one.case)["rate_per_s"]
        colour = COLOURS[one.sides]
        if one.writes == 1:
            axes.plot(each, [y] * len(each), "o", ms=6, mfc="white", mec=colour, mew=1.5)
        else:
            axes.plot(each, [y] * len(each), "o", ms=6, mec="white", mew=0.5, color=colour)
        if one.stalls:
            axes.plot(one.rate_per_s, y, "|", ms=20, mew=2, color="black")
    theirs = XMLRPC_C["calls_per_s_held"].values()
    for rate in theirs:
        axes.axvline(rate, color=GREY, ls=":", lw=1.3)
    axes.plot([], [], "o", ms=6, mfc="white", mec=GREY, mew=1.5, label="one write: each start")
    axes.plot([], [], "o", ms=6, color=GREY, label="two writes: each start")
    axes.plot([], [], "|", ms=12, mew=2, color="black", label=f"foretold: 1/(k × {plain(duration(DELAY_S * 1e6))})")
    axes.plot([], [], ls=":", color=GREY, label=f"the origin, about 1999: {listed(theirs)}")
    axes.set_xscale("log")
    log_axis(axes.xaxis, quantity)
    _name_rows(run, axes)
    axes.set_xlabel("calls per second; left: who sets TCP_NODELAY")
    axes.legend(loc="upper left", bbox_to_anchor=(0.2, 1), fontsize=8.5)
    axes.set_title("Foretold and measured")


def calls(run: Run, axes: Axes) -> None:
    """Draw the round trip of each call of a connection, by its number: two writes, the first system."""
    shown = [one for one in combinations(run) if one.writes == 2 and one.system == run.case(0).system]
    if not shown:
        return nothing(axes, "no case with two writes in this run")
    most = 0
    for one in shown:
        colour = COLOURS[one.sides]
        for start, times in run.samples_of(one.case).groupby("start")["rtt_ns"]:
            each = np.array([run.ledger.loc[start, "first_rtt_ns"], *times]) / 1e3
            axes.plot(np.arange(1, len(each) + 1), each, ".-", ms=4, lw=0.8, alpha=0.6, color=colour)
            most = max(most, len(each) if one.stalls else 0)
        axes.plot([], [], ".-", color=colour, label=one.sides)
    axes.set_xlim(0.5, 1.3 * most + 1)
    axes.set_yscale("log")
    time_axis(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("number of the call in its connection")
    axes.set_ylabel("RTT")
    axes.legend(title="TCP_NODELAY is set by", loc="center right")
    axes.set_title(f"Call by call, two writes: {shown[0].system}")
    return None


def proof(run: Run, axes: Axes) -> None:
    """Draw how many acknowledgements the kernel delayed for each call, beside the stalls foretold; two writes."""
    rows = _rows(run)
    for one in combinations(run):
        starts = run.starts_of(one.case)
        each = (starts["tcp_delayed_acks"] / starts["calls"]).dropna()
        if one.writes == 2 and len(each):
            y = rows[one.system, one.sides]
            range_row(axes, y, each, COLOURS[one.sides], "{:.2f}".format)
            axes.plot(one.stalls, y, "|", ms=20, mew=2, color=GREY)
    linear_axis(axes.xaxis)
    axes.set_xlim(-0.15, 2.8)
    _name_rows(run, axes)
    axes.set_xlabel("delayed acknowledgements of a call, two writes; grey: stalls foretold")
    axes.set_title("The kernel's own count")


def by_size(run: Run, axes: Axes) -> None:
    """Draw the round trip against the payload, held back on both sides: a full segment waits for nobody."""
    options = run.case(0).options | {"client_nodelay": False, "server_nodelay": False, "writes": 2}
    cases = run.cases_with(system="sockets", options=options).sort_values("payload_bytes")
    if len(cases) < 2:
        return nothing(axes, "one payload only: give sizes")
    p50 = column(0.5)
    axes.plot(cases["payload_bytes"], cases[p50], "o-", ms=6, lw=1.8, color=COLOURS["neither"])
    band(axes, cases, "payload_bytes", p50, COLOURS["neither"])
    for k in (1, 2):
        axes.axhline(k * DELAY_S * 1e6, color=GREY, ls="--", lw=1)
        words, at = f" {k} × {plain(duration(DELAY_S * 1e6))}", axes.get_yaxis_transform()
        axes.text(0, k * DELAY_S * 1e6, words, color=GREY, ha="left", va="top", transform=at)
    axes.set_yscale("log")
    linear_axis(axes.xaxis, size)
    axes.set_xlabel("payload")
    time_axis(axes.yaxis)
    axes.set_ylabel("median RTT")
    axes.set_title("Neither sets it, two writes: by payload (sockets)")
    return None


PANELS = (rates, calls, proof, by_size)
