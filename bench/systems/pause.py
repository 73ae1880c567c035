"""Pause: no calls; the client waits for a known time, and the excess is delay by the machine."""

import asyncio
import contextlib
import ctypes
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bench.contract import Binding, Service

TRANSPORTS = ("inproc",)
REQUIRES = ()
GROUP = "instrument"
SET_TIMER_SLACK = 29  # of Linux's prctl: how many ns late a sleep may end, to save power
BURN = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.buffer.read(), os._exit(0)), daemon=True).start()
while True: pass
"""


@dataclass(frozen=True)
class Options:
    """How to wait, and beside which load.

    us: the intended time of each wait.
    way: sleep (the kernel's timer); asyncio (a timer of its event loop); spin (sleep until 150 us before, without the
    50 us of timer slack of Linux, then poll the clock: how open loads are paced).
    beside: nobody; same (a busy process on the same CPU); others (a busy process on each other CPU).
    """

    us: int = 1000
    way: Literal["sleep", "asyncio", "spin"] = "sleep"
    beside: Literal["nobody", "same", "others"] = "nobody"

    def __post_init__(self) -> None:
        if not 1 <= self.us <= 10_000_000:
            raise ValueError("us must be from 1 to 10 000 000")


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Announce an address and return; nothing is ever sent."""
    service.announce(binding.endpoint())


class Client:
    """A client whose call waits, and returns its argument."""

    def __init__(self, address: str, options: Options) -> None:
        self._options = options
        self._wait = self._spin if options.way == "spin" else self._sleep
        self._neighbours: list[subprocess.Popen[bytes]] = []
        self._loop: asyncio.AbstractEventLoop | None = None

    def open(self) -> None:
        """Start the neighbours."""
        if self._options.way == "asyncio":
            self._wait = self._make_timer()
        if self._options.way == "spin" and sys.platform == "linux":
            ctypes.CDLL(None).prctl(SET_TIMER_SLACK, 1, 0, 0, 0)
        for cpus in self._places():
            command = [sys.executable, "-P", "-S", "-c", BURN]
            neighbour = subprocess.Popen(command, stdin=subprocess.PIPE)  # it ends with this end of the pipe
            self._neighbours.append(neighbour)
            with contextlib.suppress(OSError):  # a CPU that this process may not use
                if cpus and hasattr(os, "sched_setaffinity"):
                    os.sched_setaffinity(neighbour.pid, cpus)

    def _places(self) -> list[set[int]]:
        """Return the CPUs of each neighbour; empty: those of this process."""
        if self._options.beside != "others":
            return [set()] * (self._options.beside == "same")
        own = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else {0}
        return [{cpu} for cpu in range(os.cpu_count() or 1) if cpu not in own]

    def _sleep(self) -> None:
        time.sleep(self._options.us / 1e6)

    def _make_timer(self) -> Callable[[], None]:
        loop, seconds = asyncio.new_event_loop(), self._options.us / 1e6
        self._loop = loop
        return lambda: loop.run_until_complete(asyncio.sleep(seconds))

    def _spin(self) -> None:
        end = time.perf_counter_ns() + 1000 * self._options.us
        if self._options.us > 150:
            time.sleep((self._options.us - 150) / 1e6)
        while time.perf_counter_ns() < end:
            pass

    def call(self, payload: bytes) -> bytes:
        """Wait, and return the payload."""
        self._wait()
        return payload

    def close(self) -> None:
        """End the neighbours."""
        for neighbour in self._neighbours:
            if neighbour.stdin:
                neighbour.stdin.close()
            neighbour.wait()
        if self._loop:
            self._loop.close()
