"""Contrasts: a quantity of some cases divided by that of another case; one estimator for every ratio that is shown."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import pandas as pd

from bench.analysis import comparison
from bench.analysis.comparison import QUANTITIES, effect, ratio_of
from bench.grammar.choose import Chooser, Factor, alike, chosen
from bench.grammar.estimand import Estimate
from bench.grammar.quantities import Quantity, at_least, by_block, over_starts, quantity_of
from bench.grammar.statement import Statement
from bench.plan.labels import Parts, as_label, distinguished
from bench.run.frames import Run
from bench.stats.intervals import Interval
from bench.text import capitalized, ratio_ends


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
    """A quantity of the cases that ``of`` chooses, divided by that of the first case that ``over`` chooses.

    quantity: a column of ``Run.starts``, or a ``Quantity``. by: factors that have the same values for both cases of a
    ratio; each combination of values has ratios of its own. where: chooses the cases that take part; all by default.
    For example, the median RTT over tcp divided by that over ipc, for each system::

        Contrast(P50, of={"transport": "tcp"}, over={"transport": "ipc"}, by=("system",))
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

    def statements(self, run: Run) -> list[Statement]:
        """Return the ratios, each with the two medians if these have about the same ratio."""
        return [_together(run, group) for group in _groups(run, self.ratios(run))]


def estimate_of(run: Run, quotient: Ratio) -> Estimate:
    """Return a ratio as an estimate of its case, compared with its base."""
    other, base = (run.labels[case] for case in (quotient.other, quotient.base))
    return ratio_estimate(other, quotient.interval, base=base, cases=(quotient.base, quotient.other))


def ratio_estimate(
    subject: str, interval: Interval, more: str = "", base: str = "", cases: tuple[int, ...] = ()
) -> Estimate:
    """Return the interval of a ratio as an estimate. more: what is said behind the ends of the interval."""
    return Estimate(subject, interval, _ends(interval)[0], confidence(interval) + more, base, cases)


Change = tuple[Parts, Parts]  # what the labels of other and base have, and that of the other one has not


def _change(run: Run, quotient: Ratio) -> Change:
    other, base = run.label_parts[quotient.other], run.label_parts[quotient.base]
    return tuple(part for part in other if part not in base), tuple(part for part in base if part not in other)


def _common(run: Run, quotient: Ratio) -> Parts:
    """Return what the labels of both cases have."""
    base = run.label_parts[quotient.base]
    return tuple(part for part in run.label_parts[quotient.other] if part in base)


def _groups(run: Run, ratios: Sequence[Ratio]) -> list[list[Ratio]]:
    """Return the ratios of one run that have their base in common; or, if each has a base of its own, a change."""
    bases = {quotient.base for quotient in ratios}
    groups: dict[object, list[Ratio]] = {}
    for quotient in ratios:
        change = _change(run, quotient)
        alone = quotient.base if len(bases) < len(ratios) else change if all(change) else quotient
        groups.setdefault(alone, []).append(quotient)
    return list(groups.values())


def _together(run: Run, group: Sequence[Ratio]) -> Statement:
    """Return ratios with the median of both cases: what is the same in all of them stands once."""
    words = capitalized(quantity_of(group[0].name).words)
    is_of_one_base = len({quotient.base for quotient in group}) == 1
    return _over_one_base(run, group, words) if is_of_one_base else _of_one_change(run, group, words)


def _over_one_base(run: Run, group: Sequence[Ratio], words: str) -> Statement:
    first = group[0]
    cases = [run.label_parts[case] for case in (first.base, *(quotient.other for quotient in group))]
    (base, *others), shared = distinguished(cases, with_system=True)
    over = f"divided by that of {base} ({_median(run, first, first.base)}){shared}"
    are_shown = has_medians(run, group)
    medians = [f" ({_median(run, quotient, quotient.other)})" * are_shown for quotient in group]
    items = [
        (f"{name}{median}", _measured(quotient)) for name, median, quotient in zip(others, medians, group, strict=True)
    ]
    if len(items) == 1:
        ((other, measured),) = items
        return Statement(f"{words} of {other} {over}: {measured}")
    return Statement(f"{words} {over}", tuple(map(": ".join, items)))


def _of_one_change(run: Run, group: Sequence[Ratio], words: str) -> Statement:
    to, since = map(as_label, _change(run, group[0]))
    names, shared = distinguished([_common(run, quotient) for quotient in group])
    are_shown = has_medians(run, group)
    medians = [_from_to(run, quotient) * are_shown for quotient in group]
    items = [
        f"{name}: {_measured(quotient, median)}" for name, median, quotient in zip(names, medians, group, strict=True)
    ]
    return Statement(f"{words}, {to} divided by {since}{shared}", tuple(items))


def _measured(quotient: Ratio, more: str = "") -> str:
    return f"**{quotient.words}** ({quotient.range}){more}{quotient.doubt}"


def _from_to(run: Run, quotient: Ratio) -> str:
    return f", from {_median(run, quotient, quotient.base)} to {_median(run, quotient, quotient.other)}"


def _median(run: Run, quotient: Ratio, case: int) -> str:
    spread = over_starts(run, case, quotient.name)
    return at_least(run, case, quotient.name) + spread.words(quantity_of(quotient.name).text)


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


NEAR = 1.02  # times a ratio that the quotient of the medians beside it may be: no reader sees a difference


def has_medians(run: Run, group: Sequence[Ratio]) -> bool:
    """Return whether ratios are shown with the medians of their cases: if the quotient of each two is near their ratio.

    A ratio is computed block by block. A machine that changes its speed between blocks moves the medians alone.
    """
    return all(_is_near(run, quotient) for quotient in group)


def _is_near(run: Run, quotient: Ratio) -> bool:
    base, other = (over_starts(run, case, quotient.name).middle for case in (quotient.base, quotient.other))
    return 1 / NEAR <= other / base / quotient.value <= NEAR


def load_of(run: Run, number: int) -> str:
    """Return how many calls a case makes in a start: a burst and a whole window are different loads."""
    case = run.case(number)
    if case.is_short:
        return f"{case.max_calls // case.clients} calls per client"
    return "whole window" if number in run.plan.apart else "slices"
