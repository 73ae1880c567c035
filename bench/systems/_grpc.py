"""Shared by the two gRPC systems: options, addresses, settings, serialization, errors."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import grpc

from bench.contract import Binding, parse_address
from bench.errors import TransportError
from bench.plan import credentials
from bench.systems import _client, _tls, _tokens

SERVICE, UNARY, STREAM = "roundtrip.Echo", "Call", "Exchange"  # as in _grpc_echo.proto
REPLIES = "Replies"  # a request in, a stream of replies out

MOST_PENDING = 1_000_000  # requests that wait in a server; above its default it refuses some at random


@dataclass(frozen=True)
class Options:
    """How calls are made.

    serialization: protobuf wraps the payload in a message of its own; bytes sends it unchanged.
    rpc: unary is one RPC for each call; stream sends every call through one bidirectional RPC.
    connections: own gives each caller of a client process a channel; shared makes them use one.
    max_message_bytes: the largest message that either side accepts (the library's own limit is the default).
    codec: how structured messages become bytes, in gRPC's own place for that; not used for opaque bytes.
    tls: channel credentials, TLS 1.3 by the library's own BoringSSL; the client verifies the server's certificate.
        No session is resumed: the library keeps none of TLS 1.3.
    """

    serialization: Literal["protobuf", "bytes"] = "protobuf"
    rpc: Literal["unary", "stream"] = "unary"
    connections: Literal["own", "shared"] = "own"
    max_message_bytes: int = 4 * 1024 * 1024
    codec: str = "protobuf"
    tls: bool = False

    def __post_init__(self) -> None:
        if not 0 < self.max_message_bytes < 2**31:
            raise ValueError("max_message_bytes must be above 0 and below 2 GiB")


def target(address: str) -> str:
    """Return an address in gRPC's form."""
    parsed = parse_address(address)
    return f"unix:{parsed.path}" if parsed.transport == "ipc" else parsed.place


FOR_WIRE = {"rpc": "unary", "connections": "own"}  # each caller has a connection
FOR_MULTIPLEXED = {"rpc": "unary"}  # a stream of requests is one call here


def _limits(options: Options) -> list[tuple[str, int]]:
    room = options.max_message_bytes
    return [("grpc.max_receive_message_length", room), ("grpc.max_send_message_length", room)]


def server_settings(options: Options) -> list[tuple[str, int]]:
    """Return a server's settings; it does not share its port, so a stale server cannot take half of the connections."""
    pending = [(f"grpc.server.max_pending_requests{which}", MOST_PENDING) for which in ("", "_hard_limit")]
    return [*_limits(options), ("grpc.so_reuseport", 0), *pending]


def client_settings(options: Options) -> list[tuple[str, int]]:
    """Return a channel's settings; equal channels of one process would otherwise share one connection."""
    own = int(options.connections == "own")
    return [*_limits(options), ("grpc.use_local_subchannel_pool", own), ("grpc.enable_http_proxy", 0)]


def payload_type() -> Any:
    """Return the generated message class."""
    from bench.systems._grpc_echo_pb2 import Payload

    return Payload


def serializers(options: Options) -> tuple[Any, Any]:
    """Return serializer and deserializer of a message; None passes bytes unchanged."""
    if options.serialization == "bytes":
        return None, None
    return payload_type().SerializeToString, payload_type().FromString


def wrapping(options: Any) -> tuple[Callable[[bytes], Any], Callable[[Any], bytes]]:
    """Return two functions: bytes to message and message to bytes."""
    if options.serialization == "bytes":
        return bytes, bytes  # which return the very object they are given
    payload = payload_type()
    return lambda data: payload(data=data), lambda message: message.data


def method(channel: Any, options: Options) -> Any:
    """Return the channel's remote method for these options."""
    there, back = serializers(options)
    if options.rpc == "unary":
        return channel.unary_unary(f"/{SERVICE}/{UNARY}", there, back)
    return channel.stream_stream(f"/{SERVICE}/{STREAM}", there, back)


def reply_serializers(options: Options) -> tuple[Any, Any]:
    """Return how a reply of a stream becomes the bytes of a message, and how these become the reply again."""
    if options.serialization == "bytes":
        return None, None
    return _tokens.codec("protobuf")


def stream_method(channel: Any, options: Options) -> Any:
    """Return the channel's remote method that answers with a stream of replies."""
    return channel.unary_stream(f"/{SERVICE}/{REPLIES}", None, reply_serializers(options)[1])


def stream_handler(options: Options, replies: Any) -> tuple[Any, ...]:
    """Return the server's handlers for streams of replies."""
    methods = {REPLIES: grpc.unary_stream_rpc_method_handler(replies, None, reply_serializers(options)[0])}
    return (grpc.method_handlers_generic_handler(SERVICE, methods),)


def handlers(options: Options, call: Any, exchange: Any) -> tuple[Any, ...]:
    """Return the server's handlers: ``call`` for unary RPCs, ``exchange`` for streams."""
    back, there = serializers(options)
    methods = {
        UNARY: grpc.unary_unary_rpc_method_handler(call, there, back),
        STREAM: grpc.stream_stream_rpc_method_handler(exchange, there, back),
    }
    return (grpc.method_handlers_generic_handler(SERVICE, methods),)


def channel(library: Any, target: str, options: Options) -> Any:
    """Return a channel of ``library``, which is grpc or grpc.aio."""
    if not options.tls:
        return library.insecure_channel(target, client_settings(options))
    trusted = grpc.ssl_channel_credentials(credentials.text(credentials.AUTHORITY).encode())
    of_file: list[Any] = [("grpc.ssl_target_name_override", "localhost")] if target.startswith("unix:") else []
    return library.secure_channel(target, trusted, [*client_settings(options), *of_file])


shared_channel = functools.cache(channel)  # the one channel of this process


def _server_credentials(folder: str) -> Any:
    """Return a server's credentials from the files in a folder."""
    chain, key = (Path(file).read_bytes() for file in _tls.files(folder))
    return grpc.ssl_server_credentials([(key, chain)])


def bound(server: Any, binding: Binding, options: Options) -> str:
    """Bind a server, and return the address that clients connect to."""
    address = binding.endpoint()
    try:
        if options.tls:
            port = server.add_secure_port(target(address), _server_credentials(binding.credentials))
        else:
            port = server.add_insecure_port(target(address))
    except RuntimeError as reason:
        raise TransportError(f"cannot listen at {address}: {reason}") from reason
    return str(parse_address(address)._replace(port=port))


class Connected(_client.Connected):
    """What the failures of the library mean, for its clients of both sorts."""

    KIND = "call"

    def dial(self, library: Any) -> Any:
        """Make the channel of ``library`` (grpc or grpc.aio), or take the one of this process; return the method."""
        make = shared_channel if self.options.connections == "shared" else channel
        self.connection = make(library, target(str(self.server)), self.options)
        self._wrap, self._unwrap = wrapping(self.options)
        return method(self.connection, self.options)

    def failed(self, reason: BaseException) -> TransportError:
        """Return the error for a call that failed, with a remedy where there is one."""
        if isinstance(reason, StopIteration):
            return TransportError("the server ended the stream instead of answering")
        if isinstance(reason, grpc.FutureCancelledError):
            return TransportError("the call failed: its channel was closed", "CANCELLED")
        if not isinstance(reason, grpc.RpcError):  # of a stream that has ended, or of a channel that was closed
            return TransportError(f"the call failed: {str(reason) or type(reason).__name__}", self.KIND)
        error: Any = reason
        if error.code() == grpc.StatusCode.UNAVAILABLE and (failure := _of_handshake(error.details() or "")):
            return failure
        return of_status(error.code().name, error.details())


def of_status(name: str, details: str) -> TransportError:
    """Return the error for a call that was answered with this status."""
    text = f"the call failed: {name}: {details}"
    if name == grpc.StatusCode.RESOURCE_EXHAUSTED.name:
        text += '; larger messages need the option max_message_bytes, as in -p options "{max_message_bytes: 67108864}"'
    return TransportError(text, name)


NOT_VERIFIED = {  # words of the library in the details of an error: OpenSSL's number for it
    "certificate has expired": 10,
    "Hostname Verification": 62,
    "CERTIFICATE_VERIFY_FAILED": 20,
}


def _of_handshake(details: str) -> TransportError | None:
    """Return the error for a connection that was not made because of TLS on one side, or of a certificate; or None."""
    for words, code in NOT_VERIFIED.items():
        if words in details:
            return _tls.refused(code, words)
    if "WRONG_VERSION_NUMBER" in details or "handshake" in details:
        return TransportError(f"the server did not answer with TLS; {_tls.SAME}", "connect")
    if "failed to connect" in details and ("Socket closed" in details or "reset by peer" in details):
        return TransportError(f"the server closed the connection{_tls.IF}", "connect")
    return None
