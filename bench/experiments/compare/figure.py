"""Panels that compare one case with another, and with itself (A/A)."""

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.analysis.comparison import DIFFERENT, MARGIN, SAME
from bench.drawing.axes import (
    GREY,
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    Look,
    distribution_axes,
    distribution_line,
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
    """Draw the median RTT of each start, block by block: a disturbance of a block affects all its cases."""
    for case, colour in COLOURS.items():
        rows = run.starts_of(case).sort_values("block")
        axes.plot(rows["block"] + 1, rows[column(0.5)], color=colour, marker=MARKERS[case], ms=6, lw=1.2,
                  label=_label(run, case))  # fmt: skip
    log_axis(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("block: each case once, in random order")
    axes.set_ylabel("median RTT of a start")
    axes.set_title("Median RTT of each start, block by block")


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
        interval_row(axes, y, (ratio.ratio, ratio.low, ratio.high), drawn, f"{ratio.ratio:.2f}  {ratio.verdict}")
    ratio_axis(axes)
    name_rows(axes, [name for name, _ in rows], fontsize=9)
    axes.set_xlabel(f"ratio with its confidence interval; grey band: the margin of {100 * MARGIN:g} %")
    axes.set_title("Ratios B/A with verdicts, and A/A")


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of all calls of A and of B."""
    for case, line in ((A, "-"), (B, "--")):
        distribution_line(run, axes, case, COLOURS[case], line, MARKERS[case], _label(run, case))
    distribution_axes(axes)
    axes.set_title("Distribution of the RTT")


PANELS = (by_block, verdicts, distribution, cpu_per_call)
