"""Contrasts: a quantity of some cases divided by that of another case; one estimator wherever a ratio is shown."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

import pandas as pd

from bench.analysis import comparison
from bench.analysis.comparison import QUANTITIES, effect, ratio_of
from bench.grammar.choose import Chooser, Factor, alike, chosen
from bench.grammar.estimate import Estimate
from bench.grammar.quantities import Quantity, by_block, over_starts, quantity_of
from bench.run.frames import Run
from bench.stats.intervals import Interval
from bench.text import capitalized, few, ratio_ends


@dataclass(frozen=True)
class Ratio:
    """A quantity of one case divided by the same quantity of another, by ``comparison.effect``.

    base, other: numbers of the cases; the ratio is other over base. name: see ``Contrast.quantity``. interval: the
    Hodges-Lehmann median of the ratios of each block, with its 95 % interval (NaN below six blocks).
    """

    base: int
    other: int
    name: str | Quantity
    interval: Interval

    @property
    def value(self) -> float:
        """The ratio."""
        return self.interval.middle

    @property
    def quantity(self) -> str:
        """The quantity in words."""
        if isinstance(self.name, Quantity):
            return self.name.words
        return QUANTITIES[self.name][0] if self.name in QUANTITIES else self.name.replace("_us", "").replace("_", " ")

    @property
    def words(self) -> str:
        """The ratio in words, without its interval."""
        return _ends(self.interval)[0]

    @property
    def is_certain(self) -> bool:
        """Whether the interval excludes 1: the two cases are distinguishable."""
        return self.interval.excludes(1)

    @property
    def doubt(self) -> str:
        """What a sentence says behind the ratio of two cases that are not distinguishable; else nothing."""
        return "" if self.is_certain else ", not distinguishable"

    @property
    def range(self) -> str:
        """The interval in words."""
        return confidence(self.interval)

    def __str__(self) -> str:
        return times(self.interval)


@dataclass(frozen=True)
class Contrast:
    """A quantity of the cases ``of`` divided by that of the first case ``over``, among cases that are alike.

    quantity: a column of ``Run.starts``, ``cpu_us_per_call``, or one with values of its own. by: factors that the cases
    of a ratio have in common; each combination of their values has ratios of its own. where: the cases that are looked
    at.
    """

    quantity: str | Quantity
    of: Chooser
    over: Chooser
    by: tuple[Factor, ...] = ()
    where: Chooser = field(default_factory=dict)

    def ratios(self, run: Run) -> list[Ratio]:
        """Return the ratios of a run, those that are known; none of a case to itself."""
        pairs = [
            (base, other)
            for _, group in alike(run, chosen(run, self.where), self.by)
            for base in chosen(run, self.over, group)[:1]
            for other in chosen(run, self.of, group)
            if other != base
        ]
        ratios = [ratio(run, base, other, self.quantity) for base, other in pairs]
        return [quotient for quotient in ratios if not math.isnan(quotient.value)]

    def __call__(self, run: Run) -> list[Estimate]:
        """Return the ratios of a run as estimates."""
        return [estimate_of(run, quotient) for quotient in self.ratios(run)]

    def sentences(self, run: Run) -> list[str]:
        """Return a sentence for each ratio, with the two medians; then one on medians that have another ratio."""
        ratios = self.ratios(run)
        return [*(sentence(run, quotient) for quotient in ratios), *filter(None, [beside_medians(run, ratios)])]


def estimate_of(run: Run, quotient: Ratio) -> Estimate:
    """Return a ratio as an estimate of its case, compared with its base."""
    other, base = (run.labels[case] for case in (quotient.other, quotient.base))
    return ratio_estimate(other, quotient.interval, base=base, cases=(quotient.base, quotient.other))


def ratio_estimate(
    subject: str, interval: Interval, more: str = "", base: str = "", cases: tuple[int, ...] = ()
) -> Estimate:
    """Return the interval of a ratio as an estimate. more: what is said behind the ends of the interval."""
    return Estimate(subject, interval, _ends(interval)[0], confidence(interval) + more, base, cases)


def sentence(run: Run, quotient: Ratio) -> str:
    """Return a ratio of two cases in a sentence, with the median of each."""
    quantity = quantity_of(quotient.name)
    other, base = (
        f"{run.labels[case]} ({over_starts(run, case, quotient.name).words(quantity.text)})"
        for case in (quotient.other, quotient.base)
    )
    measured = f"**{quotient.words}** ({quotient.range}){quotient.doubt}"
    return f"{capitalized(quantity.words)} of {other} divided by that of {base}: {measured}."


def times(interval: Interval) -> str:
    """Return a ratio with its interval, as ``comparison.effect`` gives it: 1.53 times (95 % CI 1.41 to 1.66)."""
    if math.isnan(interval.middle):
        return "an unknown number of times"
    return f"{_ends(interval)[0]} times ({confidence(interval)})"


def confidence(interval: Interval) -> str:
    """Return the ends of an interval in words, or why there are none."""
    if not interval.has_ends:
        return "no 95 % CI from fewer than six blocks"
    return "95 % CI {1} to {2}".format(*_ends(interval))


def _ends(interval: Interval) -> tuple[str, str, str]:
    return ratio_ends(interval.middle, interval.low, interval.high)


def ratio(run: Run, base: int, other: int, name: str | Quantity) -> Ratio:
    """Return the ratio of one quantity of two cases, other over base."""
    if isinstance(name, Quantity):
        return Ratio(base, other, name, ratio_of(by_block(run, base, name), by_block(run, other, name)))
    return Ratio(base, other, name, effect(run, base, other, name))


def log_ratios(run: Run, quotient: Ratio) -> "pd.Series[float]":
    """Return ln(other / base) of a ratio by block."""
    if isinstance(quotient.name, Quantity):
        return comparison.log_ratios(*(by_block(run, case, quotient.name) for case in (quotient.base, quotient.other)))
    return comparison.ratios(run, quotient.base, quotient.other, quotient.name)


def beside_medians(run: Run, ratios: Iterable[Ratio]) -> str:
    """Say of which ratios the medians that stand beside them have another ratio, outside the interval; "" if of none.

    A machine that changes its speed between blocks moves medians, and no ratio of one block.
    """
    others = [run.labels[quotient.other] for quotient in ratios if _is_beyond(run, quotient)]
    if not others:
        return ""
    return (
        f"Of {few(others)} the quotient of the two medians is outside this interval, because the ratio is computed "
        "block by block: changes of the machine's speed between blocks do not count."
    )


def _is_beyond(run: Run, quotient: Ratio) -> bool:
    """Return whether the ratio of two medians is outside the interval of their cases' ratio, by more than 0.1 %."""
    base, other = (over_starts(run, case, quotient.name).middle for case in (quotient.base, quotient.other))
    medians = other / base
    return bool(medians < 0.999 * quotient.interval.low or medians > 1.001 * quotient.interval.high)


def load_of(run: Run, number: int) -> str:
    """Return how many calls a case makes in a start: a burst and a whole window are different loads."""
    case = run.case(number)
    if case.is_short:
        return f"{case.max_calls // case.clients} calls per client"
    return "whole window" if number in run.plan.apart else "slices"
