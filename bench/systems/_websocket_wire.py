"""WebSocket as bytes, one message after another, for the load generator ``wire``.

A client masks its frames with a key of its own, here one for all of a connection. Source: RFC 6455, sections 4 and 5.
"""

import base64
import hashlib
import secrets
import socket
import struct

from bench.contract import Address
from bench.errors import TransportError
from bench.systems import _greeting, _http_wire

BINARY = 0x82  # the first byte of a message in one frame
MASKED = 0x80
ACCEPTED = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # what a server puts behind a client's key before it hashes both
MOST_BYTES = 256_000_000


def _masked(content: bytes, key: bytes) -> bytes:
    """Return the exclusive or of bytes with a key that is repeated."""
    size = len(content)
    repeated = (key * (size // len(key) + 1))[:size]
    return (int.from_bytes(content) ^ int.from_bytes(repeated)).to_bytes(size)


class Wire:
    """Messages as bytes; they have no state but the key."""

    last = False

    def __init__(self, where: Address) -> None:
        self._where = where
        self._key = secrets.token_bytes(4)

    def connect(self) -> socket.socket:
        """Return a connection that is upgraded; TransportError where that is not possible."""
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        fields = f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13"
        wanted = base64.b64encode(hashlib.sha1((key + ACCEPTED).encode(), usedforsecurity=False).digest())
        with _greeting.connected(self._where) as connection:
            connection.sendall(
                f"GET / HTTP/1.1\r\nHost: {_http_wire.authority(self._where)}\r\n{fields}\r\n\r\n".encode()
            )
            said = b""
            while not said.endswith(b"\r\n\r\n"):
                said += _greeting.take(connection, 1)
                if len(said) > _http_wire.MOST_HEAD:
                    raise TransportError("the server does not greet as WebSocket does", "connect")
            if not said.startswith(b"HTTP/1.1 101 ") or wanted not in said:
                raise TransportError(f"the server does not speak WebSocket: {said[:60]!r}", "connect")
        return connection

    def request(self, payload: bytes) -> bytes:
        """Return a message of one frame."""
        size = len(payload)
        if size < 126:
            head = bytes((BINARY, MASKED | size))
        elif size < 1 << 16:
            head = struct.pack("!BBH", BINARY, MASKED | 126, size)
        else:
            head = struct.pack("!BBQ", BINARY, MASKED | 127, size)
        return head + self._key + _masked(payload, self._key)

    def end(self, buffer: bytes | bytearray, length: int) -> int:
        """Return how many bytes the first message takes, 0 if it is incomplete; TransportError for another frame."""
        if length < 2:
            return 0
        if buffer[0] != BINARY or buffer[1] & MASKED:
            raise TransportError(f"a frame is no whole binary message: it begins with {bytes(buffer[:2])!r}", "read")
        begin = _begin(buffer[1])
        if length < begin:
            return 0
        stop = begin + (int.from_bytes(buffer[2:begin]) if begin > 2 else buffer[1])
        if stop > MOST_BYTES:
            raise TransportError(f"a message is larger than {MOST_BYTES:,} bytes")
        return stop if stop <= length else 0

    def body(self, response: bytes, payload: bytes) -> bytes:
        """Return the payload of a whole message."""
        return response[_begin(response[1]) :]


def _begin(size: int) -> int:
    """Return where the payload of a frame begins, by the byte that says how its length is written."""
    return {126: 4, 127: 10}.get(size, 2)
