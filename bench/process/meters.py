"""Processes as the parent sees them: their trees, their CPUs, their CPU load and memory over time."""

import contextlib
import os
import time
from collections.abc import Iterable, Iterator, Mapping

import psutil

from bench.plan.placement import allowed
from bench.process.cpu_clocks import threads, total_ns

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


def _running(pids: Iterable[int]) -> Iterator[psutil.Process]:
    """Yield the processes that have not ended: brokers start short-lived helpers."""
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            yield psutil.Process(pid)


class LoadMeter:
    """CPU load and memory of each role over time, read from the parent with psutil at 5 Hz or less."""

    def __init__(self, roles: Mapping[str, list[int]]) -> None:
        self._roles = {role: list(_running(pids)) for role, pids in roles.items()}
        self._last: dict[str, tuple[int, float]] = {}
        self._incomplete: set[str] = set()
        self.rows: list[LoadRow] = []

    def tick(self) -> None:
        """Record one row per role: role, ``perf_counter_ns``, CPU % since the row before, RSS in bytes, CPU clocks.

        These, in ns and exact, are the sum over the role's processes; None once one of them has ended.
        """
        for role, processes in self._roles.items():
            with contextlib.suppress(psutil.NoSuchProcess):
                self._read(role, processes)

    def _read(self, role: str, processes: list[psutil.Process]) -> None:
        now, cpu_s, rss = time.perf_counter_ns(), 0.0, 0
        clocks_ns = total_ns(process.pid for process in processes)  # first: what follows takes longer
        if any(has_ended(process.pid) for process in processes):
            processes[:] = [process for process in processes if not has_ended(process.pid)]
            self._last.pop(role, None)  # its CPU time is gone from the sum
            self._incomplete.add(role)
        for process in processes:
            with process.oneshot():
                times = process.cpu_times()
                cpu_s += times.user + times.system
                rss += process.memory_info().rss
        percent = None
        if role in self._last:
            then, cpu_then = self._last[role]
            if now - then > 100_000_000:  # psutil's CPU times tick at 10 ms: nothing to be said of less
                percent = 100 * (cpu_s - cpu_then) / ((now - then) / 1e9)
        self._last[role] = now, cpu_s
        self.rows.append((role, now, percent, rss, None if role in self._incomplete else clocks_ns))
