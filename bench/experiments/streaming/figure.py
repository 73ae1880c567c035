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
    cpu_bars,
    draw_line,
    ends_of,
    interval_row,
    log_axis,
    look,
    name_rows,
    range_rows,
    ratio_axis,
    ratio_text,
    say_why_empty,
    ticks_at,
    write_beside,
)
from bench.experiments.streaming import findings
from bench.experiments.streaming.findings import FIRST, GAP, LARGE_GAP, QUANTITIES
from bench.run.frames import Run, numbered
from bench.text import duration, listed, quantity

TITLE = "When does the first reply of a stream arrive, and how evenly do the others follow?"

MARKERS = (*SYSTEM_MARKERS, "v", "<")  # of six systems: in print they differ by marker alone; all can be hollow

PACING, TRANSIT = Look(ROLE_COLOURS["router"], "s"), Look(SYSTEM_COLOURS[0], "o")
LEAST_US = 1.0  # a deviation that is drawn on the logarithmic axis, at least
NOT_ON_SCHEDULE = "no number of streams at which most systems are on schedule"
PER_MESSAGE = "CPU time per message [µs], by role; line, right: range and median of the starts' totals"
WIDE = 0.16  # of a bar of gaps, in decades of the number of streams


def _looks(run: Run) -> dict[str, Look]:
    names = dict.fromkeys(case.system for case in run.plan.cases)
    return {name: Look(look(place).colour, MARKERS[place % len(MARKERS)]) for place, name in enumerate(names)}


def first(run: Run, axes: Axes) -> None:
    """Draw the median time to first message against the number of streams at once; hollow: behind schedule."""
    cases = findings.with_first(run)
    if cases.empty:
        return say_why_empty(axes, "no paced streams in this run")
    for system, rows in cases.groupby("system", sort=False):
        rows, drawn = rows.sort_values("callers"), _looks(run)[system]
        axes.plot(rows["callers"], rows[FIRST], color=drawn.colour, marker=drawn.marker, lw=1.8, zorder=2, label=system)
        band(axes, rows["callers"], rows[f"{FIRST}_low"], rows[f"{FIRST}_high"], drawn.colour)
        for _, row in rows.iterrows():
            _dot(axes, row["callers"], row[FIRST], drawn, findings.is_behind(row))
    _streams_axis(run, axes, cases)
    axes.set_ylabel("median time to first message")
    axes.set_title("Time to first message (band: range over starts)")
    return None


def _dot(axes: Axes, x: float, y: float, drawn: Look, is_behind: bool) -> None:
    face = "white" if is_behind else drawn.colour
    axes.plot(x, y, drawn.marker, ms=6.5, color=drawn.colour, mfc=face, mew=1.4, zorder=3)


def _streams_axis(run: Run, axes: Axes, cases: pd.DataFrame) -> None:
    if label := findings.late(run, cases):
        system = next(str(row["system"]) for _, row in cases.iterrows() if findings.is_behind(row))
        marker = _looks(run)[system].marker  # of one that is drawn hollow
        axes.plot([], [], marker, ls="", color=GREY, mfc="white", mew=1.4, label=f"hollow: {label}")
    axes.set_xscale("log")
    axes.margins(x=0.1)
    ticks_at(axes.xaxis, sorted(cases["callers"].unique()))
    log_axis(axes.yaxis)
    how = "at once" if cases["rate_per_s"].notna().all() else "begun one after another"
    axes.set_xlabel(f"streams of one client process, {how}")


def gaps(run: Run, axes: Axes) -> None:
    """Draw how far gaps between messages are from the plan, median to p90, against the number of streams at once."""
    cases = findings.paced(run)
    if cases.empty:
        return _gaps_of_services(run, axes)
    names, without = list(cases["system"].unique()), False
    for case, row in numbered(cases):
        off_us, drawn = findings.unevenness(run, case), _looks(run)[row["system"]]
        if len(off_us):
            place = names.index(row["system"]) - (len(names) - 1) / 2
            x = row["callers"] * 10 ** (WIDE * place * 0.8)
            middle, high = (max(LEAST_US, stats.quantile(off_us, p)) for p in (0.5, 0.9))
            if findings.has_p90(run, case, "uneven"):
                axes.plot([x, x], [middle, high], color=drawn.colour, lw=4, alpha=0.45, solid_capstyle="round")
            else:
                without = True
            _dot(axes, x, middle, drawn, findings.is_behind(row))
    for name in names:
        axes.plot([], [], marker=_looks(run)[name].marker, color=_looks(run)[name].colour, lw=4, alpha=0.6, label=name)
    _streams_axis(run, axes, cases)
    axes.set_ylabel("|gap - planned gap|")
    if without:
        axes.set_xlabel(f"{axes.get_xlabel()}\nno bar: too few messages in a start for a p90")
    axes.set_title("Unevenness of the gaps: median to p90")
    return None


def _gaps_of_services(run: Run, axes: Axes) -> None:
    """Draw the gaps between messages of users' services, median to p99, against the number of streams at once."""
    cases = findings.services(run)
    if cases.empty:
        return say_why_empty(axes, "no paced streams in this run")
    for system, rows in cases.groupby("system", sort=False):
        rows, drawn = rows.sort_values("callers"), _looks(run)[system]
        axes.plot(rows["callers"], rows[GAP], f"{drawn.marker}-", color=drawn.colour, lw=1.8, label=f"{system}, median")
        axes.plot(rows["callers"], rows[LARGE_GAP], f"{drawn.marker}--", color=drawn.colour, mfc="white",
                  label=f"{system}, p99")  # fmt: skip
    _streams_axis(run, axes, cases)
    axes.set_ylabel("gap between two messages")
    axes.set_title("Gaps between messages (median over starts)")
    return None


def _rates_of_services(run: Run, axes: Axes) -> None:
    """Draw the messages per second of users' services against the number of streams at once."""
    cases = findings.services(run)
    for system, rows in cases.groupby("system", sort=False):
        draw_line(run, axes, rows.sort_values("callers"), "callers", "rate_per_s", _looks(run)[system], str(system))
    _streams_axis(run, axes, cases)
    log_axis(axes.yaxis, quantity)
    axes.set_ylabel("messages per second")
    axes.set_title("Messages per second (band: range over starts)")


def late(run: Run, axes: Axes) -> None:
    """Draw where a reply is late, at the server's timer and from there to the client: median (marker) to p90 (bar).

    Of users' services alone, which do not say when a reply was due, draw the messages per second.
    """
    if findings.paced(run).empty and not findings.services(run).empty:
        return _rates_of_services(run, axes)
    rows = findings.at_common(run)
    if rows.empty:
        return say_why_empty(axes, NOT_ON_SCHEDULE)
    for y, (case, _) in enumerate(numbered(rows)):
        lateness = findings.lateness(run, case)
        for dy, (median, p90), drawn, label in (
            (-0.17, lateness.pacing, PACING, "server's timer: due until handed over"),
            (0.17, lateness.transit, TRANSIT, "transit: handed over until received"),
        ):
            interval_row(axes, y + dy, (median, median, p90), drawn, label=label)
        write_beside(axes, y, f"{duration(lateness.pacing[0])} + {duration(lateness.transit[0])}")
    log_axis(axes.xaxis)
    name_rows(axes, rows["system"])
    axes.set_xlabel(f"lateness: median (marker) to p90 (bar); beside: the two medians{_left_out(run)}")
    axes.set_title(f"Where a reply is late, {_streams(findings.common(run))}")
    return None


def _left_out(run: Run) -> str:
    """Return which systems a panel leaves out, and why."""
    behind = findings.behind_at_common(run)
    return f"\nleft out, {findings.late(run, behind)}: {listed(behind['system'])}" if len(behind) else ""


def _streams(count: int | None) -> str:
    return f"{count:,} stream{'s' * (count != 1)}" if count else ""


def cpu(run: Run, axes: Axes) -> None:
    """Draw the CPU time per message by role, where most systems keep their schedule, or of users' services."""
    if findings.paced(run).empty and not (rows := findings.services(run)).empty:
        cpu_bars(run, axes, rows)
        name_rows(axes, [f"{row['system']}, {_streams(int(row['callers']))}" for _, row in numbered(rows)])
        axes.set_xlabel(PER_MESSAGE)
        axes.set_title("CPU time per message")
        return None
    rows = findings.at_common(run)
    if rows.empty:
        return say_why_empty(axes, NOT_ON_SCHEDULE)
    cpu_bars(run, axes, rows)
    name_rows(axes, rows["system"])
    axes.set_xlabel(f"{PER_MESSAGE}{_left_out(run)}")
    axes.set_title(f"CPU time per message, {_streams(findings.common(run))}")
    return None


def without_pauses(run: Run, axes: Axes) -> None:
    """Draw the messages per second of streams that are not paced."""
    rows = findings.unpaced(run)
    if rows.empty:
        return say_why_empty(axes, "no streams without pauses in this run")
    drawn = {case: _looks(run)[row["system"]] for case, row in numbered(rows)}
    range_rows(axes, (RangeRow(run.starts_of(case)["rate_per_s"], colour, marker=marker)
                      for case, (colour, marker) in drawn.items()), quantity)  # fmt: skip
    log_axis(axes.xaxis, quantity)
    name_rows(axes, [f"{row['system']}, {_streams(int(row['callers']))}" for _, row in numbered(rows)])
    axes.set_xlabel("messages per second of each start; bar: their range, line: their median")
    axes.set_title("Streams without pauses")
    return None


def origin(run: Run, axes: Axes) -> None:
    """Draw what each step of the origin's choice changes, one factor at a time: ratios with their 95 % intervals."""
    steps = findings.steps(run)
    if not steps:
        return say_why_empty(axes, "the origin's stacks are not in this run (origin_streams 0, or other systems)")
    changes, quantities = list(dict.fromkeys(step.change for step in steps)), list(QUANTITIES.values())
    for step in steps:
        place, interval = quantities.index(step.what), step.ratio.interval
        interval_row(axes, changes.index(step.change) + 0.24 * (place - 1), ends_of(interval), look(place),
                     ratio_text(interval), step.what)  # fmt: skip
    ratio_axis(axes)
    name_rows(axes, changes)
    axes.set_xlabel("ratio after / before the change; bar: 95 % CI")
    axes.set_title(f"The origin's choice, one factor at a time, {_streams(findings.origin_streams(run))}")
    return None


PANELS = (first, gaps, late, cpu)
