"""What the figure of two cases says."""

import numpy as np

from bench.analysis import verdicts
from bench.analysis.comparison import DIFFERENT, SAME, Comparison
from bench.experiments.compare.findings import A, B, pairs
from bench.run.frames import Run, column
from bench.stats import Array, variance
from bench.text import listed


def conclusion(run: Run) -> str:
    """Say in which quantities B differs from A and by how much, and what A against itself tells of that."""
    found = pairs(run)
    names = f"A is **{run.labels[A]}**, B is **{run.labels[B]}**."
    alarms = [one.quantity for one in found["A again"] if one.verdict == DIFFERENT]
    warning = (
        f" Beware: by {listed(alarms)} A differs from itself here, so such differences mean nothing." if alarms else ""
    )
    missing = [f"- {text}." for text in verdicts.left_out(run, (A, B))]
    return "\n".join([names + warning, "", *(f"- {_said(one)}" for one in found["B"]), *missing])


def _said(one: Comparison) -> str:
    interval = f"{one.low:.2f} to {one.high:.2f}" if one.low == one.low else "no interval from so few starts"
    if one.verdict == DIFFERENT:
        better = (one.ratio > 1) == one.more_is_better
        return f"{one.quantity}: B has {one.ratio:.2f} times A's ({interval}): **{'better' if better else 'worse'}**."
    if one.verdict == SAME:
        return f"{one.quantity}: no practical difference ({interval})."
    more = f"; about {one.more_starts} starts would decide" if one.more_starts else ""
    return f"{one.quantity}: inconclusive ({interval}){more}."


def effort(run: Run) -> str:
    """Say where the variance comes from, and what more starts would buy."""
    shares = {}
    for case in (A, B):
        rows = run.samples_of(case, warm=True)
        parts = [_parts(values["rtt_ns"].to_numpy()) for _, values in rows.groupby("start")]
        levels = variance.nested([part for part in parts if len(part) > 1])
        shares[run.labels[case]] = levels[1].share
    spread = run.starts.groupby(["block", "case"])[column(0.5)].first().unstack()
    deviation = float(np.log(spread[B] / spread[A]).dropna().std())
    between = listed(f"{share:.0%} ({label})" for label, share in shares.items())
    advice = "repeat starts, not calls" if max(shares.values()) > 0.5 else "longer windows help as much as more starts"
    now, four = (variance.detectable(deviation, n) for n in (run.plan.starts, 4 * run.plan.starts))
    return (
        f"Of the variance between parts of a window, {between} lies between the starts: {advice}. With "
        f"{run.plan.starts} starts of each a p50 must differ by {now:.1%} to be told apart, with "
        f"{4 * run.plan.starts} by {four:.1%}."
    )


def _parts(values: Array) -> Array:
    """Return the medians of eight parts of a window."""
    return np.array([np.median(part) for part in np.array_split(values, 8) if len(part)])
