"""Reused connections beside a new one for each call: pairs of cases, differences, and the kernel's counters."""

from dataclasses import dataclass

import pandas as pd

from bench.experiments.keepalive.plan import WAYS
from bench.run.frames import Run, once

RTT, CLIENT, SERVER = "p50_rtt_us", "client_cpu_us_per_call", "server_cpu_us_per_call"
PORTS, TIME_WAIT_S = 28_232, 60  # Linux: ip_local_port_range as it comes, and how long TIME_WAIT lasts


@dataclass(frozen=True)
class Pair:
    """Two cases that differ in this: the connection is reused, or there is a new one for each call."""

    system: str
    transport: str
    reused: int
    new: int

    @property
    def name(self) -> str:
        """The system and its transport."""
        return f"{self.system} {self.transport}"


@once
def pairs(run: Run) -> list[Pair]:
    """Return the pairs that were measured, in the plan's order."""
    found = []
    for reused in run.numbers:
        of = run.case(reused)
        ways = WAYS.get(of.system)
        if ways and ways[0].items() <= of.options.items():
            new = run.first(system=of.system, transport=of.transport, options=of.options | ways[1])
            if new is not None:
                found.append(Pair(of.system, of.transport, reused, new))
    return found


def differences(run: Run, pair: Pair, column: str) -> "pd.Series[float]":
    """Return by how much a value of a new connection exceeds that of a reused one, in each block; index: block."""
    reused, new = (run.starts_of(case).set_index("block")[column] for case in (pair.reused, pair.new))
    return (new - reused).dropna()


def per_call(run: Run, case: int, counter: str) -> "pd.Series[float]":
    """Return a counter of the kernel per call, of each start; empty where the kernel does not count it."""
    starts = run.starts_of(case)
    return (starts[counter] / starts["calls"]).dropna()


def longest_rate_per_s() -> float:
    """Return how many new connections per second to one server the client's ports allow, if the client closes first."""
    return PORTS / TIME_WAIT_S
