"""Client and server exchanged one at a time: which part of the time per call is Python's, by side, and what is left.

Every share is a ratio of two cases, paired by block: the time with one side exchanged, or both, over the time with both
in Python. What is left with both sides native is the kernel's and the native library's. No change to the Python code
removes it where Python uses the same library. Each share is a ratio of its own, so the shares of both sides and what is
left need not add up to the whole.
"""

from dataclasses import dataclass

import pandas as pd

from bench.analysis.comparison import effect
from bench.experiments.languages.plan import SIDES, TWINS
from bench.run.frames import Run, column, once
from bench.stats.intervals import Interval

RTT, RATE, MEMORY = column(0.5), "rate_per_s", "server_rss_bytes"
OTHER_LIBRARY = ("xmlrpc_c",)  # Python does not use this native library: what is left is no limit of Python code
CPU = {"client": "client_cpu_us_per_call", "server": "server_cpu_us_per_call"}


@dataclass(frozen=True)
class Cross:
    """The four cases of one system and transport that differ in the languages of client and server alone.

    python: both sides in Python. client: only the client is native. server: only the server is. native: both are.
    """

    system: str
    transport: str
    callers: int
    python: int
    client: int
    server: int
    native: int

    @property
    def name(self) -> str:
        """The system and its transport."""
        return f"{self.system} {self.transport}"

    @property
    def compared(self) -> tuple[int, int]:
        """The cases of both sides in Python and of both native."""
        return self.python, self.native

    @property
    def cases(self) -> dict[str, int]:
        """The cases by which sides are in C++."""
        return {
            "both in Python": self.python,
            "client in C++": self.client,
            "server in C++": self.server,
            "both in C++": self.native,
        }


@dataclass(frozen=True)
class Server:
    """One server that ``wire`` loads, with some callers: its case, and that of the first server with as many."""

    system: str
    callers: int
    case: int
    first: int

    @property
    def name(self) -> str:
        """The system."""
        return self.system

    @property
    def compared(self) -> tuple[int, int]:
        """The case of the first server, and its own."""
        return self.first, self.case


@once
def servers(run: Run) -> list[Server]:
    """Return the servers that were loaded by ``wire``, with one caller and with several, in the plan's order."""
    found: list[Server] = []
    for case in run.find(engine="wire"):
        of = run.case(case)
        first = next((other.first for other in found if other.callers == of.callers), case)
        found.append(Server(of.system, of.callers, case, first))
    return found


def compared(run: Run) -> "Cross | Server":
    """Return the first system whose median round trip with one caller is compared with that of another case."""
    others = [of for of in servers(run) if of.callers == 1]
    found: list[Cross | Server] = [*single(run), *others[1:], *others]
    return found[0]


def ratio(run: Run, of: "Cross | Server", name: str) -> Interval:
    """Return a quantity of the second of the cases that are compared, over that of the first."""
    return effect(run, *of.compared, name)


@once
def crosses(run: Run) -> list[Cross]:
    """Return what was measured with all four combinations, in the plan's order."""
    combinations = []
    for first in run.find(client="python", server="python"):
        of = run.case(first)
        shared = {"system": of.system, "transport": of.transport, "callers": of.callers}
        cases = [run.first(**shared, client=client, server=server) for client, server in SIDES]
        if of.system in TWINS and None not in cases:
            combinations.append(
                Cross(of.system, of.transport, of.callers, *(case for case in cases if case is not None))
            )
    return combinations


def single(run: Run) -> list[Cross]:
    """Return the combinations with one caller, whose round trips are compared."""
    return [cross for cross in crosses(run) if cross.callers == 1]


def several(run: Run) -> list[Cross]:
    """Return the combinations with several callers, whose calls per second are compared."""
    return [cross for cross in crosses(run) if cross.callers > 1]


def remaining(run: Run, of: Cross, which: str = "native") -> Interval:
    """Return the median RTT with one side native, or both, over that with both sides in Python."""
    return effect(run, of.python, getattr(of, which), RTT)


def removed(run: Run, of: Cross, which: str) -> Interval:
    """Return the share of the median RTT that goes when a side, or both, is native: 1 - ``remaining``."""
    interval = remaining(run, of, which)
    return Interval(1 - interval.middle, 1 - interval.high, 1 - interval.low, interval.confidence)


def rate_gain(run: Run, of: Cross, which: str) -> Interval:
    """Return the calls per second with one side native, or both, over those with both in Python."""
    return effect(run, of.python, getattr(of, which), RATE)


def server_over_client(run: Run, of: Cross) -> Interval:
    """Return the calls per second with a native server alone over those with a native client alone."""
    return effect(run, of.client, of.server, RATE)


def cpu_us(run: Run, case: int, role: str) -> "pd.Series[float]":
    """Return the CPU time per call of a role in each start, in us; index: block."""
    starts = run.starts_of(case)
    return starts.set_index("block")[CPU[role]]


def cpu_ratio(run: Run, of: Cross, role: str) -> Interval:
    """Return the CPU time per call of a role with that side alone native, over that with both sides in Python."""
    return effect(run, of.python, getattr(of, role), CPU[role])
