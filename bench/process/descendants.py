"""Processes that a program starts and leaves alone, also in their own sessions: they end with this one (Linux)."""

import contextlib
import os
import signal
import sys

PR_SET_CHILD_SUBREAPER = 36
MOST_GENERATIONS = 100  # each round ends the children; theirs become this process's own


def inherit() -> None:
    """Become the parent of each descendant whose parent ends, instead of process 1."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end() -> None:
    """Kill all children, and those that thereby become children."""
    for _ in range(MOST_GENERATIONS):
        if not (pids := _children()):
            return
        for pid in pids:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with contextlib.suppress(OSError):  # another thread may have waited for it
                os.waitpid(pid, 0)


def _children() -> list[int]:
    """Return the children of this process, also those that have ended and were not waited for."""
    parent, pids = str(os.getpid()), []
    for name in filter(str.isdigit, os.listdir("/proc") if sys.platform == "linux" else ()):  # noqa: PTH208
        with contextlib.suppress(OSError), open(f"/proc/{name}/stat") as stat:  # noqa: PTH123
            if stat.read().rpartition(")")[2].split()[1] == parent:
                pids.append(int(name))
    return pids
