"""Panels of encryption: connections, calls by payload, CPU time by role, and what is added to each."""

import numpy as np
from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    ROLE_COLOURS,
    SYSTEM_COLOURS,
    beside,
    linear_axis,
    log_axis,
    look,
    name_rows,
    near,
    range_row,
    reach,
    size,
    small,
    ticks_at,
    time_axis,
    times,
)
from bench.experiments.tls import findings
from bench.experiments.tls.findings import Pair, pairs
from bench.run.frames import Run
from bench.stats.intervals import Interval
from bench.text import duration

TITLE = "What does encryption cost?"

VARIANTS = {  # colour, marker
    "not encrypted": (GREY, "o"),
    "encrypted, new session": (SYSTEM_COLOURS[3], "s"),
    "encrypted, resumed session": (SYSTEM_COLOURS[0], "D"),
}
COSTS = {  # colour, marker
    "handshake, per connection": (SYSTEM_COLOURS[3], "s"),
    "per call": (SYSTEM_COLOURS[1], "o"),
    "per kB of payload": (SYSTEM_COLOURS[2], "^"),
}


def connecting(run: Run, axes: Axes) -> None:
    """Draw the time from opening a connection to its first reply, with and without encryption, of each start."""
    rows = [
        (4.0 * place + offset, variant, findings.connect_us(run, case).to_numpy())
        for place, pair in enumerate(pairs(run))
        for offset, (variant, case) in enumerate(zip(VARIANTS, pair, strict=True))
        if case is not None
    ]
    within = reach((each for _, _, each in rows), True)
    for y, variant, each in rows:
        colour, marker = VARIANTS[variant]
        range_row(axes, y, each, colour, duration, marker=marker, within=within)
    for variant in dict.fromkeys(variant for _, variant, _ in rows):
        axes.plot([], [], VARIANTS[variant][1], ms=7, color=VARIANTS[variant][0], label=variant)
    for edge in range(1, len(pairs(run))):
        axes.axhline(4 * edge - 1, color="#bbbbbb", lw=0.8)
    axes.yaxis.grid(False)
    axes.set_yticks([4 * place + 1 for place in range(len(pairs(run)))], [_named(run, pair) for pair in pairs(run)])
    axes.set_ylim(4 * len(pairs(run)) - 1, -1)
    near(axes)
    axes.set_xlabel("time to the first reply: median of each start; bar: range")
    axes.legend(fontsize=9)
    axes.set_title("Opening a connection, with its first call")


def _named(run: Run, pair: Pair) -> str:
    return f"{findings.name(run, pair)}\n({findings.protocol(run, pair)})"


def by_size(run: Run, axes: Axes) -> None:
    """Draw the time per call on an open connection against its payload, with encryption and without."""
    known = findings.sizes(run)
    for place, pair in enumerate(pairs(run)):
        colour, marker = look(place)
        for case, line, width in ((pair.plain, "--", 1.4), (pair.encrypted, "-", 2.0)):
            each = [findings.call_us(run, case, one) for one in known]
            axes.plot(known, [findings.median(one) for one in each], line, marker=marker, ms=5, lw=width, color=colour)
            axes.fill_between(known, [one.min() for one in each], [one.max() for one in each], color=colour, alpha=0.12)
        axes.plot([], [], "-", marker=marker, color=colour, label=findings.name(run, pair))
    axes.plot([], [], "-", lw=2, color=GREY, label="encrypted")
    axes.plot([], [], "--", lw=1.4, color=GREY, label="not encrypted")
    axes.set(xscale="log", yscale="log")
    log_axis(axes.xaxis, size)
    time_axis(axes.yaxis)
    axes.set_xlabel("payload, there and back")
    axes.set_ylabel("median RTT; band: range over starts")
    axes.legend(fontsize=9)
    axes.set_title("A call on an open connection")


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call with the largest payload, by role, with and without encryption."""
    largest = findings.sizes(run)[-1]
    names: list[str] = []
    is_mixed = len({run.case(pair.plain).transport for pair in pairs(run)}) > 1
    for pair in pairs(run):
        for case, words in ((pair.plain, "plain"), (pair.encrypted, findings.protocol(run, pair))):
            left = 0.0
            for role in ("client", "server"):
                us = max(0.0, findings.median(findings.call_us(run, case, largest, role)))
                us = us if us == us else 0.0
                axes.barh(len(names), us, left=left, color=ROLE_COLOURS[role], height=0.7)
                left += us
            text = duration(left)
            if case == pair.encrypted:
                text += f", {times(findings.cpu_ratio(run, pair, largest))}"
            beside(axes, len(names), text, 9)
            names.append(f"{findings.name(run, pair) if is_mixed else run.case(case).system}, {words}")
    is_routed = bool(run.sessions["router_cpu_ns"].notna().any())
    for role, words in (("client", "client"), ("server", "server and router" if is_routed else "server")):
        axes.barh(0, 0, color=ROLE_COLOURS[role], label=words)
    name_rows(axes, names, small(len(names)))
    linear_axis(axes.xaxis)
    axes.set_xlabel("CPU time per call [µs], median over starts; ×: both roles, ratio with 95 % CI")
    axes.legend(fontsize=9)
    axes.set_title(f"CPU time per call of {size(largest)}")


def costs(run: Run, axes: Axes) -> None:
    """Draw what encryption adds to a connection, to a call and to a kilobyte, with 95 % intervals."""
    found = [findings.added(run, pair.plain, pair.encrypted) for pair in pairs(run)]
    shown = [(three.handshake, three.call, three.byte) for three in found]  # 1 ns per byte is 1 us per kB
    least = min(
        (value for three in shown for one in three for value in (one.low, one.middle) if value > 0), default=0.1
    )
    left = 10 ** np.floor(np.log10(least)) / 2
    for y, three in enumerate(shown):
        for place, (one, (colour, marker)) in enumerate(zip(three, COSTS.values(), strict=True)):
            _cost(axes, y + 0.26 * (place - 1), one, colour, marker, left)
    for name, (colour, marker) in COSTS.items():
        words = f"{name} of {size(findings.sizes(run)[0])}" if name == "per call" else name
        axes.plot([], [], marker, ms=7, color=colour, label=words)
    axes.plot([], [], "<", ms=6, color=GREY, label="interval contains 0")
    name_rows(axes, [_named(run, pair) for pair in pairs(run)])
    axes.set_xscale("log")
    axes.set_xlim(left, 2 * max((one.high if one.high == one.high else one.middle) for three in shown for one in three))
    decades = [10.0**power for power in range(-3, 7)]
    ticks_at(axes.xaxis, [one for one in decades if axes.get_xlim()[0] <= one <= axes.get_xlim()[1]])
    linear_axis(axes.xaxis, duration)
    axes.set_xlabel("time added by encryption; bar: 95 % CI")
    axes.legend(fontsize=9)
    axes.set_title("Time added to a connection, a call, a kilobyte")


def _cost(axes: Axes, y: float, one: Interval, colour: str, marker: str, left: float) -> None:
    """Draw an added time with its interval; one that is not distinguishable from 0 as what it is at most."""
    high = one.high if one.high == one.high else one.middle
    low = one.low if one.low == one.low else one.middle
    if not high > 0:
        axes.annotate("nothing is added", (left, y), (7, 0), textcoords="offset points", va="center", fontsize=9)
        return
    is_known = low > 0
    axes.plot([max(low, left), high], [y, y], color=colour, lw=5, alpha=0.35, solid_capstyle="butt")
    axes.plot(one.middle if is_known else 1.15 * left, y, marker if is_known else "<", ms=6.5, color=colour)
    words = duration(one.middle) if is_known else f"at most {duration(high)}"
    axes.annotate(words, (high, y), (7, 0), textcoords="offset points", va="center", fontsize=9)


PANELS = (connecting, by_size, cpu, costs)
