"""The oracle's front: a server of known service times that records what a load generator really does.

It is a program in C for each protocol (``bench/systems/_oracle_front.h``), compiled on first use, on loopback only.
"""

import shutil
import socket
import sys
from pathlib import Path
from typing import Self

from bench import systems
from bench.errors import NotInstalledError, SystemFailedError
from bench.process import cpu_clocks, programs
from bench.process.pipes import Process, with_package
from certify.protocols import PROTOCOLS, Name
from certify.record import Record
from certify.service import Service

SOURCES = Path(systems.HERE)
HEADERS = ("_oracle_front.h", "_oracle_law.h")
FLAGS = ("-ffp-contract=off", "-lm")
SEED = 1
MOST_REQUESTS = 4_000_000  # 48 bytes each, of which only those used take memory
BACKLOG = 4096


class Front:
    """A front that serves. url: where."""

    def __init__(self, service: Service, limit: int = MOST_REQUESTS, protocol: Name = "http1") -> None:
        """Start it; SystemFailedError if it does not get ready, NotInstalledError if it cannot be compiled.

        limit: how many requests are recorded.
        """
        with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listener:
            listener.setblocking(False)
            self.url = f"{PROTOCOLS[protocol].scheme}://127.0.0.1:{listener.getsockname()[1]}/"
            law = (service.law, service.mean_us, service.freeze_ms, SEED, service.workers)
            words = (*law, service.fault, service.every, service.spared, limit, service.events, service.gap_us)
            self._process = Process(
                [_program(protocol), "serve", str(listener.fileno()), *map(str, words)],
                pass_fds=[listener.fileno()],
                process_group=0,
                env=with_package(),
            )
        line = self._process.output.readline().decode().strip()
        if line != "ready":
            raise SystemFailedError(f"the oracle's front did not get ready: {line or f'status {self._process.end()}'}")

    @property
    def pid(self) -> int:
        """The number of its process."""
        return self._process.pid

    @property
    def cpu_s(self) -> float:
        """The CPU time that it has used so far."""
        return cpu_clocks.total_ns([self._process.pid]) / 1e9

    def end(self) -> Record:
        """End it; return its record."""
        data, _ = self._process.communicate()
        return Record.of_bytes(data)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it by force, if it has not ended."""
        if self._process.status is None:
            self._process.kill()
            self._process.end()


def _program(protocol: Name) -> str:
    """Return the path of the program that speaks a protocol."""
    spoken = PROTOCOLS[protocol]
    if sys.platform != "linux" or not shutil.which(programs.C_COMPILER):
        what = f"the server for {spoken.title} is a program in C for Linux"
        raise NotInstalledError(f"{what}; install its compiler: apt-get install gcc", ["gcc"])
    headers = tuple(SOURCES / name for name in (*spoken.parts, *HEADERS))
    return str(programs.ensure(SOURCES / spoken.source, FLAGS, headers=headers, compiler=programs.C_COMPILER))
