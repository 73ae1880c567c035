"""What two probes say of a machine: the times of all systems there, from those on other machines.

Machines differ in more than one speed: what waking a process costs, most of a raw socket's round trip, and what
a large library costs. A system is between the two probes, raw sockets and an asyncio HTTP server; how far between, on
a log scale, changes little from machine to machine. So both probes are measured, and each system is put between them.
How far such a forecast is off is counted on the machines that are known, each left out in turn.
"""

import itertools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from bench.analysis.occasions import Occasion
from bench.analysis.replication import Score, covering, machine_numbers

FLOOR, LIBRARY, TRANSPORT = "sockets", "http_aiohttp", "ipc"  # the probes: the least that a call costs, and a large one
QUANTITIES = {"p50_us": "median RTT", "cpu_us": "CPU time per call"}
PLACEMENTS = ("split", "same")
System = tuple[str, str]  # its name and transport
Logs = Mapping[int, float]  # ln of a time in us, by the number of the machine


@dataclass(frozen=True)
class Forecast:
    """One quantity of one system under one placement, in us, with the ends between which it is expected (95 %)."""

    system: str
    transport: str
    placement: str
    quantity: str
    middle: float
    reach: float

    @property
    def ends(self) -> tuple[float, float]:
        """The ends in us."""
        return self.middle / self.reach, self.middle * self.reach


@dataclass(frozen=True)
class Between:
    """The systems between the probes: ln of one quantity under one placement, on each machine that has it."""

    systems: Mapping[System, Logs]

    def forecast(self, system: System, floor: float, library: float, machines: Iterable[int]) -> float:
        """Return ln of a system's time where the probes take so long, from some machines that have it and both probes.

        Its place between the probes is the mean over these machines, held between them; so is what it adds.
        """
        low, high, own = self.systems[FLOOR, TRANSPORT], self.systems[LIBRARY, TRANSPORT], self.systems[system]
        known = list(machines)
        place = fmean((own[on] - low[on]) / (high[on] - low[on]) for on in known)
        place = min(1.0, max(0.0, place))
        adds = fmean(own[on] - low[on] - place * (high[on] - low[on]) for on in known)
        return floor + place * (library - floor) + adds

    def known(self, system: System) -> Collection[int]:
        """Return the machines that have a system and both probes."""
        parts = (self.systems.get(name, {}).keys() for name in ((FLOOR, TRANSPORT), (LIBRARY, TRANSPORT), system))
        return set.intersection(*map(set, parts))

    @cached_property
    def off(self) -> dict[int, list[float]]:
        """How far ln of a time was from its forecast on each machine, by the number of machines behind it."""
        found: dict[int, list[float]] = {}
        low, high = (self.systems.get((name, TRANSPORT), {}) for name in (FLOOR, LIBRARY))
        for system, own in self.systems.items():
            known = self.known(system) if system[0] not in (FLOOR, LIBRARY) else ()
            for here in known:
                others = sorted(set(known) - {here})
                for count in range(1, len(others) + 1):
                    for machines in itertools.combinations(others, count):
                        said = self.forecast(system, low[here], high[here], machines)
                        found.setdefault(count, []).append(abs(own[here] - said))
        return found

    def reach(self, count: int) -> float:
        """Return within which ln 95 % of the forecasts from so many machines were; infinite where none was tried."""
        most = max(self.off, default=0)
        return covering(self.off.get(min(count, most), []))


def between(occasions: Sequence[Occasion], quantity: str, placement: str) -> Between:
    """Return the systems between the probes; of each machine the mean of ln over its occasions."""
    found: dict[System, dict[int, list[float]]] = {}
    for number, occasion in zip(machine_numbers(occasions), occasions, strict=True):
        for system, value in levels(occasion, quantity, placement).items():
            found.setdefault(system, {}).setdefault(number, []).append(math.log(value))
    return Between({system: {on: fmean(logs) for on, logs in own.items()} for system, own in found.items()})


def levels(occasion: Occasion, quantity: str, placement: str) -> dict[System, float]:
    """Return one quantity of each system with one client under a placement, in us."""
    found = occasion.levels(quantity).items()
    return {(system, transport): value for (system, transport, where), value in found if where == placement}


def forecasts(occasions: Sequence[Occasion], probed: Occasion) -> list[Forecast]:
    """Return what the probes of an occasion say of all other systems, from occasions on other machines."""
    found = []
    for quantity, placement in itertools.product(QUANTITIES, PLACEMENTS):
        probes = levels(probed, quantity, placement)
        floor, library = (probes.get((name, TRANSPORT)) for name in (FLOOR, LIBRARY))
        if not floor or not library:
            continue
        on_others = between(occasions, quantity, placement)
        for system in on_others.systems:
            known = on_others.known(system)
            if system[0] in (FLOOR, LIBRARY) or not known:
                continue
            said = on_others.forecast(system, math.log(floor), math.log(library), known)
            reach = math.exp(on_others.reach(len(known)))
            found.append(Forecast(*system, placement, quantity, math.exp(said), reach))
    return found


def score(said: Iterable[Forecast], measured: Occasion) -> Score:
    """Return how many forecasts with ends an occasion confirms, of the systems that it measured."""
    found = Score(is_known=False)
    for one in said:
        value = levels(measured, one.quantity, one.placement).get((one.system, one.transport))
        if value and not math.isinf(one.reach):
            low, high = one.ends
            found += Score(False, int(low <= value <= high), (math.log(one.reach),))
    return found


def left_out(occasions: Sequence[Occasion]) -> Score:
    """Return how well each machine is forecast by its own probes and the occasions of the others."""
    numbers, found = machine_numbers(occasions), Score(is_known=False)
    for number, new in zip(numbers, occasions, strict=True):
        others = [of for own, of in zip(numbers, occasions, strict=True) if own != number]
        found += score(forecasts(others, new), new)
    return found
