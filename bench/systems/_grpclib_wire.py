"""The requests of grpclib as bytes: those of the other gRPC systems, with grpclib's options."""

from typing import Any

from bench.systems import _grpc, _grpc_wire, _twin


def _same(options: Any) -> _grpc.Options:
    """Return these options as the other systems name them; grpclib has no limit of a message's size."""
    return _grpc.Options(serialization=options.serialization, max_message_bytes=2**31 - 1, tls=options.tls)


Wire = _twin.with_options(_grpc_wire.Wire, _same)
MultiplexedWire = _twin.with_options(_grpc_wire.MultiplexedWire, _same)
