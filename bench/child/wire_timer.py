"""The time limit of calls by the load generator ``wire``: a timer wakes its loop, which looks for calls that are late.

A thread sleeps, and writes a byte into a pipe that the loop's poller watches: nothing is done per call.
"""

import os
import threading
import time

from bench.errors import TransportError

LIMIT_S = 20.0  # where a ``Wire`` has no ``timeout_s``
PARTS = 8  # looks in that time: a call fails when it has waited so long, or an eighth of it longer


class DueError(Exception):
    """The timer has fired."""


class Timer:
    """Makes the descriptor ``fd`` readable from time to time; ``close`` ends its thread."""

    def __init__(self, limit_s: float) -> None:
        self._limit_s = limit_s
        self.fd, self._end = os.pipe()
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._tick, name="time limit", daemon=True)
        self._thread.start()

    def _tick(self) -> None:
        while not self._is_over.wait(self._limit_s / PARTS):
            os.write(self._end, b"\0")

    def step(self, event: int | None) -> None:
        """Take in the event of its descriptor: raise ``DueError``."""
        os.read(self.fd, 1024)
        raise DueError

    def latest_ns(self) -> int:
        """Return when a call was sent, at the latest, that has waited too long by now."""
        return time.perf_counter_ns() - int(self._limit_s * 1e9)

    def late(self) -> TransportError:
        """Return the error for a call that has waited too long."""
        return TransportError(f"no answer came within {self._limit_s:g} s", "timeout")

    def close(self) -> None:
        """End the thread and release the descriptors."""
        self._is_over.set()
        self._thread.join()
        os.close(self.fd)
        os.close(self._end)
