"""Panels that hold what was measured against what is true: the same run in virtual time."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from bench import stats
from bench.analysis.quantiles import times
from bench.experiments.axes import GREY, curve, distribution_axes, linear_axis, tail_scale, time_axis
from bench.experiments.calibration.findings import MARGIN, SHOWN, busiest, frozen, truths, virtual
from bench.experiments.calibration.plan import PACED_PER_S
from bench.run.frames import Run
from bench.text import duration

TITLE = "Can this instrument be trusted?"

MEASURED, TRUE, LAW = "#0173b2", "#d55e00", "#029e73"
LOOKS = {0.5: ("o", "#0173b2"), 0.8: ("s", "#029e73"), 0.95: ("D", "#de8f05"), 0.99: ("^", "#cc3311")}


def against_truth(run: Run, axes: Axes) -> None:
    """Draw every quantile as it was measured against what it should have been, with a band of ten per cent."""
    found = truths(run)
    ends = np.array([0.8 * min(one.true for one in found), 1.25 * max(one.true for one in found)])
    band = ends / (1 + MARGIN), ends * (1 + MARGIN)
    axes.fill_between(ends, *band, color="#bbbbbb", alpha=0.4, lw=0, label=f"within {MARGIN:.0%}")
    axes.plot(ends, ends, color="black", lw=1)
    for p, (marker, colour) in LOOKS.items():
        mine = [one for one in found if one.p == p]
        at, low, high = ([getattr(one, part) for one in mine] for part in ("true", "low", "high"))
        axes.vlines(at, low, high, color=colour, lw=2)
        axes.plot(at, [one.measured for one in mine], marker, color=colour, ms=6, label=f"p{100 * p:g}")
    for scale, axis in ((axes.set_xscale, axes.xaxis), (axes.set_yscale, axes.yaxis)):
        scale("log")
        time_axis(axis)
    axes.set_xlabel("true: the same requests in virtual time")
    axes.set_ylabel("measured, with its interval")
    axes.legend(loc="upper left")
    axes.set_title("Every quantile, measured against true")


def errors(run: Run, axes: Axes) -> None:
    """Draw how far each quantile is off, case by case."""
    found = truths(run)
    names = list(dict.fromkeys(one.label for one in found))
    axes.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color="#bbbbbb", alpha=0.35, lw=0)
    axes.axvline(1, color="black", lw=1)
    for one in found:
        y, (marker, colour) = names.index(one.label) + 0.2 * (SHOWN.index(one.p) - 1.5), LOOKS[one.p]
        axes.plot([one.low / one.true, one.high / one.true], [y, y], color=colour, lw=4, alpha=0.35)
        axes.plot(one.measured / one.true, y, marker, color=colour, ms=6)
    for p, (marker, colour) in LOOKS.items():
        axes.plot([], [], marker, color=colour, label=f"p{100 * p:g}")
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(min(low, 0.85) / 1.05, max(high, 1.2) * 1.05)
    ticks = [v for v in (0.3, 0.5, 0.7, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2, 3, 5, 10, 20) if low / 1.1 < v < high * 1.2]
    axes.xaxis.set_major_locator(FixedLocator(ticks if len(ticks) < 10 else ticks[::2]))
    axes.xaxis.set_minor_locator(NullLocator())
    linear_axis(axes.xaxis)
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) + 0.6, -0.6)  # room for the legend
    axes.yaxis.grid(False)
    axes.set_xlabel("measured over true; the band is 10 %")
    axes.legend(loc="lower right", ncols=2)
    axes.set_title("How far off, case by case")


def _curve(axes: Axes, values: "pd.Series[float]", label: str, colour: str, line: str) -> None:
    curve(axes, values, f"{label}, n = {len(values):,}", colour, line)


def open_loop(run: Run, axes: Axes) -> None:
    """Draw response times at the highest rate: measured, in virtual time, and by the law of M/M/1 without end."""
    case = busiest(run)
    of = run.case(case)
    _curve(axes, times(run, case, "response"), "measured", MEASURED, "-")
    _curve(axes, times(virtual(run), case, "response"), "true: the same requests", TRUE, "--")
    mean = float(of.options["mean_us"])
    if of.options["law"] == "exponential" and of.offered_per_s * mean < 1e6:
        grid = np.linspace(0.001, 0.9999, 4000)
        axes.plot(-np.log1p(-grid) * mean / (1 - of.offered_per_s * mean / 1e6), tail_scale(grid), ":", color=LAW, lw=2,
                  label="M/M/1, a run without end")  # fmt: skip
    distribution_axes(axes)
    axes.set_xlabel("response time, from when due")
    axes.set_ylabel("requests that took no longer")
    axes.set_title(f"Open load of {of.offered_per_s:g}/s: measured, true, and the law")


def freeze(run: Run, axes: Axes) -> None:
    """Draw one freeze under a paced caller: as recorded, as expanded from that, and as the users had it."""
    case = frozen(run)
    rows = run.samples_of(case)
    recorded = rows["rtt_ns"] / 1e3
    curves = (
        ("recorded: from sending", recorded, GREY, ":"),
        ("expanded from that", pd.Series(stats.expanded(recorded.to_numpy(), 1e6 / PACED_PER_S)), LAW, "-."),
        ("measured: from when due", (rows["rtt_ns"] + rows["lag_ns"]) / 1e3, MEASURED, "-"),
        ("true", _all_responses(virtual(run), case), TRUE, "--"),
    )
    for label, values, colour, line in curves:
        _curve(axes, values, label, colour, line)
    distribution_axes(axes)
    low, high = recorded.min() / 1.3, 2 * recorded.max()
    axes.set_xlim(low, high)
    time_axis(axes.xaxis)
    axes.set_xlabel("time of a request, the whole window")
    axes.set_ylabel("requests that took no longer")
    frozen_ms = run.case(case).options["freeze_ms"]
    axes.set_title(f"A freeze of {duration(1e3 * frozen_ms)} under one paced caller")


def _all_responses(run: Run, case: int) -> "pd.Series[float]":
    rows = run.samples_of(case)
    return (rows["rtt_ns"] + rows["lag_ns"]) / 1e3


PANELS = (against_truth, errors, open_loop, freeze)
