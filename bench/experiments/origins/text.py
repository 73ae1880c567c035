"""What the figure of published and measured numbers says."""

from bench.experiments.origins.findings import (
    REPRODUCED,
    SAME_DIRECTION,
    VERDICTS,
    Relation,
    carried_over,
    relations,
    replicas,
)
from bench.experiments.sentences import factor
from bench.run.frames import Run
from bench.text import paragraphs, ratio_ends


def conclusion(run: Run) -> str:
    """Say how much faster the numbers are here, and which ratios of the origins were reproduced."""
    return paragraphs(_faster(run), _relations(run), carried(run))


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
    if not compared:
        return ""
    count = [sum(relation.verdict == verdict for relation in compared) for verdict in VERDICTS]
    said = (
        f"The origins' conclusions are ratios. Of {len(compared)} ratios of two numbers of one origin {count[0]} are "
        f"{REPRODUCED} (the published ratio is inside the 95 % CI measured here, and 1 is not), {count[1]} have the "
        f"{SAME_DIRECTION}, {count[2]} the {VERDICTS[2]}, and {count[3]} are {VERDICTS[3]}."
    )
    ordered = sorted(compared, key=lambda relation: VERDICTS.index(relation.verdict))
    return "\n".join([said, "", *(f"- {relation.verdict}: {_words(relation)}" for relation in ordered)])


def _words(relation: Relation) -> str:
    here, low, high = ratio_ends(*relation.here[:3])
    kind = "95 % CI" if relation.is_paired else "ratio of medians, the ranges over starts allow"
    return f"{relation.claim}, {relation.theirs:.3g} there and {here} here ({kind} {low} to {high})"


def carried(run: Run) -> str:
    """Say whether ratios of two numbers of one machine carry over better than the numbers, as the card has it."""
    if not relations(run):
        return ""
    numbers, of_two = carried_over(run)
    better = "Ratios carry over better than numbers" if of_two < numbers else "Ratios carry over no better than numbers"
    return (
        f"{better} in this run: the median number differs by a factor of {factor(numbers)} from the published one, the "
        f"median ratio of two numbers of one origin by a factor of {factor(of_two)}."
    )
