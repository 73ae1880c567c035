"""Panels of a search for the highest rate at which an objective is kept."""

from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.analysis.quantiles import times
from bench.experiments.axes import ROLE_COLOURS, curve, distribution_axes, log_axis, nothing, tail_scale, time_axis
from bench.experiments.capacity.findings import bracket, case_at, probes, searched
from bench.run.frames import Run
from bench.text import duration, quantity

TITLE = "How many users can it serve in time?"

KEPT, LOST = "#029e73", "#d55e00"


def _band(run: Run, span: Any) -> None:
    low, high = bracket(run)
    if low:
        span(low, high, color="#bbbbbb", alpha=0.45, lw=0, label="the capacity lies here")


def _rates(axis: Any) -> None:
    log_axis(axis, quantity)


def against_rate(run: Run, axes: Axes) -> None:
    """Draw the quantile of the response time at each rate that was tried, and the bound."""
    rows, found = probes(run), searched(run)
    for kept, colour, word in ((True, KEPT, "kept"), (False, LOST, "lost")):
        mine = rows[(rows["kept"] == kept) & rows["quantile_us"].notna()]
        axes.plot(mine["rate"], mine["quantile_us"], "o", ms=7, mec="white", mew=0.8, color=colour, label=word)
    unknown = rows[rows["quantile_us"].isna()]
    top = max(float(rows["quantile_us"].max()), found["limit_us"])
    axes.plot(unknown["rate"], [top] * len(unknown), "x", ms=8, mew=2, color=LOST)
    axes.axhline(found["limit_us"], color="black", lw=1, ls="--", label=f"objective {found['objective']}")
    _band(run, axes.axvspan)
    axes.set(xscale="log", yscale="log")
    _rates(axes.xaxis)
    time_axis(axes.yaxis)
    axes.set_xlabel("offered requests per second")
    axes.set_ylabel(f"p{100 * found['p']:g} of the response time of a start")
    axes.legend(loc="upper left")
    axes.set_title("The objective against the offered rate")


def in_order(run: Run, axes: Axes) -> None:
    """Draw the search: the rate of each probe, in order."""
    rows = probes(run)
    axes.plot(range(1, len(rows) + 1), rows["rate"], color="#bbbbbb", lw=1)
    for kept, colour, word in ((True, KEPT, "kept"), (False, LOST, "lost")):
        mine = rows[rows["kept"] == kept]
        axes.plot(mine.index + 1, mine["rate"], "o", ms=7, mec="white", mew=0.8, color=colour, label=word)
    _band(run, axes.axhspan)
    axes.set_yscale("log")
    _rates(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("probe: a fresh start each")
    axes.set_ylabel("offered requests per second")
    axes.legend(loc="best")
    axes.set_title("The search: double, bisect, confirm")


def at_the_edge(run: Run, axes: Axes) -> None:
    """Draw the distribution of response times at both ends of the bracket."""
    ends = [(rate, case_at(run, rate), colour) for rate, colour in zip(bracket(run), (KEPT, LOST), strict=True)]
    known = [(rate, case, colour) for rate, case, colour in ends if case is not None and run.count(case)]
    if not known:
        return nothing(axes, "neither end of the bracket was measured")
    for rate, case, colour in known:
        values = times(run, case, "response").to_numpy()
        curve(axes, values, f"{quantity(rate)}/s, n = {len(values):,}", colour)
    limit = searched(run)["limit_us"]
    axes.axvline(limit, color="black", lw=1, ls="--")
    axes.plot(limit, tail_scale(searched(run)["p"]), "x", ms=10, mew=2, color="black", label="the objective")
    distribution_axes(axes)
    axes.set_xlabel("response time, from when due")
    axes.set_ylabel("requests that took no longer")
    axes.set_title("Response times on both sides of the capacity")
    return None


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time of a call against the rate, by role."""
    for role, colour in ROLE_COLOURS.items():
        rows = run.starts.dropna(subset=f"{role}_cpu_us_per_call").sort_values("offered_per_s")
        if len(rows) and rows[f"{role}_cpu_us_per_call"].max():
            values = rows[f"{role}_cpu_us_per_call"]
            axes.plot(rows["offered_per_s"], values, "o", ms=5, mec="white", mew=0.6, color=colour, label=role)
    _band(run, axes.axvspan)
    axes.set(xscale="log", yscale="log")
    _rates(axes.xaxis)
    log_axis(axes.yaxis, duration)
    axes.set_xlabel("offered requests per second")
    axes.set_ylabel("CPU time of one call")
    axes.legend(loc="best")
    axes.set_title("What a call costs, by rate and role: each start")


PANELS = (against_rate, in_order, at_the_edge, cost)
