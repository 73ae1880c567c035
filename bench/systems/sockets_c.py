"""Raw sockets in C++: the protocol of the system sockets, by system calls alone; either side can be in Python."""

import socket

from bench.contract import Binding, Service, parse_address
from bench.process import programs
from bench.systems import _connections, _native, _twin, sockets

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ()
GROUP = "native"
VERSION_COMMANDS = {"g++": "g++ --version"}

programs.need((), "g++")

SOURCE = _native.Source("_sockets_c.cpp", "sockets_c", ("-pthread",))
Options = _native.Options  # TCP_NODELAY is set on both sides, and each message is one write


prepare = SOURCE.program


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Let the program answer at a socket that is bound here, or answer here in Python."""
    if options.server == "python":
        return sockets.serve(binding, sockets.Options(), service)
    listener, address = _connections.bound(binding)
    if listener.family != socket.AF_UNIX:
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, True)  # inherited by connections that are accepted
    program = SOURCE.start(["server", listener.fileno()], [listener])
    return _native.serve(program, service, lambda words: address)


class Load(_native.Load):
    """The closed load by the program, over connections that are made here."""

    def _start(self, words: list[object]) -> _native.Program:
        address = parse_address(self._address)
        connections = [_connections.connect(address, nodelay=True) for _ in range(self._callers)]
        return SOURCE.start([*words, *(connection.fileno() for connection in connections)], connections)


Client = _twin.with_options(sockets.Client, lambda _: sockets.Options())
Wire = _twin.with_options(sockets.Wire, lambda _: sockets.Options())
