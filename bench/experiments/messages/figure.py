"""Panels of messages: calls divided into codec and rest, by system and codec; the codec's share by size; CPU time."""

import numpy as np
from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    ROLE_COLOURS,
    band,
    cpu_bars,
    look,
    name_rows,
    payload_axis,
    say_why_empty,
    stacked_bar,
    write_beside,
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
        return say_why_empty(axes, "no message was measured")
    for y, (base, case) in enumerate(pairs):
        split = findings.split(run, case)
        _stack(axes, y, split, 100 / split.rtt.middle)
        bytes_us = f"\nbytes: {findings.split(run, base).rtt.values(duration)}" if base is not None else ""
        write_beside(axes, y, f"{split.rtt.values(duration)}{bytes_us}")
    name_rows(axes, [f"{run.case(case).system}\n{findings.codec(run, case)}" for _, case in pairs])
    axes.set_xlim(0, 100)
    axes.set_xlabel("share of the median RTT [%], each part by its own median; beside it: the median RTT")
    axes.set_title(f"Call by system, {run.case(pairs[0][1]).message} of {quantity(findings.middle(run), 'B')}")


def codecs(run: Run, axes: Axes) -> None:
    """Draw the median RTT of one system with each codec, divided into codec and the rest; encoded sizes beside it."""
    rows = findings.by_codec(run)
    if not rows:
        return say_why_empty(axes, "no message was measured")
    for y, case in enumerate(rows):
        split = findings.split(run, case)
        _stack(axes, y, split, 1)
        axes.hlines(y, split.rtt.low, split.rtt.high, color="black", lw=1.4)
        there, back = (quantity(encoded, "B") for encoded in findings.encoded_bytes(run, case))
        write_beside(axes, y, f"{split.rtt.values(duration)}, codec {split.share.middle:.0%}\n{there} + {back}")
    axes.set_xlim(0)
    axes.set_xlabel("median RTT [µs]; line: range over starts; beside it: encoded sizes")
    name_rows(axes, [findings.codec(run, case) for case in rows])
    of = run.case(rows[0])
    axes.set_title(f"Call by codec, {of.system} {of.transport}")


def _stack(axes: Axes, y: float, split: findings.Split, scale: float) -> None:
    """Draw one bar: the client's and the server's codec, and the rest of the round trip."""
    widths = (split.client.middle, split.server.middle, split.rest_us)
    stacked_bar(axes, y, ((name, scale * width, colour, hatch)
                          for (name, colour, hatch), width in zip(PARTS, widths, strict=True)))  # fmt: skip


def share(run: Run, axes: Axes) -> None:
    """Draw the codec's share of the call against the size of the message, for each codec; band: range over starts."""
    sweeps = {name: cases for name, cases in findings.sweeps(run).items() if len(cases) > 1}
    if not sweeps:
        return say_why_empty(axes, "the share by size needs two sizes or more, and a message with sizes")
    for place, (name, cases) in enumerate(sweeps.items()):
        colour, marker = look(place)
        sizes = [run.case(case).payload_bytes for case in cases]
        middle, low, high = 100 * np.array([findings.split(run, case).share[:3] for case in cases]).T
        axes.plot(sizes, middle, marker=marker, color=colour, ms=6, lw=1.8, label=name)
        band(axes, sizes, low, high, colour)
    axes.axhline(100 * findings.DOMINANT, color=GREY, lw=1, ls="--")
    axes.set_ylim(bottom=0)
    payload_axis(axes, run.cases.loc[[case for cases in sweeps.values() for case in cases], "payload_bytes"])
    axes.set_xlabel("size of the message as JSON")
    axes.set_ylabel("codec, both sides [% of the call]\nband: range over starts")
    axes.set_title(f"The codec's share of the call, {findings.carrier(run)}")


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of client, server and router, by system with its message, then by codec."""
    rows = list(dict.fromkeys([case for _, case in findings.by_system(run)] + findings.by_codec(run)))
    cases = run.cases.loc[rows].dropna(subset="client_cpu_us_per_call")
    if cases.empty:
        return say_why_empty(axes, "no CPU time is known")
    cpu_bars(run, axes, cases)
    name_rows(axes, [f"{run.case(case).system} {findings.codec(run, case)}" for case in cases.index])
    axes.set_title("CPU time per call, by role")


PANELS = (calls, codecs, share, cpu)
