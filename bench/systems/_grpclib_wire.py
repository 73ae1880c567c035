"""The requests of grpclib as bytes: those of the other gRPC systems, with grpclib's options."""

from typing import Any

from bench.systems import _grpc, _grpc_wire


def _same(options: Any) -> _grpc.Options:
    """Return these options as the other systems name them; grpclib has no limit of a message's size."""
    return _grpc.Options(serialization=options.serialization, max_message_bytes=2**31 - 1, tls=options.tls)


class Wire(_grpc_wire.Wire):
    """Unary calls on a connection."""

    def __init__(self, address: str, options: Any) -> None:
        super().__init__(address, _same(options))


class MultiplexedWire(_grpc_wire.MultiplexedWire):
    """Unary calls side by side on a connection."""

    def __init__(self, address: str, options: Any) -> None:
        super().__init__(address, _same(options))
