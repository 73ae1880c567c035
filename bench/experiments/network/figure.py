"""Panels of links: round trips over each, the bandwidth's law by payload, the order of the systems, Nagle's stall."""

from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    Look,
    RangeRow,
    band,
    draw_line,
    ends_of,
    interval_row,
    level,
    log_axis,
    median_rows,
    name_rows,
    payload_axis,
    range_row,
    ratio_axis,
    ratio_text,
    say_why_empty,
    separate_rows,
)
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
from bench.analysis.stalls import DELAY_S
from bench.grammar.contrast import P50
from bench.plan import namespaces
from bench.plan.namespaces import bandwidth
from bench.run.frames import Run
from bench.text import duration, in_bytes, plain

TITLE = "What does the network add?"

MARKERS = ("o", "s", "^", "D", "v", "P")


def look_of(run: Run, name: str) -> Look:
    """Return the colour and the marker of a link, the same in all panels."""
    place = links(run).index(name) if name in links(run) else len(links(run))
    return Look(SYSTEM_COLOURS[place % len(SYSTEM_COLOURS)], MARKERS[place % len(MARKERS)])


def round_trips(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start over loopback and over each other link; ×: that link over loopback."""
    shown = [of for of in conditions(run) if of.payload_bytes == conditions(run)[0].payload_bytes]
    if not shown:
        axes.set_title("Median RTT over each link")
        return say_why_empty(axes, "no system was measured over every link in this run")
    over = {ratio.other: ratio for ratio in (*added(run), *added(run, FAR))}
    names, rows = [], []
    for system in shown[0].cases:
        for of in shown:
            case, drawn = of.cases[system], look_of(run, of.link)
            more = f", {ratio_text(over[case].interval)}" if case in over else ""
            names.append(f"{system}: {of.link}")
            rows.append(RangeRow(run.starts_of(case)[P50], drawn.colour, more, marker=drawn.marker))
    median_rows(axes, rows)
    name_rows(axes, names)
    axes.set_title(f"Median RTT over each link, {plain(in_bytes(shown[0].payload_bytes))}")


def by_bandwidth(run: Run, axes: Axes) -> None:
    """Draw the median RTT of raw sockets against the payload over each link, and 2 × payload / bandwidth as a line."""
    axes.set_title("RTT by payload and bandwidth")
    cases = [case for case in whole(run)
             if run.case(case).system == "sockets" and namespaces.is_asked(run.case(case).hosts)]  # fmt: skip
    rows = run.cases.loc[cases].assign(link=[link(run.case(case)) for case in cases])
    if rows["payload_bytes"].nunique() < 2:
        return say_why_empty(axes, "one payload only: give sizes")
    ends = int(rows["payload_bytes"].min()), int(rows["payload_bytes"].max())
    for name in [name for name in reversed(links(run)) if name in set(rows["link"])]:
        over_link, drawn = rows[rows["link"] == name].sort_values("payload_bytes"), look_of(run, name)
        axes.plot(over_link["payload_bytes"], over_link[P50], drawn.marker, ms=7, color=drawn.colour, label=name)
        band(axes, over_link["payload_bytes"], over_link[f"{P50}_low"], over_link[f"{P50}_high"], drawn.colour)
        if rate := rate_mbit(run.case(int(over_link.index[0]))):
            axes.plot(ends, [Transfer(0, rate, end).law_us for end in ends], "--", color=drawn.colour, lw=1.5,
                      label=f"2 × payload / ({bandwidth(rate)})")  # fmt: skip
    payload_axis(axes, rows["payload_bytes"])
    log_axis(axes.yaxis)
    axes.set_xlabel("payload of request and of reply, raw sockets")
    axes.set_ylabel("median RTT; band: range over starts")


def order(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each system over that of the first one, under each link and payload; bar: 95 % CI."""
    shown = [of for of in conditions(run) if ratios_of(run, of)]
    axes.set_title("Systems compared under each condition")
    if not shown:
        return say_why_empty(axes, "one system only: give several")
    base, *others = shown[0].cases
    rows = [(system, place, of) for place, system in enumerate(others) for of in shown]
    for y, (_, place, of) in enumerate(rows):
        interval = ratios_of(run, of)[place].interval
        interval_row(axes, y, ends_of(interval), look_of(run, of.link), ratio_text(interval))
    separate_rows(axes, [len(shown) * place - 0.5 for place in range(1, len(others))])
    name_rows(axes, [f"{system}: {words(of)}" for system, _, of in rows])
    ratio_axis(axes)
    axes.set_xlabel(f"median RTT over that of {base}; bar: 95 % CI")


def words(of: Condition) -> str:
    """Return a condition in words, short enough for the name of a row: "100 Mbit/s, 100 kB"."""
    return f"{of.link.removeprefix('veth ')}, {plain(in_bytes(of.payload_bytes))}"


def stall(run: Run, axes: Axes) -> None:
    """Draw the median RTT with two writes per message against the payload, TCP_NODELAY on neither side, by link."""
    axes.set_title("Nagle's stall: RTT by payload")
    held = [of for of in stalls(run) if of.is_held]
    if not held:
        return say_why_empty(axes, "no case with two writes per message in this run")
    sizes = sorted({of.payload_bytes for of in held})
    for name in dict.fromkeys(of.link for of in held):
        rows, drawn = run.cases.loc[[of.case for of in held if of.link == name]], look_of(run, name)
        draw_line(run, axes, rows, "payload_bytes", P50, drawn, name)
        if sizes[0] < SEGMENT.get(name, 0) < sizes[-1]:
            label = f"{name}: segment of {SEGMENT[name]:,} B"
            axes.axvline(SEGMENT[name], color=drawn.colour, ls=":", lw=1.5, label=label)
    level(axes, 2 * DELAY_S * 1e6, f"2 × {plain(duration(DELAY_S * 1e6))}")
    log_axis(axes.xaxis, in_bytes)
    log_axis(axes.yaxis)
    axes.set_xlabel("payload; two writes, no TCP_NODELAY")
    axes.set_ylabel("median RTT; band: range over starts")


def delayed_acks(run: Run, axes: Axes) -> None:
    """Draw the delayed ACKs per call that the kernel counted on both sides of each link, and the predicted stalls."""
    axes.set_title("Delayed ACKs per call, counted by the kernel")
    counted = [of for of in stalls(run) if len(acks_per_call(run, of))]
    if not counted:
        return say_why_empty(axes, "the kernel's counters are not known in this run")
    for y, of in enumerate(counted):
        colour, marker = look_of(run, of.link)
        range_row(axes, y, RangeRow(acks_per_call(run, of), colour, marker=marker), "{:.2f}".format)
        axes.plot(of.stalls, y, "|", ms=22, mew=2, color=GREY)
    name_rows(axes, [f"{of.link}, {plain(in_bytes(of.payload_bytes))}: {'neither' if of.is_held else 'both'}"
                     for of in counted])  # fmt: skip
    axes.set_xlabel("delayed ACKs per call; row names: sides that set TCP_NODELAY; grey line: predicted stalls")


def height(run: Run) -> float:
    """Return how many inches the figure is taller than usual: for the rows of the systems."""
    rows = sum(len(of.cases) - 1 for of in conditions(run))
    return max(0.0, 0.22 * (rows - 14))


PANELS = (round_trips, by_bandwidth, order, stall)
