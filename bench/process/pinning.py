"""Running processes moved to other CPUs."""

import contextlib
import os
from collections.abc import Iterable

from bench.plan.placement import allowed
from bench.process.cpu_clocks import threads


def pin_processes(pids: Iterable[int], cpus: tuple[int, ...] | None) -> None:
    """Pin running processes, with all their threads, to the given CPUs; None: all CPUs (Linux)."""
    if not hasattr(os, "sched_setaffinity"):
        return
    for pid in pids:
        for thread in threads(pid):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread, cpus or allowed())
