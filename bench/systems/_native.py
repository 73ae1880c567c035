"""Shared by systems with a native program: its two roles (see _native.hpp), controlled by lines of text."""

import socket
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.contract import LoadReport, Service
from bench.errors import TransportError
from bench.process import programs
from bench.process.pipes import Process

HEADER = Path(__file__).with_name("_native.hpp")


@dataclass(frozen=True)
class Options:
    """Which side is native. The side in Python is that of the system that speaks the same protocol.

    client: who makes the calls: c, a program compiled on first use, which makes closed loads; or python.
    server: who answers: c, the program; or python.
    """

    client: Literal["c", "python"] = "c"
    server: Literal["c", "python"] = "c"


class Source:
    """The source of a program, and how it is compiled."""

    def __init__(
        self, name: str, library: str, flags: Sequence[str], protos: Sequence[str] = (), header: str = HEADER.name
    ) -> None:
        here = Path(__file__)
        self.library = library
        self._file, self._flags = here.with_name(name), tuple(flags)
        self._header = here.with_name(header)
        self._protos = tuple(here.with_name(proto) for proto in protos)

    def program(self) -> Path:
        """Return the compiled program; NotInstalledError quotes the compiler if it fails."""
        return programs.ensure(self._file, self._flags, headers=(self._header,), protos=self._protos)

    def start(self, words: Sequence[object], connections: Sequence[socket.socket] = ()) -> "Program":
        """Start the program; it takes over ``connections``, which are closed here."""
        program = Program(self, words, connections)
        for connection in connections:
            connection.close()
        return program


class Program(Process):
    """A program in one of its roles; it ends when its input, or this process, ends."""

    def __init__(self, source: Source, words: Sequence[object], connections: Sequence[socket.socket]) -> None:
        self.library = source.library
        command = [str(source.program()), *map(str, words)]
        super().__init__(command, pass_fds=[connection.fileno() for connection in connections])

    def hear(self, kind: str = "") -> list[str]:
        """Return the words after ``kind`` in its next line; TransportError for any other line."""
        line = self.output.readline().decode()
        if not line or line.startswith("error "):
            status = self.wait()
            reason = line.removeprefix("error ").strip() or f"it ended with status {status}"
            raise TransportError(f"the {self.library} program failed: {reason}")
        return line.removeprefix(kind).split()

    def read(self, count: int) -> "array[int]":
        """Return that many int64 of its output."""
        numbers = array("q")
        numbers.frombytes(self.output.read(8 * count))
        return numbers


def serve(program: Program, service: Service, address: Callable[[list[str]], str]) -> None:
    """Let the program answer until it ends; ``address`` returns where, from the words that it says when it is ready."""
    announced = address(program.hear("ready"))

    def count() -> list[int]:
        program.write(b"count\n")
        return [int(word) for word in program.hear()]

    service.announce(announced, counts=count)
    raise TransportError(f"the {program.library} program ended with status {program.wait()}")


class Load:
    """The closed load, made by the program: a connection and a thread for each caller.

    A system's own ``Load`` starts its program in ``_start``.
    """

    def __init__(self, address: str, options: Any, payloads: list[bytes], callers: int, most_calls: int) -> None:
        self._address, self._options, self._payloads = address, options, payloads
        self._callers = callers
        self._words = ["client", callers, most_calls, len(payloads), len(payloads[0])]
        self._calls = [0] * callers  # whose times the program still has
        self._times = [array("q") for _ in range(2 * callers)]

    def _start(self, words: list[object]) -> Program:
        """Start the program with these words, and the system's own behind them."""
        raise NotImplementedError

    @property
    def pids(self) -> list[int]:
        """The further processes whose CPU time counts as the client's."""
        return [self._program.pid]

    def first(self) -> int:
        """Start the program, which connects and makes one verified call with each caller; return the first's ns."""
        self._program = self._start([*self._words])
        self._program.write(b"".join(self._payloads))
        (first_ns,) = self._program.hear("first")
        return int(first_ns)

    def load(self, at_ns: int, until_ns: int) -> None:
        """Let the program make its calls, in one window or in several slices."""
        self._take_times()
        self._program.write(b"%d %d\n" % (at_ns, until_ns))
        self._calls = [int(word) for word in self._program.hear("done")]

    def report(self) -> LoadReport:
        """Return the number of calls, and the send and receive times of each caller."""
        self._take_times()
        return LoadReport(sum(map(len, self._times)) // 2, self._times)

    def _take_times(self) -> None:
        """Take over the times that the program has: sent and received by each caller."""
        for index, times in enumerate(self._times):
            times.extend(self._program.read(self._calls[index // 2]))
        self._calls = [0] * self._callers

    def close(self) -> None:
        """End the program, and with it its connections."""
        self._program.end()
