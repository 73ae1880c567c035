"""Panels that compare what was measured with what is true: the same run in virtual time."""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench import stats
from bench.analysis.quantiles import times
from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    Look,
    curve,
    distribution_axes,
    interval_row,
    log_axis,
    name_rows,
    ratio_axis,
    tail_scale,
)
from bench.experiments.calibration.findings import MARGIN, SHOWN, busiest, frozen, truths, virtual
from bench.experiments.calibration.plan import PACED_PER_S
from bench.run.frames import Run
from bench.text import duration

TITLE = "How accurate are this instrument's quantiles?"

MEASURED, TRUE, THEORY = SYSTEM_COLOURS[0], SYSTEM_COLOURS[3], SYSTEM_COLOURS[2]
LOOKS = dict(zip(SHOWN, map(Look, (SYSTEM_COLOURS[place] for place in (0, 2, 1, 3)), "osD^"), strict=True))


def against_truth(run: Run, axes: Axes) -> None:
    """Draw every quantile as measured against its true value; the band is ten per cent wide on either side."""
    quantiles = truths(run)
    ends = np.array(
        [0.8 * min(quantile.true for quantile in quantiles), 1.25 * max(quantile.true for quantile in quantiles)]
    )
    margin = ends / (1 + MARGIN), ends * (1 + MARGIN)
    axes.fill_between(ends, *margin, color="#bbbbbb", alpha=0.4, lw=0, label=f"within {100 * MARGIN:g} %")
    axes.plot(ends, ends, color="black", lw=1)
    for p, (colour, marker) in LOOKS.items():
        of_p = [quantile for quantile in quantiles if quantile.p == p]
        at, low, high = ([getattr(quantile, part) for quantile in of_p] for part in ("true", "low", "high"))
        axes.vlines(at, low, high, color=colour, lw=2)
        axes.plot(at, [quantile.measured for quantile in of_p], marker, color=colour, ms=6, label=f"p{100 * p:g}")
    log_axis(axes.xaxis)
    log_axis(axes.yaxis)
    axes.set_xlabel("true value: the same requests in virtual time")
    axes.set_ylabel("measured, with its range over starts")
    axes.set_title("Quantiles: measured against true")


def errors(run: Run, axes: Axes) -> None:
    """Draw the ratio of each measured quantile to its true value, case by case."""
    names = list(dict.fromkeys(quantile.label for quantile in truths(run)))
    axes.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color="#bbbbbb", alpha=0.35, lw=0, zorder=0.5)
    for quantile in truths(run):
        y, ends = (
            names.index(quantile.label) + 0.2 * (SHOWN.index(quantile.p) - 1.5),
            (quantile.measured, quantile.low, quantile.high),
        )
        interval_row(axes, y, np.divide(ends, quantile.true), LOOKS[quantile.p], label=f"p{100 * quantile.p:g}")
    ratio_axis(axes)
    name_rows(axes, names)
    axes.yaxis.grid(False)
    axes.set_xlabel(f"measured / true; grey band: within {100 * MARGIN:g} %")
    axes.set_title("Ratio of measured to true, case by case")


def _curve(axes: Axes, values: Any, label: str, colour: str, line: str) -> None:
    curve(axes, stats.distribution(np.asarray(values)), f"{label}, n = {len(values):,}", colour, line)


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
    recorded = run.samples_of(case)["rtt_ns"] / 1e3
    _curve(axes, recorded, "RTT, as recorded", GREY, ":")
    _curve(axes, stats.corrected(recorded.to_numpy(), 1e6 / PACED_PER_S), "corrected for coordinated omission", THEORY,
           "-.")  # fmt: skip
    _curve(axes, _all_responses(run, case), "response time, measured", MEASURED, "-")
    _curve(axes, _all_responses(virtual(run), case), "response time, true", TRUE, "--")
    distribution_axes(axes, "requests")
    axes.set_xlabel("time of a request, warm-up included")
    frozen_ms = run.case(case).options["freeze_ms"]
    axes.set_title(f"A server freeze of {duration(1e3 * frozen_ms)}, calls at a fixed rate")


def _all_responses(run: Run, case: int) -> "pd.Series[float]":
    rows = run.samples_of(case)
    return (rows["rtt_ns"] + rows["lag_ns"]) / 1e3


PANELS = (against_truth, errors, open_loop, freeze)
