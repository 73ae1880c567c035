"""Levels: a quantity of some cases, each the median over its starts with their range."""

from dataclasses import dataclass, field

from bench.grammar.choose import Chooser, chosen
from bench.grammar.estimate import Estimate, of_spread
from bench.grammar.quantities import Quantity, over_starts, quantity_of
from bench.run.frames import Run
from bench.text import capitalized


@dataclass(frozen=True)
class Level:
    """A quantity of some cases: the median over the starts of each."""

    quantity: str | Quantity
    of: Chooser = field(default_factory=dict)

    def __call__(self, run: Run) -> list[Estimate]:
        """Return the levels of a run as estimates."""
        text = quantity_of(self.quantity).text
        levels = {case: over_starts(run, case, self.quantity) for case in chosen(run, self.of)}
        return [of_spread(run.labels[case], of, text, (case,)) for case, of in levels.items() if of.middle == of.middle]

    def sentences(self, run: Run) -> list[str]:
        """Return a sentence for each level."""
        words = capitalized(quantity_of(self.quantity).words)
        return [f"{words} of {of.subject}: **{of.words}** ({of.ends})." for of in self(run)]
