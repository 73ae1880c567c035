"""What the systems' wires have in common: how they connect, and what they say to a server before its first call."""

import socket
from typing import Any

from bench.contract import parse_address
from bench.errors import TransportError
from bench.systems import _connections, _tls

MOST_BYTES = 256_000_000  # of one response


class Wire:
    """Requests and responses of one connection as bytes, as ``contract.Wire`` defines; its subclasses know them.

    PROTOCOL: what an encrypted connection asks for by ALPN.
    """

    PROTOCOL = ""
    last = False

    def __init__(self, address: str, options: Any = None) -> None:
        self.server, self.options = parse_address(address), options
        self.tls: _tls.Layer | None = None
        if getattr(options, "tls", False):
            self.tls = _tls.Layer(self.server, getattr(options, "tls_session", "new"), self.PROTOCOL)

    def connect(self) -> socket.socket:
        """Return a connection to the server; TransportError where that is not possible."""
        return _connections.connect(self.server, getattr(self.options, "client_nodelay", True))

    def end(self, buffer: bytes | bytearray, length: int) -> int:
        """Return how many bytes the first response takes, 0 if it is not complete; TransportError if too large."""
        stop = self.size(buffer, length)
        if stop > MOST_BYTES:
            raise TransportError(f"a response is larger than {MOST_BYTES:,} bytes: the peer speaks another protocol")
        return stop if stop <= length else 0

    def size(self, buffer: bytes | bytearray, length: int) -> int:
        """Return how many bytes the first response takes, 0 if that has not come yet; TransportError for another."""
        raise NotImplementedError


class GreetingWire(Wire):
    """A wire that says something to the server before the first call: a few blocking exchanges."""

    def connect(self) -> socket.socket:
        """Return a connection after its greeting; TransportError, also where that takes too long."""
        connection = super().connect()
        connection.settimeout(_tls.HANDSHAKE_S)
        try:
            self.greet(connection)
        except TransportError:
            connection.close()
            raise
        except OSError as reason:
            connection.close()
            raise TransportError(f"the greeting with {self.server} failed: {reason}", "connect") from reason
        connection.settimeout(None)
        return connection

    def greet(self, connection: socket.socket) -> None:
        """Make the greeting of a new connection."""
        raise NotImplementedError


class Dialog(GreetingWire):
    """A wire as ``contract.Conversation`` defines, whose replies are recognized by their payload."""

    def __init__(self, address: str, options: Any = None) -> None:
        super().__init__(address, options)
        self.outgoing = bytearray()

    def begin(self, index: int, request: bytes) -> bytes:
        """Return what begins the next call."""
        return request

    def known(self, index: int) -> None:
        """Do nothing: replies are recognized by their payload."""

    def body(self, response: bytes, payload: bytes) -> bytes:
        """Return the payload of a reply."""
        return response


def take(connection: socket.socket, size: int) -> bytes:
    """Return the next bytes of a greeting; TransportError where the server ends it before."""
    taken = b""
    while len(taken) < size:
        taken += take_some(connection, size - len(taken))
    return taken


def take_some(connection: socket.socket, max_bytes: int = 65_536) -> bytes:
    """Return what has come of a greeting, at least a byte."""
    data = connection.recv(max_bytes)
    if not data:
        raise TransportError("the server ended the connection in its greeting", "connect")
    return data
