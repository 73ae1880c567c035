"""The HTTP requests of a service file as bytes, and the parts of streamed replies, for the load generator ``wire``."""

import socket
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from bench.contract import parse_address
from bench.errors import TransportError
from bench.plan import http_parts
from bench.plan.service_file import Prepared, Service, refuse
from bench.systems import _connections, _http2, _http_wire, _service_streams, _service_tls

MOST_QUOTED = 1000  # bytes of a reply that is no stream
MOST_FRAME = 256_000_000  # bytes of a body's frame over HTTP/2: more than any may have
WITHOUT_H2 = ("host", "connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade")  # RFC 9113, 8.2.2
UNLIKE = (":path", "content-length")  # differ between the requests of a service

Requests = Iterator[tuple[Prepared, bytes]]


def as_bytes(request: Prepared, host: str) -> bytes:
    """Return a request over HTTP/1.1."""
    headers = http_parts.merged({"Host": host}, request.headers)
    head = [f"{request.method} {request.target} HTTP/1.1"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    if request.body or request.method in ("POST", "PUT", "PATCH"):
        head.append(f"Content-Length: {len(request.body)}")
    return "\r\n".join([*head, "\r\n"]).encode("latin-1") + request.body


def fields(request: Prepared, described: Service, host: str) -> _http2.Asked:
    """Return the header fields of a request over HTTP/2, and which of them the table need not hold."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    named = {":method": request.method, ":scheme": "https" if described.is_encrypted else "http"}
    named |= {":path": request.target, ":authority": headers.get("host", host)}
    named |= {name: value for name, value in headers.items() if name not in WITHOUT_H2}
    if not request.proto and (request.body or request.method in ("POST", "PUT", "PATCH")):
        named["content-length"] = str(len(request.body))
    return [(name, value, name in UNLIKE) for name, value in named.items()]


class _Over:
    """One connection to a service, and the reply under way on it.

    status: of the reply, 0 before its head has come; headers: by names in small letters; is_over: whether it is whole;
    last: whether the server ends the connection behind it. outgoing: bytes to be sent; the caller empties it.
    """

    PROTOCOL = ""

    def __init__(self, address: str, described: Service) -> None:
        self.server, self._described = parse_address(address), described
        self._host = described.called(self.server)
        self.tls = _service_tls.layer(described, address, self.PROTOCOL)
        self.start()

    def start(self) -> None:
        """Forget the connection before."""
        self.last, self.outgoing = False, bytearray()
        self._expect()

    def _expect(self) -> None:
        """Expect a reply, of which nothing has come."""
        self.status, self.headers, self.is_over = 0, dict[str, str](), False

    def connect(self) -> socket.socket:
        """Return a connection to the server, whose state begins anew; TransportError where that is not possible."""
        self.start()
        return _connections.connect(self.server, nodelay=True)


class OverHttp1(_Over):
    """One connection of HTTP/1.1."""

    def _expect(self) -> None:
        super()._expect()
        self._begun: bytes = b""
        self._body: _http_wire.Body | None = None

    def begin(self, request: Prepared, body: bytes) -> None:
        self._expect()
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
    raise TransportError("the server closed the connection before its stream had ended", "read")


class OverHttp2(_Over):
    """One connection of HTTP/2; fields and trailers: the header and trailer fields of the reply."""

    PROTOCOL = "h2"

    def start(self) -> None:
        super().start()
        self._talk, self._stream = _http2.Parts([], MOST_FRAME), _http2.Stream(0, 0, 0)
        self.outgoing = self._talk.outgoing

    def _expect(self) -> None:
        super()._expect()
        self.fields: _http2.Fields = []
        self.trailers: _http2.Fields = []

    def begin(self, request: Prepared, body: bytes) -> None:
        self._expect()
        self._stream = self._talk.ask(fields(request, self._described, self._host), body)

    def feed(self, data: bytes) -> bytes:
        """Do what ``OverHttp1.feed`` does."""
        if not data:
            _gone()
        for _, response, _ in self._talk.receive_all(data):
            assert isinstance(response, _http2.Response)
            self.is_over, self.trailers = True, response.trailers
        if not self.fields:
            self.fields, self.headers, self.status = self._stream.fields, self._stream.headers, self._stream.status
        self.last = self._talk.last
        return self._stream.taken()


class Body(bytes):
    """The body of a request, with its header fields."""

    fields: _http2.Asked


class WireOverHttp2(_http2.Wire):
    """The requests over HTTP/2, as ``contract.Conversation`` defines: one for each payload."""

    def __init__(self, address: str, described: Service, request_of: Callable[[bytes], Prepared]) -> None:
        super().__init__(address, [], MOST_FRAME, _service_tls.layer(described, address, "h2"))
        self._described, self._request_of, self.timeout_s = described, request_of, described.says.timeout_s
        self._bodies: dict[int, Body] = {}  # by their places, those that were sent last

    def request(self, payload: bytes) -> bytes:
        request = self._request_of(payload)
        made = Body(request.body)
        made.fields = fields(request, self._described, self._described.called(self.server))
        return made

    def begin(self, index: int, body: bytes, number: Any = 0) -> bytes:
        """Do what ``Conversation.begin`` does, with the header fields of this request."""
        assert isinstance(body, Body)
        if self._bodies.get(index) is not body:  # a request with new values, of which no header block is made
            self._blocks.pop(index, None)
            self._bodies[index] = body
        self._kind, self._fields = index, body.fields
        return super().begin(index, body, number)

    def body(self, response: Any, payload: bytes) -> bytes:
        request, head = self._request_of(payload), {name: value.decode("latin-1") for name, value in response.fields}
        status = int(head[b":status"]) if head.get(b":status", "").isdecimal() else 0
        refuse(request, request.fault(status, response.body, head.get(b"content-encoding", "")))
        return payload


class Streams:
    """Streams of messages on one connection, as ``contract.StreamWire`` defines; its subclasses know the messages."""

    def __init__(
        self, connection: OverHttp1 | OverHttp2, described: Service, requests_of: Callable[[bytes], Requests]
    ) -> None:
        self._connection, self._requests_of, self.connect = connection, requests_of, connection.connect
        self.tls, self.timeout_s = connection.tls, described.says.timeout_s
        self._requests: Requests | None = None

    @property
    def outgoing(self) -> bytearray:
        return self._connection.outgoing

    @property
    def last(self) -> bool:
        return self._connection.last

    @property
    def is_over(self) -> bool:
        return self._connection.is_over

    def begin(self, payload: bytes) -> None:
        """Send the next request; the first payload seeds which requests are made."""
        if self._requests is None:
            self._requests = self._requests_of(payload)
        self._request, body = next(self._requests)
        self._is_right = False  # whether the head of the reply is
        self._connection.begin(self._request, body)


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
        connection, part = self._connection, self._connection.feed(data)
        if not connection.status:
            return
        if connection.status >= 400:
            self._quoted = (self._quoted + part)[:MOST_QUOTED]
            if not connection.is_over:
                return
        if not self._is_right:
            _service_streams.refuse_no_events(self._request, connection.status, connection.headers, self._quoted)
            self._is_right = True
        yield from self._stream.feed(part)
        if connection.is_over:
            self._stream.end()
