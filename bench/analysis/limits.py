"""What limited the rate of a case: which CPUs were saturated, and what the rate says of the server's capacity."""

import math
from dataclasses import dataclass

from bench.analysis.resources import Resource, crowded, full, resources
from bench.run.frames import Run
from bench.text import listed

AT_LEAST, EXACTLY, UNKNOWN = "at least this rate", "this rate", "not known"  # what a rate says of a server's capacity


@dataclass(frozen=True)
class Limit:
    """What limited the rate of a case.

    utilization: of the CPUs of each role, in words. saturated: the resources without idle time, none where that is not
    known. capacity: what the rate says of the server's capacity: it is this rate only if the server was saturated and
    the clients were not. crowded: the utilization of the machine's CPUs where other processes left none idle.
    """

    utilization: str
    saturated: tuple[Resource, ...]
    capacity: str
    crowded: float | None = None

    @property
    def names(self) -> str:
        """The saturated resources in words."""
        if self.crowded:
            return f"not known: with other processes the machine's CPUs were {self.crowded:.0%} busy"
        return listed(resource.name for resource in self.saturated) if self.saturated else "no CPU is saturated"


def limit_of(run: Run, case: int) -> Limit:
    """Return what limited the rate of a case, by the CPU utilization of its roles."""
    measured = resources(run, case)
    utilization = listed(f"{resource.name} {resource.percent}" for resource in measured) if measured else UNKNOWN
    if math.isnan(run.cases.loc[case, "server_cpu_us_per_call"]):
        return Limit(utilization, (), UNKNOWN)
    busy = tuple(full(measured))
    asking, serving = (any(role in resource.roles for resource in busy) for role in ("client", "server"))
    return Limit(utilization, busy, EXACTLY if serving and not asking else AT_LEAST, crowded(run, case))
