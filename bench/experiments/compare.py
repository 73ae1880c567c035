"""compare.ipynb: two cases in turns, and the first one twice: B over A, and A over itself."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.analysis import verdicts
from bench.analysis.comparison import MARGIN, SAME, Comparison, compare_cases, effect, ratios
from bench.grammar import P50, CpuBars, Estimand, Estimate
from bench.grammar.axes import (
    GREY,
    SYSTEM_COLOURS,
    SYSTEM_MARKERS,
    Distribution,
    Look,
    draw_cdfs,
    interval_row,
    log_axis,
    name_rows,
    ratio_axis,
    times_of,
)
from bench.grammar.contrast import ratio_estimate
from bench.grammar.result_tables import has_own_requests
from bench.grammar.sweep import Bytes, as_sweep
from bench.grammar.table import as_table
from bench.measurement.validation.amount import InTurns
from bench.measurement.validation.cases import case_of
from bench.plan.case import Case
from bench.plan.labels import placed_as
from bench.run.frames import Run, once_per_run

TITLE = "Is B really faster than A?"
A, AGAIN, B = 0, 1, 2  # the cases of the plan
NAMES = {A: "A", AGAIN: "A again", B: "B"}
LOOKS = {
    case: Look(SYSTEM_COLOURS[index], marker)
    for case, index, marker in zip(NAMES, (0, 6, 3), SYSTEM_MARKERS, strict=False)
}
VERDICT_COLOURS = {"better": SYSTEM_COLOURS[0], "worse": SYSTEM_COLOURS[3], SAME: SYSTEM_COLOURS[2]}


@as_sweep()
def sweep(
    amount: InTurns,
    a: object = "{system: zeromq, transport: ipc}",
    b: object = "{system: zeromq, transport: tcp}",
    payload_bytes: Bytes = 1000,
) -> Iterator[Case]:
    """Yield case A, the same case A again, and case B: the A/A ratio is the noise that B over A is compared with.

    hosts: see ``bench.plan.hosts``; both cases are measured by the same machines.
    """
    shared: dict[str, Any] = {
        "payload_bytes": payload_bytes,
        "placement": amount.chosen_placement(),
        "hosts": amount.there,
    }
    case_a, case_b = case_of(a, "a", shared), case_of(b, "b", shared)
    yield from (case_a, case_a, case_b)


@once_per_run
def pairs(run: Run) -> dict[str, list[Comparison]]:
    """Return the comparisons of B with A, and of A with itself."""
    return {"B": compare_cases(run, A, B), "A again": compare_cases(run, A, AGAIN)}


def named(run: Run, case: int) -> str:
    """Return the name of a case, and its label."""
    return f"{NAMES[case]}: {run.labels[case].removesuffix(' again')}"


def b_over_a(run: Run) -> list[Estimate]:
    """Return each quantity of B divided by that of A, with the verdict beside the interval."""
    return [
        ratio_estimate(comparison.quantity, comparison.interval, f"; {comparison.words}", run.labels[A], (A, B))
        for comparison in pairs(run)["B"]
    ]


def a_and_b(run: Run) -> str:
    """Return in words what is compared."""
    a = run.case(A)
    size = "" if has_own_requests(run, a) else f"; {a.payload_bytes:,} B"
    verdict = pairs(run)["B"][0].words.partition(",")[0]
    faster = {"better": "B is faster by the median RTT: ", "worse": "B is slower by the median RTT: "}.get(verdict, "")
    return f"{faster}ratio B / A (B: {run.labels[B]}, A: {run.labels[A]}{size}; {placed_as(a)})"


answer = (Estimand(a_and_b, b_over_a),)


def by_block(run: Run, axes: Axes) -> None:
    """Draw the ratio of the median RTT in each block, B over A and A again over A, with both intervals."""
    for case, name in ((AGAIN, "A again / A"), (B, "B / A")):
        logs, interval, (colour, marker) = ratios(run, A, case, P50), effect(run, A, case, P50), LOOKS[case]
        if interval.has_ends:
            axes.axhspan(interval.low, interval.high, color=colour, alpha=0.25, lw=0)
        axes.plot(logs.index + 1, np.exp(logs), marker, color=colour, ms=5, label=name)
    axes.axhline(1, color=GREY, lw=1, zorder=0.5)
    log_axis(axes.yaxis, "{:g}".format)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("block: fresh processes of each case; band: 95 % confidence interval")
    axes.set_ylabel("ratio of median RTT")
    axes.set_title("Ratio of the median RTT in each block")


def draw_verdicts(run: Run, axes: Axes) -> None:
    """Draw each ratio B/A with its confidence interval and verdict; below it A/A; the margin as a band."""
    rows, itself = [], {comparison.quantity: comparison for comparison in pairs(run)["A again"]}
    for ours in pairs(run)["B"]:
        rows.append((f"{ours.quantity}\nB / A", ours, ours.words))
        if (own := itself.get(ours.quantity)) is not None:
            rows.append((f"{ours.quantity}\nA / A", own, own.verdict))
    axes.axvspan(1 / (1 + MARGIN), 1 + MARGIN, color="#bbbbbb", alpha=0.35, lw=0, zorder=0.5)
    for y, (_, comparison, word) in enumerate(rows):
        drawn = Look(VERDICT_COLOURS.get(comparison.words.partition(",")[0], GREY), "D")
        interval_row(axes, y, comparison.interval, drawn, f"{comparison.ends[0]}  {word}")
    ratio_axis(axes)
    name_rows(axes, [name for name, *_ in rows])
    axes.set_xlabel(f"ratio with its confidence interval; grey band: the margin of {100 * MARGIN:g} %")
    axes.set_title("Ratios B/A with verdicts, and A/A")


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of all calls of A and of B."""
    lines = ((A, "-"), (B, "--"))
    draw_cdfs(axes, [Distribution(named(run, case), times_of(run, case), LOOKS[case], line) for case, line in lines])
    axes.set_title("Distribution of the RTT")


panels = {
    "by_block": by_block,
    "verdicts": draw_verdicts,
    "distribution": distribution,
    "cpu_per_call": CpuBars("CPU time per call, by role", label=named),
}


@as_table("quantity")
def comparisons(run: Run) -> Iterator[dict[str, str]]:
    """Yield each quantity of B over A, and of A over A (the A/A ratio); last what is not compared."""
    for name, words in (("B", "B over A"), ("A again", "A over A")):
        for comparison in pairs(run)[name]:
            yield {
                "quantity": comparison.quantity,
                "compared": words,
                "ratio [95 % CI]": "{} [{}, {}]".format(*comparison.ends) if comparison.low > 0 else comparison.ends[0],
                "verdict": comparison.words if name == "B" else comparison.verdict,
                "starts needed to decide": str(comparison.more_starts or ""),
            }
    for text in verdicts.left_out(run, (A, B)) + verdicts.of_one_only(run, A, run, B):
        yield {"quantity": text, "verdict": "not compared"}


@as_table("quantity")
def resolution(run: Run) -> Iterator[dict[str, str]]:
    """Yield which difference of each quantity such a run finds with 80 % probability, and what finds the margin."""
    for comparison in pairs(run)["B"]:
        yield {
            "quantity": comparison.quantity,
            f"detectable with {run.plan.starts} starts": f"{comparison.detectable:.1%}"
            if math.isfinite(comparison.detectable)
            else "",
            f"starts to detect {MARGIN:.0%}": f"{comparison.starts_for_margin:,}",
            "seconds of such a run": f"{run.block_s * comparison.starts_for_margin:,.0f}",
        }


tables = {"comparisons": comparisons, "resolution": resolution}
