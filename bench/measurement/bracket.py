"""The search for a capacity: double the rate, bisect, confirm; two of three fresh starts decide at each rate."""

from collections.abc import Callable, Iterable
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


def decided(probe: Ask, rate: float, known: Iterable[Probe] = ()) -> tuple[Probe, ...]:
    """Return the starts at a rate, the known ones first: fresh ones are made until two of at most three agree.

    They agree on whether the objective is met; one start may meet a stall of the machine.
    """
    starts = [*known]
    while max(met := sum(start.kept for start in starts), len(starts) - met) < 2:
        starts.append(probe(rate))
    return tuple(starts)


def at_one_rate(probe: Ask, rate: float, starts: int) -> Bracket:
    """Return whether most of some starts at one rate meet the objective: ``low`` is that rate, or 0; so is ``high``."""
    probes = tuple(replace(probe(rate), confirms=True) for _ in range(starts))
    is_met = 2 * sum(start.kept for start in probes) > starts
    return Bracket(rate if is_met else 0.0, rate, probes, confirmed=is_met)


def search(
    probe: Ask,
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
    probes: list[Probe] = []
    low, high, confirmed, ended = 0.0, first, False, True

    def ask(rate: float, confirming: Ask | None = None) -> Probe:
        if len(probes) >= MOST_PROBES:
            raise _OutOfPatienceError
        start = replace(confirming(rate), confirms=True) if confirming else probe(rate)
        probes.append(start)
        return start

    def meets(rate: float) -> bool:
        starts = decided(ask, rate, [start for start in probes if start.rate == rate])
        return sum(start.kept for start in starts) >= 2

    def confirms(rate: float) -> bool:
        """Ask further starts, as those that chose the rate met the objective; most of them, or all, have to meet it."""
        votes: list[bool] = []
        while len(votes) < rule.starts and (all(votes) or not rule.needs_all):
            votes.append(ask(rate, confirm or probe).kept)
        return all(votes) if rule.needs_all else 2 * sum(votes) > len(votes)

    try:
        while high <= maximum and meets(high):
            low, high = high, 2 * high
        while high <= maximum and not confirmed:
            while not low and high / 2 >= minimum:
                low, high = (high / 2, high) if meets(high / 2) else (0.0, high / 2)
            if not low:
                break
            while high / low > RATIO:
                middle = (low * high) ** 0.5
                low, high = (middle, high) if meets(middle) else (low, middle)
            confirmed = confirms(low)
            if not confirmed:
                low, high = 0.0, low
    except _OutOfPatienceError:
        ended = False
    return Bracket(low, high, tuple(probes), confirmed, ended)
