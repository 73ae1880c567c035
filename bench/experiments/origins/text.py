"""What the figure of published and measured numbers says."""

import numpy as np

from bench.experiments.origins.findings import Relation, relations, replicas
from bench.experiments.sentences import factor
from bench.run.frames import Run
from bench.text import paragraphs

NEAR = 1.5  # two ratios within this factor count as the same


def conclusion(run: Run) -> str:
    """Say how much faster the numbers are here, and which ratios of the origins were reproduced."""
    return paragraphs(_faster(run), _relations(run))


def _faster(run: Run) -> str:
    lines = []
    for origin in dict.fromkeys(one.origin for one in replicas(run)):
        mine = [one for one in replicas(run) if one.origin == origin]
        ratios = sorted(one.ratio for one in mine)
        span = " to ".join(dict.fromkeys(factor(ratio) for ratio in (ratios[0], ratios[-1])))
        lines.append(f"- **{origin}**: {span} times as fast here ({len(mine)} numbers, ratios of medians)")
    return "\n".join(lines)


def _relations(run: Run) -> str:
    known = relations(run)
    off = [abs(np.log(one.here.middle / one.theirs)) for one in known]
    near = [one for one, gap in zip(known, off, strict=True) if gap <= np.log(NEAR)]
    same = [one for one in near if not one.here.low <= 1 <= one.here.high]
    other = [one for one in known if one not in near]
    said = (
        f"The origins' conclusions are ratios of two of their numbers. {len(same)} of {len(known)} such ratios are "
        f"within a factor of {NEAR:g} here, and distinguishable from 1:"
    )
    lines = [f"- reproduced: {_one(one)}" for one in same] + [f"- not reproduced: {_one(one)}" for one in other]
    open_ = [f"- not decided: {_one(one)}: not distinguishable from 1" for one in near if one not in same]
    return "\n".join([said, "", *lines, *open_])


def _one(one: Relation) -> str:
    return f"{one.claim}, {one.theirs:.2g} there and {one.here.middle:.3g} here{_range(one)}"


def _range(one: Relation) -> str:
    """Return the interval of a ratio, or that it is a ratio of medians."""
    if not one.is_paired:
        return " (ratio of medians)"
    return f" (95 % CI {one.here.low:.3g} to {one.here.high:.3g})"
