"""Panels that compare one case with another, and with itself (A/A)."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.analysis.comparison import DIFFERENT, MARGIN, SAME, effect, ratios
from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    Look,
    distribution_of,
    draw_cdfs,
    interval_row,
    log_axis,
    name_rows,
    ratio_axis,
)
from bench.experiments.compare.findings import AGAIN, A, B, pairs
from bench.experiments.latency.figure import cpu_per_call
from bench.run.frames import Run, column

__all__ = ["PANELS", "TITLE", "by_block", "cpu_per_call", "distribution", "verdicts"]

TITLE = "Is B really faster than A?"

NAMES = {A: "A", AGAIN: "A again", B: "B"}
COLOURS = {A: SYSTEM_COLOURS[0], AGAIN: SYSTEM_COLOURS[6], B: SYSTEM_COLOURS[3]}
MARKERS = dict(zip(COLOURS, SYSTEM_MARKERS, strict=False))
VERDICT_COLOURS = {DIFFERENT: SYSTEM_COLOURS[3], SAME: SYSTEM_COLOURS[2]}


def by_block(run: Run, axes: Axes) -> None:
    """Draw the ratio of the median RTT in each block, B over A and A again over A, with both intervals."""
    for case, name in ((AGAIN, "A again / A"), (B, "B / A")):
        logs, found = ratios(run, A, case, column(0.5)), effect(run, A, case, column(0.5))
        if found.has_ends:
            axes.axhspan(found.low, found.high, color=COLOURS[case], alpha=0.25, lw=0)
        axes.plot(logs.index + 1, np.exp(logs), MARKERS[case], color=COLOURS[case], ms=5, label=name)
    axes.axhline(1, color=GREY, lw=1, zorder=0.5)
    log_axis(axes.yaxis, "{:g}".format)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("block: fresh processes of each case; band: 95 % confidence interval")
    axes.set_ylabel("ratio of median RTT")
    axes.set_title("Ratio of the median RTT in each block")


def _label(run: Run, case: int) -> str:
    return f"{NAMES[case]}: {run.labels[case].removesuffix(' again')}"


def verdicts(run: Run, axes: Axes) -> None:
    """Draw each ratio B/A with its confidence interval and verdict; below it A/A; the margin as a band."""
    ratios, rows = pairs(run), []
    for ours, itself in zip(ratios["B"], ratios["A again"], strict=False):
        rows += [(f"{ours.quantity}\nB / A", ours), (f"{ours.quantity}\nA / A", itself)]
    axes.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color="#bbbbbb", alpha=0.35, lw=0, zorder=0.5)
    for y, (_, ratio) in enumerate(rows):
        drawn = Look(VERDICT_COLOURS.get(ratio.verdict, GREY), "D")
        interval_row(axes, y, (ratio.ratio, ratio.low, ratio.high), drawn, f"{ratio.ends[0]}  {ratio.verdict}")
    ratio_axis(axes)
    name_rows(axes, [name for name, _ in rows])
    axes.set_xlabel(f"ratio with its confidence interval; grey band: the margin of {100 * MARGIN:g} %")
    axes.set_title("Ratios B/A with verdicts, and A/A")


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of all calls of A and of B."""
    draw_cdfs(axes, [
        distribution_of(run, case, Look(COLOURS[case], MARKERS[case]), line, _label(run, case))
        for case, line in ((A, "-"), (B, "--"))
    ])  # fmt: skip
    axes.set_title("Distribution of the RTT")


PANELS = (by_block, verdicts, distribution, cpu_per_call)
