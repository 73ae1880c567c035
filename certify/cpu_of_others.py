"""The share of the machine's CPU time that processes of others use meanwhile, or that its host takes."""

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil


@dataclass
class Others:
    """share: of the CPU time of all CPUs, from 0 to 1, known after the ``with`` block."""

    share: float = 0.0


@contextmanager
def metered() -> Iterator[Others]:
    """Measure inside a ``with`` block; this process and those that it has started and waited for are not others."""
    others, began, before_s = Others(), time.monotonic(), _used_s() - _own_s()
    yield others
    used_s = _used_s() - _own_s() - before_s
    others.share = min(1.0, max(0.0, used_s / (time.monotonic() - began) / (psutil.cpu_count() or 1)))


def _used_s() -> float:
    """Return the CPU time that was not idle, since the machine's start, in ticks of 10 ms, with what its host took."""
    times = psutil.cpu_times()
    return float(sum(times) - times.idle - getattr(times, "iowait", 0.0) - getattr(times, "guest", 0.0))


def _own_s() -> float:
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(used.ru_utime + used.ru_stime for used in map(resource.getrusage, kinds))
