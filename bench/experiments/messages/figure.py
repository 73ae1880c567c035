"""Panels of messages: calls divided into codec and rest, by system and codec; the codec's share by size; CPU time."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    ROLE_COLOURS,
    beside,
    cpu_bars,
    linear_axis,
    look,
    name_rows,
    nothing,
    payload_axis,
    small,
)
from bench.experiments.messages import findings
from bench.run.frames import Run
from bench.text import duration, quantity

TITLE = "What does the message cost?"

REST = "#cccccc"
PARTS = (  # name, colour, hatch for prints in grey
    ("client's codec", ROLE_COLOURS["client"], "//"),
    ("server's codec", ROLE_COLOURS["server"], "\\\\"),
    ("everything else", REST, ""),
)


def calls(run: Run, axes: Axes) -> None:
    """Draw each system's call with the message as shares of codec and rest; beside it the RTT, and that of bytes."""
    pairs = findings.by_system(run)
    if not pairs:
        return nothing(axes, "no message was measured")
    for y, (base, case) in enumerate(pairs):
        found = findings.split(run, case)
        _stack(axes, y, [100 * us / found.rtt.middle for us in (found.client.middle, found.server.middle)], 100.0)
        bytes_us = f"\nbytes: {duration(findings.split(run, base).rtt.middle)}" if base is not None else ""
        beside(axes, y, f"{duration(found.rtt.middle)}{bytes_us}", 9.5)
    _legend(axes, loc="lower right")
    name_rows(axes, [f"{run.case(case).system}\n{findings.codec(run, case)}" for _, case in pairs], 10)
    axes.set_xlim(0, 100)
    linear_axis(axes.xaxis)
    axes.set_xlabel("share of the median RTT [%]; beside it: the median RTT")
    axes.set_title(f"Call by system, {run.case(pairs[0][1]).message} of {quantity(findings.middle(run), 'B')}")
    return None


def codecs(run: Run, axes: Axes) -> None:
    """Draw the median RTT of one system with each codec, divided into codec and the rest; encoded sizes beside it."""
    rows = findings.by_codec(run)
    if not rows:
        return nothing(axes, "no message was measured")
    for y, case in enumerate(rows):
        found = findings.split(run, case)
        _stack(axes, y, [found.client.middle, found.server.middle], found.rtt.middle)
        axes.hlines(y, found.rtt.low, found.rtt.high, color="black", lw=1.4)
        there, back = findings.encoded_bytes(run, case)
        words = f"{duration(found.rtt.middle)}, codec {found.share.middle:.0%}"
        beside(axes, y, f"{words}\n{quantity(there, 'B')} + {quantity(back, 'B')}", 9)
    _legend(axes)
    linear_axis(axes.xaxis)
    axes.set_xlim(0)
    axes.set_xlabel("median RTT [µs]; line: range over starts; beside it: encoded sizes")
    name_rows(axes, [findings.codec(run, case) for case in rows])
    of = run.case(rows[0])
    axes.set_title(f"Call by codec, {of.system} {of.transport}")
    return None


def _stack(axes: Axes, y: float, codec: list[float], whole: float) -> None:
    """Draw one bar: the client's and the server's codec, and the rest of the whole."""
    left = 0.0
    for (_, colour, hatch), width in zip(PARTS, [*codec, max(0.0, whole - sum(codec))], strict=True):
        axes.barh(y, width, left=left, color=colour, hatch=hatch, edgecolor="white", height=0.66)
        left += width


def _legend(axes: Axes, loc: Any = "best") -> None:
    for name, colour, hatch in PARTS:
        axes.barh(0, 0, color=colour, hatch=hatch, edgecolor="white", label=name)
    axes.legend(fontsize=9, loc=loc)


def share(run: Run, axes: Axes) -> None:
    """Draw the codec's share of the call against the size of the message, for each codec; band: range over starts."""
    known = {name: cases for name, cases in findings.sweeps(run).items() if len(cases) > 1}
    if not known:
        return nothing(axes, "the share by size needs two sizes or more, and a message with sizes")
    for place, (name, cases) in enumerate(known.items()):
        one = look(place)
        sizes = [run.case(case).payload_bytes for case in cases]
        spread = np.array([findings.split(run, case).share for case in cases]) * 100
        axes.plot(sizes, spread[:, 0], marker=one.marker, color=one.colour, ms=6, lw=1.8, label=name)
        axes.fill_between(sizes, spread[:, 1], spread[:, 2], color=one.colour, alpha=0.2, lw=0)
    axes.set_xscale("log")
    axes.axhline(100 * findings.DOMINANT, color=GREY, lw=1, ls="--")
    axes.set_ylim(0, 100)
    rows = run.cases.loc[[case for cases in known.values() for case in cases]]
    payload_axis(axes, rows["payload_bytes"])
    axes.set_xlabel("size of the message as JSON")
    axes.set_ylabel("codec, both sides [% of the call]")
    axes.legend(fontsize=9)
    axes.set_title(f"The codec's share of the call, {findings.carrier(run)}")
    return None


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of client, server and router, by system with its message, then by codec."""
    rows = list(dict.fromkeys([case for _, case in findings.by_system(run)] + findings.by_codec(run)))
    cases = run.cases.loc[rows].dropna(subset="client_cpu_us_per_call")
    if cases.empty:
        return nothing(axes, "no CPU time is known")
    cpu_bars(run, axes, cases, lambda row: "")
    name_rows(axes, [f"{run.case(case).system} {findings.codec(run, case)}" for case in cases.index], small(len(cases)))
    axes.legend(fontsize=9)
    axes.set_title("CPU time per call, by role")
    return None


PANELS = (calls, codecs, share, cpu)
