"""Estimands: what is estimated of some cases: a quantity of theirs, or what a function of a run returns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bench.grammar.choose import Chooser, chosen
from bench.grammar.estimate import Estimate, of_spread
from bench.grammar.quantities import Quantity, over_starts, quantity_of
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
        return _sentences(self.words, self(run))


@dataclass(frozen=True)
class Level:
    """A quantity of some cases: the median over the starts of each, with their range."""

    quantity: str | Quantity
    of: Chooser = field(default_factory=dict)

    @property
    def words(self) -> str:
        """The quantity in words."""
        return quantity_of(self.quantity).words

    def __call__(self, run: Run) -> list[Estimate]:
        """Return the levels of a run as estimates."""
        text = quantity_of(self.quantity).text
        levels = {case: over_starts(run, case, self.quantity) for case in chosen(run, self.of)}
        return [
            of_spread(run.labels[case], spread, text, (case,))
            for case, spread in levels.items()
            if spread.middle == spread.middle
        ]

    def sentences(self, run: Run) -> list[str]:
        """Return a sentence for each level."""
        return _sentences(self.words, self(run))


def _sentences(words: str, estimates: Sequence[Estimate]) -> list[str]:
    return [
        f"{capitalized(words)} of {estimate.subject}: **{estimate.words}** ({estimate.ends})." for estimate in estimates
    ]
