"""Hosts: the boundary between what conducts a start and one machine's processes, clocks and counters.

``HERE`` is this machine. Another machine's host does the same behind ``bench.measurement.hosts.remote``. Nothing
timed goes through this boundary: samples are taken by the children, each by the clock of its own host.
"""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench import systems
from bench.measurement import kernel_counters
from bench.process import cpu_clocks, meters
from bench.process.channel import ControlMessage
from bench.process.child_process import Child, ChildHandle, private_directory
from bench.stats.clock_offsets import ClockReading as ClockReading

ONE_BY_ONE, AT_ONCE = 4, 8  # hosts whose clocks are read one by one, which is more precise, and several at once
MOST, LEAST, IN_ALL = 200, 50, 800  # exchanges with one host's clock, and with all in turn


@dataclass(frozen=True)
class Metered:
    """One host in one window: use by roles other than clients, its kernel's counters, and load by role.

    rows: as ``LoadMeter`` records them, by the clock of the host.
    """

    used: Mapping[str, int]
    rows: Sequence[meters.LoadRow]

    def peak_rss(self, role: str) -> int | None:
        """Return the largest memory seen for a role, in bytes."""
        return max((rss for name, _, _, rss, _ in self.rows if name == role), default=None)


class WindowMeter:
    """The meter of one window on this machine; it begins when it is made."""

    def __init__(self, pids: Mapping[str, list[int]], network: Path) -> None:
        self._pids, self._network, self._before = pids, network, counters(pids, network)
        self._load = meters.LoadMeter(pids)
        self._load.tick()

    def begun(self) -> None:
        """Return when it has begun, where that takes a message."""

    def tick(self) -> None:
        """Read the load once more."""
        self._load.tick()

    def end(self) -> None:
        """Let the window end where that takes a message, so that several hosts read side by side."""

    def stop(self) -> Metered:
        """Return what was used; counters are read first, because reading the load takes longer."""
        now, before = counters(self._pids, self._network), self._before
        self._load.tick()
        return Metered(used_between(before, now), self._load.rows)


def used_between(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Return by how much counters rose; CPU time is not negative, though that of ended children ticks at 10 ms."""
    rises = {name: value - before[name] for name, value in now.items() if name in before}
    return {name: max(0, rise) if name.endswith("_cpu_ns") else rise for name, rise in rises.items()}


def counters(pids: Mapping[str, list[int]], network: Path = kernel_counters.NETWORK) -> dict[str, int]:
    """Return CPU time and context switches of the processes that are not clients, the kernel's counters, and when.

    The CPU time is that of whole trees: a server may start processes in the window, for each request or at the first.
    The machine's CPU time is without that of this process, which conducts: reading these takes milliseconds, by which
    a slice is shorter than the time between two readings (``metered_ns``).
    """
    others = {role: ids for role, ids in pids.items() if not role.startswith("client")}
    counts = {
        f"{role}_cpu_ns": cpu_clocks.used_by_trees_ns(ids, meters.of_other_roles(pids, role))
        for role, ids in others.items()
    }
    if "server" in others and (switches := cpu_clocks.switches(others["server"])):
        counts["server_voluntary_switches"], counts["server_involuntary_switches"] = switches
    counts["metered_ns"] = time.perf_counter_ns()
    of_kernel = kernel_counters.read(network=network)
    if "machine_busy_ns" in of_kernel:
        of_kernel["machine_busy_ns"] -= time.process_time_ns()
    return counts | of_kernel


class Host:
    """One machine, here this one: its processes, its CPUs, its counters, its clock.

    name: for errors and tables. address: where its servers are reached, "" on loopback only. network: the folder of the
    counters of its network. is_remote: whether its processes run on another machine.
    """

    name = "here"
    address = ""
    network = kernel_counters.NETWORK
    is_remote = False

    def prepare(self, system: str, source: str = "") -> str:
        """Make what a system needs here; return the folder of its own environment, or "".

        What that of a ``source`` needs was made where its case was checked.
        """
        if not source:
            systems.prepare(system)
        return systems.environment(system)

    def spawn(self, name: str, module: str, spec: ControlMessage) -> ChildHandle:
        """Start ``python -m MODULE`` and hand it its specification."""
        return Child(name, module, spec)

    def private_directory(self) -> str:
        """Return the name of a directory that does not exist yet, short enough for a socket file's path."""
        return private_directory()

    def family(self, pid: int) -> list[int]:
        """Return a process and all its descendants."""
        return meters.family(pid)

    def has_ended(self, pid: int) -> bool:
        """Return whether a process is gone."""
        return meters.has_ended(pid)

    def meter(self, pids: Mapping[str, list[int]]) -> WindowMeter:
        """Begin to meter a window; ``pids``: process ids by role."""
        return WindowMeter(pids, self.network)

    def clock(self, exchanges: int = MOST) -> ClockReading:
        """Compare its clock with the conductor's in at most so many exchanges of timestamps: here it is the same."""
        return ClockReading(at_ns=time.perf_counter_ns())

    def close(self) -> None:
        """End what is left of this conductor's processes on it; here they end with those who started them."""


HERE = Host()


def exchanges(hosts: int) -> int:
    """Return how many exchanges each of so many hosts' clocks is read with.

    ``IN_ALL`` divided by the hosts, at most ``MOST`` and at least ``LEAST``. With fewer exchanges the bound, which is
    what the shortest of them leaves, is wider; it holds all the same.
    """
    return max(LEAST, min(MOST, IN_ALL // max(1, hosts)))


def clocks_of(hosts: Sequence[Host]) -> list[ClockReading]:
    """Return the hosts' clocks; of many several at once, because each reading mostly waits for the network."""
    number = exchanges(len(hosts))
    if len(hosts) <= ONE_BY_ONE:
        return [host.clock(number) for host in hosts]
    with ThreadPoolExecutor(AT_ONCE) as readers:
        return list(readers.map(lambda host: host.clock(number), hosts))


def bound(host: Host) -> str | None:
    """Return where a server of a host binds: at its address, at a port that the system picks; None: on loopback."""
    return f"tcp://{host.address}:0" if host.address else None


@dataclass(frozen=True)
class HostWindow:
    """One host in a window: *go* by its clock, its clock before and after, and what was metered."""

    host: Host
    go_ns: int
    before: ClockReading
    after: ClockReading
    metered: Metered


@dataclass(frozen=True)
class Assignment:
    """Which hosts have which role in a start.

    server: where the server and its router run. load: where the clients run, in turn. latency: where one more client
    runs, alone on its host, whose quantiles are the headline; None: there is none.
    """

    server: Host = HERE
    load: tuple[Host, ...] = (HERE,)
    latency: Host | None = None
    records: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_here(self) -> bool:
        """Whether all processes run on this machine."""
        return not any(host.is_remote for host in self.all())

    def clients(self, number: int) -> list[Host]:
        """Return the host of each client process: of ``number`` that load, and of the one for latency, if any."""
        hosts = [self.load[index % len(self.load)] for index in range(number)]
        return hosts + ([self.latency] if self.latency else [])

    def named(self) -> set[tuple[str, str]]:
        """Return (role, name) of each host, as the table ``hosts`` has them."""
        roles = {("server", self.server.name)} | {("load", host.name) for host in self.load}
        return roles | ({("latency", self.latency.name)} if self.latency else set())

    def all(self) -> list[Host]:
        """Return every host once: the server's first."""
        hosts = [self.server, *self.load, *([self.latency] if self.latency else [])]
        return list({id(host): host for host in hosts}.values())


LOCAL = Assignment()
