"""Panels of the machine itself: scheduling delays, timers, the baseline by placement, and its drift."""

from matplotlib.axes import Axes

from bench import stats
from bench.drawing.axes import (
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    Look,
    RangeRow,
    curve,
    distribution_axes,
    log_axis,
    median_rows,
    name_rows,
    range_rows,
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
        late_us, (colour, line) = overshoot(run, case).to_numpy(), NEIGHBOURS[name]
        curve(axes, stats.distribution(late_us), f"{WORDS[name]}, n = {len(late_us):,}", colour, line)
    distribution_axes(axes, "sleeps")
    asked_us = run.case(hiccup_cases(run)["nobody"]).options["us"]
    axes.set_xlabel(f"delay beyond a requested sleep of {duration(asked_us)}")
    axes.set_title("Scheduling delay after a sleep")


def timers(run: Run, axes: Axes) -> None:
    """Draw the delay of short sleeps by kind of timer: median and p99 of each start."""
    rows: dict[str, RangeRow] = {}
    for name, colour in zip(TIMERS, SYSTEM_COLOURS, strict=False):
        by_start = overshoot(run, timer_cases(run)[name]).groupby(level=0)
        for p, marker in ((0.5, "o"), (0.99, "s")):
            values = [stats.quantile(late_us.to_numpy(), p) for _, late_us in by_start]
            rows[f"{TIMERS[name]}, p{100 * p:g}"] = RangeRow(values, colour, marker=marker)
    range_rows(axes, rows.values())
    log_axis(axes.xaxis)
    name_rows(axes, rows)
    asked_us = run.case(timer_cases(run)["sleep"]).options["us"]
    axes.set_xlabel(f"delay beyond a requested sleep of {duration(asked_us)}, each start; line: median")
    axes.set_title("Timers: delay of a short sleep")


def placements(run: Run, axes: Axes) -> None:
    """Draw the baseline's median RTT of each start by placement, and its standard deviation over starts."""
    cases = baseline(run)
    median_rows(axes, (RangeRow(run.starts_of(case)[P50], PLACES[name].colour, f"  (sd of ln: {spread(run, case):.2f})",
                                marker=PLACES[name].marker) for name, case in cases.items()))  # fmt: skip
    name_rows(axes, cases)
    axes.set_xlabel("median RTT of raw sockets, each start; bar: range, line: median")
    axes.set_title("Repeatability of the baseline, by placement")


def drift(run: Run, axes: Axes) -> None:
    """Draw the baseline's median RTT of each start over time, as a ratio to the median of its placement."""
    rows = timeline(run)
    for name, case in baseline(run).items():
        starts, (colour, marker) = rows[rows["case"] == case], PLACES[name]
        axes.plot(starts["at_s"], starts["ratio"], marker=marker, ms=6, lw=1.2, color=colour, label=name)
    stolen = rows[rows["stolen"] > STOLEN]
    if len(stolen):
        axes.plot(stolen["at_s"], stolen["ratio"], "o", color="black", ms=13, mfc="none", mew=1.4,
                  label=f"steal time above {100 * STOLEN:g} %")  # fmt: skip
    axes.axhline(1, color="black", lw=1)
    log_axis(axes.yaxis, "{:g}".format)
    axes.set_ylabel("median RTT / median of its placement")
    axes.set_xlabel("time since the run began [s]")
    axes.set_title("Drift of the baseline, start by start")


PANELS = (hiccups, timers, placements, drift)
