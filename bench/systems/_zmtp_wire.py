"""ZMTP 3.0 as bytes, a REQ socket's side without encryption: the protocol of ZeroMQ, for the load generator ``wire``.

A message is frames, each a byte of flags and its length in one byte or eight. A request and its reply are an empty
frame and the payload's. Source: https://rfc.zeromq.org/spec/23/ (ZMTP), https://rfc.zeromq.org/spec/28/ (REQ and REP).
"""

import socket
import struct

from bench.errors import TransportError
from bench.systems import _wire

MORE, LONG, COMMAND = 1, 2, 4  # flags of a frame
DELIMITER = b"\x01\x00"  # an empty frame, which another one follows
MECHANISM = b"NULL".ljust(20, b"\0")
GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00" + MECHANISM + bytes(32)
READY = b"\x05READY\x0bSocket-Type\x00\x00\x00\x03REQ"
_long = struct.Struct("!BQ")


def frame(content: bytes, flags: int = 0) -> bytes:
    """Return a frame."""
    if len(content) < 256:
        return bytes((flags, len(content))) + content
    return _long.pack(flags | LONG, len(content)) + content


class Wire(_wire.GreetingWire):
    """Requests and responses as bytes; they have no state."""

    def greet(self, connection: socket.socket) -> None:
        connection.sendall(GREETING)
        theirs = _wire.take(connection, len(GREETING))
        if theirs[:1] + theirs[9:11] != b"\xff\x7f\x03" or theirs[12:32] != MECHANISM:
            text = "the server does not speak ZMTP 3 without encryption"
            raise TransportError(f"{text}: give the option curve the same value on both sides", "connect")
        connection.sendall(frame(READY, COMMAND))
        flags, size = _wire.take(connection, 2)
        answer = _wire.take(connection, size)
        if flags != COMMAND or not answer.startswith(b"\x05READY"):
            raise TransportError(f"the server refused the handshake: {answer[:60]!r}", "connect")

    def request(self, payload: bytes) -> bytes:
        return DELIMITER + frame(payload)

    def size(self, buffer: bytes | bytearray, length: int) -> int:
        if length < 4:
            return 0
        if buffer[:2] != DELIMITER or buffer[2] not in (0, LONG):
            raise TransportError(f"a message is no reply of ZMTP: it begins with {bytes(buffer[:3])!r}")
        if buffer[2] == 0:
            return 4 + buffer[3]
        return 0 if length < 11 else 11 + int(_long.unpack_from(buffer, 2)[1])

    def body(self, response: bytes, payload: bytes) -> bytes:
        return response[4 if response[2] == 0 else 11 :]
