"""The capacity of a load generator, and how it behaves near it: rates, response times, lateness and CPU time.

Its capacity at a number of connections is the rate of a closed load against a front that serves at once; of a generator
that makes open loads only, the rate delivered where far more is asked for. Open loads then ask for shares of it. That
is a measurement: nothing is passed or failed, but what is reported is checked as in a certificate.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np
from msgspec import Struct

from bench.analysis.resources import FULL
from bench.child.open_files import allow_connections
from bench.errors import SystemFailedError
from bench.stats import Array, quantile
from bench.text import capitalized, counted
from certify import certificate, path_times
from certify.check import NOT_HELD
from certify.generator_file import GeneratorFile, Load
from certify.observation import Observation, PathTimes
from certify.record import SECOND
from certify.scenarios import LEAST_S, Scenario
from certify.service import Service

FORMAT = 1
CONNECTIONS = (1, 32, 1000)
SAME = 0.95  # of the highest rate: no difference between loads of some seconds
SHARES = (0.1, 0.5, 0.8, 1.0, 1.2)  # of the capacity
TOO_MUCH = 1_000_000.0  # requests/s that nobody delivers: asked of a generator that makes no closed load
NEEDED = ("exit", "arrivals")  # checks of the load that measures a capacity
AT_ONCE = Service("constant", 0.0, workers=0)


class Times(Struct, frozen=True):
    """Quantiles of a time, in us; None if it is not reported."""

    p50: float | None
    p99: float | None


class Point(Struct, frozen=True):
    """One load. Rates are in requests per second, times in us.

    share: of the capacity at so many connections, which an open load asked for; None of the load that measured it.
    asked_per_s: None of a closed load. delivered_per_s: the slope of the arrivals. omitted: requests of an open load
    that were due in its duration and did not arrive. true_us: response times from the arrival. due_us: from when each
    request was due in the schedule asked for; late_us: from then to its arrival; None of closed loads and of random
    schedules. cpus: CPUs that the generator used. front_cpus: those of the front, which has one thread. not_held: the
    checks of its end and its report that are not held. answers_per_s: answers divided by the time from the first
    arrival to the last departure, which a report's rate is.
    """

    load: Load
    connections: int
    share: float | None
    asked_per_s: float | None
    duration_s: float
    requests: int
    delivered_per_s: float
    reported_per_s: float | None
    omitted: int | None
    true_us: Times
    due_us: Times | None
    late_us: Times | None
    reported_us: Times
    cpu_us_per_request: float | None
    cpus: float | None
    front_cpus: float
    others_cpu_share: float
    not_held: list[str]
    answers_per_s: float

    @property
    def is_front_saturated(self) -> bool:
        """Whether the front used its one CPU: the generator may be able to do more."""
        return self.front_cpus > FULL


class Capacity(Struct, frozen=True):
    """All of it. path_us: what the way to the front and back adds to a response time. left_out: what is missing."""

    format: int
    generator: str
    version: str
    machine: str
    path_us: PathTimes
    points: list[Point]
    left_out: list[str]
    date: str

    @property
    def name(self) -> str:
        """The generator, with the number of its version."""
        return f"{self.generator} {self.version}".strip()

    @property
    def connections(self) -> list[int]:
        """The numbers of connections that were measured."""
        return list(dict.fromkeys(point.connections for point in self.points))

    def full(self, connections: int) -> Point:
        """Return the load that measured the capacity at a number of connections."""
        return next(point for point in self.points if point.connections == connections and point.share is None)

    def best(self) -> Point:
        """Return the load of the highest capacity; of those with the same, the one with the fewest connections."""
        loads = [self.full(connections) for connections in self.connections]
        least = SAME * max(load.delivered_per_s for load in loads)
        return min((load for load in loads if load.delivered_per_s >= least), key=lambda load: load.connections)

    def opened(self, connections: int | None = None) -> list[Point]:
        """Return the open loads that asked for shares of the capacity, in the order of their rates.

        connections: without a number, those of the highest capacity.
        """
        count = connections or self.best().connections
        return [point for point in self.points if point.connections == count and point.share is not None]

    def at(self, share: float, connections: int | None = None) -> Point | None:
        """Return the open load that asked for a share of the capacity; None without any."""
        return next((point for point in self.opened(connections) if point.share == share), None)


def measure(
    generator: GeneratorFile,
    connections: Sequence[int],
    seconds: float,
    say: Callable[[str], None],
) -> Capacity:
    """Measure it, in about so many seconds; ``say`` gets a line before each load.

    NotInstalledError without the program, SystemFailedError if at no number of connections it made a load to its end.
    """
    program, points, left_out = generator.program, list[Point](), list[str]()
    shares = SHARES if "open" in generator.loads else ()
    duration_s = max(LEAST_S, round(seconds / len(connections) / (1 + len(shares))))
    protocol = generator.says.protocol
    before = path_times.closed(protocol=protocol)

    def seen(scenario: Scenario, share: float | None) -> Point:
        say(f"{scenario.name}: {scenario.title.partition(';')[0]}")
        return point_of(certificate.observe(generator, program, scenario), share)

    for count in connections:
        try:
            allow_connections(count)
        except SystemFailedError as reason:
            left_out.append(capitalized(f"{reason}."))
            continue
        load: Load = "closed" if "closed" in generator.loads else "open"
        full = seen(_of(load, "capacity", count, duration_s, None if load == "closed" else TOO_MUCH), None)
        if failed := [words for words in full.not_held if words.startswith(NEEDED)]:
            left_out.append(f"{counted(count, 'connection')}: {'; '.join(failed)}")
            continue
        points.append(full)
        for share in shares:
            rate = max(1.0, round(share * full.delivered_per_s))  # whole: not every generator takes another one
            points.append(seen(_of("open", f"{share:.0%}", count, duration_s, rate, share < 1), share))
    if not points:
        raise SystemFailedError(f"no capacity of {generator.name} was measured: {' '.join(left_out)}")
    path = path_times.closed(protocol=protocol).or_more(before)
    date, machine = datetime.now(UTC).date().isoformat(), certificate.machine()
    return Capacity(FORMAT, generator.name, certificate.version(generator), machine, path, points, left_out, date)


def _of(
    load: Load, name: str, connections: int, duration_s: float, rate: float | None, can_be_delivered: bool = False
) -> Scenario:
    return Scenario(name, load, AT_ONCE, duration_s, connections, rate, False, can_be_delivered)


def point_of(seen: Observation, share: float | None) -> Point:
    """Return the numbers of one load that was seen."""
    scenario, record, reported, late_us = seen.scenario, seen.record, seen.reported, None
    rate, arrived = scenario.rate_per_s, record.requests["arrived"]
    if rate and seen.schedule != "poisson" and len(arrived):
        late_us = behind_schedule_ns(arrived, rate) / 1e3
    is_answered = record.requests["departed"] > 0
    return Point(
        load=scenario.load,
        connections=scenario.connections,
        share=share,
        asked_per_s=rate,
        duration_s=scenario.duration_s,
        requests=len(arrived),
        delivered_per_s=record.arrivals_per_s,
        reported_per_s=reported.rate_per_s if reported else None,
        omitted=max(0, round(rate * scenario.duration_s) - len(arrived)) if rate else None,
        true_us=_times(record.response_us),
        due_us=None if late_us is None else _times(record.response_us + late_us[is_answered]),
        late_us=None if late_us is None else _times(late_us),
        reported_us=Times(reported.p50_us, reported.p99_us) if reported else Times(None, None),
        cpu_us_per_request=seen.cpu_us_per_request,
        cpus=seen.cpus,
        front_cpus=seen.front_cpu_s / record.answers_s if record.answers_s else 0.0,
        others_cpu_share=seen.others_share,
        not_held=[f"{check.name}: {check.text}" for check in certificate.checks(seen) if check.verdict == NOT_HELD],
        answers_per_s=record.answers_per_s,
    )


def _times(values: Array) -> Times:
    return Times(quantile(values, 0.5), quantile(values, 0.99)) if len(values) else Times(None, None)


def behind_schedule_ns(arrived_ns: Array, rate_per_s: float) -> Array:
    """Return how late each request arrived, in ns, shape (n,), in a schedule of constant gaps.

    The schedule begins anew with each request that comes before its time: a rate a little too high makes none late.
    """
    behind = arrived_ns - arrived_ns[0] - np.arange(len(arrived_ns)) * (SECOND / rate_per_s)
    return np.asarray(behind - np.minimum.accumulate(behind))
