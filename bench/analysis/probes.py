"""What two probes say of a machine: the times of all systems there, from those on other machines.

Machines differ in two speeds: what waking a process costs, most of a raw socket's round trip, and what running Python
costs. (Of the variance between five machines two factors explain 93 % on two CPUs, 99 % on one CPU.) A system is
between the two probes, raw sockets and Python's own XML-RPC; how far between, on a log scale, changes little from
machine to machine. So both probes are measured, and each system is put between them. How far such a forecast is off is
counted on the machines that are known, each left out in turn.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from bench.analysis.occasions import Occasion
from bench.analysis.replication import HeldOut, Score, Values, machine_numbers

FLOOR, LIBRARY, TRANSPORT = "sockets", "xmlrpc_stdlib", "ipc"  # the probes: waking processes, and running Python
SHARE = 0.90  # of the forecasts are inside their ends
QUANTITIES = {"p50_us": "median RTT", "cpu_us": "CPU time per call"}
PLACEMENTS = ("split", "same")
System = tuple[str, str]  # its name and transport


@dataclass(frozen=True)
class Forecast:
    """One quantity of one system under one placement, in us, with the ends between which it is expected (SHARE)."""

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

    systems: Mapping[System, Values]

    @property
    def probes(self) -> tuple[Values, Values]:
        """What both probes take on each machine."""
        floor, library = (self.systems.get((name, TRANSPORT), {}) for name in (FLOOR, LIBRARY))
        return floor, library

    @cached_property
    def known(self) -> dict[System, Values]:
        """Every other system, on the machines that have it and both probes; those without such a machine left out."""
        low, high = self.probes
        others = {system: of for system, of in self.systems.items() if system[0] not in (FLOOR, LIBRARY)}
        found = {system: {on: of[on] for on in of.keys() & low.keys() & high.keys()} for system, of in others.items()}
        return {system: of for system, of in found.items() if of}

    def forecast(self, own: Values, machines: Iterable[int], floor: float, library: float) -> float:
        """Return ln of a system's time where the probes take so long, from what it takes on some machines.

        Its place between the probes is the mean over these machines, held between them; so is what it adds.
        """
        (low, high), known = self.probes, list(machines)
        place = fmean((own[on] - low[on]) / (high[on] - low[on]) for on in known)
        place = min(1.0, max(0.0, place))
        adds = fmean(own[on] - low[on] - place * (high[on] - low[on]) for on in known)
        return floor + place * (library - floor) + adds

    @cached_property
    def held_out(self) -> HeldOut:
        """How far ln of a time was from its forecast on each machine."""
        low, high = self.probes
        return HeldOut(
            self.known.values(), lambda of, machines, here: self.forecast(of, machines, low[here], high[here]), SHARE
        )


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
        for system, known in on_others.known.items():
            said = on_others.forecast(known, known, math.log(floor), math.log(library))
            reach = math.exp(on_others.held_out.reach(len(known)))
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
