"""An estimate in words: of which case, its value, and its interval."""

from dataclasses import dataclass

from bench.stats import Spread, Text
from bench.stats.intervals import Interval


@dataclass(frozen=True)
class Estimate:
    """A value with its interval, of a case or of several.

    interval: whose ends say what the run decides; NaN where they are not known. words, ends: value and interval in
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
