"""Capacity under an objective: the highest offered rate at which response times stay within bounds."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bench import params, stats
from bench.errors import SystemFailedError, UsageError
from bench.overload import LEAST_ACHIEVED
from bench.plan import MOST_PER_S, Case
from bench.routing import Routing
from bench.stage import measure

RATIO = 1.1  # the bracket is narrowed to this
CONFIRM = 3  # fresh starts that have to keep the objective at its lower end
LONGEST_S = 10.0


@dataclass(frozen=True)
class Objective:
    """A quantile of the response time and the most it may be, in us."""

    p: float
    limit_us: float

    def __str__(self) -> str:
        """Write it as it is typed."""
        return f"p{100 * self.p:g}<={self.limit_us / 1000:g}ms"


def objective(text: str) -> Objective:
    """Return the objective that "p99<=5ms" spells; UsageError says how one is written."""
    found = re.fullmatch(r"\s*p(\d+(?:\.\d+)?)\s*<=\s*(\d+(?:\.\d+)?)\s*(us|ms|s)\s*", text)
    if not found or not 0 < float(found[1]) < 100 or not float(found[2]) > 0:
        raise UsageError(f"{text!r} is no objective: write for example p99<=5ms")
    return Objective(float(found[1]) / 100, float(found[2]) * {"us": 1, "ms": 1e3, "s": 1e6}[found[3]])


@dataclass(frozen=True)
class Probe:
    """What one start at one rate gave: the quantile in us (NaN if too few requests), share sent, CPU per call in us."""

    rate: float
    quantile_us: float
    achieved: float
    server_cpu_us: float
    kept: bool


@dataclass(frozen=True)
class Bracket:
    """Between these rates the objective is lost; ``low`` was confirmed by fresh starts. 0: not even the first rate."""

    low: float
    high: float
    probes: tuple[Probe, ...]
    confirmed: bool


def search(probe: Callable[[float], Probe], first: float, most: float = MOST_PER_S) -> Bracket:
    """Double the rate until the objective is lost, bisect (on logs) until the bracket is narrow, confirm its lower end.

    An end that a fresh start does not confirm becomes the upper one, and the search goes on below it.
    """
    probes: list[Probe] = []

    def keeps(rate: float) -> bool:
        probes.append(probe(rate))
        return probes[-1].kept

    low, high = 0.0, first
    while keeps(high):
        low, high = high, 2 * high
        if high > most:
            return Bracket(low, high, tuple(probes), confirmed=False)
    while not low and high > first / 64:  # nothing kept yet: halve
        if keeps(high / 2):
            low = high / 2
        else:
            high /= 2
    while low:
        while high / low > RATIO:
            middle = (low * high) ** 0.5
            low, high = (middle, high) if keeps(middle) else (low, middle)
        if all(keeps(low) for _ in range(CONFIRM)):
            return Bracket(low, high, tuple(probes), confirmed=True)
        low, high = (low / 1.25, low) if low > first / 64 else (0.0, low)
    return Bracket(0.0, high, tuple(probes), confirmed=False)


def measured(
    case: Case, wanted: Objective, window_s: float, routing: Routing, seed: int = 1
) -> Callable[[float], Probe]:
    """Return a probe that measures a start of the case under an open load of the rate asked for."""
    number = 0

    def probe(rate: float) -> Probe:
        nonlocal number
        number += 1
        long_s = min(LONGEST_S, max(window_s, 1.3 * stats.needed_samples(wanted.p) / rate))
        paced = replace(case, load="open", offered_per_s=rate)
        try:
            found = measure(paced, long_s, seed + number, routing)
        except SystemFailedError:
            if number == 1:
                raise
            return Probe(rate, float("nan"), 0.0, float("nan"), kept=False)
        times = np.concatenate([one[1] - one[2] for one in found.calls]) / 1e3
        achieved = found.ledger["calls"] / max(1, found.ledger["scheduled"])
        enough = len(times) >= stats.needed_samples(wanted.p)
        quantile = stats.quantile(times, wanted.p) if enough else float("nan")
        cpu = (found.ledger.get("server_cpu_ns") or float("nan")) / max(1, found.ledger["calls"]) / 1e3
        return Probe(
            rate, quantile, achieved, cpu, kept=bool(quantile <= wanted.limit_us and achieved >= LEAST_ACHIEVED)
        )

    return probe


def capacity_text(
    system: str, transport: str, wanted: str, clients: int, options: str, window_s: float, first: float
) -> str:
    """Search a system's capacity and return it as lines: each probe, then the bracket."""
    goal = objective(wanted)
    given = params.mapping(options, "options")
    case = Case(system, transport, 100, given, "split", "open", first, "poisson", clients)
    with Routing() as routing:
        found = search(measured(case, goal, window_s, routing), first)
    lines = [_line(one, goal) for one in found.probes]
    return "\n".join([*lines, _closing(found, goal)])


def _line(one: Probe, goal: Objective) -> str:
    value = "too few requests" if one.quantile_us != one.quantile_us else f"{one.quantile_us / 1000:.3g} ms"
    state = "kept" if one.kept else "lost"
    return (
        f"{one.rate:10,.0f}/s  p{100 * goal.p:g} {value:>16}  sent {one.achieved:6.1%}  "
        f"server CPU/call {one.server_cpu_us:6.0f} us  {state}"
    )


def _closing(found: Bracket, goal: Objective) -> str:
    if not found.low:
        return f"{goal} is kept at no rate down to {found.high:,.0f}/s: loosen it, or look for what else is slow"
    if not found.confirmed:
        return f"{goal} is kept even at {found.low:,.0f}/s, the most that is searched: take a stricter objective"
    return (
        f"{goal} is kept up to between {found.low:,.0f} and {found.high:,.0f} requests a second; "
        f"{CONFIRM} fresh starts confirmed the lower end"
    )
