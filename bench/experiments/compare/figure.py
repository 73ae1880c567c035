"""Panels that hold one case against another, and against itself."""

from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, NullLocator

from bench.analysis.comparison import DIFFERENT, MARGIN, SAME
from bench.experiments.axes import GREY, distribution_axes, distribution_line, linear_axis, name_rows, time_axis
from bench.experiments.compare.findings import AGAIN, A, B, pairs
from bench.experiments.latency.figure import cpu_per_call
from bench.run.frames import Run, column

__all__ = ["PANELS", "TITLE", "by_block", "cpu_per_call", "distribution", "verdicts"]

TITLE = "Is B really faster than A?"

NAMES = {A: "A", AGAIN: "A again", B: "B"}
COLOURS = {A: "#0173b2", AGAIN: "#56b4e9", B: "#d55e00"}
VERDICT_COLOURS = {DIFFERENT: "#d55e00", SAME: "#029e73"}


def by_block(run: Run, axes: Axes) -> None:
    """Draw the start medians of each block: what disturbs a block disturbs all of it."""
    for case, colour in COLOURS.items():
        rows = run.starts_of(case).sort_values("block")
        axes.plot(rows["block"] + 1, rows[column(0.5)], "o-", color=colour, ms=6, lw=1.2, label=_label(run, case))
    axes.set_yscale("log")
    time_axis(axes.yaxis)
    axes.xaxis.set_major_locator(FixedLocator(range(1, run.plan.starts + 1)))
    axes.set_xlabel("block: each case once, in random order")
    axes.set_ylabel("median RTT of a start")
    axes.legend(loc="best")
    axes.set_title("Block by block")


def _label(run: Run, case: int) -> str:
    return f"{NAMES[case]}: {run.labels[case].removesuffix(' again')}"


def verdicts(run: Run, axes: Axes) -> None:
    """Draw each quantity of B over A with its interval and verdict; below it A over itself; the margin as a band."""
    found, rows = pairs(run), []
    for ours, itself in zip(found["B"], found["A again"], strict=False):
        rows += [(f"{ours.quantity}\nB over A", ours), (f"{ours.quantity}\nA over A", itself)]
    axes.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color="#bbbbbb", alpha=0.35, lw=0)
    axes.axvline(1, color="black", lw=1)
    for y, (_, one) in enumerate(rows):
        colour = VERDICT_COLOURS.get(one.verdict, GREY)
        if one.low == one.low:
            axes.plot([one.low, one.high], [y, y], color=colour, lw=7, alpha=0.35, solid_capstyle="round")
        axes.plot(one.ratio, y, "|", ms=16, mew=2, color="black")
        axes.annotate(
            f"{one.ratio:.2f}  {one.verdict}",
            (one.high if one.high == one.high else one.ratio, y),
            (10, 0),
            textcoords="offset points",
            va="center",
            fontsize=9.5,
        )
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(low / 1.05, high * (high / low) ** 0.9 * 1.1)
    axes.xaxis.set_major_locator(
        FixedLocator([v for v in (0.2, 0.5, 0.8, 1, 1.25, 2, 5, 10, 50) if low / 1.1 < v < high * 1.2])
    )
    axes.xaxis.set_minor_locator(NullLocator())
    linear_axis(axes.xaxis)
    name_rows(axes, [name for name, _ in rows], fontsize=9)
    axes.set_xlabel(f"ratio, with its interval; the band is the margin of {MARGIN:.0%}")
    axes.set_title("Verdicts, and the same of A against itself")


def distribution(run: Run, axes: Axes) -> None:
    """Draw the distribution of all calls of A and of B."""
    for case, line in ((A, "-"), (B, "--")):
        distribution_line(run, axes, case, COLOURS[case], line, "o", _label(run, case))
    distribution_axes(axes)
    axes.set_title("Distribution; p50, p90, p99, p99.9 over starts")


PANELS = (by_block, verdicts, distribution, cpu_per_call)
