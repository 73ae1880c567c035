"""Panels of encryption: connections, calls by payload, CPU time by role, and what is added to each."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from bench.drawing.axes import (
    GREY,
    ROLE_COLOURS,
    SMALL,
    SYSTEM_COLOURS,
    Look,
    RangeRow,
    band,
    ends_of,
    interval_row,
    log_axis,
    look,
    name_rows,
    payload_axis,
    range_row,
    ratio_text,
    separate_rows,
    stacked_bar,
    write_beside,
)
from bench.experiments.tls import findings
from bench.experiments.tls.findings import Pair, pairs
from bench.run.frames import Run
from bench.stats import across_starts
from bench.stats.intervals import Interval
from bench.text import duration, in_bytes

TITLE = "What does encryption cost?"

VARIANTS = {
    "not encrypted": Look(GREY, "o"),
    "encrypted, new session": Look(SYSTEM_COLOURS[3], "s"),
    "encrypted, resumed session": Look(SYSTEM_COLOURS[0], "D"),
}
COSTS = {
    "handshake, per connection": Look(SYSTEM_COLOURS[3], "s"),
    "per call": Look(SYSTEM_COLOURS[1], "o"),
    "per kB of payload": Look(SYSTEM_COLOURS[2], "^"),
}


def connecting(run: Run, axes: Axes) -> None:
    """Draw the time from opening a connection to its first reply, with and without encryption, of each start."""
    for place, pair in enumerate(pairs(run)):
        for dy, ((variant, (colour, marker)), case) in enumerate(zip(VARIANTS.items(), pair, strict=True)):
            if case is not None:
                range_row(axes, 4 * place + dy, RangeRow(findings.connect_us(run, case), colour, marker=marker))
                axes.plot([], [], marker, ms=7, color=colour, label=variant)
    separate_rows(axes, [4 * edge - 1 for edge in range(1, len(pairs(run)))])
    axes.yaxis.grid(False)
    axes.set_yticks([4 * place + 1 for place in range(len(pairs(run)))], [_named(run, pair) for pair in pairs(run)])
    axes.set_ylim(4 * len(pairs(run)) - 1, -1)
    log_axis(axes.xaxis)
    axes.set_xlabel("time to the first reply: median of each start; bar: range")
    axes.set_title("Opening a connection, with its first call")


def _named(run: Run, pair: Pair) -> str:
    return _words(run, pair).replace(" (", "\n(")


def _words(run: Run, pair: Pair) -> str:
    return f"{findings.name(run, pair)} ({findings.protocol(run, pair)})"


def by_size(run: Run, axes: Axes) -> None:
    """Draw the median RTT on an open connection with encryption, divided by that without, against the payload."""
    sizes = findings.sizes(run)
    for place, pair in enumerate(pairs(run)):
        colour, marker = look(place)
        ratios = np.array([ends_of(findings.call_ratio(run, pair, payload)) for payload in sizes])
        axes.plot(sizes, ratios[:, 0], marker=marker, ms=6, lw=1.8, color=colour, label=_words(run, pair))
        band(axes, sizes, ratios[:, 1], ratios[:, 2], colour)
    axes.axhline(1, color="black", lw=1, zorder=0.9)
    payload_axis(axes, pd.Series(sizes))
    log_axis(axes.yaxis, "{:g}".format)
    axes.set_xlabel("payload, there and back")
    axes.set_ylabel("median RTT, encrypted / not; band: 95 % CI")
    axes.set_title("A call on an open connection: RTT encrypted / not encrypted")


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call with the largest payload, by role, with and without encryption."""
    names: list[str] = []
    largest = findings.sizes(run)[-1]
    is_mixed = len({run.case(pair.plain).transport for pair in pairs(run)}) > 1
    server = "server and router" if run.sessions["router_cpu_ns"].notna().any() else "server"
    for pair in pairs(run):
        for case, words in ((pair.plain, "plain"), (pair.encrypted, findings.protocol(run, pair))):
            parts = [(label, findings.median(findings.call_us(run, case, largest, role)), ROLE_COLOURS[role], "")
                     for role, label in (("client", "client"), ("server", server))]  # fmt: skip
            stacked_bar(axes, len(names), parts)
            ratio = f", {ratio_text(findings.cpu_ratio(run, pair, largest))}" if case == pair.encrypted else ""
            total = across_starts(findings.cpu_us(run, case, largest)).values(duration)
            write_beside(axes, len(names), f"{total}{ratio}")
            names.append(f"{findings.name(run, pair) if is_mixed else run.case(case).system}, {words}")
    name_rows(axes, names)
    axes.set_xlabel("CPU time per call [µs], median; ×: over plain [95 % CI]")
    axes.set_title(f"CPU time per call of {in_bytes(largest)}")


def costs(run: Run, axes: Axes) -> None:
    """Draw what encryption adds to a connection, to a call and to a kilobyte, with 95 % intervals."""
    added = [findings.added(run, pair.plain, pair.encrypted) for pair in pairs(run)]
    shown = [(of.handshake, of.call, of.byte) for of in added]  # 1 ns per byte is 1 us per kB
    positive = [us for three in shown for of in three for us in (of.low, of.middle) if us > 0]
    left_us = 10 ** np.floor(np.log10(min(positive, default=0.1))) / 2
    for y, three in enumerate(shown):
        for dy, of, (name, drawn) in zip((-0.26, 0.0, 0.26), three, COSTS.items(), strict=True):
            label = f"{name} of {in_bytes(findings.sizes(run)[0])}" if name == "per call" else name
            _cost(axes, y + dy, of, drawn, label, left_us)
    name_rows(axes, [_named(run, pair) for pair in pairs(run)])
    log_axis(axes.xaxis)
    axes.xaxis.set_major_locator(LogLocator())
    most_us = max(us for three in shown for of in three for us in (of.middle, of.high) if us == us)
    axes.set_xlim(left_us, 12 * most_us)  # with room for the words of the longest bar
    axes.set_xlabel("time added by encryption; bar: 95 % CI")
    axes.set_title("Time added to a connection, a call, a kilobyte")


def _cost(axes: Axes, y: float, added: Interval, drawn: Look, label: str, left_us: float) -> None:
    """Draw an added time with its interval; one that is not distinguishable from 0 as what it is at most."""
    middle, low, high = added.middle, *np.nan_to_num((added.low, added.high), nan=added.middle)
    if low > 0:
        interval_row(axes, y, (middle, low, high), drawn, label=label)
        words = duration(middle)
    else:
        axes.plot([], [], "<", ms=6, color=GREY, label="interval contains 0")
        interval_row(axes, y, (1.15 * left_us, left_us, max(high, left_us)), Look(drawn.colour, "<"))
        words = f"at most {duration(high)}" if high > 0 else "nothing is added"
    axes.annotate(words, (max(high, left_us), y), (7, 0), textcoords="offset points", va="center", fontsize=SMALL)


PANELS = (connecting, by_size, cpu, costs)
