"""How many threads this user may still start, tried before a library needs them.

Where a thread cannot be started, ZeroMQ and OpenBLAS end the process, without a sentence or with several, and a kernel
that lacks some is waited for without end. So the threads are tried first.
"""

import os
import threading

from bench.errors import BenchError

FOR_A_COMMAND = 4, 1  # pyarrow's, its allocator's and DuckDB's; one more for each CPU, of OpenBLAS
FOR_A_NOTEBOOK = 24, 3  # of papermill, the kernel, a server and a client; those of each CPU in the kernel
MOST_CPUS = 16  # libraries start their threads as they need them: on a large machine rarely one for each CPU


def require(what: str, threads: int, per_cpu: int) -> None:
    """Raise BenchError, with the number that ``what`` needs, unless so many threads can be started at once."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    count = threads + per_cpu * min(cpus, MOST_CPUS)
    if (started := startable(count)) < count:
        raise BenchError(
            f"{what} needs {count} more threads and processes, and only {started} can be started: allow more of them "
            "(ulimit -u), or end some"
        )


def startable(count: int) -> int:
    """Return how many threads can be started at once, at most ``count``; all have ended on return."""
    leave = threading.Event()
    threads: list[threading.Thread] = []
    try:
        for _ in range(count):
            thread = threading.Thread(target=leave.wait, daemon=True)
            thread.start()
            threads.append(thread)
    except RuntimeError:  # "can't start new thread"
        return len(threads)
    finally:
        leave.set()
        for thread in threads:
            thread.join()
    return count
