"""An event loop whose timers end when they are due: asyncio and uvloop wait for whole milliseconds."""

import asyncio
import select
import selectors
import time
from typing import Any

from bench.child import timed_loops

EARLY_S = 150e-6  # before a timer's end waiting becomes polling


class Punctual(selectors.DefaultSelector):
    """A selector that waits until shortly before the timeout, and polls from then on."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Return what is ready: at once if something is, or at the end of ``timeout`` (s), to the microsecond."""
        poll = super().select
        if timeout is None or timeout <= 0:
            return poll(timeout)
        end_ns = time.perf_counter_ns() + int(timeout * 1e9)
        if timeout > EARLY_S:
            select.select([self], [], [], timeout - EARLY_S)
        begun_ns = time.perf_counter_ns()
        while not (ready := poll(0)) and time.perf_counter_ns() < end_ns:
            pass
        timed_loops.add_spun(time.perf_counter_ns() - begun_ns)
        return ready


def make() -> Any:
    """Return a punctual event loop; where selectors cannot be waited for themselves, the usual one."""
    return asyncio.SelectorEventLoop(Punctual() if hasattr(Punctual, "fileno") else None)
