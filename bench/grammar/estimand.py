"""Estimands: what is estimated of some cases: a quantity of theirs, or what a function of a run returns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bench.grammar.choose import Chooser, chosen
from bench.grammar.estimate import Estimate, of_spread
from bench.grammar.quantities import Quantity, at_least, over_starts, quantity_of
from bench.grammar.statement import Statement
from bench.plan.labels import distinguished
from bench.run.frames import Run
from bench.text import capitalized


@dataclass(frozen=True)
class Estimand:
    """What is estimated, in words or as a run has it, and the function that estimates it for each of its subjects."""

    words: str | Callable[[Run], str]
    estimates: Callable[[Run], Sequence[Estimate]]

    def __call__(self, run: Run) -> list[Estimate]:
        """Return the estimates of a run."""
        return list(self.estimates(run))

    def statements(self, run: Run) -> list[Statement]:
        """Return what it says of a run."""
        estimates = self(run)
        if not estimates:
            return []
        words = self.words(run) if callable(self.words) else self.words
        return _statements(words, [estimate.subject for estimate in estimates], estimates)


@dataclass(frozen=True)
class Level:
    """A quantity of some cases: the median over the starts of each, with their range."""

    quantity: str | Quantity
    of: Chooser = field(default_factory=dict)
    name: Callable[[Run, int], str] | None = None  # of a case; without it, what distinguishes it

    @property
    def words(self) -> str:
        """The quantity in words."""
        return quantity_of(self.quantity).words

    def __call__(self, run: Run) -> list[Estimate]:
        """Return the levels of a run as estimates."""
        text = quantity_of(self.quantity).text
        levels = {case: over_starts(run, case, self.quantity) for case in chosen(run, self.of)}
        return [
            replace(
                of_spread(run.labels[case], spread, text, (case,)),
                words=at_least(run, case, self.quantity) + spread.words(text),
            )
            for case, spread in levels.items()
            if spread.middle == spread.middle
        ]

    def statements(self, run: Run) -> list[Statement]:
        """Return the levels, below what their cases share."""
        estimates = self(run)
        if len(estimates) < 2:
            return _statements(self.words, [estimate.subject for estimate in estimates], estimates)
        names, shared = distinguished([run.label_parts[estimate.cases[0]] for estimate in estimates])
        if self.name:
            names = [self.name(run, estimate.cases[0]) for estimate in estimates]
        return _statements(self.words + shared, names, estimates)


def _statements(words: str, names: Sequence[str], estimates: Sequence[Estimate]) -> list[Statement]:
    values = [
        f"{name}: **{estimate.words}** ({estimate.ends})" for name, estimate in zip(names, estimates, strict=True)
    ]
    if len(values) == 1:
        return [Statement(f"{capitalized(words)} of {values[0]}")]
    return [Statement(capitalized(words), tuple(values))] if values else []
