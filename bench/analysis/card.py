"""The trust card: what a check finds, and how many of them passed."""

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
    """Return a check that passed, or a caution with what to do."""
    return Check(name, PASS, found) if passed else Check(name, CAUTION, found, advice)


@dataclass(frozen=True)
class Tally:
    """How many checks passed; verdicts by name, in the order of the card."""

    verdicts: Mapping[str, str]

    @property
    def passed(self) -> int:
        """How many passed."""
        return len(self.verdicts) - len(self.others)

    @property
    def others(self) -> list[str]:
        """The names of those that did not."""
        return [name for name, verdict in self.verdicts.items() if verdict != PASS]

    @property
    def invalid(self) -> list[str]:
        """The names of those by which the result is worth nothing."""
        return [name for name, verdict in self.verdicts.items() if verdict == INVALID]

    @property
    def is_invalid(self) -> bool:
        """Whether some check says that the result is worth nothing."""
        return bool(self.invalid)

    def __str__(self) -> str:
        """Return it as a caption shows it: 11/12 (not: settled)."""
        names = f" (not: {listed(self.others)})" if self.others else ""
        return f"{self.passed}/{len(self.verdicts)}{names}"


def tally(checks: Iterable[Check]) -> Tally:
    """Return how many of these checks passed."""
    return Tally({one.name: one.verdict for one in checks})
