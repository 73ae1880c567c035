"""Panels of a search for the highest rate at which a service level objective (SLO) is met."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench import stats
from bench.drawing.axes import (
    ROLE_COLOURS,
    ROLE_MARKERS,
    SYSTEM_COLOURS,
    curve,
    distribution_axes,
    log_axis,
    say_why_empty,
    tail_scale,
)
from bench.experiments.capacity.findings import bracket, case_at, is_at_least, probes, response_us, searched
from bench.run.frames import Run
from bench.text import counted, listed, quantity

TITLE = "What is the highest rate that meets a service level objective?"

MET, VIOLATED = SYSTEM_COLOURS[2], SYSTEM_COLOURS[3]
OUTCOMES = ((True, MET, "o", "SLO met"), (False, VIOLATED, "s", "SLO violated"))


def _band(run: Run, span: Any) -> None:
    low, high = bracket(run)
    if low:
        why = "; the clients may be the limit" if is_at_least(run) else ""
        label = f"from the highest confirmed rate to the one that violated the SLO{why}"
        span(low, high, color="#bbbbbb", alpha=0.45, lw=0, zorder=0.5, label=label)


def against_rate(run: Run, axes: Axes) -> None:
    """Draw the quantile of the response time at each rate that was tried, and the limit of the SLO."""
    rows, search = probes(run), searched(run)
    for met, colour, marker, word in OUTCOMES:
        shown = rows[rows["met"] == met]
        axes.plot(shown["rate"], shown["quantile_us"], marker, ms=7, mec="white", mew=0.8, color=colour, label=word)
    unknown = rows[rows["quantile_us"].isna()]
    if len(unknown):
        top = max([search["limit_us"], *rows["quantile_us"].dropna()])
        axes.plot(unknown["rate"], [top] * len(unknown), "x", ms=8, mew=2, color=VIOLATED,
                  label="requests without a right reply: not known")  # fmt: skip
    axes.axhline(search["limit_us"], color="black", lw=1, ls="--", label=f"SLO {search['objective']}")
    _band(run, axes.axvspan)
    log_axis(axes.xaxis, quantity)
    log_axis(axes.yaxis)
    axes.set_xlabel("offered requests per second")
    axes.set_ylabel(f"p{100 * search['p']:g} of the response time, each start")
    axes.set_title("Response time against offered rate")


def in_order(run: Run, axes: Axes) -> None:
    """Draw the search: the offered rate of each probe, in order."""
    rows = probes(run)
    axes.plot(range(1, len(rows) + 1), rows["rate"], color="#bbbbbb", lw=1)
    for met, colour, marker, word in OUTCOMES:
        shown = rows[rows["met"] == met]
        axes.plot(shown.index + 1, shown["rate"], marker, ms=7, mec="white", mew=0.8, color=colour, label=word)
    _band(run, axes.axhspan)
    log_axis(axes.yaxis, quantity)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("probe (each is a fresh start)")
    axes.set_ylabel("offered requests per second")
    axes.set_title("The search: double, bisect, confirm")


def at_the_edge(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of all response times of each start at the ends of the bracket, by its outcome."""
    ends = [(rate, case_at(run, rate)) for rate in bracket(run)]
    if not any(case is not None and run.count(case) for _, case in ends):
        return say_why_empty(axes, "neither end of the bracket was measured")
    for (rate, case), line in zip(ends, ("-", "--"), strict=True):
        if case is None:
            continue
        of_starts = response_us(run, case)
        for is_met, colour, _, word in OUTCOMES:
            alike = [us for start, us in of_starts.items() if probes(run).loc[start, "met"] == is_met]
            label = f"{quantity(rate)} requests/s, {word}: {counted(len(alike), 'start')}"
            for place, us in enumerate(alike):
                curve(axes, stats.distribution(us), "" if place else label, colour, line, width=1.1)
    limit, p, objective = (searched(run)[name] for name in ("limit_us", "p", "objective"))
    axes.axvline(limit, color="black", lw=1, ls="--")
    axes.plot(limit, tail_scale(p), "x", ms=10, mew=2, color="black", label=f"SLO {objective}")
    distribution_axes(axes, "requests")
    axes.set_xlabel("response time (from the scheduled send time)")
    at = listed(quantity(rate) for rate, case in ends if case is not None)
    axes.set_title(f"Response times of each start at {at} requests/s")
    return None


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of each start against the offered rate, by role."""
    for role, colour in ROLE_COLOURS.items():
        spent_us = run.starts[f"{role}_cpu_us_per_call"]
        if spent_us.any():
            axes.plot(run.starts["offered_per_s"], spent_us, ROLE_MARKERS[role], ms=5, mec="white", mew=0.6,
                      color=colour, label=role)  # fmt: skip
    _band(run, axes.axvspan)
    log_axis(axes.xaxis, quantity)
    log_axis(axes.yaxis)
    axes.set_xlabel("offered requests per second")
    axes.set_ylabel("CPU time per call, each start")
    axes.set_title("CPU time per call, by rate and role")


PANELS = (against_rate, in_order, at_the_edge, cost)
