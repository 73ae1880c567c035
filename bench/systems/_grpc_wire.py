"""gRPC over HTTP/2 as bytes, for the load generator ``wire``: a gRPC server is measured without grpcio's client.

Source: the protocol's specification, PROTOCOL-HTTP2.md in the repository of gRPC.
"""

import struct
import urllib.parse
from collections.abc import Iterable, Iterator
from typing import Any

import grpc

from bench.contract import parse_address
from bench.errors import TransportError
from bench.systems import _grpc, _http2, _tls

PREFIX = struct.Struct("!BI")  # before each message: whether it is compressed, its length
HEADERS = {"te": "trailers", "content-type": "application/grpc", "user-agent": "roundtrip"}
MOST_MESSAGE = 2**31 - 1  # bytes
CODES = {code.value[0]: code.name for code in grpc.StatusCode}


class Calls(_http2.Wire):
    """Calls of one unary method on a connection, all with the same metadata, as ``contract.Conversation`` defines."""

    def __init__(
        self,
        address: str,
        method: str,
        authority: str,
        metadata: Iterable[tuple[str, str]],
        max_bytes: int,
        tls: Any = None,
    ) -> None:
        fields = [
            (":method", "POST"),
            (":scheme", "https" if tls else "http"),
            (":path", f"/{method}"),
            (":authority", authority),
            *HEADERS.items(),
            *metadata,
        ]
        super().__init__(address, fields, max_bytes + PREFIX.size, tls)


def request_of(message: bytes) -> bytes:
    """Return the body of a request with an encoded message."""
    return PREFIX.pack(0, len(message)) + message


def status_of(response: Any) -> tuple[str, str]:
    """Return the name of a response's status and its details; TransportError for what is no response of gRPC."""
    refuse_others(response.fields)
    return status_in(response.trailers)


def refuse_others(fields: _http2.Fields) -> None:
    """Raise TransportError for the head of what is no response of gRPC."""
    values = dict(fields)
    http = values.get(b":status", b"").decode("latin-1")
    if http != "200":
        raise TransportError(f"the server answered with HTTP status {http}", f"status {http}")
    if not values.get(b"content-type", b"").startswith(b"application/grpc"):
        raise TransportError(f"the server does not answer as gRPC: {values.get(b'content-type', b'')[:100]!r}")


def status_in(fields: _http2.Fields) -> tuple[str, str]:
    """Return the name of the status in trailer fields and its details; TransportError where there is none."""
    trailers = dict(fields)
    status = trailers.get(b"grpc-status", b"").decode("latin-1")
    name = CODES.get(int(status), f"status {status}") if status.isdecimal() and len(status) < 4 else ""
    if not name:
        raise TransportError(f"a response has no valid grpc-status: {status[:40]!r}")
    return name, urllib.parse.unquote(trailers.get(b"grpc-message", b"").decode("latin-1"))


def message_of(response: Any) -> bytes:
    """Return the encoded message of a response, which holds one; TransportError if it does not."""
    body = bytes(response.body)
    if len(body) < PREFIX.size:
        raise TransportError(f"a response has {len(body)} bytes, which hold no message", "body")
    compressed, size = PREFIX.unpack_from(body)
    if compressed:
        raise TransportError("a message is compressed, which was not asked for", "body")
    if size != len(body) - PREFIX.size:
        text = f"a response has {len(body) - PREFIX.size} bytes, but its message {size}: it is not one whole message"
        raise TransportError(text, "body")
    return body[PREFIX.size :]


class Messages:
    """The encoded messages of a stream, from bytes that come in parts. most: bytes of one."""

    def __init__(self, max_bytes: int) -> None:
        self._rest, self._most = b"", max_bytes

    def feed(self, part: bytes) -> Iterator[bytes]:
        """Yield the messages that are complete by these bytes; TransportError for one that must not come."""
        rest, at = self._rest + part, 0
        while len(rest) - at >= PREFIX.size:
            compressed, size = PREFIX.unpack_from(rest, at)
            if compressed or size > self._most:
                text = "is compressed, which was not asked for" if compressed else f"has more than {self._most:,} bytes"
                raise TransportError(f"a message {text}", "body")
            stop = at + PREFIX.size + size
            if stop > len(rest):
                break
            yield rest[at + PREFIX.size : stop]
            at = stop
        self._rest = rest[at:]

    def end(self) -> None:
        """Raise TransportError if the last message is not whole."""
        if self._rest:
            raise TransportError("a stream ended in the middle of a message", "body")


class Wire(Calls):
    """Unary calls on a connection; it offers what ``contract.Conversation`` and ``SeveralConversation`` ask for."""

    def __init__(self, address: str, options: Any) -> None:
        at = parse_address(address)
        self._is_wrapped = options.serialization == "protobuf"
        authority = "localhost" if at.transport == "ipc" else at.place
        tls = _tls.Layer(at, protocol="h2") if options.tls else None
        method = f"{_grpc.SERVICE}/{_grpc.UNARY}"
        max_bytes = getattr(options, "max_message_bytes", MOST_MESSAGE)  # grpclib has no such option, and no limit
        super().__init__(address, method, authority, (), max_bytes, tls)

    def request(self, payload: bytes) -> bytes:
        return request_of(_grpc.payload_type()(data=payload).SerializeToString() if self._is_wrapped else payload)

    def body(self, response: Any, payload: bytes) -> bytes:
        status, details = status_of(response)
        if status != "OK":
            raise _grpc.of_status(status, details)
        message = message_of(response)
        if not self._is_wrapped:
            return message
        try:
            return bytes(_grpc.payload_type().FromString(message).data)
        except Exception as reason:  # the library's own kind, which has moved between its versions
            raise TransportError(f"a message is no Payload of protobuf: {reason}", "body") from reason
