"""Processes as the parent sees them: their trees, their CPUs, their CPU load and memory over time."""

import contextlib
import os
import time
from collections.abc import Iterable, Mapping

import psutil

from bench.plan.placement import allowed
from bench.process.cpu_clocks import threads, trees, used_ns

TICKS_NS = 20_000_000  # by which the user and system time of processes that have ended may be too short
LoadRow = tuple[str, int, float | None, int, int | None]  # see LoadMeter.tick


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def has_ended(pid: int) -> bool:
    """Return whether a process is gone, or has ended and is only remembered until its parent asks."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return True


def pin_processes(pids: Iterable[int], cpus: tuple[int, ...] | None) -> None:
    """Pin running processes, with all their threads, to the given CPUs; None: all CPUs (Linux)."""
    if not hasattr(os, "sched_setaffinity"):
        return
    for pid in pids:
        for thread in threads(pid):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cpus or allowed())


def of_other_roles(pids: Mapping[str, list[int]], role: str) -> list[int]:
    """Return the processes of all roles but one."""
    return [pid for other, ids in pids.items() if other != role for pid in ids]


class LoadMeter:
    """CPU load and memory of each role over time: of its processes and of all that they start, at 5 Hz or less."""

    def __init__(self, roles: Mapping[str, list[int]]) -> None:
        self._roles = roles
        self._last: dict[str, tuple[int, int]] = {}
        self._incomplete: set[str] = set()
        self.rows: list[LoadRow] = []

    def tick(self) -> None:
        """Record one row per role: role, ``perf_counter_ns``, CPU % since the row before, RSS in bytes, CPU clocks.

        These, in ns, are the sum over the role's processes; None once one of them has ended that nobody waited for.
        """
        for role, pids in self._roles.items():
            self._read(role, pids, of_other_roles(self._roles, role))

    def _read(self, role: str, pids: list[int], others: list[int]) -> None:
        members, now = trees(pids, others), time.perf_counter_ns()
        clocks_ns, rss = used_ns(members), sum(map(_rss, members))
        if not rss:  # all have ended
            return
        percent = None
        if role in self._last:
            then, clocks_then_ns = self._last[role]
            if clocks_ns < clocks_then_ns - TICKS_NS:
                self._incomplete.add(role)
            clocks_ns = max(clocks_ns, clocks_then_ns)
            if now > then and role not in self._incomplete:
                percent = 100 * (clocks_ns - clocks_then_ns) / (now - then)
        self._last[role] = now, clocks_ns
        self.rows.append((role, now, percent, rss, None if role in self._incomplete else clocks_ns))


def _rss(pid: int) -> int:
    """Return the memory of a process in bytes; 0 of one that has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return int(psutil.Process(pid).memory_info().rss)
    return 0
