"""The trust card: the outcome of a check, and how many checks passed."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from bench.text import listed

PASS, CAUTION, INVALID = "PASS", "CAUTION", "INVALID"


@dataclass(frozen=True)
class Check:
    """One check's outcome."""

    name: str
    verdict: str
    found: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return the check as the manifest stores it."""
        return asdict(self)


def outcome(name: str, passed: bool, found: str, advice: str) -> Check:
    """Return PASS, or CAUTION with advice."""
    return Check(name, PASS, found) if passed else Check(name, CAUTION, found, advice)


@dataclass(frozen=True)
class Tally:
    """The verdicts of the checks by name, in the order of the card."""

    verdicts: Mapping[str, str]

    @property
    def passed(self) -> int:
        """Return how many checks passed."""
        return len(self.verdicts) - len(self.others)

    @property
    def others(self) -> list[str]:
        """Return the names of the checks that did not pass."""
        return [name for name, verdict in self.verdicts.items() if verdict != PASS]

    @property
    def invalid(self) -> list[str]:
        """Return the names of the INVALID checks."""
        return [name for name, verdict in self.verdicts.items() if verdict == INVALID]

    @property
    def is_invalid(self) -> bool:
        """Return whether some check is INVALID: then no conclusion is drawn from the run."""
        return bool(self.invalid)

    def __str__(self) -> str:
        names = f" (not: {listed(self.others)})" if self.others else ""
        return f"{self.passed}/{len(self.verdicts)}{names}"


def tally(checks: Iterable[Check]) -> Tally:
    """Return how many of these checks passed."""
    return Tally({check.name: check.verdict for check in checks})
