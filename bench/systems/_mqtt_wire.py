"""MQTT 5 as bytes, one call of QoS 0 after another, for the load generator ``wire``.

Each connection subscribes to a topic of its own, once. Source: https://docs.oasis-open.org/mqtt/mqtt/v5.0/
"""

import secrets
import socket
import struct

from bench.errors import TransportError
from bench.systems import _broker, _wire

CONNECT, CONNACK, PUBLISH, SUBSCRIBE, SUBACK = b"\x10", b"\x20", b"\x30", b"\x82", b"\x90"
RESPONSE_TOPIC = b"\x08"
CLEAN_START, PASSWORD, USER = 0x02, 0x40, 0x80
NOT_AUTHORIZED = (0x86, 0x87)  # reasons in a CONNACK


def varint(number: int) -> bytes:
    """Return a variable byte integer: seven bits in each byte, the lowest first."""
    made = bytearray()
    while True:
        number, low = number >> 7, number & 127
        made.append(low | 128 * (number > 0))
        if not number:
            return bytes(made)


def text(content: bytes) -> bytes:
    """Return a text behind its length."""
    return struct.pack("!H", len(content)) + content


def packet(kind: bytes, content: bytes) -> bytes:
    """Return a packet."""
    return kind + varint(len(content)) + content


def size_of(buffer: bytes | bytearray) -> tuple[int, int]:
    """Return where the content of the first packet begins and ends, (0, 0) if that has not come; TransportError."""
    size = 0
    for index in range(1, min(5, len(buffer))):
        size |= (buffer[index] & 127) << 7 * (index - 1)
        if buffer[index] < 128:
            if size > _wire.MOST_BYTES:
                raise TransportError(f"a packet is larger than {_wire.MOST_BYTES:,} bytes")
            return index + 1, index + 1 + size
    if len(buffer) > 5:
        raise TransportError("the length of a packet has more than four bytes: the server does not speak MQTT")
    return 0, 0


class Wire(_broker.Wire):
    """A conversation: a request is published with a response topic, where its reply comes."""

    def greet(self, connection: socket.socket) -> None:
        replies = f"{_broker.SERVICE}/{secrets.token_hex(8)}".encode()
        properties = RESPONSE_TOPIC + text(replies)
        self._head = text(self.name.encode()) + varint(len(properties)) + properties
        self._answered = text(replies)
        self._buffer = bytearray()
        login = tuple(word.encode() for word in _broker.login(self.server) or ())
        flags = CLEAN_START | (USER | PASSWORD if login else 0)
        about = b"".join((text(b"MQTT"), bytes((5, flags, 0, 0)), b"\0", text(b""), *map(text, login)))
        connection.sendall(packet(CONNECT, about))
        if (reason := self._acknowledged(connection, CONNACK)[1]) in NOT_AUTHORIZED:
            raise _broker.refused("not authorized")
        if reason:
            raise _broker.cannot_connect(self.server, f"the broker refuses with reason {reason:#x}")
        connection.sendall(packet(SUBSCRIBE, b"\0\1\0" + text(replies) + b"\0"))
        if (reason := self._acknowledged(connection, SUBACK)[-1]) > 2:
            raise _broker.cannot_connect(self.server, f"the subscription is refused with reason {reason:#x}")

    @staticmethod
    def _acknowledged(connection: socket.socket, kind: bytes) -> bytes:
        """Return the content of the next packet, which is an acknowledgement."""
        head = _wire.take(connection, 2)
        while not size_of(head)[1]:
            head += _wire.take(connection, 1)
        if head[:1] != kind:
            raise TransportError(f"the server does not greet as MQTT 5 does: {head!r}", "connect")
        begin, end = size_of(head)
        return _wire.take(connection, end - begin)

    def request(self, payload: bytes) -> bytes:
        return payload  # what goes before it holds the connection's topic

    def begin(self, index: int, request: bytes) -> bytes:
        return b"".join((PUBLISH, varint(len(self._head) + len(request)), self._head, request))

    def receive(self, data: bytes) -> bytes | None:
        buffer = self._buffer
        buffer += data
        begin, end = size_of(buffer)
        if not begin or len(buffer) < end:
            return None
        topic_end = begin + len(self._answered)
        if buffer[:1] != PUBLISH or buffer[begin:topic_end] != self._answered or end <= topic_end:
            raise TransportError(f"a packet is no reply: it begins with {bytes(buffer[:20])!r}")
        if len(buffer) > end:
            raise TransportError(f"{len(buffer) - end} bytes came after a reply, without a request")
        first = topic_end + 1 + buffer[topic_end]  # behind the properties, whose length is below 128
        payload = bytes(memoryview(buffer)[first:end])
        buffer.clear()
        return payload
