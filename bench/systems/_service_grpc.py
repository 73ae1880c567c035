"""The gRPC requests of a service file: messages of the user's own interface, compiled from its .proto file."""

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
from grpc import aio

from bench.contract import parse_address
from bench.errors import NotInstalledError, SystemFileError, TransportError
from bench.plan.service_file import NAME, Prepared, Service, differs
from bench.systems import _grpc_wire

MOST_MESSAGE = 256_000_000  # bytes of a reply by the wire
OPTIONS = (("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1))


@functools.cache
def _pool(proto: str) -> descriptor_pool.DescriptorPool:
    """Return the types of a .proto file and of what it imports; SystemFileError for a file that does not compile."""
    try:
        from grpc_tools import protoc
    except ImportError as missing:
        raise NotInstalledError(
            "grpcio-tools is not installed; install it: python -m pip install grpcio-tools"
        ) from missing
    import grpc_tools

    file, own = Path(proto), Path(str(grpc_tools.__file__)).parent / "_proto"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "types")
        words = [f"-I{file.parent}", f"-I{own}", "--include_imports", f"--descriptor_set_out={out}", str(file)]
        if protoc.main(["protoc", *words]):
            raise SystemFileError(f"{proto} does not compile: the lines above say where")
        types = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for each in types.file:
        pool.Add(each)
    return pool


@functools.cache
def types_of(proto: str, method: str) -> tuple[Any, Any]:
    """Return the classes of a method's request and reply; SystemFileError for one that the file does not have."""
    service, _, name = method.partition("/")
    try:
        found = _pool(proto).FindServiceByName(service).FindMethodByName(name)
    except KeyError:
        raise SystemFileError(f"{proto} has no method {method}: write package.Service/Method") from None
    if found.client_streaming or found.server_streaming:
        raise SystemFileError(f"{proto}: {method} has streams, and a service file makes unary calls: name another")
    return message_factory.GetMessageClass(found.input_type), message_factory.GetMessageClass(found.output_type)


def encoded(request: Prepared) -> bytes:
    """Return the bytes of a request's message; SystemFileError for fields that its type does not have."""
    kind, _ = types_of(request.proto, request.target)
    try:
        return bytes(json_format.ParseDict(request.message, kind()).SerializeToString())
    except json_format.ParseError as reason:
        raise SystemFileError(f"{request.name}: {reason}: correct its message") from reason


def fault(request: Prepared, status: str, data: bytes) -> str:
    """Return what is wrong with a reply; "" for the expected one."""
    wanted = request.expect
    if status != (wanted.status or "OK"):
        return f"its status is {status}, not {wanted.status or 'OK'}: {data[:100]!r}"
    if wanted.text is not None and wanted.text.encode() not in data:
        return f"it does not contain {wanted.text!r}"
    if not isinstance(wanted.message, dict):
        return ""
    _, kind = types_of(request.proto, request.target)
    try:
        reply = kind.FromString(data)
    except Exception:
        return f"it is no {kind.DESCRIPTOR.full_name}: {data[:60]!r}"
    expected = kind()
    try:
        json_format.ParseDict(wanted.message, expected)
    except json_format.ParseError as reason:
        raise SystemFileError(f"{request.name}: {reason}: correct what is expected") from reason
    return differs(_plain(expected, wanted.message), _plain(reply), "$")


def _plain(message: Any, of: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return a message as JSON, with the names of its file; of a part of its members."""
    value = json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )
    return value if of is None else {name: value.get(name) for name in of}


class Channel:
    """A channel, and the calls that were made through it."""

    def __init__(self, place: str) -> None:
        self._channel = aio.insecure_channel(place, options=OPTIONS)
        self._calls: dict[str, Any] = {}

    async def call(self, request: Prepared, data: bytes) -> tuple[str, bytes]:
        """Make a call; return the name of its status and the reply's bytes, or what the server says of the failure.

        TransportError where nothing answers.
        """
        call = self._calls.get(request.target)
        if call is None:
            call = self._calls[request.target] = self._channel.unary_unary(f"/{request.target}")
        try:
            return "OK", await call(data, metadata=tuple(request.headers.items()))
        except grpc.RpcError as reason:
            code, details = reason.code(), str(reason.details())
            if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
                raise TransportError(f"{request.name} had no answer: {details}", "read") from reason
            return code.name, details.encode()

    async def close(self) -> None:
        """Disconnect."""
        await self._channel.close()


class Wire(_grpc_wire.Calls):
    """The calls of one method as bytes, for the load generator ``wire``: one message for each payload."""

    def __init__(
        self, address: str, described: Service, of: Callable[[bytes], Prepared], refuse: Callable[[Prepared, str], None]
    ) -> None:
        calls = [request.grpc for request in described.says.requests if request.grpc]
        if len(calls) < len(described.says.requests) or len({call.method for call in calls}) > 1:
            raise ValueError("the wire makes calls of one gRPC method: describe a service of that alone")
        given = [call.headers for call in calls]
        if any(headers != given[0] for headers in given) or any(
            not name.startswith("env:") for text in given[0].values() for name in NAME.findall(text)
        ):
            raise ValueError("the wire makes gRPC calls with the same headers: write them without values")
        self._of, self._refuse = of, refuse
        headers = tuple((name.lower(), value) for name, value in of(b"").headers.items())
        super().__init__(address, calls[0].method, parse_address(address).place, headers, MOST_MESSAGE)

    def request(self, payload: bytes) -> bytes:
        """Return the body of a request."""
        return _grpc_wire.request_of(encoded(self._of(payload)))

    def body(self, response: Any, payload: bytes) -> bytes:
        """Return the payload if the response is as expected; TransportError if it is not."""
        request, (status, details) = self._of(payload), _grpc_wire.status_of(response)
        self._refuse(
            request, fault(request, status, _grpc_wire.message_of(response) if status == "OK" else details.encode())
        )
        return payload
