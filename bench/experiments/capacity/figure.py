"""Panels of a search for the highest rate at which a service level objective (SLO) is met."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.analysis.quantiles import times
from bench.drawing.axes import (
    ROLE_COLOURS,
    ROLE_MARKERS,
    SYSTEM_COLOURS,
    curve,
    distribution_axes,
    log_axis,
    nothing,
    tail_scale,
    time_axis,
)
from bench.experiments.capacity.findings import bracket, case_at, probes, searched
from bench.run.frames import Run
from bench.text import duration, quantity

TITLE = "What is the highest rate that meets a service level objective?"

MET, VIOLATED = SYSTEM_COLOURS[2], SYSTEM_COLOURS[3]
OUTCOMES = ((True, MET, "o", "SLO met"), (False, VIOLATED, "s", "SLO violated"))


def _band(run: Run, span: Any) -> None:
    low, high = bracket(run)
    if low:
        span(low, high, color="#bbbbbb", alpha=0.45, lw=0, zorder=0.5, label="capacity: in this interval")


def _rates(axis: Any) -> None:
    log_axis(axis, quantity)


def against_rate(run: Run, axes: Axes) -> None:
    """Draw the quantile of the response time at each rate that was tried, and the limit of the SLO."""
    rows, found = probes(run), searched(run)
    for met, colour, marker, word in OUTCOMES:
        mine = rows[(rows["met"] == met) & rows["quantile_us"].notna()]
        axes.plot(mine["rate"], mine["quantile_us"], marker, ms=7, mec="white", mew=0.8, color=colour, label=word)
    unknown = rows[rows["quantile_us"].isna()]
    top = max(float(rows["quantile_us"].max()), found["limit_us"])
    if len(unknown):
        axes.plot(
            unknown["rate"], [top] * len(unknown), "x", ms=8, mew=2, color=VIOLATED, label="overloaded: not known"
        )
    axes.axhline(found["limit_us"], color="black", lw=1, ls="--", label=f"SLO {found['objective']}")
    _band(run, axes.axvspan)
    axes.set(xscale="log", yscale="log")
    _rates(axes.xaxis)
    time_axis(axes.yaxis)
    axes.set_xlabel("offered requests per second")
    axes.set_ylabel(f"p{100 * found['p']:g} of the response time, each start")
    axes.legend()
    axes.set_title("Response time against offered rate")


def in_order(run: Run, axes: Axes) -> None:
    """Draw the search: the offered rate of each probe, in order."""
    rows = probes(run)
    axes.plot(range(1, len(rows) + 1), rows["rate"], color="#bbbbbb", lw=1)
    for met, colour, marker, word in OUTCOMES:
        mine = rows[rows["met"] == met]
        axes.plot(mine.index + 1, mine["rate"], marker, ms=7, mec="white", mew=0.8, color=colour, label=word)
    _band(run, axes.axhspan)
    axes.set_yscale("log")
    _rates(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("probe (each is a fresh start)")
    axes.set_ylabel("offered requests per second")
    axes.legend()
    axes.set_title("The search: double, bisect, confirm")


def at_the_edge(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the response times at both ends of the interval."""
    drawn = zip(bracket(run), (MET, VIOLATED), ("-", "--"), strict=True)
    ends = [(rate, case_at(run, rate), colour, line) for rate, colour, line in drawn]
    known = [(rate, case, colour, line) for rate, case, colour, line in ends if case is not None and run.count(case)]
    if not known:
        return nothing(axes, "neither end of the interval was measured")
    for rate, case, colour, line in known:
        values = times(run, case, "response").to_numpy()
        curve(axes, values, f"{quantity(rate)} requests/s, n = {len(values):,}", colour, line)
    limit = searched(run)["limit_us"]
    axes.axvline(limit, color="black", lw=1, ls="--")
    axes.plot(
        limit,
        tail_scale(searched(run)["p"]),
        "x",
        ms=10,
        mew=2,
        color="black",
        label=f"SLO {searched(run)['objective']}",
    )
    distribution_axes(axes, "requests")
    axes.set_xlabel("response time (from the scheduled send time)")
    axes.set_title("Response times just below and above the capacity")
    return None


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of each start against the offered rate, by role."""
    for role, colour in ROLE_COLOURS.items():
        rows = run.starts.dropna(subset=f"{role}_cpu_us_per_call").sort_values("offered_per_s")
        if len(rows) and rows[f"{role}_cpu_us_per_call"].max():
            values = rows[f"{role}_cpu_us_per_call"]
            axes.plot(
                rows["offered_per_s"], values, ROLE_MARKERS[role], ms=5, mec="white", mew=0.6, color=colour, label=role
            )
    _band(run, axes.axvspan)
    axes.set(xscale="log", yscale="log")
    _rates(axes.xaxis)
    log_axis(axes.yaxis, duration)
    axes.set_xlabel("offered requests per second")
    axes.set_ylabel("CPU time per call, each start")
    axes.legend()
    axes.set_title("CPU time per call, by rate and role")


PANELS = (against_rate, in_order, at_the_edge, cost)
