"""gRPC: HTTP/2 remote procedure calls, asyncio API on both sides."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import grpc

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.process import event_loops
from bench.systems import _client, _grpc, _grpc_wire

TRANSPORTS = ("ipc", "tcp")
START_S = 0.25
REQUIRES = ("grpcio", "protobuf", "hpack")
FOR_MESSAGES = {"serialization": "bytes"}  # nothing is put around what the codec makes
FOR_WIRE, FOR_MULTIPLEXED = _grpc.FOR_WIRE, _grpc.FOR_MULTIPLEXED


@dataclass(frozen=True)
class Options(_grpc.Options):
    """What runs the coroutines; the other options are those of grpc_sync.

    event_loop: asyncio or uvloop, on both sides. The library's own threads send and receive; they wake the loop.
    """

    event_loop: event_loops.EventLoop = "asyncio"


async def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer in one event loop, until the process ends."""
    handlers = _grpc.handlers(options, *_handlers(options, service.answer))
    if service.is_streaming:
        handlers = _grpc.stream_handler(options, _replies(service))
    server = grpc.aio.server(handlers=handlers, options=_grpc.server_settings(options))
    address = _grpc.bound(server, binding, options)
    await server.start()
    service.announce(address)
    await server.wait_for_termination()


def _replies(service: Service) -> Any:
    """Return what answers a request with a stream of replies; each write waits while the client does not read."""

    async def replies(request: bytes, context: Any) -> AsyncIterator[bytes]:
        async for reply in service.replies_async(request):
            yield reply

    return replies


def _handlers(options: Options, answer: Callable[[bytes], bytes]) -> tuple[Any, Any]:
    """Return the handlers of unary calls and of streams."""
    wrap, unwrap = _grpc.wrapping(options)

    async def call(request: Any, context: Any) -> Any:
        return wrap(answer(unwrap(request)))

    async def exchange(requests: AsyncIterator[Any], context: Any) -> AsyncIterator[Any]:
        async for request in requests:
            yield wrap(answer(unwrap(request)))

    return call, exchange


class Client(_grpc.Connected, _client.AsyncClient):
    """One channel; the first call connects it."""

    ERRORS: ClassVar[Any] = (grpc.aio.AioRpcError, asyncio.InvalidStateError)  # the latter of a stream that has ended

    async def connect(self) -> None:
        remote = self.dial(grpc.aio)
        self._replies = _grpc.stream_method(self.connection, self.options)
        self._exchange = remote if self.options.rpc == "unary" else self._through_one_stream(remote)

    @staticmethod
    def _through_one_stream(remote: Any) -> Any:
        """Open a stream, and return a function that sends one message through it and waits for the next."""
        stream = remote()

        async def exchange(message: Any) -> Any:
            await stream.write(message)
            return await stream.read()

        return exchange

    async def call(self, payload: bytes) -> bytes:
        reply = await self._exchange(self._wrap(payload))
        if reply is grpc.aio.EOF:
            raise TransportError("the server ended the stream instead of answering")
        return self._unwrap(reply)

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        async for reply in self._replies(payload):
            yield reply

    async def close(self) -> None:
        if self.options.connections == "own":
            await super().close()


StreamClient = Client
Wire = MultiplexedWire = _grpc_wire.Wire


class Multiplexed(Client):
    """One channel on which several calls are awaited at once."""

    ERRORS = (*Client.ERRORS, grpc.aio.UsageError)
    KIND = "read"

    async def call(self, payload: bytes) -> bytes:
        """Make one call and return its reply; one that ends with its channel has failed, and nobody was cancelled."""
        try:
            return await super().call(payload)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            raise TransportError("the call failed: its channel was closed", "read") from None
