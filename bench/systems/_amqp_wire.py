"""AMQP 0.9.1 as bytes, one call after another, for the load generator ``wire``.

Each connection has one channel, on which it takes replies from the broker's pseudo-queue for them. Source:
https://www.rabbitmq.com/resources/specs/amqp0-9-1.pdf, https://www.rabbitmq.com/docs/direct-reply-to
"""

import socket
import struct
from typing import Any

from bench.errors import TransportError
from bench.systems import _broker, _rabbitmq, _wire

METHOD, HEADER, BODY, HEARTBEAT = 1, 2, 3, 8  # kinds of frames
END = b"\xce"  # of each frame
HEAD = struct.Struct("!BHI")  # of a frame: its kind, its channel, the length of its content
CHANNEL = 1
MOST_FRAME = 131_072  # bytes, the broker's own limit unless it is configured otherwise
MOST_BODY = MOST_FRAME - HEAD.size - len(END)
START, START_OK, TUNE, TUNE_OK = (10, 10), (10, 11), (10, 30), (10, 31)
OPEN, OPEN_OK, CLOSE = (10, 40), (10, 41), (10, 50)
CHANNEL_OPEN, CHANNEL_OPEN_OK, CHANNEL_CLOSE = (20, 10), (20, 11), (20, 40)
CONSUME, CONSUME_OK, PUBLISH, RETURN, DELIVER = (60, 20), (60, 21), (60, 40), (60, 50), (60, 60)
NO_ACK, MANDATORY = b"\x02", b"\x01"
PROPERTIES = 0x1600  # of a message: delivery mode, correlation id, reply-to
TRANSIENT = b"\x01"
NO_TABLE = bytes(4)


def short(text: str) -> bytes:
    """Return a text behind its length in one byte."""
    return bytes((len(text.encode()),)) + text.encode()


def long(content: bytes) -> bytes:
    """Return bytes, or a table, behind their length."""
    return struct.pack("!I", len(content)) + content


def frame(kind: int, content: bytes, channel: int = CHANNEL) -> bytes:
    """Return a frame."""
    return HEAD.pack(kind, channel, len(content)) + content + END


def method(name: tuple[int, int], *parts: bytes, channel: int = CHANNEL) -> bytes:
    """Return the frame of a method."""
    return frame(METHOD, struct.pack("!HH", *name) + b"".join(parts), channel)


PROPERTIES_OF_CLIENT = long(short("capabilities") + b"F" + long(short("authentication_failure_close") + b"t\x01"))


class Wire(_broker.Wire):
    """A conversation: a request is published with the pseudo-queue to reply to, whence its reply is delivered."""

    def greet(self, connection: socket.socket) -> None:
        self._buffer, self.outgoing = bytearray(), bytearray()
        user, password = _broker.login(self.server) or ("guest", "guest")
        login = (PROPERTIES_OF_CLIENT, short("PLAIN"), long(f"\0{user}\0{password}".encode()), short("en_US"))
        consume = (bytes(2), short(_rabbitmq.REPLIES), short(""), NO_ACK, NO_TABLE)
        connection.sendall(b"AMQP\0\0\x09\x01")
        _answered(connection, START)
        connection.sendall(method(START_OK, *login, channel=0))
        _answered(connection, TUNE)
        connection.sendall(method(TUNE_OK, struct.pack("!HIH", CHANNEL, MOST_FRAME, 0), channel=0))
        connection.sendall(method(OPEN, short("/"), short(""), b"\0", channel=0))
        _answered(connection, OPEN_OK)
        connection.sendall(method(CHANNEL_OPEN, short("")))
        _answered(connection, CHANNEL_OPEN_OK)
        connection.sendall(method(CONSUME, *consume))
        _answered(connection, CONSUME_OK)

    def request(self, payload: bytes) -> bytes:
        """Return the frames of a message; its correlation id is that of every request of the connection."""
        properties = TRANSIENT + short("1") + short(_rabbitmq.REPLIES)
        head = struct.pack("!HHQH", PUBLISH[0], 0, len(payload), PROPERTIES) + properties
        bodies = (frame(BODY, payload[at : at + MOST_BODY]) for at in range(0, len(payload), MOST_BODY))
        publish = method(PUBLISH, bytes(2), short(""), short(self.name), MANDATORY)
        return b"".join((publish, frame(HEADER, head), *bodies))

    def receive(self, data: bytes) -> bytes | None:
        self._buffer += data
        wanted, size, bodies, at = METHOD, 0, [], 0
        while (frame_of := _first(self._buffer, at)) is not None:
            kind, content, at = frame_of
            if kind == HEARTBEAT:
                continue
            if kind != wanted or (kind == METHOD and content[:4] != DELIVERED):
                raise self._other(kind, content)
            if kind == METHOD:
                wanted = HEADER
            elif kind == HEADER:
                wanted, size = BODY, int.from_bytes(content[4:12])
            else:
                bodies.append(content)
            if kind != METHOD and sum(map(len, bodies)) >= size:
                if len(self._buffer) > at:
                    raise TransportError(f"{len(self._buffer) - at} bytes came after a reply, without a request")
                self._buffer.clear()
                return b"".join(bodies)
        return None

    def _other(self, kind: int, content: bytes) -> TransportError:
        """Return the error for a frame that is no part of a reply."""
        name = struct.unpack_from("!HH", content) if kind == METHOD and len(content) > 3 else ()
        if name == RETURN:
            return TransportError(f"no server takes requests from the queue {self.name!r}", "connect")
        if name in (CLOSE, CHANNEL_CLOSE):
            return TransportError(f"the broker ends the connection: {_reason(content)}", "read")
        return TransportError(f"a frame of kind {kind} is no reply: it begins with {content[:20]!r}")


DELIVERED = struct.pack("!HH", *DELIVER)


def _first(buffer: bytearray, at: int) -> tuple[int, bytes, int] | None:
    """Return the kind and the content of the frame that begins there, and its end; None if it is incomplete."""
    if len(buffer) < at + HEAD.size:
        return None
    kind, _, size = HEAD.unpack_from(buffer, at)
    begin, stop = at + HEAD.size, at + HEAD.size + size
    if size > MOST_FRAME:
        raise TransportError(f"a frame has {size:,} bytes: the server does not speak AMQP")
    if len(buffer) <= stop:
        return None
    if buffer[stop : stop + 1] != END:
        raise TransportError("a frame does not end where it says")
    return kind, bytes(memoryview(buffer)[begin:stop]), stop + 1


def _answered(connection: socket.socket, wanted: tuple[int, int]) -> None:
    """Take the next method of a greeting; TransportError for another one."""
    kind, _, size = HEAD.unpack(_wire.take(connection, HEAD.size))
    if kind != METHOD or size > MOST_FRAME:
        raise TransportError("the server does not greet as AMQP 0.9.1 does", "connect")
    content = _wire.take(connection, size + len(END))
    name: Any = struct.unpack_from("!HH", content)
    if name == CLOSE and wanted == TUNE:
        raise _broker.refused(_reason(content))
    if name != wanted:
        text = _reason(content) if name in (CLOSE, CHANNEL_CLOSE) else f"it sends the method {name}"
        raise TransportError(f"the broker refuses the connection: {text}", "connect")


def _reason(content: bytes) -> str:
    """Return the text of a method that closes a connection or a channel."""
    return content[7 : 7 + content[6]].decode(errors="replace")
