"""One check of a certificate: what a report or a load should be, what it is, and whether that is within a tolerance."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

from bench.text import duration

HELD, NOT_HELD, NOT_DECIDED = "held", "not held", "not decided"


@dataclass(frozen=True)
class Check:
    """A check. expected, found, tolerance: in ``unit``; tolerance is the distance from expected that is allowed.

    Where the ends of what is allowed are not equally far from ``expected``, it is the larger distance. text: one
    sentence.
    """

    name: str
    verdict: str
    text: str
    expected: float | None = None
    found: float | None = None
    tolerance: float | None = None
    unit: str = ""

    @classmethod
    def near(cls, name: str, text: str, expected: float, value: float, tolerance: float, unit: str) -> Self:
        """Return a check that is held if what was found is within the tolerance."""
        return cls(name, verdict(abs(value - expected) <= tolerance), text, expected, value, tolerance, unit)

    def undecided(self, why: str) -> "Check":
        """Return it as not decided, for a reason."""
        return replace(self, verdict=NOT_DECIDED, text=f"{self.text} Not decided: {why}.")

    def unless_late(self, late_us: float, beyond_us: float) -> "Check":
        """Return a check of times, as not decided if the front's own lateness is beyond its tolerance, or explains it.

        beyond_us: how far what was found is beyond the tolerance, negative if it is within.
        """
        if late_us > (self.tolerance or 0.0):
            return self.undecided(f"the front itself was late by {duration(late_us)}, more than the tolerance")
        if 0 < beyond_us <= late_us:
            return self.undecided(f"the front itself was late by {duration(late_us)}, which may be the difference")
        return self

    def saying(self, more: str) -> "Check":
        """Return it with one more sentence."""
        return replace(self, text=f"{self.text} {more}") if more else self


def verdict(holds: bool) -> str:
    """Return the word for a check that holds, or does not."""
    return HELD if holds else NOT_HELD


def worst(verdicts: Iterable[str]) -> str:
    """Return the verdict that decides for several: not held before not decided before held; "" without any."""
    words = set(verdicts)
    return next((word for word in (NOT_HELD, NOT_DECIDED, HELD) if word in words), "")


def outcome(checks: Iterable[Check]) -> str:
    """Return the verdict that decides for several checks."""
    return worst(check.verdict for check in checks) or NOT_DECIDED
