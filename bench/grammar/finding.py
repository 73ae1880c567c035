"""Findings: estimates that are neither a ratio of two cases nor a median over starts, as sentences of an answer."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.grammar.estimate import Estimate
from bench.run.frames import Run


@dataclass(frozen=True)
class Finding:
    """Estimates that a function computes from a run. words: what is estimated."""

    words: str
    estimand: Callable[[Run], Sequence[Estimate]]

    def __call__(self, run: Run) -> list[Estimate]:
        """Return the estimates of a run."""
        return list(self.estimand(run))

    def sentences(self, run: Run) -> list[str]:
        """Return a sentence for each estimate."""
        return [f"{self.words}, {of.subject}: **{of.words}** ({of.ends})." for of in self(run)]
