"""gRPC: grpclib, HTTP/2 and gRPC in pure Python with asyncio, on both sides."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

from grpclib.client import Channel, UnaryStreamMethod, UnaryUnaryMethod
from grpclib.config import Configuration
from grpclib.const import Cardinality, Handler
from grpclib.encoding.proto import ProtoCodec
from grpclib.exceptions import GRPCError, StreamTerminatedError
from grpclib.server import Server

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.process import event_loops
from bench.systems import _asgi, _client, _tls, _tokens
from bench.systems._grpc_echo_pb2 import Payload

TRANSPORTS = ("ipc", "tcp")
START_S = 0.3
REQUIRES = ("grpclib", "protobuf", "grpcio", "hpack")  # the last two for the engine wire
FOR_MESSAGES = {"serialization": "bytes"}  # nothing is put around what the codec makes

CALL = "/roundtrip.Echo/Call"  # as in _grpc_echo.proto, and of the other gRPC systems
REPLIES = "/roundtrip.Echo/Replies"


@dataclass(frozen=True)
class Options:
    """How calls are made: unary ones, each caller on a channel of its own.

    serialization: protobuf wraps the payload in a message of its own; bytes sends it unchanged.
    codec: how structured messages become bytes, in gRPC's own place for that; not used for opaque bytes.
    tls: TLS 1.3 by Python's ssl; the client verifies the server's certificate.
    event_loop: asyncio or uvloop, on both sides.
    """

    serialization: Literal["protobuf", "bytes"] = "protobuf"
    codec: str = "protobuf"
    tls: bool = False
    event_loop: event_loops.EventLoop = "asyncio"


class Codec(ProtoCodec):
    """The library's own codec, which leaves messages of the type ``bytes`` as they are."""

    def encode(self, message: Any, message_type: Any) -> bytes:
        """Return the bytes of a message."""
        return message if message_type is bytes else super().encode(message, message_type)

    def decode(self, data: bytes, message_type: Any) -> Any:
        """Return the message of some bytes."""
        return data if message_type is bytes else super().decode(data, message_type)


class Echo:
    """The service, as the library's generated code describes it."""

    def __init__(self, options: Options, service: Service) -> None:
        self._service, self._is_wrapped = service, options.serialization == "protobuf"

    def __mapping__(self) -> dict[str, Handler]:
        kind = Payload if self._is_wrapped else bytes
        reply = _tokens.token_type() if self._is_wrapped else bytes
        return {
            CALL: Handler(self._wrapped if self._is_wrapped else self._bare, Cardinality.UNARY_UNARY, kind, kind),
            REPLIES: Handler(self._replies, Cardinality.UNARY_STREAM, bytes, reply),
        }

    async def _wrapped(self, stream: Any) -> None:
        request = await stream.recv_message()
        await stream.send_message(Payload(data=self._service.answer(request.data)))

    async def _bare(self, stream: Any) -> None:
        await stream.send_message(self._service.answer(await stream.recv_message()))

    async def _replies(self, stream: Any) -> None:
        made = _tokens.to_message(_tokens.token_type()) if self._is_wrapped else bytes
        async for reply in self._service.replies_async(await stream.recv_message()):
            await stream.send_message(made(reply))


async def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer in one event loop, until the process ends."""
    context = None
    if options.tls:
        context = _tls.server_context(binding.credentials)
        context.set_alpn_protocols(["h2"])
    listener, address = _asgi.bound(binding)
    server = Server([Echo(options, service)], codec=Codec())
    await server.start(sock=listener, ssl=context, backlog=_asgi.BACKLOG)
    service.announce(address)
    await asyncio.Event().wait()  # an event that nobody sets


class Client(_client.AsyncClient):
    """One channel, which is one connection; the first call makes it."""

    ERRORS = (Exception,)  # beside its own errors the library lets through what its steps raise on bad input
    ENDED = (StreamTerminatedError,)

    async def connect(self) -> None:
        server, options = self.server, self.options
        endpoint: dict[str, Any] = {"host": server.host, "port": server.port}
        if server.transport == "ipc":
            endpoint = {"path": server.path}
        secure = _tls.client_context("h2") if options.tls else None
        config = Configuration(ssl_target_name_override=_tls.server_name(server))
        self.connection = Channel(**endpoint, codec=Codec(), ssl=secure, config=config)
        self._is_wrapped = options.serialization == "protobuf"
        kind = Payload if self._is_wrapped else bytes
        reply = _tokens.token_type() if self._is_wrapped else bytes
        self._method = UnaryUnaryMethod(self.connection, CALL, kind, kind)
        self._replies = UnaryStreamMethod(self.connection, REPLIES, bytes, reply)

    async def call(self, payload: bytes) -> bytes:
        if self._is_wrapped:
            return (await self._method(Payload(data=payload))).data
        return await self._method(payload)

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        unwrap = _tokens.from_message if self._is_wrapped else bytes
        async with self._replies.open() as stream:
            await stream.send_message(payload, end=True)
            async for reply in stream:
                yield unwrap(reply)

    def failed(self, reason: BaseException) -> TransportError:
        if isinstance(reason, GRPCError):
            return TransportError(f"the call failed: {reason.status.name}: {reason.message}", reason.status.name)
        is_new = _tls.is_handshake(reason, self.options.tls) or (isinstance(reason, OSError) and reason.errno)
        return self.unreachable(reason) if is_new else super().failed(reason)


StreamClient = Multiplexed = Client


def __getattr__(name: str) -> Any:
    """Return ``Wire`` or ``MultiplexedWire``, which import grpcio: other clients and the server do without it."""
    if name not in ("Wire", "MultiplexedWire"):
        raise AttributeError(name)
    from bench.systems import _grpc_wire

    return _grpc_wire.Wire
