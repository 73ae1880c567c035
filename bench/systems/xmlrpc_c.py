"""Xmlrpc-c: the C++ library, Abyss and curl over HTTP or its packet stream; either side can be in Python."""

import socket
from dataclasses import dataclass
from typing import Any, Literal

from bench.contract import Binding, Service, parse_address
from bench.process import programs
from bench.systems import _connections, _native

TRANSPORTS = ("tcp",)  # its HTTP client has no Unix domain sockets
START_S = 0.12
REQUIRES = ()

PARTS = ("client++", "server_abyss++", "server_pstream++", "server++")
FLAGS = (*(f"-lxmlrpc_{part}" for part in PARTS), "-lxmlrpc++", "-lxmlrpc", "-lxmlrpc_util", "-pthread")

GROUP = "native"
VERSION_COMMANDS = {"xmlrpc-c": "xmlrpc-c-config --version"}

programs.need(["xmlrpc-c/server_pstream.hpp"], "g++ libxmlrpc-c++8-dev")

SOURCE = _native.Source("_xmlrpc_c.cpp", "Xmlrpc-c", FLAGS)


@dataclass(frozen=True)
class Options(_native.Options):
    """What carries the XML, and which side is native. In Python are the systems xmlrpc_stdlib or xmlrpc_pstream.

    protocol: http is the Abyss server and the curl client; pstream the packet stream, without HTTP.
    client_nodelay, server_nodelay: set TCP_NODELAY there on a packet stream; on http the libraries always do.
    """

    protocol: Literal["http", "pstream"] = "http"
    client_nodelay: bool = True
    server_nodelay: bool = True


prepare = SOURCE.program


def _in_python(options: Options) -> tuple[Any, Any]:
    """Return the system in Python that speaks the same protocol, and its options; imported only when it is needed."""
    if options.protocol == "http":
        from bench.systems import xmlrpc_stdlib

        return xmlrpc_stdlib, xmlrpc_stdlib.Options()
    from bench.systems import xmlrpc_pstream

    return xmlrpc_pstream, xmlrpc_pstream.Options(options.client_nodelay, options.server_nodelay)


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Let the program answer at a socket that is bound here, or answer here in Python."""
    if options.server == "python":
        system, its_options = _in_python(options)
        system.serve(binding, its_options, service)
    listener, address = _connections.bound(binding)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, options.server_nodelay)  # inherited by those accepted
    program = SOURCE.start(["server", options.protocol, listener.fileno()], [listener])
    _native.serve(program, service, lambda words: address)


class Load(_native.Load):
    """The closed load by the program."""

    def _start(self, words: list[object]) -> _native.Program:
        address = parse_address(self._address)
        words.append(self._options.protocol)
        if self._options.protocol == "http":
            return SOURCE.start([*words, f"http://{address.place}/RPC2"])
        connections = [_connections.connect(address, self._options.client_nodelay) for _ in range(self._callers)]
        return SOURCE.start([*words, *(connection.fileno() for connection in connections)], connections)


def Client(address: str, options: Options) -> Any:  # noqa: N802 - stands for the classes of both protocols
    """Return the client in Python that speaks the same protocol."""
    system, its_options = _in_python(options)
    return system.Client(address, its_options)


def Wire(address: str, options: Options) -> Any:  # noqa: N802 - as ``Client``
    """Return the requests and responses of the protocol as bytes, for the load generator ``wire``."""
    system, its_options = _in_python(options)
    return system.Wire(address, its_options)
