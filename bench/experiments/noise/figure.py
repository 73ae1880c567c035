"""Panels of the machine itself: scheduling delays, timers, the baseline by placement, and its drift."""

from typing import Any

from matplotlib.axes import Axes

from bench import stats
from bench.drawing.axes import (
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    Look,
    RangeRow,
    curve,
    distribution_axes,
    name_rows,
    near,
    range_rows,
    ratio_axis,
)
from bench.experiments.noise.findings import (
    P50,
    STOLEN,
    TIMERS,
    WORDS,
    baseline,
    hiccup_cases,
    overshoot,
    spread,
    timeline,
    timer_cases,
)
from bench.plan.placement import PLACEMENTS
from bench.run.frames import Run
from bench.text import duration

TITLE = "How quiet is this machine?"

NEIGHBOURS = dict(zip(("nobody", "same", "others"), zip(SYSTEM_COLOURS, ("-", "--", "-."), strict=False), strict=True))
PLACES = dict(zip(PLACEMENTS, map(Look, SYSTEM_COLOURS, SYSTEM_MARKERS), strict=False))


def hiccups(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of how much longer than requested a sleep took: alone, and beside busy processes."""
    for name, case in hiccup_cases(run).items():
        over = overshoot(run, case).to_numpy()
        colour, line = NEIGHBOURS[name]
        curve(axes, over, f"{WORDS[name]}, n = {len(over):,}", colour, line, 1.9)
    distribution_axes(axes, "sleeps")
    asked = run.case(hiccup_cases(run)["nobody"]).options["us"]
    axes.set_xlabel(f"delay beyond a requested sleep of {duration(asked)}")
    axes.set_title("Scheduling delay after a sleep")


def timers(run: Run, axes: Axes) -> None:
    """Draw the delay of short sleeps by kind of timer: median and p99 of each start."""
    found = timer_cases(run)
    rows: dict[str, RangeRow] = {}
    for name, colour in zip(TIMERS, SYSTEM_COLOURS, strict=False):
        by_start = overshoot(run, found[name]).groupby(level=0)
        for p in (0.5, 0.99):
            each = [stats.quantile(values.to_numpy(), p) for _, values in by_start]
            rows[f"{TIMERS[name]}, p{100 * p:g}"] = RangeRow(each, colour, marker="o" if p == 0.5 else "s")
    range_rows(axes, rows.values())
    near(axes)
    name_rows(axes, rows)
    asked = run.case(found["sleep"]).options["us"]
    axes.set_xlabel(f"delay beyond a requested sleep of {duration(asked)}, each start; line: median")
    axes.set_title("Timers: delay of a short sleep")


def placements(run: Run, axes: Axes) -> None:
    """Draw the baseline's median RTT of each start by placement, and its standard deviation over starts."""
    known = baseline(run)
    rows = (
        RangeRow(
            run.starts_of(case)[P50],
            PLACES[name].colour,
            f"  (sd of ln: {spread(run, case):.2f})",
            marker=PLACES[name].marker,
        )
        for name, case in known.items()
    )
    range_rows(axes, rows)
    near(axes)
    name_rows(axes, known)
    axes.set_xlabel("median RTT of raw sockets, each start; bar: range, line: median")
    axes.set_title("Repeatability of the baseline, by placement")


def drift(run: Run, axes: Axes) -> None:
    """Draw the baseline's median RTT of each start over time, as a ratio to the median of its placement."""
    rows = timeline(run)
    for name, case in baseline(run).items():
        mine = rows[rows["case"] == case]
        colour, marker = PLACES[name]
        axes.plot(mine["at_s"], mine["ratio"], marker=marker, ms=6, lw=1.2, color=colour, label=name)
    taken = rows[rows["stolen"] > STOLEN]
    kind: dict[str, Any] = {"color": "black", "ms": 9, "mew": 1.6}
    axes.plot(taken["at_s"], taken["ratio"], "x", label=f"steal time above {100 * STOLEN:g} %", **kind)
    axes.axhline(1, color="black", lw=1)
    axes.set_yscale("log")
    axes.set_ylim(min(0.9, rows["ratio"].min() / 1.05), max(1.1, rows["ratio"].max() * 1.05))
    ratio_axis(axes.yaxis)
    axes.set_ylabel("median RTT / median of its placement")
    axes.set_xlabel("time since the run began [s]")
    axes.legend()
    axes.set_title("Drift of the baseline, start by start")


PANELS = (hiccups, timers, placements, drift)
