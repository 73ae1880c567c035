"""CPU time, memory and context switches of other processes, read from outside without disturbing them.

Clients use it as well, and do without psutil and pathlib: what takes long to import is imported where it is needed.
"""

import contextlib
import re
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psutil


def process_ns(pid: int) -> int:
    """Return the CPU time that a process has used so far, in ns; ProcessLookupError if it is gone."""
    if sys.platform == "linux":
        try:
            return time.clock_gettime_ns(((~pid) << 3) | 2)  # CPUCLOCK_SCHED of that process
        except OSError as reason:
            raise ProcessLookupError(pid) from reason
    import psutil

    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess as reason:
        raise ProcessLookupError(pid) from reason
    return int((times.user + times.system) * 1e9)


def family(pid: int) -> list[int]:
    """Return a process and all its descendants."""
    import psutil

    return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]


def total_ns(pids: Iterable[int]) -> int:
    """Return the CPU time of several processes together; one that has ended counts nothing more."""
    total = 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            total += process_ns(pid)
    return total


def switches(pids: Iterable[int]) -> tuple[int, int] | None:
    """Return voluntary and involuntary context switches over all threads, or None off Linux."""
    if sys.platform != "linux":
        return None
    from pathlib import Path

    totals = [0, 0]
    for pid in pids:
        for status in Path(f"/proc/{pid}/task").glob("*/status"):
            with contextlib.suppress(OSError):
                for forced, number in re.findall(r"(?m)^(non)?voluntary_ctxt_switches:\s*(\d+)", status.read_text()):
                    totals[bool(forced)] += int(number)
    return totals[0], totals[1]


class LoadMeter:
    """CPU load and memory of each role over time, read from the parent with psutil at 5 Hz or less."""

    def __init__(self, roles: dict[str, list[int]]) -> None:
        """Begin; nothing is read yet."""
        import psutil

        self._gone = psutil.NoSuchProcess
        self._roles = {role: [psutil.Process(pid) for pid in pids] for role, pids in roles.items()}
        self._last: dict[str, tuple[int, float]] = {}
        self.rows: list[tuple[str, int, float | None, int]] = []

    def tick(self) -> None:
        """Record one row per role: role, ``perf_counter_ns``, CPU % since the row before, RSS in bytes."""
        for role, processes in self._roles.items():
            with contextlib.suppress(self._gone):
                self._read(role, processes)

    def _read(self, role: str, processes: list["psutil.Process"]) -> None:
        now, cpu_s, rss = time.perf_counter_ns(), 0.0, 0
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
        self.rows.append((role, now, percent, rss))

    def peak_rss(self, role: str) -> int | None:
        """Return the largest memory seen for a role, in bytes."""
        return max((rss for name, _, _, rss in self.rows if name == role), default=None)
