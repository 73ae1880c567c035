"""Panels of the machine itself: hiccups, timers, the baseline by placement, and how it drifts."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from bench import stats
from bench.experiments.axes import RangeRow, curve, distribution_axes, log_room, name_rows, range_rows
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

NEIGHBOURS = {"nobody": ("#0173b2", "-"), "same": ("#d55e00", "--"), "others": ("#029e73", "-.")}
PLACES = dict(zip(PLACEMENTS, ("#0173b2", "#de8f05", "#029e73"), strict=True))


def hiccups(run: Run, axes: Axes) -> None:
    """Draw how much longer than asked a wait took: alone, and beside processes that compute."""
    for name, case in hiccup_cases(run).items():
        over = overshoot(run, case).to_numpy()
        colour, line = NEIGHBOURS[name]
        curve(axes, np.maximum(over, 1.0), f"{WORDS[name]}, n = {len(over):,}", colour, line, 1.9)
    distribution_axes(axes)
    axes.set_ylabel("waits that were late by no more")
    asked = run.case(hiccup_cases(run)["nobody"]).options["us"]
    axes.set_xlabel(f"late by, after a wait of {duration(asked)}")
    axes.set_title("Hiccups: what the machine adds to a wait")


def timers(run: Run, axes: Axes) -> None:
    """Draw how late short waits end, by kind of timer: median and p99 of each start."""
    found = timer_cases(run)
    rows: dict[str, RangeRow] = {}
    for name, colour in zip(TIMERS, ("#0173b2", "#d55e00", "#029e73"), strict=True):
        by_start = overshoot(run, found[name]).groupby(level=0)
        for p in (0.5, 0.99):
            each = np.maximum([stats.quantile(values.to_numpy(), p) for _, values in by_start], 0.1)
            rows[f"{TIMERS[name]}, p{100 * p:g}"] = RangeRow(each, colour)
    range_rows(axes, rows.values())
    log_room(axes, 1.5, 0.3)
    name_rows(axes, rows)
    asked = run.case(found["sleep"]).options["us"]
    axes.set_xlabel(f"late by, after a wait of {duration(asked)}: each start, range and middle")
    axes.set_title("Timers: how late a short wait ends")


def placements(run: Run, axes: Axes) -> None:
    """Draw the baseline's start medians by placement, and how well they repeat."""
    known = baseline(run)
    rows = (
        RangeRow(run.starts_of(case)[P50], PLACES[name], f"  sd of ln {spread(run, case):.2f}")
        for name, case in known.items()
    )
    range_rows(axes, rows)
    log_room(axes, 1.3, 0.6, 1.2)
    name_rows(axes, known)
    axes.set_xlabel("median RTT of raw sockets: each start, range and middle")
    axes.set_title("Placement: how well the baseline repeats")


def drift(run: Run, axes: Axes) -> None:
    """Draw the baseline's start medians in the order of measuring, each over the median of its placement."""
    rows = timeline(run)
    for name, case in baseline(run).items():
        mine = rows[rows["case"] == case]
        axes.plot(mine["at_s"], mine["ratio"], "o-", ms=6, lw=1.2, color=PLACES[name], label=name)
    taken = rows[rows["stolen"] > STOLEN]
    kind: dict[str, Any] = {"color": "black", "ms": 9, "mew": 1.6}
    axes.plot(taken["at_s"], taken["ratio"], "x", label=f"more than {STOLEN:.0%} of the CPUs stolen", **kind)
    axes.axhline(1, color="black", lw=1)
    axes.set_yscale("log")
    low, high = min(0.8, rows["ratio"].min() / 1.1), max(1.25, rows["ratio"].max() * 1.1)
    axes.set_ylim(low, high * (high / low) ** 0.35)
    axes.yaxis.set_major_locator(FixedLocator([v for v in (0.1, 0.2, 0.5, 0.8, 1, 1.25, 2, 5, 10) if low <= v <= high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"× {value:g}"))
    axes.set_ylabel("start median over its placement's")
    axes.set_xlabel("seconds since the run began")
    axes.legend(loc="upper left", ncols=2)
    axes.set_title("Drift: the baseline, start by start")


PANELS = (hiccups, timers, placements, drift)
