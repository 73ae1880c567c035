"""Xmlrpc-c: the C++ library on both sides, Abyss and curl over HTTP, or its packet stream."""

import socket
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench import programs
from bench.contract import Address, Binding, LoadReport, Service, parse_address
from bench.errors import TransportError
from bench.process import Process
from bench.systems import sockets

TRANSPORTS = ("tcp",)  # its HTTP client has no Unix domain sockets
START_S = 0.12
REQUIRES = ()

SOURCE = Path(__file__).with_name("_xmlrpc_c.cpp")
PARTS = ("client++", "server_abyss++", "server_pstream++", "server++")
FLAGS = (*(f"-lxmlrpc_{part}" for part in PARTS), "-lxmlrpc++", "-lxmlrpc", "-lxmlrpc_util", "-pthread")

GROUP = "native"
VERSION_COMMANDS = {"xmlrpc-c": "xmlrpc-c-config --version"}

programs.need(["xmlrpc-c/server_pstream.hpp"], "g++ libxmlrpc-c++8-dev")


@dataclass(frozen=True)
class Options:
    """What carries the XML.

    protocol: http is the Abyss server and the curl client; pstream the packet stream, without HTTP.
    client_nodelay, server_nodelay: set TCP_NODELAY there on a packet stream; on http the library always does.
    """

    protocol: Literal["http", "pstream"] = "http"
    client_nodelay: bool = True
    server_nodelay: bool = True


def prepare() -> None:
    """Compile the program that serves and calls, if it is missing."""
    programs.ensure(SOURCE, FLAGS)


class _Program(Process):
    """The program in one of its roles, controlled by lines of text; it ends when its input, or this process, ends."""

    def __init__(self, words: Sequence[object], connections: Sequence[socket.socket]) -> None:
        """Start it; ``connections`` are handed on to it."""
        command = [str(programs.ensure(SOURCE, FLAGS)), *map(str, words)]
        super().__init__(command, pass_fds=[one.fileno() for one in connections])

    def hear(self, kind: str = "") -> list[str]:
        """Return the words after ``kind`` in its next line; TransportError for any other line."""
        line = self.output.readline().decode()
        if not line or line.startswith("error "):
            status = self.wait()
            said = line.removeprefix("error ").strip() or f"it ended with status {status}"
            raise TransportError(f"the Xmlrpc-c program failed: {said}")
        return line.removeprefix(kind).split()

    def read(self, count: int) -> "array[int]":
        """Return that many int64 of its output."""
        numbers = array("q")
        numbers.frombytes(self.output.read(8 * count))
        return numbers


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Let the program answer at a socket that is bound here, until it ends."""
    listener = sockets.listen(parse_address(binding.endpoint()))
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, options.server_nodelay)  # inherited by those accepted
    with listener:
        program = _Program(["server", options.protocol, listener.fileno()], [listener])
        program.hear("ready")
        address = sockets.announced(listener, binding.endpoint())

    def count() -> list[int]:
        program.write(b"count\n")
        return [int(word) for word in program.hear()]

    service.announce(address, counts=count)
    raise TransportError(f"the Xmlrpc-c program ended with status {program.wait()}")


class Load:
    """The closed load, made by the program: a connection and a thread for each caller."""

    def __init__(self, address: str, options: Options, payloads: list[bytes], callers: int, most_calls: int) -> None:
        """Keep the program's arguments."""
        self._address = address
        self._options = options
        self._payloads = payloads
        self._callers = callers
        self._most_calls = most_calls
        self._calls: list[int] = []

    @property
    def pids(self) -> list[int]:
        """The further processes whose CPU time counts as the client's."""
        return [self._program.pid]

    def first(self) -> int:
        """Start the program, which connects and makes one verified call with each caller; return the first's ns."""
        where, payloads = parse_address(self._address), self._payloads
        words = ["client", self._options.protocol, self._callers, self._most_calls, len(payloads), len(payloads[0])]
        connections = self._connections(where) if self._options.protocol == "pstream" else []
        places = [str(one.fileno()) for one in connections] or [_url(where)]
        self._program = _Program([*words, *places], connections)
        for one in connections:
            one.close()  # owned by the program
        self._program.write(b"".join(payloads))
        (first_ns,) = self._program.hear("first")
        return int(first_ns)

    def _connections(self, where: Address) -> list[socket.socket]:
        return [sockets.connect(where, self._options.client_nodelay) for _ in range(self._callers)]

    def load(self, at_ns: int, until_ns: int) -> None:
        """Let the program make its calls."""
        self._program.write(b"%d %d\n" % (at_ns, until_ns))
        self._calls = [int(word) for word in self._program.hear("done")]

    def report(self) -> LoadReport:
        """Return the number of calls, and the send and receive times of each caller."""
        return LoadReport(sum(self._calls), [self._program.read(calls) for calls in self._calls for _ in range(2)])

    def close(self) -> None:
        """End the program, and with it its connections."""
        self._program.end()


def _url(where: Address) -> str:
    return f"http://{f'[{where.host}]' if ':' in where.host else where.host}:{where.port}/RPC2"


class Client:
    """The client in Python that speaks the same protocol: for the loads that the program lacks."""

    def __init__(self, address: str, options: Options) -> None:
        """Choose by protocol; each is imported only when it is needed."""
        self._client: Any
        if options.protocol == "http":
            from bench.systems import xmlrpc_stdlib

            self._client = xmlrpc_stdlib.Client(address, xmlrpc_stdlib.Options())
        else:
            from bench.systems import xmlrpc_pstream

            self._client = xmlrpc_pstream.Client(address, xmlrpc_pstream.Options(options.client_nodelay))

    def open(self) -> None:
        """Connect."""
        self._client.open()

    @property
    def call(self) -> Callable[[bytes], bytes]:
        """Make one call and return its reply: the other client's own method."""
        return self._client.call

    def close(self) -> None:
        """Disconnect."""
        self._client.close()


def Wire(options: Options, address: str) -> Any:  # noqa: N802 - stands for the classes of both protocols
    """Return the requests and responses of the protocol as bytes, for the load generator ``wire``."""
    if options.protocol == "http":
        from bench.systems import xmlrpc_stdlib

        return xmlrpc_stdlib.Wire(xmlrpc_stdlib.Options(), address)
    from bench.systems import xmlrpc_pstream

    return xmlrpc_pstream.Wire(xmlrpc_pstream.Options(options.client_nodelay), address)
