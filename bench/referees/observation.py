"""What was seen of a generator in one scenario: the front's record, the report, and how the program ended."""

from dataclasses import dataclass

from bench.referees.generator_file import Reported
from bench.referees.protocols import Name
from bench.referees.record import Record
from bench.referees.running import Ended
from bench.referees.scenarios import Scenario


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

    schedule: gaps of the generator's open loads, constant or poisson. reported: None if there is no report that can be
    read, for which ``problem`` gives the reason. warm_up: requests before the load, which are not in the record.
    others_share: of the machine's CPU time that other processes used meanwhile. path: of the machine. protocol: which
    it speaks. shares_connections: whether the requests under way share connections. is_counted: whether the load ends
    after a number of requests, not after its duration.
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
    protocol: Name = "http1"
    shares_connections: bool = False
    is_counted: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the load was open."""
        return self.scenario.load == "open"

    @property
    def cpu_us_per_request(self) -> float:
        """The generator's CPU time per answered request, in us; there has to be one."""
        return 1e6 * self.ended.cpu_s / len(self.record.answered)
