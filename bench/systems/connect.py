"""Connect RPC: protobuf over HTTP/1.1, uncompressed, connectrpc's asyncio API on both sides, the server on uvicorn."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

import pyqwest
from connectrpc.client import ConnectClient
from connectrpc.compat import google_protobuf_codecs
from connectrpc.errors import ConnectError
from connectrpc.method import IdempotencyLevel, MethodInfo, StreamType
from connectrpc.server import ConnectASGIApplication, Endpoint

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.plan import credentials
from bench.process import event_loops
from bench.systems import _client, _connections, _http_wire, _tls

TRANSPORTS = ("tcp",)  # the library's client has no socket files
START_S = 0.8
REQUIRES = ("connectrpc", "protobuf", "uvicorn", "httptools", "uvloop")
GROUP = "http"
FOR_MESSAGES = {"serialization": "bytes"}  # nothing is put around what the codec makes
FOR_WIRE = {"compress": False}  # it sends requests as they are

NAME = "roundtrip.Echo"


@dataclass(frozen=True)
class Options:
    """How calls are made: a POST for each; the server's parser is httptools.

    The client is reqwest, in Rust with threads of its own. They take in a stream of replies as it comes, whether it is
    read or not: a slow client holds up no server.

    serialization: protobuf wraps the payload in a message of its own; bytes sends it unchanged.
    compress: gzip requests and replies, the library's default; opaque payloads are random bytes, which do not compress.
    event_loop: asyncio or uvloop, which uvicorn takes by itself where it is installed; on both sides.
    codec: how structured messages become bytes, in the library's own place for that; not used for opaque bytes.
    tls: HTTPS; the client verifies the server's certificate, by rustls.
    """

    serialization: Literal["protobuf", "bytes"] = "protobuf"
    compress: bool = False
    event_loop: event_loops.EventLoop = "uvloop"
    codec: str = "protobuf"
    tls: bool = False


class _Unchanged:
    """A codec that leaves bytes as they are."""

    def name(self) -> str:
        """Return the name that stands in the type of the content."""
        return "proto"

    def encode(self, message: bytes) -> bytes:
        """Return the bytes."""
        return message

    def decode(self, data: bytes | bytearray, message_class: Any) -> bytes:
        """Return the bytes."""
        return bytes(data)


def _codec(options: Options) -> Any:
    """Return the library's codec."""
    if options.serialization == "bytes":
        return _Unchanged()
    return next(codec for codec in google_protobuf_codecs() if codec.name() == "proto")


def _message_type(options: Options) -> Any:
    """Return the type of requests and replies."""
    if options.serialization == "bytes":
        return bytes
    from bench.systems._grpc_echo_pb2 import Payload

    return Payload


def _method(options: Options, name: str, kind: Any) -> Any:
    """Return what the library wants to know of a method."""
    type_ = _message_type(options)
    return MethodInfo(
        name=name,
        service_name=NAME,
        input=type_,
        output=type_,
        idempotency_level=IdempotencyLevel.UNKNOWN,
        stream_type=kind,
    )


def _wrapping(options: Options) -> tuple[Any, Any]:
    """Return two functions: bytes to message and message to bytes."""
    type_ = _message_type(options)
    if type_ is bytes:
        return bytes, bytes  # which return the very object they are given
    return lambda data: type_(data=data), lambda message: message.data


class _Application(ConnectASGIApplication):
    path = f"/{NAME}"


def _application(options: Options, service: Service) -> Any:
    """Return the application for a server of ASGI."""
    (wrap, unwrap), answer = _wrapping(options), service.answer

    async def call(request: Any, context: Any) -> Any:
        return wrap(answer(unwrap(request)))

    async def replies(request: Any, context: Any) -> AsyncIterator[Any]:
        async for reply in service.replies_async(unwrap(request)):
            yield wrap(reply)

    endpoints = {
        f"{_Application.path}/Call": Endpoint.unary(_method(options, "Call", StreamType.UNARY), call),
        f"{_Application.path}/Replies": Endpoint.server_stream(
            _method(options, "Replies", StreamType.SERVER_STREAM), replies
        ),
    }
    settings: dict[str, Any] = {"codecs": [_codec(options)]} | ({} if options.compress else {"compressions": ()})
    return _Application(service=service, endpoints=lambda _: endpoints, read_max_bytes=None, **settings)


async def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer in one event loop, until the process ends."""
    from bench.systems import _asgi

    listener, address = _asgi.bound(binding)
    service.announce(address)
    folder = binding.credentials if options.tls else ""
    await _asgi.uvicorn(_application(options, service), listener, "httptools", folder)


class Client(_client.AsyncClient):
    """One client with a connection that is kept; the first call connects it."""

    ERRORS = (Exception,)  # beside its own errors the library lets through those of its client

    async def connect(self) -> None:
        options = self.options
        authority = {"tls_ca_cert": credentials.text(credentials.AUTHORITY).encode()} if options.tls else {}
        self._transport = pyqwest.HTTPTransport(**authority)
        own: dict[str, Any] = {} if options.compress else {"send_compression": None, "accept_compression": ()}
        self.connection = ConnectClient(
            f"http{'s' * options.tls}://{_http_wire.authority(self.server)}",
            codec=_codec(options),
            http_client=pyqwest.Client(self._transport),
            **own,
        )
        self._wrap, self._unwrap = _wrapping(options)
        self._call = _method(options, "Call", StreamType.UNARY)
        self._replies = _method(options, "Replies", StreamType.SERVER_STREAM)

    async def call(self, payload: bytes) -> bytes:
        return self._unwrap(await self.connection.execute_unary(request=self._wrap(payload), method=self._call))

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        async for reply in self.connection.execute_server_stream(request=self._wrap(payload), method=self._replies):
            yield self._unwrap(reply)

    def failed(self, reason: BaseException) -> TransportError:
        """Return the error for a call that failed; the library does not say what was wrong with a handshake."""
        if not isinstance(reason, ConnectError):
            return super().failed(reason)
        is_away = reason.code.value == "unavailable"
        if is_away and self.options.tls:
            return _connections.handshake_error(self.server)
        hint = _tls.IF if is_away else ""
        return TransportError(f"the call failed: {reason.code.value}: {reason.message}{hint}", reason.code.value)

    async def close(self) -> None:
        await super().close()
        await self._transport.aclose()


StreamClient = Client


class Wire(_http_wire.Responses):
    """The same calls for the load generator ``wire``; one instance for each connection: it keeps its position."""

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address, options)
        self._codec, self._type = _codec(options), _message_type(options)
        self._wrap, self._unwrap = _wrapping(options)

    def request(self, payload: bytes) -> bytes:
        message, host = self._codec.encode(self._wrap(payload)), _http_wire.authority(self.server)
        return _http_wire.request("POST", f"{_Application.path}/Call", message, host, "application/proto")

    def body(self, response: bytes, payload: bytes) -> bytes:
        content = _http_wire.content(response)
        try:
            return self._unwrap(self._codec.decode(content, self._type))
        except Exception as reason:  # the codec's own kind
            raise TransportError(f"a response holds no message: {reason}", "body") from reason
