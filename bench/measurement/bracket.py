"""The search for a capacity: double the rate, bisect, confirm; two of three fresh starts decide at each rate."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from bench.plan.case import MOST_PER_S
from bench.plan.confirmation import USUAL, Rule

RATIO = 1.1  # the bracket is narrowed to this
STARTS = 6
MOST_OF_SIX = Rule(USUAL, STARTS)  # how its lower end is confirmed, if nothing else is asked for
MOST_PROBES = 60


@dataclass(frozen=True)
class Probe:
    """One start at one rate: the quantile in us, the share of the requests sent, whether it met the objective.

    quantile_us: NaN if too few requests, infinite if too many have no right reply. confirms: whether the start was made
    to confirm a rate that others had chosen: those met the objective because they chose it. shortfall: what became of
    the requests without a right reply, or why the start failed; "" if all have one.
    """

    rate: float
    quantile_us: float
    achieved: float
    kept: bool
    confirms: bool = False
    shortfall: str = ""


Ask = Callable[[float], Probe]


@dataclass(frozen=True)
class Bracket:
    """The objective is met at ``low`` and violated at ``high``; ``low`` is 0 if no rate met it.

    confirmed: whether most further starts met it at ``low``. ended: whether the search finished within its limit.
    """

    low: float
    high: float
    probes: tuple[Probe, ...]
    confirmed: bool
    ended: bool = True


class _OutOfPatienceError(Exception):
    """The search has taken as many starts as it may."""


class _Search:
    """What is known so far: the bracket, and every probe."""

    def __init__(self, probe: Ask, confirm: Ask, first: float, rule: Rule) -> None:
        self._probe, self._confirm, self._rule = probe, confirm, rule
        self.low, self.high = 0.0, first
        self.probes: list[Probe] = []

    def _ask(self, rate: float, probe: Ask) -> Probe:
        if len(self.probes) >= MOST_PROBES:
            raise _OutOfPatienceError
        self.probes.append(probe(rate))
        return self.probes[-1]

    def keeps(self, rate: float) -> bool:
        """Ask fresh starts until two of at most three agree: one start may meet a stall of the machine."""
        votes = [probe.kept for probe in self.probes if probe.rate == rate]
        while max(votes.count(True), votes.count(False)) < 2:
            votes.append(self._ask(rate, self._probe).kept)
        return votes.count(True) >= 2

    def confirms(self, rate: float) -> bool:
        """Ask further starts, as those that chose the rate met the objective; most of them, or all, have to meet it."""
        votes: list[bool] = []
        while len(votes) < self._rule.starts and (all(votes) or not self._rule.needs_all):
            votes.append(self._ask(rate, self._confirm).kept)
            self.probes[-1] = replace(self.probes[-1], confirms=True)
        return all(votes) if self._rule.needs_all else 2 * sum(votes) > len(votes)

    def double(self, maximum: float) -> None:
        """Double the rate until the objective is violated."""
        while self.high <= maximum and self.keeps(self.high):
            self.low, self.high = self.high, 2 * self.high

    def halve(self, minimum: float) -> None:
        """Halve the rate until the objective is met, or the rate is below the search range."""
        while not self.low and self.high / 2 >= minimum:
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

    def run(self, minimum: float, maximum: float) -> bool:
        """Search; return whether the lower end was confirmed."""
        self.double(maximum)
        while self.high <= maximum:
            self.halve(minimum)
            if not self.low:
                return False
            self.narrow()
            if self.confirms(self.low):
                return True
            self.low, self.high = 0.0, self.low
        return False


def decided(probe: Callable[[float], Probe], rate: float) -> tuple[Probe, ...]:
    """Return the fresh starts at a rate, at most three, two of which agree on whether the objective is met."""
    asked = _Search(probe, probe, rate, Rule(USUAL, 0))
    asked.keeps(rate)
    return tuple(asked.probes)


def search(
    probe: Callable[[float], Probe],
    first: float,
    minimum: float = 1.0,
    maximum: float = MOST_PER_S,
    rule: Rule = MOST_OF_SIX,
    confirm: Ask | None = None,
) -> Bracket:
    """Double the rate until the objective is violated, bisect (on logs) to a narrow bracket, confirm its lower end.

    Two of at most three fresh starts decide at each rate, further ones at the lower end by a ``rule``; ``confirm``
    makes these. An end not confirmed becomes the upper one, and the search continues below it. Rates below
    ``minimum`` and above ``maximum`` are not tried.
    """
    going, confirmed, ended = _Search(probe, confirm or probe, first, rule), False, True
    try:
        confirmed = going.run(minimum, maximum)
    except _OutOfPatienceError:
        ended = False
    return Bracket(going.low, going.high, tuple(going.probes), confirmed, ended)
