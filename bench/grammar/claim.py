"""Claims that a run tests: an estimand, a relation, a limit; holds, contradicted or undecided."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pandas as pd

from bench.grammar.estimand import Estimate
from bench.run.frames import Run
from bench.stats import Spread
from bench.stats.intervals import Interval
from bench.text import counted, few, paragraphs

HOLDS, CONTRADICTED, UNDECIDED = "holds", "contradicted", "undecided"
AGAINST = "**Contradicted by this run**"
BEGIN = {CONTRADICTED: AGAINST, HOLDS: "Holds", UNDECIDED: "Undecided"}  # a sentence, in the order of their weight
Limit = float | Callable[[Run], float | None]


class Verdict(NamedTuple):
    """What a run says of a claim for one estimate: its whole interval is on one side of the limit, or it is not."""

    estimate: Estimate
    limit: float
    word: str


@dataclass(frozen=True)
class Claim:
    """The claim that an estimand is above a limit, or at most at it, for each of its cases.

    For example, that a call over tcp takes longer, with the contrast ``over_tcp``::

        Claim("a call over tcp takes longer than over ipc", over_tcp, above=1)

    The claim holds for a case if the whole interval is on its side of the limit, and is contradicted if the whole
    interval is on the other side; each happens in 2.5 % of the cases if there is no difference. It holds as a whole if
    it holds for every case (an intersection-union test, which needs no correction for their number). One case that
    contradicts it is enough against it. above, at_most: a number in ``unit``, or a function of the run that predicts
    it; if that returns None, nothing is claimed of this run.
    """

    text: str
    estimand: Callable[[Run], Sequence[Estimate]]
    above: Limit | None = None
    at_most: Limit | None = None
    unit: str = ""

    def verdicts(self, run: Run) -> list[Verdict]:
        """Return what a run says of each estimate; nothing if it has none, or no limit."""
        asked = self.at_most if self.above is None else self.above
        limit = asked(run) if callable(asked) else asked
        if limit is None:
            return []
        return [Verdict(estimate, limit, self.word(estimate.interval, limit)) for estimate in self.estimand(run)]

    def word(self, interval: Interval | Spread, limit: float) -> str:
        """Return the verdict on an interval."""
        is_above, is_below = interval.low > limit, interval.high < limit
        holds, fails = (is_below, is_above) if self.above is None else (is_above, is_below)
        return HOLDS if holds else CONTRADICTED if fails else UNDECIDED

    def verdict(self, run: Run) -> str:
        """Return the verdict on the claim as a whole."""
        return _whole(self.verdicts(run))

    def relation(self, limit: float) -> str:
        """Return the relation to a limit in words: "above 1.2"."""
        return f"{'at most' if self.above is None else 'above'} {limit:.3g} {self.unit}".rstrip()

    def sentence(self, run: Run) -> str:
        """Return the claim with its verdict and the estimates that decide it; "" if nothing was measured."""
        return self.in_words(self.verdicts(run))

    def in_words(self, verdicts: Sequence[Verdict]) -> str:
        """Return the claim with what a run says of each estimate; "" of none."""
        for word, begin in BEGIN.items():
            if decide := [verdict for verdict in verdicts if verdict.word == word]:
                count = f" in {len(decide)} of {len(verdicts)} cases" if len(verdicts) > 1 else ""
                expected = self.relation(decide[0].limit)
                if word == CONTRADICTED:
                    return f"Expected: {self.text} ({expected}). {begin}{count}: {_values(decide)}."
                if others := [verdict for verdict in verdicts if verdict.word != word]:
                    return f"{begin}{count}: {self.text}. Expected: {expected}; undecided: {_values(others)}."
                end = "measured" if len(decide) == 1 else "largest" if self.above is None else "smallest"
                nearest = _values([min(decide, key=_distance)])
                return f"{begin}{count}: {self.text}. Expected: {expected}; {end}: {nearest}."
        return ""


def not_judged(run: Run, claims: Iterable[Claim], starts: int) -> str:
    """Return as Markdown the claims of a run with too few starts: what is expected and measured, and no verdict."""
    items = []
    for claim in claims:
        if verdicts := claim.verdicts(run):
            expected, measured = claim.relation(verdicts[0].limit), _values(verdicts, lambda estimate: estimate.words)
            items.append(f"- {claim.text}. Expected: {expected}; measured: {measured}.")
    return paragraphs(f"Claims, not judged from {counted(starts, 'start')}:", "\n".join(items)) if items else ""


def _whole(verdicts: Sequence[Verdict]) -> str:
    words = {verdict.word for verdict in verdicts}
    return CONTRADICTED if CONTRADICTED in words else HOLDS if words == {HOLDS} else UNDECIDED


def _values(verdicts: Sequence[Verdict], text: Callable[[Estimate], str] = str) -> str:
    """Return each subject with its estimate; with the bases, too, if a subject alone does not name one ratio."""
    estimates = [verdict.estimate for verdict in verdicts]
    are_alike = len({estimate.subject for estimate in estimates}) < len(estimates)
    names = [f" divided by {estimate.base}" if are_alike and estimate.base else "" for estimate in estimates]
    return few([f"{estimate.subject}{base}: {text(estimate)}" for estimate, base in zip(estimates, names, strict=True)])


def _distance(verdict: Verdict) -> float:
    """Return how far the value of an estimate is from its limit."""
    return abs(verdict.estimate.interval.middle - verdict.limit)


def table(run: Run, claims: Iterable[Claim]) -> pd.DataFrame:
    """Return one row for each claim and case: what is expected, measured, the verdict."""
    rows = [
        {
            "claim": claim.text,
            "case": verdict.estimate.subject,
            "compared with": verdict.estimate.base,
            "measured": str(verdict.estimate),
            "expected": claim.relation(verdict.limit),
            "verdict": verdict.word,
        }
        for claim in claims
        for verdict in claim.verdicts(run)
    ]
    frame = pd.DataFrame(rows)
    return frame.set_index("claim") if rows else frame


def sentences(run: Run, claims: Iterable[Claim]) -> tuple[str, str]:
    """Return as paragraphs the claims that a run contradicts, and the others."""
    texts: dict[bool, list[str]] = {True: [], False: []}
    for claim in claims:
        verdicts = claim.verdicts(run)
        texts[_whole(verdicts) == CONTRADICTED].append(claim.in_words(verdicts))
    return paragraphs(*texts[True]), paragraphs(*texts[False])
