"""Shared by the two gRPC systems: options, addresses, settings, serialization, errors."""

from dataclasses import dataclass
from typing import Any, Literal

import grpc

from bench.contract import Address, parse_address
from bench.errors import TransportError

SERVICE, UNARY, STREAM = "roundtrip.Echo", "Call", "Exchange"  # as in _grpc_echo.proto

CHOICES = {
    "serialization": ("protobuf", "bytes"),
    "rpc": ("unary", "stream"),
    "connections": ("own", "shared"),
}


@dataclass(frozen=True)
class Options:
    """How calls are made.

    serialization: protobuf wraps the payload in a message of its own; bytes sends it unchanged.
    rpc: unary is one RPC for each call; stream sends every call through one bidirectional RPC.
    connections: own gives each caller of a client process a channel; shared makes them use one.
    max_message_bytes: the largest message that either side accepts (the library's own limit is the default).
    codec: how structured messages become bytes, in gRPC's own place for that; not used for opaque bytes.
    """

    serialization: Literal["protobuf", "bytes"] = "protobuf"
    rpc: Literal["unary", "stream"] = "unary"
    connections: Literal["own", "shared"] = "own"
    max_message_bytes: int = 4 * 1024 * 1024
    codec: str = "protobuf"

    def __post_init__(self) -> None:
        """Raise ValueError for impossible values."""
        for name, allowed in CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} must be {' or '.join(allowed)}, not {getattr(self, name)!r}")
        if not 0 < self.max_message_bytes < 2**31:
            raise ValueError("max_message_bytes must be above 0 and below 2 GiB")


def place(address: str) -> str:
    """Return an address in gRPC's form."""
    where: Address = parse_address(address)
    if where.transport == "ipc":
        return f"unix:{where.path}"
    return f"[{where.host}]:{where.port}" if ":" in where.host else f"{where.host}:{where.port}"


def _limits(options: Options) -> list[tuple[str, int]]:
    room = options.max_message_bytes
    return [("grpc.max_receive_message_length", room), ("grpc.max_send_message_length", room)]


def server_settings(options: Options) -> list[tuple[str, int]]:
    """Return a server's settings; it does not share its port, so a stale server cannot take half of the connections."""
    return [*_limits(options), ("grpc.so_reuseport", 0)]


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


def method(channel: Any, options: Options) -> Any:
    """Return the channel's remote method for these options."""
    there, back = serializers(options)
    if options.rpc == "unary":
        return channel.unary_unary(f"/{SERVICE}/{UNARY}", there, back)
    return channel.stream_stream(f"/{SERVICE}/{STREAM}", there, back)


def handlers(options: Options, call: Any, exchange: Any) -> tuple[Any, ...]:
    """Return the server's handlers: ``call`` for unary RPCs, ``exchange`` for streams."""
    back, there = serializers(options)
    methods = {
        UNARY: grpc.unary_unary_rpc_method_handler(call, there, back),
        STREAM: grpc.stream_stream_rpc_method_handler(exchange, there, back),
    }
    return (grpc.method_handlers_generic_handler(SERVICE, methods),)


def bound(server: Any, address: str) -> str:
    """Bind a server, and return the address that clients connect to."""
    try:
        port = server.add_insecure_port(place(address))
    except RuntimeError as reason:
        raise TransportError(f"cannot listen at {address}: {reason}") from reason
    where = parse_address(address)
    host = f"[{where.host}]" if ":" in where.host else where.host
    return address if where.transport == "ipc" else f"tcp://{host}:{port}"


def failed(error: Any) -> TransportError:
    """Return the error for a call that failed, with a remedy where there is one."""
    text = f"the call failed: {error.code().name}: {error.details()}"
    if error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED:
        text += '; larger messages need the option max_message_bytes, as in -p options "{max_message_bytes: 67108864}"'
    return TransportError(text, error.code().name)
