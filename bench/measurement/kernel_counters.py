"""Kernel counters of the machine's activity, read at both edges of a window (Linux)."""

import contextlib
import os
import re
import sys
from pathlib import Path

NETWORK = Path("/proc/net")
TCP = {
    "tcp_delayed_acks": ("netstat", "TcpExt", "DelayedACKs"),
    "tcp_segments_out": ("snmp", "Tcp", "OutSegs"),
    "tcp_connections": ("snmp", "Tcp", "ActiveOpens"),
    "tcp_time_waits": ("netstat", "TcpExt", "TW"),
}
TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")


def read(
    proc: Path = Path("/proc"), cgroup: Path = Path("/sys/fs/cgroup"), network: Path | None = None
) -> dict[str, int]:
    """Return counters that only grow, in ns or 1, as far as the kernel has them; their difference over a window counts.

    machine_busy_ns: all CPUs, all processes; ticks at 10 ms. steal_ns: wanted but given to other guests.
    pressure_ns: some task waited for a CPU. throttled_ns: the control group's CPU limit throttled tasks.
    tcp_delayed_acks: acknowledgements that were sent late; tcp_segments_out: all that was sent; tcp_connections: opened
    from here; tcp_time_waits: that have entered TIME_WAIT; of this network. tcp_time_wait: sockets in TIME_WAIT now,
    which can also become fewer. network: the folder of another network's counters.
    """
    if sys.platform != "linux":
        return {}
    counters: dict[str, int] = {}
    net = network or proc / "net"
    with contextlib.suppress(OSError, IndexError, ValueError):
        user, nice, system, _, _, irq, soft, steal = map(int, (proc / "stat").read_text().split(None, 9)[1:9])
        counters["machine_busy_ns"] = (user + nice + system + irq + soft) * TICK_NS
        counters["steal_ns"] = steal * TICK_NS
    counters |= _first(proc / "pressure" / "cpu", r"some .*total=(\d+)", "pressure_ns", 1000)
    for name, (file, group, counter) in TCP.items():
        counters |= _named(net / file, group, counter, name)
    counters |= _first(net / "sockstat", r"(?m)^TCP: .*\btw (\d+)", "tcp_time_wait")
    return counters | _throttled(proc, cgroup)


def _throttled(proc: Path, cgroup: Path) -> dict[str, int]:
    """Return how long CPU limits of this process's control groups throttled tasks, or nothing where none is counted."""
    lines, counts = ["0::/"], list[int]()
    with contextlib.suppress(OSError):
        lines = (proc / "self" / "cgroup").read_text().splitlines()
    for _, names, path in (line.split(":", 2) for line in lines if line.count(":") >= 2):
        if not names:
            top, counter = cgroup, (r"throttled_usec (\d+)", "throttled_ns", 1000)
        elif "cpu" in names.split(","):
            top, counter = cgroup / "cpu", (r"throttled_time (\d+)", "throttled_ns", 1)
        else:
            continue
        own = top / path.lstrip("/")
        for folder in (own, *own.parents)[: len(own.parts) - len(top.parts) + 1]:
            counts += _first(folder / "cpu.stat", *counter).values()
    return {"throttled_ns": sum(counts)} if counts else {}


def _named(file: Path, group: str, counter: str, name: str) -> dict[str, int]:
    """Return a counter from a file that has a line of names, and one of numbers, for each group; or nothing."""
    with contextlib.suppress(OSError, ValueError):
        names, numbers = (line.split() for line in file.read_text().splitlines() if line.startswith(f"{group}: "))
        return {name: int(numbers[names.index(counter)])}
    return {}


def _first(file: Path, pattern: str, name: str, unit: int = 1) -> dict[str, int]:
    """Return the first number in a file that a pattern finds, times its unit, or nothing."""
    with contextlib.suppress(OSError):
        if match := re.search(pattern, file.read_text()):
            return {name: int(match[1]) * unit}
    return {}
