"""The HTTP requests of a service file as bytes, and the parts of streamed replies, for the load generator ``wire``."""

import socket
from collections.abc import Callable, Iterator
from typing import NoReturn

from bench.contract import parse_address
from bench.errors import TransportError
from bench.plan import http_parts
from bench.plan.service_file import Prepared, Service
from bench.systems import _connections, _http2, _http_wire, _service_streams, _service_tls

MOST_QUOTED = 1000  # bytes of a reply that is no stream
MOST_FRAME = 256_000_000  # bytes of a body's frame over HTTP/2: more than any may have
WITHOUT_H2 = ("host", "connection", "transfer-encoding")  # headers of HTTP/1.1 alone (RFC 9113, section 8.2.2)

Requests = Iterator[tuple[Prepared, bytes]]


def as_bytes(request: Prepared, host: str) -> bytes:
    """Return a request over HTTP/1.1."""
    headers = http_parts.merged({"Host": host}, request.headers)
    head = [f"{request.method} {request.target} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        head.append(f"Content-Length: {len(request.body)}")
    return "\r\n".join([*head, "\r\n"]).encode("latin-1") + request.body


class OverHttp1:
    """One connection of HTTP/1.1, and the reply under way on it.

    status: of the reply, 0 before its head has come; headers: by names in small letters; is_over: whether it is whole;
    last: whether the server ends the connection behind it. outgoing: bytes to be sent; the caller empties it.
    """

    def __init__(self, address: str, described: Service) -> None:
        self._where = parse_address(address)
        self._host = described.called(self._where)
        self.tls = _service_tls.Layer(described, address) if described.is_encrypted else None
        self.outgoing = bytearray()
        self._body: _http_wire.Body | None = None

    def connect(self) -> socket.socket:
        """Return a connection to the server; TransportError where that is not possible."""
        self.last, self.status = False, 0
        self._begun, self._body = b"", None
        self.outgoing.clear()
        return _connections.connect(self._where, nodelay=True)

    def begin(self, request: Prepared, body: bytes) -> None:
        """Send a request."""
        self.status, self.headers, self.is_over = 0, dict[str, str](), False
        self._begun, self._body = b"", None
        self.outgoing += as_bytes(request, self._host)

    def feed(self, data: bytes) -> bytes:
        """Take in what has come, b"" for the connection's end; return what is of the body; TransportError if wrong."""
        if self._body is None:
            data = self._begun + data if data else b""
            begin = _http_wire.final(data, len(data))
            head = _http_wire.read_head(data[begin:], len(data) - begin, to_end=True) if data else None
            if head is None:
                self._begun = data or _gone()
                return b""
            self._body, self.status, self.last = _http_wire.Body(head.size), head.status, head.last
            self.headers = {name: head.value(name) for name in head.fields}
            data = data[begin + head.start :]
            part = self._body.feed(data)
        else:
            part = self._body.feed(data) if data else self._body.end()
        self.is_over = self._body.is_over
        return part


def _gone() -> NoReturn:
    raise TransportError("the server closed the connection in the middle of a stream", "read")


class OverHttp2:
    """One connection of HTTP/2, and the reply under way on it; what it offers is as of ``OverHttp1``."""

    def __init__(self, address: str, described: Service) -> None:
        self._where = parse_address(address)
        self._host = described.called(self._where)
        self.tls = _service_tls.Layer(described, address, "h2") if described.is_encrypted else None
        self._talk = _http2.Parts([], MOST_FRAME)
        self.trailers: _http2.Fields = []

    @property
    def outgoing(self) -> bytearray:
        """Bytes to be sent."""
        return self._talk.outgoing

    @property
    def last(self) -> bool:
        """Whether the server takes no more requests on this connection."""
        return self._talk.last

    @property
    def fields(self) -> _http2.Fields:
        """The header fields of the reply, [] before they have come."""
        return self._talk.fields

    @property
    def headers(self) -> dict[str, str]:
        """The same as text, by their names."""
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self.fields}

    @property
    def status(self) -> int:
        """The status of the reply, 0 before it has come."""
        text = self.headers.get(":status", "0")
        return int(text) if text.isdecimal() else 0

    def connect(self) -> socket.socket:
        """Return a connection to the server, whose state begins anew; TransportError where that is not possible."""
        self._talk.start()
        return _connections.connect(self._where, nodelay=True)

    def begin(self, request: Prepared, body: bytes) -> None:
        """Send a request."""
        fields = [(":method", request.method), (":scheme", "https" if self.tls else "http")]
        fields += [(":path", request.target), (":authority", self._host)]
        headers = {name.lower(): value for name, value in request.headers.items()}
        fields += [(name, value) for name, value in headers.items() if name not in WITHOUT_H2]
        self.is_over = False
        self.outgoing.extend(self._talk.ask(fields, body))

    def feed(self, data: bytes) -> bytes:
        """Take in what has come, b"" for the connection's end; return what is of the body; TransportError if wrong."""
        if not data:
            _gone()
        for _, response, _ in self._talk.receive_all(data):
            assert isinstance(response, _http2.Response)
            self.is_over, self.trailers = True, response.trailers
        return self._talk.taken()


class Streams:
    """Streams of messages on one connection, as ``contract.StreamWire`` defines; its subclasses know the messages."""

    def __init__(self, by: OverHttp1 | OverHttp2, described: Service, requests_of: Callable[[bytes], Requests]) -> None:
        self._by, self._requests_of = by, requests_of
        self.tls, self.timeout_s = by.tls, described.says.timeout_s
        self._requests: Requests | None = None

    @property
    def outgoing(self) -> bytearray:
        """Bytes to be sent."""
        return self._by.outgoing

    @property
    def last(self) -> bool:
        """Whether the server takes no more requests on this connection."""
        return self._by.last

    @property
    def is_over(self) -> bool:
        """Whether the stream under way is whole."""
        return self._by.is_over

    def connect(self) -> socket.socket:
        """Return a connection to the server; TransportError where that is not possible."""
        return self._by.connect()

    def begin(self, payload: bytes) -> None:
        """Send the next request; the first payload seeds which requests are made."""
        if self._requests is None:
            self._requests = self._requests_of(payload)
        self._request, body = next(self._requests)
        self._is_right = False  # whether the head of the reply is
        self._by.begin(self._request, body)


class EventStreams(Streams):
    """Streams of server-sent events."""

    def begin(self, payload: bytes) -> None:
        """Do what ``Streams.begin`` does."""
        super().begin(payload)
        self._stream, self._quoted = _service_streams.EventStream(self._request), b""

    def receive(self, data: bytes) -> Iterator[_service_streams.Message]:
        """Take in what has come, b"" for the connection's end; yield the messages that are complete by it.

        TransportError where they are not the expected ones.
        """
        by, part = self._by, self._by.feed(data)
        if not by.status:
            return
        if by.status >= 400:
            self._quoted = (self._quoted + part)[:MOST_QUOTED]
            if not by.is_over:
                return
        if not self._is_right:
            _service_streams.refuse_no_events(self._request, by.status, by.headers, self._quoted)
            self._is_right = True
        yield from self._stream.feed(part)
        if by.is_over:
            self._stream.end()
