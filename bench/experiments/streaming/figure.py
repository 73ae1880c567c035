"""Panels of reply streams: time to first message, gaps, lateness, CPU per message; and the steps of the origin."""

import pandas as pd
from matplotlib.axes import Axes

from bench import stats
from bench.drawing.axes import (
    GREY,
    ROLE_COLOURS,
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    Look,
    RangeRow,
    band,
    beside,
    cpu_bars,
    hold,
    look,
    name_rows,
    near,
    nothing,
    range_rows,
    ratio_axis,
    small,
    ticks_at,
    time_axis,
    times,
)
from bench.experiments.streaming import findings
from bench.experiments.streaming.findings import FIRST, QUANTITIES
from bench.run.frames import Run, numbered
from bench.text import duration, listed, quantity

TITLE = "When does the first reply of a stream arrive, and how evenly do the others follow?"

MARKERS = (*SYSTEM_MARKERS, "v", "P")  # of the six systems: in print they differ by marker alone

PACING, TRANSIT = ROLE_COLOURS["router"], SYSTEM_COLOURS[0]
LEAST_US = 1.0  # a deviation that is drawn on the logarithmic axis, at least
WIDE = 0.16  # of a bar of gaps, in decades of the number of streams


def _looks(run: Run) -> dict[str, Look]:
    names = dict.fromkeys(case.system for case in run.plan.cases)
    return {name: Look(look(place).colour, MARKERS[place % len(MARKERS)]) for place, name in enumerate(names)}


def first(run: Run, axes: Axes) -> None:
    """Draw the median time to first message against the number of streams at once; hollow: behind schedule."""
    cases = findings.paced(run)
    if cases.empty:
        return nothing(axes, "no paced streams in this run")
    axes.set(xscale="log", yscale="log")
    for system, rows in cases.groupby("system", sort=False):
        rows, one = rows.sort_values("callers"), _looks(run)[system]
        axes.plot(rows["callers"], rows[FIRST], color=one.colour, lw=1.8, zorder=2)
        band(axes, rows, "callers", FIRST, one.colour, 0.15)
        for _, row in rows.iterrows():
            _dot(axes, row["callers"], row[FIRST], one, findings.is_behind(row))
        axes.plot([], [], marker=one.marker, color=one.colour, lw=1.8, label=system)
    _hollow(axes, cases)
    hold(axes, cases[FIRST], cases[f"{FIRST}_low"], cases[f"{FIRST}_high"], duration)
    time_axis(axes.yaxis)
    _streams_axis(axes, cases)
    axes.set_ylabel("median time to first message")
    axes.legend(fontsize=9)
    axes.set_title("Time to first message (band: range over starts)")
    return None


def _dot(axes: Axes, x: float, y: float, one: Look, is_hollow: bool) -> None:
    face = "white" if is_hollow else one.colour
    axes.plot(x, y, one.marker, ms=6.5, color=one.colour, mfc=face, mew=1.4, zorder=3)


def _hollow(axes: Axes, cases: pd.DataFrame) -> None:
    if any(findings.is_behind(row) for _, row in cases.iterrows()):
        axes.plot([], [], "o", color=GREY, mfc="white", mew=1.4, label="behind schedule")


def _streams_axis(axes: Axes, cases: pd.DataFrame) -> None:
    counts = sorted(cases["callers"].unique())
    ticks_at(axes.xaxis, counts)
    axes.set_xticklabels([f"{count:,}" for count in counts])
    axes.set_xlim(min(counts) / 1.6, max(counts) * 1.6)
    axes.set_xlabel("streams at once, one client process")


def gaps(run: Run, axes: Axes) -> None:
    """Draw how far gaps between messages are from the plan, median to p90, against the number of streams at once."""
    cases = findings.paced(run)
    if cases.empty:
        return nothing(axes, "no paced streams in this run")
    axes.set(xscale="log", yscale="log")
    names = list(cases["system"].unique())
    for case, row in numbered(cases):
        off_us = findings.unevenness(run, case)
        if not len(off_us):
            continue
        place = names.index(row["system"]) - (len(names) - 1) / 2
        x, one = row["callers"] * 10 ** (WIDE * place * 0.8), _looks(run)[row["system"]]
        middle, high = (max(LEAST_US, stats.quantile(off_us, p)) for p in (0.5, 0.9))
        axes.plot([x, x], [middle, high], color=one.colour, lw=4, alpha=0.45, solid_capstyle="round")
        _dot(axes, x, middle, one, findings.is_behind(row))
    for name in names:
        axes.plot([], [], marker=_looks(run)[name].marker, color=_looks(run)[name].colour, lw=4, alpha=0.6, label=name)
    _hollow(axes, cases)
    time_axis(axes.yaxis)
    _streams_axis(axes, cases)
    axes.set_xlim(cases["callers"].min() / 3, cases["callers"].max() * 3)
    axes.set_ylabel("|gap - planned gap|")
    axes.legend(fontsize=9)
    axes.set_title("Unevenness of the gaps: median to p90")
    return None


def late(run: Run, axes: Axes) -> None:
    """Draw where a reply is late, at the server's timer and from there to the client: median (marker) to p90 (bar)."""
    rows = findings.at_common(run)
    if rows.empty:
        return nothing(axes, "no number of streams at which most systems are on schedule")
    for y, (case, _) in enumerate(numbered(rows)):
        one = findings.lateness(run, case)
        for dy, (middle, high), colour, marker in ((-0.17, one.pacing, PACING, "s"), (0.17, one.transit, TRANSIT, "o")):
            axes.plot([middle, high], [y + dy] * 2, color=colour, lw=6, alpha=0.5, solid_capstyle="butt")
            axes.plot(middle, y + dy, marker, color=colour, ms=7, mec="white", mew=0.6)
        beside(axes, y, f"{duration(one.pacing[0])} + {duration(one.transit[0])}")
    axes.plot([], [], "s-", color=PACING, lw=4, label="server's timer: due until handed over")
    axes.plot([], [], "o-", color=TRANSIT, lw=4, label="transit: handed over until received")
    near(axes)
    name_rows(axes, rows["system"])
    axes.set_xlabel(f"lateness: median (marker) to p90 (bar); beside: the two medians{_left_out(run)}")
    axes.legend(fontsize=9)
    axes.set_title(f"Where a reply is late, {_streams(findings.common(run))}")
    return None


def _left_out(run: Run) -> str:
    """Return which systems a panel leaves out, and why."""
    behind = findings.behind_at_common(run)
    return f"\nleft out, behind schedule: {listed(behind)}" if behind else ""


def _streams(count: int | None) -> str:
    return f"{count:,} stream{'s' * (count != 1)}" if count else ""


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per message by role, where most systems keep their schedule."""
    rows = findings.at_common(run)
    if rows.empty:
        return nothing(axes, "no number of streams at which most systems are on schedule")
    cpu_bars(run, axes, rows)
    name_rows(axes, rows["system"])
    axes.legend()
    axes.set_xlabel(f"CPU time per message [µs]; line: range over starts{_left_out(run)}")
    axes.set_title(f"CPU time per message, {_streams(findings.common(run))}")
    return None


def without_pauses(run: Run, axes: Axes) -> None:
    """Draw the messages per second of streams that are not paced."""
    rows = findings.unpaced(run)
    if rows.empty:
        return nothing(axes, "no streams without pauses in this run")
    each = [(run.starts_of(case)["rate_per_s"], _looks(run)[row["system"]]) for case, row in numbered(rows)]
    range_rows(axes, (RangeRow(values, one.colour, marker=one.marker) for values, one in each), quantity)
    near(axes, quantity)
    name_rows(
        axes, [f"{row['system']}, {_streams(int(row['callers']))}" for _, row in numbered(rows)], small(len(rows))
    )
    axes.set_xlabel("messages per second of each start; bar: their range, line: their median")
    axes.set_title("Streams without pauses")
    return None


def origin(run: Run, axes: Axes) -> None:
    """Draw what each step of the origin's choice changes, one factor at a time: ratios with their 95 % intervals."""
    found = findings.steps(run)
    if not found:
        return nothing(axes, "the origin's stacks are not in this run (origin_streams 0, or other systems)")
    changes, quantities = list(dict.fromkeys(one.change for one in found)), list(QUANTITIES.values())
    for one in found:
        y = changes.index(one.change) + 0.24 * (quantities.index(one.what) - 1)
        kind, interval = look(quantities.index(one.what)), one.ratio.interval
        if interval.low == interval.low:
            axes.plot([interval.low, interval.high], [y, y], color=kind.colour, lw=5, alpha=0.35)
        axes.plot(interval.middle, y, kind.marker, color=kind.colour, ms=6)
        axes.annotate(times(interval), (1, y), (6, 0), axes.get_yaxis_transform(), "offset points", va="center",
                      fontsize=8, color=kind.colour, annotation_clip=False)  # fmt: skip
    for place, name in enumerate(quantities):
        axes.plot([], [], look(place).marker, color=look(place).colour, label=name)
    axes.axvline(1, color="black", lw=1, zorder=0.9)
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(min(low, 0.9) / 1.05, max(high, 1.1) * 1.05)
    ratio_axis(axes.xaxis)
    name_rows(axes, changes)
    axes.set_xlabel("ratio after / before the change; bar: 95 % CI")
    axes.legend(fontsize=9)
    axes.set_title(f"The origin's choice, one factor at a time, {_streams(findings.origin_streams(run))}")
    return None


PANELS = (first, gaps, late, cpu)
