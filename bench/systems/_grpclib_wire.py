"""The requests of grpclib as bytes: those of the other gRPC systems; grpclib has no limit of a message's size."""

from typing import Any

from bench.systems import _grpc_wire


class Wire(_grpc_wire.Wire):
    """Unary calls on a connection, with grpclib's options."""

    def __init__(self, address: str, options: Any) -> None:
        super().__init__(address, options, 2**31 - 1)


MultiplexedWire = Wire
