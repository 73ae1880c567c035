"""gRPC in C++: unary calls by the library's own language on both sides; either can be the one of grpc_sync."""

from dataclasses import dataclass
from typing import Literal

from bench.contract import Binding, Service, parse_address
from bench.process import programs
from bench.systems import _connections, _grpc, _grpc_wire, _native, _twin, grpc_sync

TRANSPORTS = ("ipc", "tcp")
START_S = 0.25
REQUIRES = ("grpcio", "protobuf", "hpack")
GROUP = "native"
VERSION_COMMANDS = {"grpc++": "pkg-config --modversion grpc++"}

PACKAGES = "g++ libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc"
FLAGS = ("-Wl,--copy-dt-needed-entries", "-lgrpc++", "-lgrpc", "-lgpr", "-lprotobuf", "-pthread")

programs.need(["grpcpp/grpcpp.h", "google/protobuf/message.h"], PACKAGES, ["protoc", "grpc_cpp_plugin"])

SOURCE = _native.Source("_grpc_cpp.cpp", "grpc_cpp", FLAGS, ["_grpc_echo.proto"])


@dataclass(frozen=True)
class Options(_native.Options):
    """Which side is native; grpcio holds a gRPC core of its own, which is newer than Debian's.

    api: how the program answers: by the callback API, which gRPC's documentation advises, or by the synchronous one.
        The program that calls is synchronous.
    max_message_bytes: the largest message that either side accepts (the library's own limit is the default).
    """

    api: Literal["callback", "sync"] = "callback"
    max_message_bytes: int = 4 * 1024 * 1024

    def __post_init__(self) -> None:
        in_python(self)


def in_python(options: Options) -> grpc_sync.Options:
    """Return the options of grpc_sync that make it the twin: protobuf, unary calls, a channel for each caller."""
    return grpc_sync.Options(max_message_bytes=options.max_message_bytes)


prepare = SOURCE.program


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Let the program answer, or answer here in Python."""
    if options.server == "python":
        return grpc_sync.serve(binding, in_python(options), service)
    endpoint = binding.endpoint()
    _connections.refuse_if_taken(endpoint)
    program = SOURCE.start(["server", options.max_message_bytes, _grpc.target(endpoint), options.api])
    address = parse_address(endpoint)
    return _native.serve(program, service, lambda words: str(address._replace(port=int(words[0]))))


class Load(_native.Load):
    """The closed load by the program, which connects."""

    def _start(self, words: list[object]) -> _native.Program:
        return SOURCE.start([*words, self._options.max_message_bytes, _grpc.target(self._address)])


Client = _twin.with_options(grpc_sync.Client, in_python)
Wire = MultiplexedWire = _twin.with_options(_grpc_wire.Wire, in_python)
