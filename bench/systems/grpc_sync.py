"""gRPC: HTTP/2 remote procedure calls, blocking API, a server with a pool of threads."""

import queue
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc

from bench.contract import Binding, Service
from bench.systems import _client, _grpc, _grpc_wire

TRANSPORTS = ("ipc", "tcp")
START_S = 0.25
REQUIRES = ("grpcio", "protobuf", "hpack")
FOR_MESSAGES = {"serialization": "bytes"}  # nothing is put around what the codec makes
FOR_WIRE, FOR_MULTIPLEXED = _grpc.FOR_WIRE, _grpc.FOR_MULTIPLEXED
STREAMS = 256  # of callers; each holds a thread of the server for as long as it lasts
MOST_STREAMS = 2048  # of replies, likewise


@dataclass(frozen=True)
class Options(_grpc.Options):
    """How calls are made and answered.

    threads: maximum number of threads that answer unary calls.
    """

    threads: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= self.threads <= 1000:
            raise ValueError("threads must be from 1 to 1000")


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer in threads, until the process ends."""
    threads = options.threads if options.rpc == "unary" else STREAMS
    handlers = _grpc.handlers(options, *_handlers(options, service.answer))
    if service.is_streaming:
        threads, handlers = (
            MOST_STREAMS,
            _grpc.stream_handler(options, lambda request, context: service.replies(request)),
        )
    server = grpc.server(
        ThreadPoolExecutor(threads),
        handlers,
        options=_grpc.server_settings(options),
    )
    address = _grpc.bound(server, binding, options)
    server.start()
    service.announce(address)
    server.wait_for_termination()


def _handlers(options: Options, answer: Callable[[bytes], bytes]) -> tuple[Any, Any]:
    """Return the handlers of unary calls and of streams."""
    wrap, unwrap = _grpc.wrapping(options)

    def call(request: Any, context: Any) -> Any:
        return wrap(answer(unwrap(request)))

    def exchange(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        return (call(request, context) for request in requests)

    return call, exchange


class Client(_grpc.Connected, _client.Client):
    """One channel; the first call connects it."""

    ERRORS = (grpc.RpcError, StopIteration)

    def connect(self) -> None:
        remote = self.dial(grpc)
        self._replies = _grpc.stream_method(self.connection, self.options)
        self._exchange = remote if self.options.rpc == "unary" else self._through_one_stream(remote)

    def _through_one_stream(self, remote: Any) -> Callable[[Any], Any]:
        """Open a stream, and return a function that sends one message through it and waits for the next."""
        requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        replies = remote(iter(requests.get, None))

        def exchange(message: Any) -> Any:
            requests.put(message)
            return next(replies)

        return exchange

    def call(self, payload: bytes) -> bytes:
        return self._unwrap(self._exchange(self._wrap(payload)))

    def stream(self, payload: bytes) -> Iterator[bytes]:
        return self._replies(payload)

    def close(self) -> None:
        if self.options.connections == "own":
            super().close()


StreamClient = Client
Wire = MultiplexedWire = _grpc_wire.Wire


class Multiplexed(_grpc.Connected, _client.Client):
    """One channel on which calls are begun before earlier ones are answered: the library's own futures."""

    ERRORS = (grpc.RpcError, grpc.FutureCancelledError, ValueError)  # the last two of a channel that was closed

    def connect(self) -> None:
        self._done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()
        self.connection = _grpc.channel(grpc, _grpc.target(str(self.server)), self.options)
        self._remote = _grpc.method(self.connection, self.options)
        self._wrap, self._unwrap = _grpc.wrapping(self.options)

    def send(self, number: int, payload: bytes) -> None:
        self._remote.future(self._wrap(payload)).add_done_callback(lambda call: self._done.put((number, call)))

    def receive(self) -> tuple[int, bytes]:
        number, call = self._done.get()
        return number, self._unwrap(call.result())
