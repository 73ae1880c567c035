"""What was seen of a generator in one scenario: the front's record, the report, and how the program ended."""

from dataclasses import dataclass

import numpy as np

from certify.protocols import Name
from certify.record import Record
from certify.report import Reported
from certify.running import Ended
from certify.scenarios import Scenario


@dataclass(frozen=True)
class PathTimes:
    """What the way to the front and back adds to a response time on this machine, in us, as a plain client sees it."""

    p50: float = 0.0
    p99: float = 0.0
    most: float = 0.0

    def or_more(self, other: "PathTimes") -> "PathTimes":
        """Return the larger of each of two."""
        return PathTimes(max(self.p50, other.p50), max(self.p99, other.p99), max(self.most, other.most))

    def at(self, p: float) -> float:
        """Return what it adds to a quantile: the median's up to p50, p99's up to p99, the largest beyond."""
        return self.p50 if p <= 0.5 else self.p99 if p <= 0.99 else self.most


@dataclass(frozen=True)
class Observation:
    """One run of one scenario.

    schedule: gaps of the generator's open loads: constant, "connections" (constant on each), or poisson. reported: None
    if there is no report that can be read, for which ``problem`` gives the reason. warm_up: requests before the load,
    which are not in the record. others_share: of the machine's CPU time that other processes used meanwhile. path: of
    the machine. front_cpu_s: CPU time of the front. protocol: which it speaks. shares_connections: whether the requests
    under way share connections. is_counted: whether the load ends after a number of requests, not after its duration.
    """

    scenario: Scenario
    schedule: str
    record: Record
    ended: Ended
    reported: Reported | None
    problem: str = ""
    warm_up: int = 0
    others_share: float = 0.0
    path: PathTimes = PathTimes()
    front_cpu_s: float = 0.0
    protocol: Name = "http1"
    shares_connections: bool = False
    is_counted: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the load was open."""
        return self.scenario.load == "open"

    @property
    def cpu_us_per_request(self) -> float | None:
        """The generator's CPU time per answer while its load lasts, in us: without its start and its report.

        None if the load was too short to read its CPU clocks twice.
        """
        if not (usage := self._cpu()):
            return None
        begin, end, used_ns = usage
        departed = self.record.answered["departed"]
        count = np.count_nonzero((departed >= begin) & (departed < end))
        return used_ns / 1e3 / float(count) if count else None

    @property
    def cpus(self) -> float | None:
        """How many CPUs the generator used while its load lasted; None as of ``cpu_us_per_request``."""
        usage = self._cpu()
        return usage[2] / (usage[1] - usage[0]) if usage else None

    def _cpu(self) -> tuple[int, int, int] | None:
        """Return the first and the last reading of its CPU clocks in the load, in ns, and the CPU time used between."""
        if not len(self.record.answered):
            return None
        first, last = self.record.requests["arrived"][0], self.record.answered["departed"].max()
        inside = [reading for reading in self.ended.clocks if first <= reading[0] <= last]
        if len(inside) < 2:
            return None
        (begin, before), (end, after) = inside[0], inside[-1]
        return begin, end, after - before
