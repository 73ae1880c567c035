"""What the figure of measured against true says."""

import numpy as np

from bench import stats
from bench.experiments.calibration.findings import MARGIN, Truth, frozen, truths, virtual
from bench.experiments.calibration.plan import PACED_PER_S
from bench.experiments.calibration.virtual_time import overhead_us
from bench.run.frames import Run
from bench.text import duration, listed

WEIGHED = "constant, closed"  # what the tare was taken from


def conclusion(run: Run) -> str:
    """Say how many quantiles are within the margin of the truth, which are not, and what that allows."""
    return "\n\n".join((_closeness(run), _middle(run), expansion(run)))


def _closeness(run: Run) -> str:
    found = truths(run)
    off = [one for one in found if abs(one.off) > MARGIN]
    held = [one for one in off if not one.low <= one.true <= one.high]
    weighed = f"The tare, what a round trip takes beside the server's time, is {duration(overhead_us(run))}."
    text = f"{weighed} Of {len(found)} quantiles, **{len(found) - len(off)} are within {MARGIN:.0%} of the truth**."
    if off:
        worst = max(off, key=lambda one: abs(one.off))
        text += f" The furthest off is {_named(worst)}: {duration(worst.measured)} for {duration(worst.true)}."
        text += f" Of those beyond it, the interval holds the truth in {len(off) - len(held)} of {len(off)}."
    return text


def _named(one: Truth) -> str:
    return f"p{100 * one.p:g} of {one.label}"


def _middle(run: Run) -> str:
    """Say how far the medians of closed and of open loops are off, and in which direction."""
    parts = []
    for time, words in (("rtt", "closed loops"), ("response", "open loads")):
        known = [one for one in truths(run) if one.time == time and one.p == 0.5]
        medians = [one for one in known if one.label != WEIGHED]  # which is right by definition
        if medians:
            added = float(np.median([one.measured - one.true for one in medians]))
            parts.append(f"{words} by {'+' if added > 0 else '−'}{duration(abs(added))}")
    return f"In the middle, medians are off in {listed(parts)}: believe no difference smaller than that here."


def expansion(run: Run) -> str:
    """Say what expanding the recorded times of the frozen server makes of them, beside what users had."""
    case = frozen(run)
    rows = run.samples_of(case)
    recorded = rows["rtt_ns"].to_numpy() / 1e3
    due = (rows["rtt_ns"] + rows["lag_ns"]).to_numpy() / 1e3
    other = virtual(run).samples_of(case)
    true = ((other["rtt_ns"] + other["lag_ns"]) / 1e3).to_numpy()
    expanded = stats.expanded(recorded, 1e6 / PACED_PER_S)
    p99 = [duration(stats.quantile(values, 0.99)) for values in (recorded, expanded, due, true)]
    return (
        f"One freeze, p99: recorded from sending {p99[0]}; expanded from that {p99[1]}; measured from when due "
        f"{p99[2]}; true {p99[3]}. Expansion serves where the server is hardly busy, as here; measuring from when due "
        f"serves always."
    )
