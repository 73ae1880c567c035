"""The trust card: the outcome of a check, and how many checks passed."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass

from bench.text import listed

PASS, CAUTION, INVALID, NOTHING = "PASS", "CAUTION", "INVALID", "N/A"


@dataclass(frozen=True)
class Check:
    """One check's outcome; the verdict ``NOTHING`` ("N/A") is that of a check with nothing, or too little, to judge."""

    name: str
    verdict: str
    found: str
    advice: str = ""

    def as_dict(self) -> dict[str, str]:
        """Return the check as the manifest stores it."""
        return asdict(self)


def outcome(name: str, passed: bool, finding: str, advice: str) -> Check:
    """Return PASS, or CAUTION with advice."""
    return Check(name, PASS, finding) if passed else Check(name, CAUTION, finding, advice)


@dataclass(frozen=True)
class Tally:
    """The verdicts of the checks by name, in the order of the card."""

    verdicts: Mapping[str, str]

    @property
    def passed(self) -> int:
        """Return how many checks passed."""
        return self._named(PASS)

    @property
    def judged(self) -> int:
        """Return how many checks decided."""
        return len(self.verdicts) - self.idle

    @property
    def idle(self) -> int:
        """Return how many checks could not decide: they did not pass, and did not fail."""
        return self._named(NOTHING)

    @property
    def others(self) -> list[str]:
        """Return the names of the checks that looked at something and did not pass."""
        return [name for name, verdict in self.verdicts.items() if verdict not in (PASS, NOTHING)]

    def _named(self, verdict: str) -> int:
        return list(self.verdicts.values()).count(verdict)

    @property
    def is_invalid(self) -> bool:
        """Return whether some check is INVALID: then no conclusion is drawn from the run."""
        return INVALID in self.verdicts.values()

    @property
    def line(self) -> str:
        """Return "Trust card: 7 of 9 checks PASS; noise CAUTION; 3 N/A"."""
        parts = [f"Trust card: {self.passed} of {self.judged} checks PASS"]
        parts += [f"{name} {self.verdicts[name]}" for name in self.others]
        return "; ".join(parts + [f"{self.idle} N/A"] * bool(self.idle))

    def __str__(self) -> str:
        names = f" (not: {listed(self.others)})" if self.others else ""
        return f"{self.passed}/{self.judged}{names}{f', {self.idle} N/A' * bool(self.idle)}"


def tally(checks: Iterable[Check]) -> Tally:
    """Return how many of these checks passed."""
    return Tally({check.name: check.verdict for check in checks})
