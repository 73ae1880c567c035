"""Panels of links: round trips over each, the bandwidth's law by payload, the order of the systems, Nagle's stall."""

from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    Look,
    RangeRow,
    band,
    below_line,
    beside,
    linear_axis,
    log_axis,
    median_rows,
    name_rows,
    nothing,
    range_row,
    ratio_axis,
    size,
    small,
    ticks_at,
    time_axis,
    times,
)
from bench.experiments.case_ratios import P50, Ratio
from bench.experiments.network.findings import (
    FAR,
    SEGMENT,
    Condition,
    Transfer,
    acks_per_call,
    added,
    conditions,
    link,
    links,
    rate_mbit,
    ratios_of,
    stalls,
    whole,
)
from bench.experiments.nodelay.findings import DELAY_S
from bench.plan import namespaces
from bench.plan.namespaces import bandwidth
from bench.run.frames import Run
from bench.text import duration, plain

TITLE = "What does the network add?"

MARKERS = ("o", "s", "^", "D", "v", "P")


def look_of(run: Run, name: str) -> Look:
    """Return the colour and the marker of a link, the same in all panels."""
    place = links(run).index(name) if name in links(run) else len(links(run))
    return Look(SYSTEM_COLOURS[place % len(SYSTEM_COLOURS)], MARKERS[place % len(MARKERS)])


def round_trips(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start over loopback and over each other link; ×: that link over loopback."""
    found = [one for one in conditions(run) if one.payload_bytes == conditions(run)[0].payload_bytes]
    axes.set_title("Median RTT over each link")
    if not found:
        return nothing(axes, "no system was measured over every link in this run")
    over = {one.other: one for one in (*added(run), *added(run, FAR))}
    names, rows = [], []
    for system in found[0].cases:
        for one in found:
            case, draw = one.cases[system], look_of(run, one.link)
            more = f", {times(over[case].interval)}" if case in over else ""
            names.append(f"{system}: {one.link}")
            rows.append(RangeRow(run.starts_of(case)[P50], draw.colour, more, marker=draw.marker))
    median_rows(axes, rows)
    name_rows(axes, names, small(len(names)))
    axes.set_title(f"Median RTT over each link, {plain(size(found[0].payload_bytes))}")
    return None


def by_bandwidth(run: Run, axes: Axes) -> None:
    """Draw the median RTT of raw sockets against the payload over each link, and 2 × payload / bandwidth as a line."""
    axes.set_title("RTT by payload and bandwidth")
    mine = [one for one in whole(run) if run.case(one).system == "sockets" and namespaces.is_asked(run.case(one).hosts)]
    rows = run.cases.loc[mine].assign(link=[link(run.case(one)) for one in mine])
    if rows["payload_bytes"].nunique() < 2:
        return nothing(axes, "one payload only: give sizes")
    for name in [one for one in reversed(links(run)) if one in set(rows["link"])]:
        each, draw = rows[rows["link"] == name].sort_values("payload_bytes"), look_of(run, name)
        axes.plot(each["payload_bytes"], each[P50], marker=draw.marker, ms=7, lw=0, color=draw.colour, label=name)
        band(axes, each, "payload_bytes", P50, draw.colour)
        rate = rate_mbit(run.case(int(each.index[0])))
        if rate:
            ends = sorted(rows["payload_bytes"])[0], sorted(rows["payload_bytes"])[-1]
            law = [Transfer(0, rate, int(end)).law_us for end in ends]
            axes.plot(ends, law, "--", color=draw.colour, lw=1.5, label=f"2 × payload / ({bandwidth(rate)})")
    axes.set(xscale="log", yscale="log")
    ticks_at(axes.xaxis, sorted(rows["payload_bytes"].unique()))
    linear_axis(axes.xaxis, size)
    time_axis(axes.yaxis)
    axes.set_xlabel("payload of request and of reply, raw sockets")
    axes.set_ylabel("median RTT; band: range over starts")
    axes.legend(fontsize=9)
    return None


def order(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each system over that of the first one, under each link and payload; bar: 95 % CI."""
    known = [one for one in conditions(run) if ratios_of(run, one)]
    axes.set_title("Systems compared under each condition")
    if not known:
        return nothing(axes, "one system only: give several")
    base, *others = known[0].cases
    names, y = [], 0
    for place, system in enumerate(others):
        for one in known:
            _ratio(axes, y, run, one, ratios_of(run, one)[place])
            names.append(f"{system}: {words(one)}")
            y += 1
        if place:
            axes.axhline(y - len(known) - 0.5, color="#bbbbbb", lw=0.8)
    name_rows(axes, names, small(len(names) + 2))
    axes.axvline(1, color=GREY, lw=1.2)
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(min(0.9, low / 1.05), high * 1.08)
    ratio_axis(axes.xaxis)
    axes.set_xlabel(f"median RTT over that of {base}; bar: 95 % CI")
    return None


def words(one: Condition) -> str:
    """Return a condition in words, short enough for the name of a row: "100 Mbit/s, 100 kB"."""
    return f"{one.link.removeprefix('veth ')}, {plain(size(one.payload_bytes))}"


def _ratio(axes: Axes, y: int, run: Run, one: Condition, found: Ratio) -> None:
    draw, interval = look_of(run, one.link), found.interval
    if interval.low == interval.low:
        axes.plot([interval.low, interval.high], [y, y], color=draw.colour, lw=6, alpha=0.35, solid_capstyle="butt")
    axes.plot(interval.middle, y, draw.marker, ms=6.5, color=draw.colour)
    beside(axes, y, times(interval), 9)


def stall(run: Run, axes: Axes) -> None:
    """Draw the median RTT with two writes per message against the payload, TCP_NODELAY on neither side, by link."""
    axes.set_title("Nagle's stall: RTT by payload")
    held = [one for one in stalls(run) if one.is_held]
    if not held:
        return nothing(axes, "no case with two writes per message in this run")
    sizes = sorted({one.payload_bytes for one in held})
    for name in dict.fromkeys(one.link for one in held):
        mine, draw = [one for one in held if one.link == name], look_of(run, name)
        rows = run.cases.loc[[one.case for one in mine]]
        axes.plot(rows["payload_bytes"], rows[P50], marker=draw.marker, ms=7, lw=1.8, color=draw.colour, label=name)
        band(axes, rows, "payload_bytes", P50, draw.colour)
        if sizes[0] < SEGMENT.get(name, 0) < sizes[-1]:
            axes.axvline(SEGMENT[name], color=draw.colour, ls=":", lw=1.5, label=f"its segment: {SEGMENT[name]:,} B")
    axes.axhline(2 * DELAY_S * 1e6, color=GREY, ls="--", lw=1)
    below_line(axes, 2 * DELAY_S * 1e6, f"2 × {plain(duration(DELAY_S * 1e6))}")
    axes.set(xscale="log", yscale="log")
    log_axis(axes.xaxis, size)
    time_axis(axes.yaxis)
    axes.set_xlabel("payload; two writes, no TCP_NODELAY")
    axes.set_ylabel("median RTT; band: range over starts")
    axes.legend(fontsize=9)
    return None


def delayed_acks(run: Run, axes: Axes) -> None:
    """Draw the delayed ACKs per call that the kernel counted on both sides of each link, and the predicted stalls."""
    axes.set_title("Delayed ACKs per call, counted by the kernel")
    names, y = [], 0
    for one in stalls(run):
        each = acks_per_call(run, one)
        if len(each):
            draw = look_of(run, one.link)
            range_row(axes, y, each, draw.colour, "{:.2f}".format, marker=draw.marker)
            axes.plot(one.stalls, y, "|", ms=22, mew=2, color=GREY)
            names.append(f"{one.link}, {plain(size(one.payload_bytes))}: {'neither' if one.is_held else 'both'}")
            y += 1
    if not names:
        return nothing(axes, "the kernel's counters are not known in this run")
    name_rows(axes, names, small(len(names)))
    linear_axis(axes.xaxis)
    axes.set_xlim(-0.1, 1.05 * max(2.0, axes.dataLim.intervalx[1]))
    axes.set_xlabel("delayed ACKs per call; row names: sides that set TCP_NODELAY; grey line: predicted stalls")
    return None


def height(run: Run) -> float:
    """Return how many inches the figure is taller than usual: for the rows of the systems."""
    rows = max((len(known) * (len(one.cases) - 1) for known in [conditions(run)] for one in known), default=0)
    return max(0.0, 0.22 * (rows - 14))


PANELS = (round_trips, by_bandwidth, order, stall)
