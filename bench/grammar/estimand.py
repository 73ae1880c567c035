"""Estimands: what a function estimates of a run that is no column of its starts, such as attempts per request."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bench.grammar.estimate import Estimate
from bench.run.frames import Run
from bench.text import capitalized


@dataclass(frozen=True)
class Estimand:
    """What is estimated, in words, and the function that estimates it for each of its subjects."""

    words: str
    estimates: Callable[[Run], Sequence[Estimate]]

    def __call__(self, run: Run) -> list[Estimate]:
        """Return the estimates of a run."""
        return list(self.estimates(run))

    def sentences(self, run: Run) -> list[str]:
        """Return a sentence for each estimate."""
        words = capitalized(self.words)
        return [f"{words} of {of.subject}: **{of.words}** ({of.ends})." for of in self(run)]
