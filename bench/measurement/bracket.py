"""The search for a capacity: double the rate, bisect, confirm; two of three fresh starts decide at each rate."""

from collections.abc import Callable
from dataclasses import dataclass

from bench.plan.case import MOST_PER_S

RATIO = 1.1  # the bracket is narrowed to this
STARTS = 6  # fresh starts at its lower end, most of which must meet the objective
MOST_PROBES = 60


@dataclass(frozen=True)
class Probe:
    """One start at one rate: the quantile in us (NaN if too few requests), share sent, CPU per call in us."""

    rate: float
    quantile_us: float
    achieved: float
    server_cpu_us: float
    kept: bool


@dataclass(frozen=True)
class Bracket:
    """The objective is met at ``low`` and violated at ``high``; ``low`` is 0 if no rate met it.

    confirmed: whether most fresh starts met it at ``low``. ended: whether the search finished within its limit.
    """

    low: float
    high: float
    probes: tuple[Probe, ...]
    confirmed: bool
    ended: bool = True

    def votes(self, rate: float) -> tuple[int, int]:
        """Return in how many starts at a rate the objective was met, and how many there were."""
        votes = [probe.kept for probe in self.probes if probe.rate == rate]
        return sum(votes), len(votes)


class _OutOfPatienceError(Exception):
    """The search has taken as many starts as it may."""


class _Search:
    """What is known so far: the bracket, and every probe."""

    def __init__(self, probe: Callable[[float], Probe], first: float, starts: int) -> None:
        self._probe, self._starts = probe, starts
        self.low, self.high = 0.0, first
        self.probes: list[Probe] = []

    def _votes(self, rate: float) -> list[bool]:
        return [probe.kept for probe in self.probes if probe.rate == rate]

    def _ask(self, rate: float) -> None:
        if len(self.probes) >= MOST_PROBES:
            raise _OutOfPatienceError
        self.probes.append(self._probe(rate))

    def keeps(self, rate: float) -> bool:
        """Ask fresh starts until two of at most three agree: one start may meet a stall of the machine."""
        while max(self._votes(rate).count(vote) for vote in (True, False)) < 2:
            self._ask(rate)
        return self._votes(rate).count(True) >= 2

    def confirms(self, rate: float) -> bool:
        """Ask until there are enough starts; most of them have to meet the objective."""
        while len(self._votes(rate)) < self._starts:
            self._ask(rate)
        return 2 * sum(self._votes(rate)) > len(self._votes(rate))

    def double(self, most: float) -> None:
        """Double the rate until the objective is violated."""
        while self.high <= most and self.keeps(self.high):
            self.low, self.high = self.high, 2 * self.high

    def halve(self, least: float) -> None:
        """Halve the rate until the objective is met, or the rate is below the search range."""
        while not self.low and self.high / 2 >= least:
            if self.keeps(self.high / 2):
                self.low = self.high / 2
            else:
                self.high /= 2

    def narrow(self) -> None:
        """Bisect, on logs, until the bracket is narrow."""
        while self.high / self.low > RATIO:
            middle = (self.low * self.high) ** 0.5
            if self.keeps(middle):
                self.low = middle
            else:
                self.high = middle

    def run(self, least: float, most: float) -> bool:
        """Search; return whether the lower end was confirmed."""
        self.double(most)
        while self.high <= most:
            self.halve(least)
            if not self.low:
                return False
            self.narrow()
            if self.confirms(self.low):
                return True
            self.low, self.high = 0.0, self.low
        return False


def search(
    probe: Callable[[float], Probe],
    first: float,
    least: float = 1.0,
    most: float = MOST_PER_S,
    starts: int = STARTS,
) -> Bracket:
    """Double the rate until the objective is violated, bisect (on logs) to a narrow bracket, confirm its lower end.

    Two of at most three fresh starts decide at each rate, most of ``starts`` at the lower end. An end that is not
    confirmed becomes the upper one, and the search continues below it. Rates below ``least`` and above ``most`` are not
    tried.
    """
    going, confirmed, ended = _Search(probe, first, starts), False, True
    try:
        confirmed = going.run(least, most)
    except _OutOfPatienceError:
        ended = False
    return Bracket(going.low, going.high, tuple(going.probes), confirmed, ended)
