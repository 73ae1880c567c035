"""One check of a certificate: what a report or a load should be, what it is, and whether that is within a tolerance."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

HELD, NOT_HELD, NOT_DECIDED = "held", "not held", "not decided"


@dataclass(frozen=True)
class Check:
    """A check. expected, found, tolerance: in ``unit``; tolerance is the distance from expected that is allowed.

    low, high: the ends of what is allowed, where they are not as far from ``expected``. text: one sentence.
    """

    name: str
    verdict: str
    text: str
    expected: float | None = None
    found: float | None = None
    tolerance: float | None = None
    unit: str = ""

    def undecided(self, why: str) -> "Check":
        """Return it as not decided, for a reason."""
        return replace(self, verdict=NOT_DECIDED, text=f"{self.text} Not decided: {why}.")


def verdict(holds: bool) -> str:
    """Return the word for a check that holds, or does not."""
    return HELD if holds else NOT_HELD


def outcome(checks: list[Check]) -> str:
    """Return the verdict of several checks: not held if one is not, else not decided if one is not."""
    return worst(check.verdict for check in checks) or NOT_DECIDED


def worst(verdicts: Iterable[str]) -> str:
    """Return the verdict that decides for several; "" without any."""
    found = set(verdicts)
    return next((word for word in (NOT_HELD, NOT_DECIDED, HELD) if word in found), "")
