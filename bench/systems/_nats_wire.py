"""The protocol of NATS clients as bytes, one call of core NATS after another, for the load generator ``wire``.

Each connection subscribes to an inbox of its own, once. Source:
https://docs.nats.io/reference/reference-protocols/nats-protocol
"""

import json
import secrets
import socket

from bench.errors import TransportError
from bench.systems import _broker, _wire

END = b"\r\n"
MOST_DIGITS = 8  # of the size of a message
MOST_LINE = 65_536  # bytes: the INFO of a large cluster is the longest


class Wire(_broker.Wire):
    """A conversation: a request is published with the inbox as its reply subject, and its reply comes there."""

    def greet(self, connection: socket.socket) -> None:
        inbox = f"_INBOX.{secrets.token_hex(11)}"
        self._publish = f"PUB {self.name} {inbox} ".encode()
        self._message, self._none = f"MSG {inbox} 1 ".encode(), f"HMSG {inbox} 1 ".encode()
        self._buffer, self.outgoing = bytearray(), bytearray()
        user, password = _broker.login(self.server) or (None, None)
        about = {"verbose": False, "pedantic": False, "lang": "roundtrip", "version": "1", "protocol": 1}
        about |= {"headers": True, "no_responders": True} | ({"user": user, "pass": password} if user else {})
        if not _line(connection).startswith(b"INFO "):
            raise TransportError("the server does not greet as NATS does", "connect")
        connection.sendall(f"CONNECT {json.dumps(about)}\r\nSUB {inbox} 1\r\nPING\r\n".encode())
        while (line := _line(connection)) != b"PONG":
            if line.startswith(b"-ERR"):
                raise _broker.refused(line[5:].decode(errors="replace"))

    def request(self, payload: bytes) -> bytes:
        """Return the end of the message's first line, and the payload."""
        return b"%d\r\n%s\r\n" % (len(payload), payload)

    def begin(self, index: int, request: bytes) -> bytes:
        return self._publish + request

    def receive(self, data: bytes) -> bytes | None:
        buffer = self._buffer
        buffer += data
        while (stop := buffer.find(END)) >= 0:
            if not buffer.startswith(self._message):
                self._other(bytes(buffer[:stop]))
                del buffer[: stop + 2]
                continue
            size, begin = bytes(buffer[len(self._message) : stop]), stop + 2
            if not size.isdigit() or len(size) > MOST_DIGITS:
                raise TransportError(f"a message has no length: {size[:20]!r}")
            end = begin + int(size)
            if len(buffer) < end + 2:
                return None
            payload, rest = bytes(memoryview(buffer)[begin:end]), bytes(buffer[end:])
            buffer.clear()
            if rest != END:
                self._buffer += rest[2:]
                if not rest.startswith(END) or self._buffer.startswith(self._message):
                    raise TransportError(f"{len(rest) - 2} bytes came after a reply, without a request")
            return payload
        if len(buffer) > MOST_LINE:
            raise TransportError(f"{len(buffer):,} bytes came without the end of a line: the server is not NATS")
        return None

    def _other(self, line: bytes) -> None:
        """Answer a ping; TransportError for what is no message of the server's own."""
        if line == b"PING":
            self.outgoing += b"PONG\r\n"
        elif line.startswith(self._none):
            raise TransportError(f"no server takes requests under {self.name!r}", "connect")
        elif line.startswith(b"-ERR"):
            raise TransportError(f"the broker ends the connection: {line[5:].decode(errors='replace')}", "read")
        elif not line.startswith((b"INFO ", b"+OK", b"PONG")):
            raise TransportError(f"the server does not speak the protocol of NATS: {line[:60]!r}")


def _line(connection: socket.socket) -> bytes:
    """Return the next line of a greeting: the server sends one, and waits for an answer."""
    line = b""
    while not line.endswith(END):
        line += _wire.take(connection, 1)
        if len(line) > MOST_LINE:
            raise TransportError("the server does not greet as NATS does", "connect")
    return line[:-2]
