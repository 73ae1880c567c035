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
    for origin in dict.fromkeys(replica.origin for replica in replicas(run)):
        numbers = [replica for replica in replicas(run) if replica.origin == origin]
        ratios = sorted(replica.ratio for replica in numbers)
        span = " to ".join(dict.fromkeys(factor(ratio) for ratio in (ratios[0], ratios[-1])))
        lines.append(f"- **{origin}**: {span} times as fast here ({len(numbers)} numbers, ratios of medians)")
    return "\n".join(lines)


def _relations(run: Run) -> str:
    compared = relations(run)
    off = [abs(np.log(relation.here.middle / relation.theirs)) for relation in compared]
    close = [relation for relation, gap in zip(compared, off, strict=True) if gap <= np.log(NEAR)]
    same = [relation for relation in close if not relation.here.low <= 1 <= relation.here.high]
    other = [relation for relation in compared if relation not in close]
    said = (
        f"The origins' conclusions are ratios of two of their numbers. {len(same)} of {len(compared)} such ratios are "
        f"within a factor of {NEAR:g} here, and distinguishable from 1:"
    )
    lines = [f"- reproduced: {_words(relation)}" for relation in same] + [
        f"- not reproduced: {_words(relation)}" for relation in other
    ]
    open_ = [
        f"- not decided: {_words(relation)}: not distinguishable from 1" for relation in close if relation not in same
    ]
    return "\n".join([said, "", *lines, *open_])


def _words(relation: Relation) -> str:
    return f"{relation.claim}, {relation.theirs:.2g} there and {relation.here.middle:.3g} here{_range(relation)}"


def _range(relation: Relation) -> str:
    """Return the interval of a ratio, or that it is a ratio of medians."""
    if not relation.is_paired:
        return " (ratio of medians)"
    return f" (95 % CI {relation.here.low:.3g} to {relation.here.high:.3g})"
