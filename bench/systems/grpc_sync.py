"""gRPC: HTTP/2 remote procedure calls, blocking API, a server with a pool of threads."""

import queue
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import grpc

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.systems import _grpc, _grpc_wire

TRANSPORTS = ("ipc", "tcp")
START_S = 0.25
REQUIRES = ("grpcio", "protobuf", "hpack")
FOR_MESSAGES = {"serialization": "bytes"}  # nothing is put around what the codec makes

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


class Client:
    """One channel; the first call connects it."""

    def __init__(self, address: str, options: Options) -> None:
        self._target = _grpc.place(address)
        self._options = options
        self._end: Callable[[], object] = lambda: None

    def open(self) -> None:
        """Make the channel and the remote method."""
        options = self._options
        if options.connections == "shared":
            channel = _grpc.shared_channel(grpc, self._target, options)
        else:
            channel = _grpc.channel(grpc, self._target, options)
            self._end = channel.close
        remote = _grpc.method(channel, options)
        self._replies = _grpc.stream_method(channel, options)
        self._wrap, self._unwrap = _grpc.wrapping(options)
        self._exchange = remote if options.rpc == "unary" else self._through_one_stream(remote)

    def _through_one_stream(self, remote: Any) -> Callable[[Any], Any]:
        """Open a stream, and return a function that sends one message through it and waits for the next."""
        requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        replies = remote(iter(requests.get, None))

        def exchange(message: Any) -> Any:
            requests.put(message)
            return next(replies)

        return exchange

    def call(self, payload: bytes) -> bytes:
        """Make one call and return its reply."""
        try:
            return self._unwrap(self._exchange(self._wrap(payload)))
        except grpc.RpcError as reason:
            raise _grpc.failed(reason) from reason
        except StopIteration:
            raise TransportError("the server ended the stream instead of answering") from None

    def stream(self, payload: bytes) -> Iterator[bytes]:
        """Make one RPC and yield its replies."""
        try:
            yield from self._replies(payload)
        except grpc.RpcError as reason:
            raise _grpc.failed(reason) from reason

    def close(self) -> None:
        """Close the channel, unless others use it."""
        self._end()


StreamClient = Client
Wire = _grpc_wire.Wire
MultiplexedWire = _grpc_wire.MultiplexedWire


class Multiplexed:
    """One channel on which calls are begun before earlier ones are answered: the library's own futures."""

    def __init__(self, address: str, options: Options) -> None:
        if options.rpc != "unary":
            raise ValueError("a stream of requests is one call here: give rpc unary for several under way")
        self._target, self._options = _grpc.place(address), options
        self._done: queue.SimpleQueue[tuple[int, Any]] = queue.SimpleQueue()

    def open(self) -> None:
        """Make the channel and the remote method; the first call connects."""
        self._channel = _grpc.channel(grpc, self._target, self._options)
        self._remote = _grpc.method(self._channel, self._options)
        self._wrap, self._unwrap = _grpc.wrapping(self._options)

    def send(self, number: int, payload: bytes) -> None:
        """Begin one call."""
        try:
            self._remote.future(self._wrap(payload)).add_done_callback(lambda call: self._done.put((number, call)))
        except ValueError as reason:  # a channel that was closed
            raise TransportError(f"the call failed: {reason}") from reason

    def receive(self) -> tuple[int, bytes]:
        """Return the number and the reply of the next call that is answered, waiting for it."""
        number, call = self._done.get()
        try:
            reply = call.result()
        except grpc.RpcError as reason:
            raise _grpc.failed(reason) from reason
        except grpc.FutureCancelledError:
            raise TransportError("the call failed: its channel was closed", "CANCELLED") from None
        return number, self._unwrap(reply)

    def close(self) -> None:
        """Close the channel; calls that are under way are cancelled."""
        self._channel.close()
