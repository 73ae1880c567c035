"""Whether a run may become a reference run, which documents quote: what it misses."""

import math

from bench.analysis.comparison import ratios
from bench.analysis.occasions import baselines
from bench.analysis.speed import speed_range
from bench.analysis.turns import halves, twins
from bench.run.frames import P50, Run
from bench.stats import intervals
from bench.text import percent_beside

MOST_AA = 0.02  # A/A ratio - 1 of a run in slices
LEAST_BLOCKS = 12  # of a run in slices
MOST_SPEED = 0.05  # by how much the machine's speed may differ within a run


def misses(run: Run) -> list[str]:
    """Return what a run misses of a reference run, in words; nothing of one that is accepted."""
    violations = [] if run.manifest["git"]["dirty"] is False else [DIRTY]
    if run.plan.slice_s:
        if run.plan.starts < LEAST_BLOCKS:
            violations.append(f"it has {run.plan.starts} blocks, and {LEAST_BLOCKS} are needed")
        if (ratio := aa_ratio(run)) > MOST_AA:
            apart = percent_beside(ratio, MOST_AA)
            violations.append(f"the A/A ratio of its slices differs from 1 by {apart}, more than {MOST_AA:.0%}")
    if (speed := speed_range(run) or 0.0) > MOST_SPEED:
        violations.append(
            f"the machine's speed varied by {percent_beside(speed, MOST_SPEED)}, more than {MOST_SPEED:.0%}"
        )
    return violations


DIRTY = "its revision is not clean: files differed from the commit"


def aa_ratio(run: Run) -> float:
    """Return the A/A ratio - 1 of the slices, by their median RTT; 0 of a run without slices.

    Of a case over its twin, the same case under another name. Of a run without twins the largest of the cases that
    others are divided by: its odd rounds over its even ones. Hodges-Lehmann medians over the blocks.
    """
    bases = sorted({base for base, _ in baselines(run).values()})
    logs = [ratios(run, *pair, P50).to_numpy() for pair in twins(run)] or [halves(run, base) for base in bases]
    return max((math.expm1(abs(intervals.paired_shift(values).middle)) for values in logs if len(values)), default=0.0)
