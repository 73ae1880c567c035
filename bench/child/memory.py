"""The memory of a client whose server was not started here: a reply that is too large, or endless, ends the start.

The kernel refuses the process more (``RLIMIT_DATA``; Linux), so that nothing is looked at in timed loops. This limit
counts what can be written, private memory: the address space that gRPC, Arrow or a compiler at run time reserve without
writing to it does not count, and a thread counts with its whole stack.
"""

import contextlib
import os
import resource
import sys
from collections.abc import Iterator, Sequence

from bench import systems
from bench.errors import SystemFailedError
from bench.process.spec import ClientSpec

ROOM_BYTES = 128_000_000  # beyond what a client has before its first call: nng takes 98 MB, gRPC 66, mostly stacks
STACK_BYTES = 8_500_000  # of a thread, with its part of the heap
USUAL_CPUS = 2  # for which there is room; each more may have some threads of the library, nng's three
THREADS_PER_CPU = 3
COPIES = 16  # of each message under way: encoded, framed, decoded, and received before it is asked for
RECORD_BYTES_PER_S = 8_000_000  # of loads that do not know beforehand how much they will record


def bound(spec: ClientSpec, pids: Sequence[int]) -> None:
    """Limit, before its first call, the memory of a client of a target, and of its programs ``pids``."""
    if spec.case.target is None or sys.platform != "linux":
        return
    room = _room(spec)
    for pid in (os.getpid(), *pids):
        with contextlib.suppress(OSError):  # a program that has ended says so itself
            with open(f"/proc/{pid}/statm") as pages:  # noqa: PTH123 - pathlib is slow to import
                allowed_bytes = int(pages.read().split()[5]) * resource.getpagesize() + room
            hard = resource.prlimit(pid, resource.RLIMIT_DATA)[1]
            allowed_bytes = allowed_bytes if hard == resource.RLIM_INFINITY else min(allowed_bytes, hard)
            resource.prlimit(pid, resource.RLIMIT_DATA, (allowed_bytes, hard))


def _room(spec: ClientSpec) -> int:
    case = spec.case
    threads = THREADS_PER_CPU * max(0, (os.cpu_count() or 1) - USUAL_CPUS)
    of_connection = 1 + int(systems.constant(case.system, "CONNECTION_THREADS", 0))
    threads += of_connection * case.callers if case.callers > 1 else 0
    largest = max(case.payload_bytes, case.large_bytes, case.reply_bytes)
    room = ROOM_BYTES + threads * STACK_BYTES + COPIES * case.callers * case.outstanding * largest
    room += int(RECORD_BYTES_PER_S * spec.window_s) if case.load not in ("closed", "open") else 0
    return room + int(systems.constant(case.system, "RESERVES_BYTES", 0))


def refuse(error: BaseException) -> None:
    """Raise SystemFailedError if an error came of memory that this process did not get."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, MemoryError) and "MemoryError" not in str(cause):  # of aiohttp
        cause = cause.__cause__ or cause.__context__
    if cause is None:
        return
    allowed_bytes, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (hard, hard))  # so that it can be reported: the reply may not be freed yet
    limit = "" if allowed_bytes == resource.RLIM_INFINITY else f" (its limit is {allowed_bytes // 1_000_000} MB)"
    raise SystemFailedError(
        f"the client got no more memory{limit}: a reply is far larger than the one that was expected, or does not end; "
        "check that the right server listens there"
    ) from error


@contextlib.contextmanager
def explained() -> Iterator[None]:
    """Turn what comes of memory that this process did not get into one sentence."""
    try:
        yield
    except SystemFailedError:
        raise
    except Exception as error:
        refuse(error)
        raise
