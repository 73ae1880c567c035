"""WebSocket as bytes, one message after another, for the load generator ``wire``.

A client masks its frames with a key of its own, here one for all of a connection. Source: RFC 6455, sections 4 and 5.
"""

import base64
import hashlib
import secrets
import socket
import struct
from typing import Any

from bench.errors import TransportError
from bench.systems import _http_wire, _wire

BINARY = 0x82  # the first byte of a message in one frame
MASKED = 0x80
ACCEPTED = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"  # what a server puts behind a client's key before it hashes both


def _masked(content: bytes, key: bytes) -> bytes:
    """Return the exclusive or of bytes with a key that is repeated."""
    size = len(content)
    repeated = (key * (size // len(key) + 1))[:size]
    return (int.from_bytes(content) ^ int.from_bytes(repeated)).to_bytes(size)


class Wire(_wire.GreetingWire):
    """Messages as bytes; they have no state but the key."""

    def __init__(self, address: str, options: Any) -> None:
        super().__init__(address, options)
        self._key = secrets.token_bytes(4)

    def greet(self, connection: socket.socket) -> None:
        key = base64.b64encode(secrets.token_bytes(16)).decode()
        fields = f"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13"
        wanted = base64.b64encode(hashlib.sha1((key + ACCEPTED).encode(), usedforsecurity=False).digest())
        host = _http_wire.authority(self.server)
        connection.sendall(f"GET / HTTP/1.1\r\nHost: {host}\r\n{fields}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            answer += _wire.take(connection, 1)
            if len(answer) > _http_wire.MOST_HEAD:
                raise TransportError("the server does not greet as WebSocket does", "connect")
        if not answer.startswith(b"HTTP/1.1 101 ") or wanted not in answer:
            raise TransportError(f"the server does not speak WebSocket: {answer[:60]!r}", "connect")

    def request(self, payload: bytes) -> bytes:
        size = len(payload)
        if size < 126:
            head = bytes((BINARY, MASKED | size))
        elif size < 1 << 16:
            head = struct.pack("!BBH", BINARY, MASKED | 126, size)
        else:
            head = struct.pack("!BBQ", BINARY, MASKED | 127, size)
        return head + self._key + _masked(payload, self._key)

    def size(self, buffer: bytes | bytearray, length: int) -> int:
        if length < 2:
            return 0
        if buffer[0] != BINARY or buffer[1] & MASKED:
            raise TransportError(f"a frame is no whole binary message: it begins with {bytes(buffer[:2])!r}", "read")
        begin = _begin(buffer[1])
        if length < begin:
            return 0
        return begin + (int.from_bytes(buffer[2:begin]) if begin > 2 else buffer[1])

    def body(self, response: bytes, payload: bytes) -> bytes:
        return response[_begin(response[1]) :]


def _begin(size: int) -> int:
    """Return where the payload of a frame begins, by the byte that says how its length is written."""
    return {126: 4, 127: 10}.get(size, 2)
