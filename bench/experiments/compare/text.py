"""Sentences of compare.ipynb: the verdict on each quantity, and what more starts would detect."""

import math

import numpy as np
import pandas as pd

from bench.analysis import budget, verdicts
from bench.analysis.comparison import DIFFERENT, MARGIN, SAME, Comparison, ratios
from bench.experiments.compare.findings import A, B, pairs
from bench.experiments.sentences import turns as turns
from bench.run.frames import Run, column
from bench.stats import Array, intervals, variance
from bench.text import listed

FAR = 0.05  # of the rounds, on each side
PARTS = 8  # of a window


def resolution(run: Run) -> str:
    """Return which difference this run can detect, and the ``budget_s`` that detects the margin."""
    return budget.resolution(run, pairs(run)["B"])


def conclusion(run: Run) -> str:
    """Return the verdict on each quantity of B over A, and in which quantities A and A again differ."""
    comparisons = pairs(run)
    names = f"A is **{run.labels[A]}**, B is **{run.labels[B]}**."
    alarms = [comparison.quantity for comparison in comparisons["A again"] if comparison.verdict == DIFFERENT]
    warning = (
        f" A and A again differ in {len(alarms)} of {len(comparisons['A again'])} quantities: {listed(alarms)}. By "
        "chance 1 of 20 such comparisons differs. There only what is beyond their ratio is called a difference of B."
        if alarms
        else ""
    )
    missing = [f"- {text}." for text in verdicts.left_out(run, (A, B))]
    return "\n".join([names + warning, "", *(f"- {_said(comparison)}" for comparison in comparisons["B"]), *missing])


def _said(comparison: Comparison) -> str:
    ratio, low, high = comparison.ends
    interval = "no 95 % CI from so few starts" if math.isnan(comparison.low) else f"95 % CI {low} to {high}"
    if comparison.verdict == DIFFERENT:
        better = (comparison.ratio > 1) == comparison.more_is_better
        verdict = f"**{'better' if better else 'worse'}**"
        verdict += f", by less than {MARGIN:.0%}" if comparison.is_small else ""
        return f"{comparison.quantity}: B divided by A is {ratio} ({interval}), {verdict}."
    if comparison.verdict == SAME:
        return f"{comparison.quantity}: no practical difference ({interval})."
    more = f" About {comparison.more_starts} starts would decide." if comparison.more_starts else ""
    return f"{comparison.quantity}: inconclusive ({interval}).{more}"


def effort(run: Run) -> str:
    """Return the share of the variance between starts, or between blocks, and the detectable difference."""
    between, share = (
        _between_starts(run) if (turns := run.contrasts(A, B, column(0.5))) is None else _between_blocks(turns)
    )
    unit, inner, parts = (
        ("starts", "long windows", PARTS) if turns is None else ("blocks", "many slices in each", run.plan.rounds)
    )
    more, longer = math.sqrt(1 / 2), math.sqrt((share + (1 - share) / (2 * parts)) / (share + (1 - share) / parts))
    logs = ratios(run, A, B, column(0.5)).to_numpy()
    spread = variance.spread(intervals.paired_shift(logs), len(logs), float(np.std(logs, ddof=1)))
    now, four = (variance.detectable(spread, starts) for starts in (run.plan.starts, 4 * run.plan.starts))
    return (
        f"{between} is between {unit}. Twice as many {unit} narrow the interval to {more:.0%} of "
        f"its width, twice as {inner} to {longer:.0%}. With "
        f"{run.plan.starts} starts per case the smallest detectable difference of the p50 is {now:.1%}, with "
        f"{4 * run.plan.starts} starts {four:.1%}."
    )


def _between_blocks(turns: "pd.Series[float]") -> tuple[str, float]:
    """Return the share of the blocks in the variance of the ratio, in words and as a number.

    The farthest rounds count no more than those near them: a block takes the median of its rounds.
    """
    near = turns.clip(*turns.quantile([FAR, 1 - FAR]))
    of_blocks = [logs.to_numpy() for _, logs in near.groupby(level="block")]
    share = variance.nested([logs for logs in of_blocks if len(logs) > 1] or [np.zeros(2)] * 2).share
    return f"Of the variance of a slice's ratio, {share:.0%}", share


def _between_starts(run: Run) -> tuple[str, float]:
    """Return the share of the starts in the variance of each case, in words, and the larger one."""
    shares = {}
    for case in (A, B):
        parts = [_parts(calls.rtt_ns) for _, calls in run.calls_of(case, warm=True, headline=True)]
        shares[run.labels[case]] = variance.nested([medians for medians in parts if len(medians) > 1]).share
    said = listed(f"{share:.0%} ({label})" for label, share in shares.items())
    return f"Of the variance of a part's median, {said}", max(shares.values())


def _parts(values: Array) -> Array:
    """Return the medians of the parts of a window."""
    return np.array([np.median(part) for part in np.array_split(values, PARTS) if len(part)])
