"""CPU clocks and context switches of processes, read from outside without disturbing them.

Clients use them too, without psutil and pathlib: slow imports are made where they are needed.
"""

import contextlib
import os
import re
import resource
import sys
import time
from collections.abc import Iterable, Sequence


def process_ns(pid: int) -> int:
    """Return the CPU time that a process has used so far, in ns; ProcessLookupError if it has ended."""
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


def ended_ns() -> int:
    """Return the CPU time of all child processes of this one that have ended, in ns."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return int((used.ru_utime + used.ru_stime) * 1e9)


def total_ns(pids: Iterable[int]) -> int:
    """Return the CPU time of several running processes together, in ns; processes that have ended are left out."""
    total = 0
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            total += process_ns(pid)
    return total


def trees(pids: Iterable[int], without: Iterable[int] = ()) -> list[int]:
    """Return running processes and all their descendants that live now; off Linux these processes alone.

    without: processes that are left out, with all that only they started.
    """
    members: dict[int, None] = {}
    left_out, waiting = set(without), list(pids)
    while waiting:
        if (pid := waiting.pop()) not in members and pid not in left_out:
            members[pid] = None
            waiting += _children(pid)
    return list(members)


def _children(pid: int) -> list[int]:
    """Return the processes that a process started and that live, of Linux."""
    children: list[int] = []
    for thread in threads(pid):
        with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as names:  # noqa: PTH123
            children += map(int, names.read().split())
    return children


def used_by_trees_ns(pids: Iterable[int], without: Iterable[int] = ()) -> int:
    """Return the CPU time of ``trees``, with that of the processes that ended and were waited for, in ns.

    Of these the kernel counts in ticks of 10 ms.
    """
    return used_ns(trees(pids, without))


def used_ns(members: Sequence[int]) -> int:
    """Return what ``used_by_trees_ns`` does, of the members of trees."""
    return total_ns(members) + sum(map(_ended_children_ns, members))


def _ended_children_ns(pid: int) -> int:
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
        fields = stat.read().rpartition(")")[2].split()
        return (int(fields[13]) + int(fields[14])) * 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    return 0


def threads(pid: int) -> list[int]:
    """Return the threads of a process; none if it has ended, and none where the system is not Linux."""
    with contextlib.suppress(OSError):
        return [int(name) for name in os.listdir(f"/proc/{pid}/task")]  # noqa: PTH208
    return []


def switches(pids: Iterable[int]) -> tuple[int, int] | None:
    """Return voluntary and involuntary context switches over all threads that live now, or None off Linux."""
    if sys.platform != "linux":
        return None
    totals = [0, 0]
    for pid in pids:
        for thread in threads(pid):
            with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{thread}/status") as status:  # noqa: PTH123
                for forced, number in re.findall(r"(?m)^(non)?voluntary_ctxt_switches:\s*(\d+)", status.read()):
                    totals[bool(forced)] += int(number)
    return totals[0], totals[1]


def switches_of_others() -> tuple[int, int] | None:
    """Return voluntary and involuntary context switches of this process without those of the calling thread.

    Unlike ``switches`` it counts those of threads that have ended, too: only the process itself can ask the kernel for
    them (getrusage(2)). None off Linux.
    """
    if sys.platform != "linux":
        return None
    of_all, own = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_THREAD)
    return of_all.ru_nvcsw - own.ru_nvcsw, of_all.ru_nivcsw - own.ru_nivcsw
