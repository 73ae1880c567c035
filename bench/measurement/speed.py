"""How fast this machine is at an instant: a fixed loop, a fixed system call, a fixed context switch.

Taken by the conductor on the CPUs where the roles run, before and after a window or a block of slices while everything
else of the start waits: nothing of it is in a timed span. About 2 ms for each CPU.
"""

import os
import statistics
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from bench.plan.placement import Placement

SPINS, CALLS, SWITCHES = 5_000, 500, 15
REPETITIONS = 3  # of each work; its median counts
clock = time.perf_counter_ns


def cpus_of(placements: Iterable[Placement]) -> tuple[int, ...]:
    """Return one CPU of each role; none where the kernel chooses."""
    roles = [cpus for placement in placements for cpus in (placement.server, placement.router, *placement.clients[:1])]
    return tuple(sorted({cpus[0] for cpus in roles if cpus}))


def probe(cpus: Sequence[int] = ()) -> dict[str, float]:
    """Return how long each work takes on these CPUs, the mean over them; on any without.

    spin_ns: a fixed loop. syscall_ns: one system call. switch_ns: one switch between two threads, there or back.
    """
    before = os.sched_getaffinity(0) if cpus else set()
    medians = []
    try:
        for cpu in cpus or (None,):
            if cpu is not None:
                os.sched_setaffinity(0, {cpu})  # of this thread alone, and of those that it starts
            medians.append([statistics.median(work() for _ in range(REPETITIONS)) for work in WORK.values()])
    finally:
        if cpus:
            os.sched_setaffinity(0, before)
    return dict(zip(WORK, map(statistics.fmean, zip(*medians, strict=True)), strict=True))


def mean(*probes: dict[str, float]) -> dict[str, float]:
    """Return the mean of probes, work by work."""
    return {name: statistics.fmean(sample[name] for sample in probes) for name in probes[0]}


def _spin() -> float:
    began = clock()
    for _ in range(SPINS):
        pass
    return clock() - began


def _syscall() -> float:
    call, began = os.getppid, clock()
    for _ in range(CALLS):
        call()
    return (clock() - began) / CALLS


def _switch() -> float:
    (asked, ask), (answered, answer) = os.pipe(), os.pipe()
    try:
        other = threading.Thread(target=_echo, args=(asked, answer))
        other.start()
        began = clock()
        for _ in range(SWITCHES):
            os.write(ask, b"x")
            os.read(answered, 1)
        took = clock() - began
        other.join()
    finally:
        for end in (asked, ask, answered, answer):
            os.close(end)
    return took / SWITCHES / 2


def _echo(asked: int, answer: int) -> None:
    for _ in range(SWITCHES):
        os.write(answer, os.read(asked, 1))


WORK: dict[str, Callable[[], float]] = {"spin_ns": _spin, "syscall_ns": _syscall, "switch_ns": _switch}
