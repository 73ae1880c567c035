"""Estimands, such as a quantity of some cases, and their estimates: values with their intervals, in words."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from bench.grammar.choose import Chooser, chosen
from bench.grammar.quantities import Quantity, at_least, over_starts, quantity_of
from bench.grammar.statement import Statement
from bench.plan.labels import distinguished
from bench.run.frames import Run
from bench.stats import Spread, Text
from bench.stats.intervals import Interval
from bench.text import capitalized


@dataclass(frozen=True)
class Estimate:
    """A value with its interval, of a case or of several.

    interval: its ends say what the run decides; NaN if they are not known. words, ends: value and interval in
    words. base: the label of the case that it is compared with, if it is. cases: the numbers of all cases in it.
    """

    subject: str
    interval: Interval | Spread
    words: str
    ends: str
    base: str = ""
    cases: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.words} ({self.ends})"


def of_interval(subject: str, interval: Interval, text: Text, cases: tuple[int, ...] = ()) -> Estimate:
    """Return an estimate with its confidence interval in the unit that suits it."""
    ends = "95 % CI {} to {}".format(*interval.ends(text)) if interval.has_ends else "no 95 % CI from so few values"
    return Estimate(subject, interval, text(interval.middle), ends, cases=cases)


def of_spread(subject: str, spread: Spread, text: Text, cases: tuple[int, ...] = ()) -> Estimate:
    """Return a median over starts, or both of its levels, with the range of the starts."""
    return Estimate(
        subject, spread, spread.words(text), "range over starts {} to {}".format(*spread.ends(text)), cases=cases
    )


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
    """A quantity of some cases: the median over the starts of each, with their range.

    of: chooses the cases. name: returns what a case is called; by default it is what distinguishes it. For example,
    the calls per second of the cases with most clients::

        Level(RATE, of=most("clients"))
    """

    quantity: str | Quantity
    of: Chooser = field(default_factory=dict)
    name: Callable[[Run, int], str] | None = None

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
