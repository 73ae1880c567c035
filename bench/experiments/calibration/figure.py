"""Panels that compare what was measured with what is true: the same run in virtual time."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench import stats
from bench.analysis.quantiles import times
from bench.drawing.axes import GREY, SYSTEM_COLOURS, curve, distribution_axes, ratio_axis, small, tail_scale, time_axis
from bench.experiments.calibration.findings import MARGIN, SHOWN, busiest, frozen, truths, virtual
from bench.experiments.calibration.plan import PACED_PER_S
from bench.run.frames import Run
from bench.text import duration

TITLE = "How accurate are this instrument's quantiles?"

MEASURED, TRUE, THEORY = SYSTEM_COLOURS[0], SYSTEM_COLOURS[3], SYSTEM_COLOURS[2]
LOOKS = dict(zip(SHOWN, zip("osD^", (SYSTEM_COLOURS[i] for i in (0, 2, 1, 3)), strict=True), strict=True))


def against_truth(run: Run, axes: Axes) -> None:
    """Draw every quantile as measured against its true value; the band is ten per cent wide on either side."""
    found = truths(run)
    ends = np.array([0.8 * min(one.true for one in found), 1.25 * max(one.true for one in found)])
    band = ends / (1 + MARGIN), ends * (1 + MARGIN)
    axes.fill_between(ends, *band, color="#bbbbbb", alpha=0.4, lw=0, label=f"within {100 * MARGIN:g} %")
    axes.plot(ends, ends, color="black", lw=1)
    for p, (marker, colour) in LOOKS.items():
        mine = [one for one in found if one.p == p]
        at, low, high = ([getattr(one, part) for one in mine] for part in ("true", "low", "high"))
        axes.vlines(at, low, high, color=colour, lw=2)
        axes.plot(at, [one.measured for one in mine], marker, color=colour, ms=6, label=f"p{100 * p:g}")
    for scale, axis in ((axes.set_xscale, axes.xaxis), (axes.set_yscale, axes.yaxis)):
        scale("log")
        time_axis(axis)
    axes.set_xlabel("true value: the same requests in virtual time")
    axes.set_ylabel("measured, with its range over starts")
    axes.legend()
    axes.set_title("Quantiles: measured against true")


def errors(run: Run, axes: Axes) -> None:
    """Draw the ratio of each measured quantile to its true value, case by case."""
    found = truths(run)
    names = list(dict.fromkeys(one.label for one in found))
    axes.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color="#bbbbbb", alpha=0.35, lw=0, zorder=0.5)
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
    ratio_axis(axes.xaxis)
    axes.set_yticks(range(len(names)), names, fontsize=small(len(names)))
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.yaxis.grid(False)
    axes.set_xlabel(f"measured / true; grey band: within {100 * MARGIN:g} %")
    axes.legend()
    axes.set_title("Ratio of measured to true, case by case")


def _curve(axes: Axes, values: "pd.Series[float]", label: str, colour: str, line: str) -> None:
    curve(axes, values, f"{label}, n = {len(values):,}", colour, line)


def open_loop(run: Run, axes: Axes) -> None:
    """Draw the response times at the highest rate: measured, in virtual time, and predicted by M/M/1."""
    case = busiest(run)
    of = run.case(case)
    _curve(axes, times(run, case, "response"), "measured", MEASURED, "-")
    _curve(axes, times(virtual(run), case, "response"), "true: virtual time", TRUE, "--")
    mean = float(of.options["mean_us"])
    if of.options["law"] == "exponential" and of.offered_per_s * mean < 1e6:
        grid = np.linspace(0.02, 0.9999, 4000)
        theory = -np.log1p(-grid) * mean / (1 - of.offered_per_s * mean / 1e6)
        axes.plot(theory, tail_scale(grid), ":", color=THEORY, lw=2, label="M/M/1, steady state")
    distribution_axes(axes, "requests")
    axes.set_xlabel("response time (from the scheduled send time)")
    axes.set_title(f"Open loop, {of.offered_per_s:g} requests/s: measured and true")


def freeze(run: Run, axes: Axes) -> None:
    """Draw one freeze of the server: RTT as recorded, corrected for coordinated omission, and response times."""
    case = frozen(run)
    rows = run.samples_of(case)
    recorded = rows["rtt_ns"] / 1e3
    curves = (
        ("RTT, as recorded", recorded, GREY, ":"),
        (
            "corrected for coordinated omission",
            pd.Series(stats.corrected(recorded.to_numpy(), 1e6 / PACED_PER_S)),
            THEORY,
            "-.",
        ),
        ("response time, measured", (rows["rtt_ns"] + rows["lag_ns"]) / 1e3, MEASURED, "-"),
        ("response time, true", _all_responses(virtual(run), case), TRUE, "--"),
    )
    for label, values, colour, line in curves:
        _curve(axes, values, label, colour, line)
    distribution_axes(axes, "requests")
    axes.set_xlabel("time of a request, warm-up included")
    frozen_ms = run.case(case).options["freeze_ms"]
    axes.set_title(f"A server freeze of {duration(1e3 * frozen_ms)}, calls at a fixed rate")


def _all_responses(run: Run, case: int) -> "pd.Series[float]":
    rows = run.samples_of(case)
    return (rows["rtt_ns"] + rows["lag_ns"]) / 1e3


PANELS = (against_truth, errors, open_loop, freeze)
