"""What two probes say of a machine: the times of all systems there, from those on other machines.

Machines differ in two speeds: what waking a process costs, most of a raw socket's round trip, and what running Python
costs. (Of the variance between five machines two factors explain 93 % on two CPUs, 99 % on one CPU.) A system is
between the two probes, raw sockets and Python's own XML-RPC; how far between, on a log scale, changes little from
machine to machine. So both probes are measured, and each system is put between them. How far such a forecast is off is
counted on the machines that are known, each left out in turn. Machines with another model of processor were off
farther: where the model is not among the known ones, only forecasts from one model for another count.
"""

import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from bench.analysis.occasions import Occasion
from bench.analysis.replication import (
    HeldOut,
    Names,
    Score,
    Values,
    beside_others,
    machine_names,
    machine_numbers,
    total,
)

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
    names: Names

    @property
    def probes(self) -> tuple[Values, Values]:
        """What both probes take on each machine."""
        floor, library = (self.systems.get((name, TRANSPORT), {}) for name in (FLOOR, LIBRARY))
        return floor, library

    @cached_property
    def known(self) -> dict[System, Values]:
        """Every other system, on the machines that have it and both probes; those without such a machine left out."""
        low, high = self.probes
        others = {system: values for system, values in self.systems.items() if system[0] not in (FLOOR, LIBRARY)}
        systems = {
            system: {machine: values[machine] for machine in values.keys() & low.keys() & high.keys()}
            for system, values in others.items()
        }
        return {system: values for system, values in systems.items() if values}

    def forecast(self, own: Values, machines: Iterable[int], floor: float, library: float) -> float:
        """Return ln of a system's time where the probes take so long, from what it takes on some machines.

        Its position between the probes is the mean over these machines, held between them; so is what it adds.
        """
        (low, high), known = self.probes, list(machines)
        position = fmean((own[machine] - low[machine]) / (high[machine] - low[machine]) for machine in known)
        position = min(1.0, max(0.0, position))
        adds = fmean(own[machine] - low[machine] - position * (high[machine] - low[machine]) for machine in known)
        return floor + position * (library - floor) + adds

    @cached_property
    def held_out(self) -> HeldOut:
        """How far ln of a time was from its forecast on each machine."""
        low, high = self.probes
        return HeldOut(
            self.known.values(),
            self.names,
            lambda values, machines, here: self.forecast(values, machines, low[here], high[here]),
            SHARE,
        )


def between(occasions: Sequence[Occasion], quantity: str, placement: str, is_known: bool) -> Between:
    """Return the systems between the probes; of each machine the mean of ln over its occasions.

    is_known: the model of the processor that is forecast. If not, machines with one model do not forecast each other.
    """
    log_times: dict[System, dict[int, list[float]]] = {}
    machines = machine_numbers(occasions)
    for number, occasion in zip(machines, occasions, strict=True):
        for system, value in levels(occasion, quantity, placement).items():
            log_times.setdefault(system, {}).setdefault(number, []).append(math.log(value))
    means = {system: {machine: fmean(logs) for machine, logs in own.items()} for system, own in log_times.items()}
    models = {number: occasion.machine.cpu_model for number, occasion in zip(machines, occasions, strict=True)}
    return Between(means, machine_names(occasions, machines) if is_known else models)


def knows_processor(occasions: Iterable[Occasion], probed: Occasion) -> bool:
    """Return whether a machine of the occasions has this model of processor."""
    return any(occasion.machine.cpu_model == probed.machine.cpu_model for occasion in occasions)


def has_probes(occasion: Occasion) -> bool:
    """Return whether an occasion measured both probes, with the payload and the message of the known occasions."""
    usual = {
        row.case["system"]
        for row in occasion.rows
        if row.case["transport"] == TRANSPORT and not row.case.keys() & {"payload_bytes", "message"}
    }
    return usual >= {FLOOR, LIBRARY}


def levels(occasion: Occasion, quantity: str, placement: str) -> dict[System, float]:
    """Return one quantity of each system with one client under a placement, in us."""
    return {
        (system, transport): value
        for (system, transport, level_placement), value in occasion.levels(quantity).items()
        if level_placement == placement
    }


def forecasts(occasions: Sequence[Occasion], probed: Occasion) -> list[Forecast]:
    """Return what the probes of an occasion say of all other systems, from occasions on other machines."""
    predictions, is_known = [], knows_processor(occasions, probed)
    for quantity, placement in itertools.product(QUANTITIES, PLACEMENTS):
        probes = levels(probed, quantity, placement)
        floor, library = (probes.get((name, TRANSPORT)) for name in (FLOOR, LIBRARY))
        if not floor or not library:
            continue
        on_others = between(occasions, quantity, placement, is_known)
        for system, known in on_others.known.items():
            log_middle = on_others.forecast(known, known, math.log(floor), math.log(library))
            reach = math.exp(on_others.held_out.reach(len(known)))
            predictions.append(Forecast(*system, placement, quantity, math.exp(log_middle), reach))
    return predictions


def score(forecasts: Iterable[Forecast], measured: Occasion) -> Score:
    """Return how many forecasts with ends an occasion confirms, of the systems that it measured."""
    made = Score(is_known=False)
    for forecast in forecasts:
        value = levels(measured, forecast.quantity, forecast.placement).get((forecast.system, forecast.transport))
        if value and not math.isinf(forecast.reach):
            low, high = forecast.ends
            made += Score(False, int(low <= value <= high), (math.log(forecast.reach),))
    return made


def left_out(occasions: Sequence[Occasion]) -> Score:
    """Return how well each machine is forecast by its own probes and the occasions of the others.

    Of two models of processor this counts the machines whose model another one has: of one model there is no forecast
    for another with ends.
    """
    return total(score(forecasts(others, occasion), occasion) for occasion, others in beside_others(occasions))
