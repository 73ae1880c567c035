"""WAMP over raw sockets with MessagePack as bytes, one call after another, for the load generator ``wire``.

Source: https://wamp-proto.org/wamp_latest_ietf.html, sections 5.3.2 (raw sockets), 6 (sessions) and 9 (calls).
"""

import socket
import struct
from typing import Any

import msgpack

from bench.errors import TransportError
from bench.systems import _wire

REALM, PROCEDURE = "roundtrip", "roundtrip.echo"
MAGIC, LARGEST, MSGPACK = 0x7F, 0xF0, 2  # of a handshake: its first byte; messages up to 16 MiB; the serializer
HELLO, WELCOME, CALL, RESULT = 1, 2, 48, 50
PREFIX = struct.Struct("!I")  # of a message: its type in the highest byte, 0 for those of WAMP, and its length
PING, PONG = 1, 2


def framed(message: bytes, kind: int = 0) -> bytes:
    """Return a message behind its length."""
    return PREFIX.pack(kind << 24 | len(message)) + message


class Wire(_wire.Dialog):
    """A conversation: a request is a CALL with the payload as its argument, whose RESULT has one argument, too."""

    def __init__(self, address: str, options: Any) -> None:
        super().__init__(address, options)
        self._procedure = address.partition("#")[2] or PROCEDURE

    def greet(self, connection: socket.socket) -> None:
        self._number, self._buffer, self.outgoing = 0, bytearray(), bytearray()
        connection.sendall(bytes((MAGIC, LARGEST | MSGPACK, 0, 0)))
        if (answer := _wire.take(connection, 4))[0] != MAGIC or answer[1] & 15 != MSGPACK:
            raise TransportError(f"the server does not speak WAMP over raw sockets: {answer!r}", "connect")
        connection.sendall(framed(msgpack.packb([HELLO, REALM, {"roles": {"caller": {}}}])))
        (size,) = PREFIX.unpack(_wire.take(connection, PREFIX.size))
        welcome = _message(_wire.take(connection, size))
        if welcome[0] != WELCOME:
            raise TransportError(f"the router refused: {welcome[1:]!r:.200}", "connect")

    def request(self, payload: bytes) -> bytes:
        """Return what follows the number in the message CALL."""
        return bytes(msgpack.packb({}) + msgpack.packb(self._procedure) + msgpack.packb([payload]))

    def begin(self, index: int, request: bytes) -> bytes:
        """Return a CALL: a list of five, whose second is the number of the call in its session."""
        self._number += 1
        return framed(b"".join((b"\x95", msgpack.packb(CALL), msgpack.packb(self._number), request)))

    def receive(self, data: bytes) -> bytes | None:
        buffer = self._buffer
        buffer += data
        while len(buffer) >= PREFIX.size:
            (size,) = PREFIX.unpack_from(buffer)
            kind, size = size >> 24, PREFIX.size + (size & 0xFFFFFF)
            if kind not in (0, PING):
                raise TransportError(f"a message has the type {kind}, which no router sends")
            if len(buffer) < size:
                return None
            content = bytes(memoryview(buffer)[PREFIX.size : size])
            del buffer[:size]
            if kind == PING:
                self.outgoing += framed(content, PONG)
                continue
            if buffer:
                raise TransportError(f"{len(buffer)} bytes came after a reply, without a request")
            return self._result(_message(content))
        return None

    def _result(self, message: list[Any]) -> bytes:
        """Return the payload of the RESULT of the call under way; TransportError for another message."""
        if message[:2] == [RESULT, self._number] and len(message) == 4 and len(message[3]) == 1:
            return bytes(message[3][0])
        raise TransportError(f"the call of {self._procedure} failed: {message!r:.200}")


def _message(content: bytes) -> list[Any]:
    """Return the items of a message; TransportError for what is none."""
    try:
        message = msgpack.unpackb(content)
    except (ValueError, msgpack.UnpackException) as reason:
        raise TransportError(f"a message is not encoded as MessagePack: {content[:40]!r}") from reason
    if not isinstance(message, list) or not message:
        raise TransportError(f"a message is no list: {message!r:.80}")
    return message
