"""The scenarios of a certificate: which load a generator is asked for, against which server."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from bench.text import counted
from certify.protocols import PROTOCOLS, Name
from certify.service import Service

FEW = 8  # connections of a scenario whose subject they are not
CONNECTIONS = 64  # enough for all requests that are due while a server of these is frozen
RATE = 500.0  # requests per second of open loads: half of the capacity at a service time of 1 ms
OVERLOADED = 4  # connections of a load that asks for twice what they can carry
MOST_PER_S = 200_000  # requests of a closed load that is counted, however short the service time
LEAST_S = 2.0  # of a scenario: two freezes are in it

SINGLE = Service("constant", 1000)
MANY = Service("exponential", 20_000, workers=0)
QUEUE = Service("exponential", 1000)
FREEZING = Service("constant", 500, freeze_ms=100)
PARALLEL = Service("constant", 10_000, workers=0)
FAILING = replace(PARALLEL, fault="status", every=20, spared=4 * FEW)  # of a warm-up none fails
CLOSING = replace(PARALLEL, fault="close", every=20, spared=4 * FEW)

EVENTS, GAP_US = 16, 10_000  # of a stream, whose events are tokens
STREAM = Service("constant", 50_000, workers=0, events=EVENTS, gap_us=GAP_US)
STREAMS = replace(STREAM, law="exponential")
STREAM_QUEUE = Service("exponential", 20_000, events=EVENTS, gap_us=GAP_US)
STREAM_RATE = 25.0  # half of the capacity at a service time of 20 ms
SHORT = replace(PARALLEL, events=4, gap_us=5000)
FAILING_STREAM = replace(SHORT, fault="status", every=20, spared=4 * FEW)
BREAKING_STREAM = replace(SHORT, fault="close", every=20, spared=4 * FEW)


@dataclass(frozen=True)
class Scenario:
    """One load of a certificate.

    connections, rate_per_s, duration_s: what the generator is asked for; an open load may open fewer connections.
    are_times_judged: whether its response times are compared; those of an overloaded server or of failed requests
    mean little. can_be_delivered: whether that many connections can carry the rate.
    """

    name: str
    load: Literal["closed", "open"]
    service: Service
    duration_s: float
    connections: int = 1
    rate_per_s: float | None = None
    are_times_judged: bool = True
    can_be_delivered: bool = True

    @property
    def can_stay_open(self) -> bool:
        """Whether there are connections for all requests that are due while the server is frozen."""
        return self.connections >= (self.rate_per_s or 0.0) * self.service.freeze_ms / 1e3

    @property
    def requests(self) -> int:
        """How many requests a closed load makes in its duration, if it takes no time of its own."""
        at_once = min(self.connections, self.service.workers or self.connections)
        takes_us = self.service.mean_us + self.service.stream_us
        return round(self.duration_s * at_once * 1e6 / max(takes_us, at_once * 1e6 / MOST_PER_S))

    @property
    def title(self) -> str:
        """The scenario in words."""
        rate = f", {self.rate_per_s:g} requests/s" if self.rate_per_s else ""
        load = f"{self.load} load{rate}, {counted(self.connections, 'connection')}, {self.duration_s:g} s"
        return f"{load}; {self.service.words}"


def scenarios(connections: int = CONNECTIONS, seconds: float = 70.0, protocol: Name = "http1") -> list[Scenario]:
    """Return all scenarios, which together take so many seconds; ``connections`` where these are the subject."""
    templates = _of_streams(connections) if PROTOCOLS[protocol].has_streams else _of_calls(connections)
    scale = seconds / sum(scenario.duration_s for scenario in templates)
    return [replace(scenario, duration_s=max(LEAST_S, round(scale * scenario.duration_s))) for scenario in templates]


def _of_calls(connections: int) -> list[Scenario]:
    too_much = 2 * OVERLOADED * 1e6 / PARALLEL.mean_us
    return [
        Scenario("single", "closed", SINGLE, 8),
        Scenario("many", "closed", MANY, 10, connections),
        Scenario("errors", "closed", FAILING, 4, FEW, are_times_judged=False),
        Scenario("closed-connections", "closed", CLOSING, 4, FEW, are_times_judged=False),
        Scenario("half-load", "open", QUEUE, 15, connections, RATE),
        Scenario("freeze", "open", FREEZING, 10, max(connections, CONNECTIONS), RATE),
        Scenario("freeze-few", "open", FREEZING, 10, FEW, RATE),
        Scenario("overload", "open", PARALLEL, 5, OVERLOADED, too_much, False, False),
        Scenario("open-errors", "open", FAILING, 4, 4 * FEW, RATE, are_times_judged=False),
    ]


def _of_streams(connections: int) -> list[Scenario]:
    return [
        Scenario("single", "closed", STREAM, 10),
        Scenario("many", "closed", STREAMS, 10, max(1, connections // 4)),
        Scenario("errors", "closed", FAILING_STREAM, 4, FEW, are_times_judged=False),
        Scenario("closed-connections", "closed", BREAKING_STREAM, 4, FEW, are_times_judged=False),
        Scenario("half-load", "open", STREAM_QUEUE, 15, connections, STREAM_RATE),
    ]


def of_loads(loads: Sequence[str], chosen: Sequence[Scenario]) -> list[Scenario]:
    """Return the scenarios whose load a generator can make."""
    return [scenario for scenario in chosen if scenario.load in loads]
