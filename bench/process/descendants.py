"""Programs that this process starts: they end with it, also what they leave alone in sessions of their own (Linux)."""

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence

TERM_S = 1.0  # for a program that is asked to end: to remove its files, and to end what runs elsewhere for it
PR_SET_CHILD_SUBREAPER = 36
MOST_GENERATIONS = 100  # each round ends the children; theirs become this process's own


def inherit() -> None:
    """Become the parent of each descendant whose parent ends, instead of process 1."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def end_groups(groups: Sequence[int]) -> None:
    """Ask the processes of groups that children lead to end; end by force what is left of them a second later."""
    _signal(groups, signal.SIGTERM)
    until_s = time.monotonic() + TERM_S
    while any(map(_is_left, groups)) and time.monotonic() < until_s:
        time.sleep(0.002)
    _signal(groups, signal.SIGKILL)


def _signal(groups: Sequence[int], number: int) -> None:
    for group in groups:
        with contextlib.suppress(OSError):
            os.killpg(group, number)


def _is_left(group: int) -> bool:
    """Return whether a child of this process runs in a group; those that have ended are waited for."""
    with contextlib.suppress(OSError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
        return True
    return False


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
