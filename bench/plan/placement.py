"""Placement: which CPUs the roles may use. It changes a raw round trip more than tenfold, so it is a factor."""

import os
from dataclasses import dataclass
from pathlib import Path

from bench.errors import UsageError
from bench.text import quoted

PLACEMENTS = {
    "split": "the server alone on one CPU, clients on the others; a router on a third, or with the server",
    "same": "server and clients all on one CPU",
    "free": "chosen by the kernel",
}
IN_WORDS = {"split": "on separate CPUs", "same": "on one CPU", "free": "not pinned"}  # in labels and sentences


@dataclass(frozen=True)
class Placement:
    """The CPUs of one start; None means not pinned."""

    server: tuple[int, ...] | None
    clients: tuple[tuple[int, ...] | None, ...]
    router: tuple[int, ...] | None = None


def allowed() -> list[int]:
    """Return the CPUs that this process may use, one of each physical core before any sibling."""
    if not hasattr(os, "sched_getaffinity"):
        return list(range(os.cpu_count() or 1))
    cpus = sorted(os.sched_getaffinity(0))
    return sorted(cpus, key=lambda cpu: (_rank_in_core(cpu), cpu))


def _rank_in_core(cpu: int) -> int:
    """Return 0 for the first hardware thread of a core, 1 for its sibling."""
    file = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/core_cpus_list")
    try:
        siblings = file.read_text().strip().replace("-", ",").split(",")
    except OSError:
        return 0
    return 0 if int(siblings[0]) == cpu else 1


def why_not() -> str | None:
    """Return why processes cannot be placed on this machine, or None if they can."""
    if not hasattr(os, "sched_setaffinity"):
        return "this operating system cannot pin a process to a CPU"
    if len(allowed()) < 2:
        return "this process may use one CPU only, so there is no placement to choose"
    return None


def default(parallel: bool = False) -> str:
    """Return the placement used when the user names none: ``same`` for one caller, ``split`` for ``parallel`` work.

    One caller: the placement with the smallest deviation between starts. Standard deviation of ln(start median), 24
    starts of each case on a virtual machine with 2 CPUs: sockets ipc 0.04 same, 0.24 split, 0.20 free; sockets tcp
    0.01, 0.05, 0.10; zeromq ipc 0.01, 0.09, 0.08; zeromq tcp 0.01, 0.08, 0.10. Streams and parallel clients: both
    sides must work at the same time, which one CPU cannot show.
    """
    if why_not():
        return "free"
    return "split" if parallel else "same"


def assign(placement: str, clients: int, router: bool = False) -> Placement:
    """Return the CPUs for one server, some clients and perhaps a router; UsageError if the machine cannot do it.

    The lowest CPU, which tends to take interrupts, goes to the clients in ``split`` and stays unused in ``same``.
    """
    if placement == "free":
        return Placement(None, (None,) * clients)
    if reason := why_not():
        raise UsageError(f"placement {quoted(placement)} is not possible: {reason}; use placement free")
    cpus = allowed()
    if placement == "same":
        return Placement((cpus[-1],), ((cpus[-1],),) * clients, (cpus[-1],) if router else None)
    apart = cpus[2:3] or cpus[1:2] if router else []
    others = [cpu for cpu in cpus if cpu != cpus[1] and cpu not in apart]
    return Placement(
        (cpus[1],), tuple((others[number % len(others)],) for number in range(clients)), tuple(apart) or None
    )
