"""The oracle's front: a server of known service times that records what a load generator really does.

It is a program in C for each protocol (``bench/systems/_oracle_front.h``), compiled on first use; for HTTP/1.1 also the
same in Python where there is no compiler. It listens on loopback only.
"""

import shutil
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self

from bench import systems
from bench.errors import NotInstalledError, SystemFailedError
from bench.installation import programs
from bench.process import cpu_clocks
from bench.process.pipes import Process, python, with_package
from bench.referees.protocols import PROTOCOLS, Name
from bench.referees.record import Record
from bench.text import counted, duration

SOURCES = Path(systems.HERE)
HEADERS = ("_oracle_front.h", "_oracle_law.h")
FLAGS = ("-ffp-contract=off", "-lm")
SEED = 1
MOST_REQUESTS = 4_000_000  # 48 bytes each, of which only those used take memory
BACKLOG = 4096


@dataclass(frozen=True)
class Service:
    """How requests are served.

    law: distribution of the service times, as of the system ``oracle``. mean_us: their mean. workers: requests in
    service at once, the others wait in one queue; 0 for no limit. freeze_ms: how long in every second nothing is
    served. fault: what one request in ``every`` gets instead of its answer: status (an error), body (another one),
    close (its connection ends, over HTTP/2 its stream). spared: so many requests at first get none. events, gap_us: of
    a protocol with streams, the events of an answer, of which the first is sent when the service ends, and the time
    between two of them.
    """

    law: Literal["constant", "exponential", "bimodal"] = "constant"
    mean_us: float = 1000.0
    workers: int = 1
    freeze_ms: float = 0.0
    fault: Literal["none", "status", "body", "close"] = "none"
    every: int = 0
    spared: int = 0
    events: int = 1
    gap_us: float = 0.0

    @property
    def stream_us(self) -> float:
        """The time from the first event of an answer to the last."""
        return (self.events - 1) * self.gap_us

    @property
    def words(self) -> str:
        """It in words."""
        queue = "all requests served at once" if not self.workers else f"{counted(self.workers, 'request')} at a time"
        words = f"{self.law} service times, mean {duration(self.mean_us)}, {queue}"
        words += f", then {counted(self.events - 1, 'event')}, one every {duration(self.gap_us)}" if self.gap_us else ""
        words += f", frozen for {self.freeze_ms:g} ms in every second" if self.freeze_ms else ""
        suffered = BROKEN if self.fault == "close" and self.events > 1 else SUFFERED.get(self.fault)
        return words + (f", one request in {self.every} {suffered}" if self.every else "")


SUFFERED = {
    "status": "answered with an error",
    "body": "answered with another body",
    "close": "gets no answer: its connection, or stream, is closed",
}


BROKEN = "answered with a stream that breaks off behind its first event"


def best_language() -> str:
    """Return the language of the better front that can run here: "c" on Linux where there is a compiler."""
    return "c" if sys.platform == "linux" and shutil.which(programs.C_COMPILER) else "python"


class Front:
    """A front that serves. url: where."""

    def __init__(
        self, service: Service, language: str = "", most: int = MOST_REQUESTS, protocol: Name = "http1"
    ) -> None:
        """Start it; SystemFailedError if it does not get ready, NotInstalledError if only C speaks the protocol.

        language: c or python; "" for the better one here. most: how many requests are recorded.
        """
        self._language = language or best_language()
        with socket.create_server(("127.0.0.1", 0), backlog=BACKLOG) as listener:
            listener.setblocking(False)
            self.url = f"{PROTOCOLS[protocol].scheme}://127.0.0.1:{listener.getsockname()[1]}/"
            words: list[object] = [
                listener.fileno(),
                service.law,
                service.mean_us,
                service.freeze_ms,
                SEED,
                service.workers,
            ]
            words += [service.fault, service.every, service.spared, most, service.events, service.gap_us]
            self._process = Process(
                [*_program(self._language, protocol), "serve", *map(str, words)],
                pass_fds=[listener.fileno()],
                process_group=0,
                env=with_package(str(SOURCES.parents[1])),
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
        return Record.of_bytes(data, self._language)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it by force, if it has not ended."""
        if self._process.status is None:
            self._process.kill()
            self._process.end()


def _program(language: str, protocol: Name) -> list[str]:
    spoken = PROTOCOLS[protocol]
    if language == "c":
        headers = tuple(SOURCES / name for name in (*spoken.parts, *HEADERS))
        return [str(programs.ensure(SOURCES / spoken.source, FLAGS, headers=headers, compiler=programs.C_COMPILER))]
    if protocol == "http1":
        return python("bench.referees.python_front")
    raise NotInstalledError(
        f"the server for {spoken.title} needs gcc, on Linux; install it: apt-get install gcc", ["gcc"]
    )
