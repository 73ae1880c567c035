"""What a ``Wire`` says to a server before its first call: a few blocking exchanges, within the time of a handshake."""

import contextlib
import socket
from collections.abc import Iterator

from bench.contract import Address
from bench.errors import TransportError
from bench.systems import _connections, _tls


@contextlib.contextmanager
def connected(where: Address) -> Iterator[socket.socket]:
    """Yield a connection for a greeting; close it where that fails; TransportError, also where it takes too long."""
    connection = _connections.connect(where, nodelay=True)
    connection.settimeout(_tls.HANDSHAKE_S)
    try:
        yield connection
    except TransportError:
        connection.close()
        raise
    except OSError as reason:
        connection.close()
        raise TransportError(f"the greeting with {where} failed: {reason}", "connect") from reason
    connection.settimeout(None)


def take(connection: socket.socket, size: int) -> bytes:
    """Return the next bytes of a greeting; TransportError where the server ends it before."""
    taken = b""
    while len(taken) < size:
        taken += take_some(connection, size - len(taken))
    return taken


def take_some(connection: socket.socket, most: int = 65_536) -> bytes:
    """Return what has come of a greeting, at least a byte."""
    data = connection.recv(most)
    if not data:
        raise TransportError("the server ended the connection in its greeting", "connect")
    return data
