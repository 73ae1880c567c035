"""Sentences of compare.ipynb: the verdict on each quantity, and what more starts would detect."""

import math

import numpy as np

from bench.analysis import budget, verdicts
from bench.analysis.comparison import DIFFERENT, SAME, Comparison
from bench.experiments.compare.findings import A, B, pairs
from bench.run.frames import Run, column
from bench.stats import Array, variance
from bench.text import listed


def resolution(run: Run) -> str:
    """Return which difference this run can detect, and the ``budget_s`` that detects the margin."""
    return budget.resolution(run, pairs(run)["B"])


def conclusion(run: Run) -> str:
    """Return the verdict on each quantity of B over A, and a warning where A and A again differ."""
    comparisons = pairs(run)
    names = f"A is **{run.labels[A]}**, B is **{run.labels[B]}**."
    alarms = [comparison.quantity for comparison in comparisons["A again"] if comparison.verdict == DIFFERENT]
    warning = (
        f" Warning: {listed(alarms)} of A and of A again differ in this run, so no difference of B can be shown there."
        if alarms
        else ""
    )
    missing = [f"- {text}." for text in verdicts.left_out(run, (A, B))]
    return "\n".join([names + warning, "", *(f"- {_said(comparison)}" for comparison in comparisons["B"]), *missing])


def _said(comparison: Comparison) -> str:
    has_interval = not math.isnan(comparison.low)
    interval = (
        f"95 % CI {comparison.low:.2f} to {comparison.high:.2f}" if has_interval else "no 95 % CI from so few starts"
    )
    if comparison.verdict == DIFFERENT:
        better = (comparison.ratio > 1) == comparison.more_is_better
        verdict = "better" if better else "worse"
        return f"{comparison.quantity}: B has {comparison.ratio:.2f} times the value of A ({interval}): **{verdict}**."
    if comparison.verdict == SAME:
        return f"{comparison.quantity}: no practical difference ({interval})."
    more = f"; about {comparison.more_starts} starts would decide" if comparison.more_starts else ""
    return f"{comparison.quantity}: inconclusive ({interval}){more}."


def effort(run: Run) -> str:
    """Return the share of the variance between starts, and the detectable difference."""
    shares = {}
    for case in (A, B):
        rows = run.samples_of(case, warm=True, headline=True)
        parts = [_parts(values["rtt_ns"].to_numpy()) for _, values in rows.groupby("start")]
        shares[run.labels[case]] = variance.nested([medians for medians in parts if len(medians) > 1]).share
    spread = run.starts.groupby(["block", "case"])[column(0.5)].first().unstack()
    deviation = float(np.log(spread[B] / spread[A]).dropna().std())
    between = listed(f"{share:.0%} ({label})" for label, share in shares.items())
    advice = "add starts, not calls" if max(shares.values()) > 0.5 else "longer windows help as much as more starts"
    now, four = (variance.detectable(deviation, starts) for starts in (run.plan.starts, 4 * run.plan.starts))
    return (
        f"Share of the variance between starts: {between}. To detect a smaller difference, {advice}. With "
        f"{run.plan.starts} starts per case the smallest detectable difference of the p50 is {now:.1%}, with "
        f"{4 * run.plan.starts} starts {four:.1%}."
    )


def _parts(values: Array) -> Array:
    """Return the medians of eight parts of a window."""
    return np.array([np.median(part) for part in np.array_split(values, 8) if len(part)])
