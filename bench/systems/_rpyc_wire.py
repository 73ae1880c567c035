"""RPyC's protocol as bytes, one call after another, for the load generator ``wire``; values by the library's brine.

Source: https://rpyc.readthedocs.io/en/latest/docs/theory.html, and rpyc/core/protocol.py and channel.py.
"""

import socket
import zlib
from typing import Any

from rpyc.core import brine, consts
from rpyc.core.channel import Channel

from bench.errors import TransportError
from bench.systems import _wire

NUMBER = 1  # of every request: a connection has one under way
HEADER, FLUSHER = Channel.FRAME_HEADER, Channel.FLUSHER
METHOD = (consts.LABEL_VALUE, "call")


def framed(kind: int, content: Any) -> bytes:
    """Return a message with its length; compressed where the library compresses."""
    data = brine.I1.pack(kind) + brine.dump((NUMBER, content))
    is_large = len(data) > Channel.COMPRESSION_THRESHOLD
    data = zlib.compress(data, Channel.COMPRESSION_LEVEL) if is_large else data
    return bytes(HEADER.pack(len(data), is_large) + data + FLUSHER)


def content_of(message: bytes) -> Any:
    """Return the content of a whole message, which is a reply; TransportError for an exception and for another one."""
    _, is_compressed = HEADER.unpack_from(message)
    data = message[HEADER.size : -len(FLUSHER)]
    try:
        data = zlib.decompress(data) if is_compressed else data
        kind, (number, content) = data[0], brine.load(data[1:])
    except Exception as reason:  # what brine raises for what it cannot read
        raise TransportError(f"a message is not of RPyC: {message[:40]!r}", "body") from reason
    if kind != consts.MSG_REPLY or number != NUMBER:
        raise TransportError(f"the call failed: {content!r:.200}")
    return content


class Wire(_wire.Dialog):
    """A conversation: the method is looked up once, then a request is a call of it by reference."""

    def greet(self, connection: socket.socket) -> None:
        self._made: dict[int, bytes] = {}
        self._buffer = bytearray()
        root = self._asked(connection, consts.HANDLE_GETROOT)
        self._method = self._asked(connection, consts.HANDLE_GETATTR, root, METHOD)

    def _asked(self, connection: socket.socket, handler: int, *arguments: Any) -> tuple[int, Any]:
        """Return a reference to what the server returns a reference to."""
        connection.sendall(framed(consts.MSG_REQUEST, (handler, (consts.LABEL_TUPLE, arguments))))
        head = _wire.take(connection, HEADER.size)
        label, value = content_of(head + _wire.take(connection, HEADER.unpack(head)[0] + len(FLUSHER)))
        if label != consts.LABEL_REMOTE_REF:
            raise TransportError(f"the server does not greet as RPyC does: {value!r:.80}", "connect")
        return consts.LABEL_LOCAL_REF, value

    def request(self, payload: bytes) -> bytes:
        return payload  # the call around it holds the connection's reference

    def begin(self, index: int, request: bytes) -> bytes:
        if index not in self._made:
            arguments = (self._method, (consts.LABEL_VALUE, (request,)), (consts.LABEL_VALUE, ()))
            self._made[index] = framed(consts.MSG_REQUEST, (consts.HANDLE_CALL, (consts.LABEL_TUPLE, arguments)))
        return self._made[index]

    def receive(self, data: bytes) -> bytes | None:
        buffer = self._buffer
        buffer += data
        if len(buffer) < HEADER.size:
            return None
        stop = HEADER.size + HEADER.unpack_from(buffer)[0] + len(FLUSHER)
        if len(buffer) < stop:
            return None
        if len(buffer) > stop:
            raise TransportError(f"{len(buffer) - stop} bytes came after a reply, without a request")
        reply = bytes(buffer)
        buffer.clear()
        return reply

    def body(self, response: bytes, payload: bytes) -> bytes:
        label, value = content_of(response)
        if label != consts.LABEL_VALUE or not isinstance(value, bytes):
            raise TransportError(f"a reply holds no bytes: {value!r:.80}", "body")
        return value
