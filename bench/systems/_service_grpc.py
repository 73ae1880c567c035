"""The gRPC requests of a service file: messages of the user's own interface, compiled from its .proto file."""

import contextlib
import functools
import importlib.util
import itertools
import random
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import msgspec
from google.protobuf import descriptor_pb2, descriptor_pool, empty_pb2, json_format, message_factory
from google.protobuf.message import DecodeError
from grpc import aio

from bench.contract import Address, parse_address
from bench.errors import BenchError, NotInstalledError, SystemFileError, TransportError
from bench.plan import service_file, values
from bench.plan.service_file import Prepared, Service, StatusFault, begin, differs, refuse, too_late
from bench.process import pipes
from bench.redaction import redacted
from bench.systems import _grpc_wire, _service_streams, _service_tls, _service_wire
from bench.text import listed, one_line

MOST_MESSAGE = 256_000_000  # bytes of a reply by the wire
OPTIONS = (
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.enable_http_proxy", 0),
)


OF_PROTOBUF = "google.protobuf."  # begins the names of types that have a JSON of their own

_reflected: dict[str, descriptor_pool.DescriptorPool] = {}  # of services that were asked, by their files


def reflect(described: Service, address: Address) -> None:
    """Verify a service's certificate; ask it for the types of calls whose file names no .proto; once in a process."""
    _service_tls.verify(described, address)
    is_asked = any(request.grpc and not request.grpc.proto for request in described.says.requests)
    if not is_asked or described.file in _reflected:
        return
    with _channel(grpc, described, address) as channel:
        _reflected[described.file] = descriptor_pool.DescriptorPool(_described_by(channel, described.name))
        try:
            with _explained(described.name, "name its .proto file under proto"):
                check(described, is_asked=True)  # types are looked up once more where a message names them, by @type
        except BaseException:
            del _reflected[described.file]
            raise


def _described_by(channel: grpc.Channel, name: str) -> Any:
    """Return the database of types that a server describes; NotInstalledError, or TransportError where it does not."""
    try:
        from grpc_reflection.v1alpha import proto_reflection_descriptor_database, reflection_pb2
    except ImportError as missing:
        raise NotInstalledError(
            "grpcio-reflection is not installed; install it: python -m pip install grpcio-reflection"
        ) from missing
    interface = proto_reflection_descriptor_database.ProtoReflectionDescriptorDatabase(channel)
    try:
        interface.get_services()
        return interface
    except grpc.RpcError as reason:
        if reason.code() != grpc.StatusCode.UNIMPLEMENTED:
            raise TransportError(f"{name} was asked for its interface: {reason.details()}", "connect") from reason
    interface._stub.ServerReflectionInfo = channel.stream_stream(  # the same messages under their later name
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        request_serializer=reflection_pb2.ServerReflectionRequest.SerializeToString,
        response_deserializer=reflection_pb2.ServerReflectionResponse.FromString,
    )
    try:
        interface.get_services()
        return interface
    except grpc.RpcError as reason:
        raise TransportError(
            f"{name} does not offer server reflection ({reason.details()}): name its .proto file under proto", "connect"
        ) from reason


def first_requests(address: str) -> list[dict[str, Any]]:
    """Return a request for each unary method of a service that describes itself, with the fields of its message.

    Where it has none, for each method that answers with a stream of messages.
    """
    with grpc.insecure_channel(address, options=OPTIONS) as channel, _explained(address, "write the file by hand"):
        interface = _described_by(channel, address)
        pool = descriptor_pool.DescriptorPool(interface)
        requests: dict[bool, list[dict[str, Any]]] = {False: [], True: []}  # by whether the reply is a stream
        for service in sorted(interface.get_services()):
            if service.startswith("grpc.reflection."):
                continue
            for method in pool.FindServiceByName(service).methods:
                if not method.client_streaming:
                    message = _plain(message_factory.GetMessageClass(method.input_type)())
                    asked = {"method": f"{service}/{method.name}", "message": message}
                    request = {"name": method.name, "grpc": asked, "expect": {"status": "OK"}}
                    requests[method.server_streaming].append(request)
        return requests[False] or requests[True]


def _channel(library: Any, described: Service, address: Address) -> Any:
    """Return a channel to a service, of the module ``grpc`` or ``grpc.aio``."""
    target = f"unix:{address.path}" if address.transport == "ipc" else address.place
    options = (*OPTIONS, ("grpc.default_authority", described.called(address)))
    if not described.is_encrypted:
        return library.insecure_channel(target, options=options)
    trusted = grpc.ssl_channel_credentials(**_service_tls.texts(described))
    return library.secure_channel(
        target, trusted, options=(*options, ("grpc.ssl_target_name_override", described.host))
    )


@contextlib.contextmanager
def _explained(what: str, remedy: str) -> Iterator[None]:
    """Raise SystemFileError for what protobuf refuses, by exceptions of many kinds."""
    try:
        yield
    except BenchError:
        raise
    except Exception as reason:
        raise SystemFileError(f"{what}: {one_line(redacted(str(reason)), 300)}: {remedy}") from reason


@functools.cache
def _pool(proto: tuple[str, ...]) -> descriptor_pool.DescriptorPool:
    """Return the types of a .proto file and of what it imports; SystemFileError for a file that does not compile."""
    if importlib.util.find_spec("grpc_tools") is None:
        raise NotInstalledError("grpcio-tools is not installed; install it: python -m pip install grpcio-tools")
    file, *roots = proto
    words = [*(f"-I{root}" for root in roots), "--include_imports", "--descriptor_set_out=/dev/stdout", file]
    done = subprocess.run(pipes.python("grpc_tools.protoc", *words), capture_output=True)
    if done.returncode:
        output = one_line(
            "; ".join(done.stderr.decode(errors="replace").replace(file, Path(file).name).splitlines()), 300
        )
        remedy = "correct it, or name under imports the folders that it imports from"
        raise SystemFileError(f"{file} does not compile: {output}: {remedy}")
    pool = descriptor_pool.DescriptorPool()
    with _explained(file, "correct it"):
        for each in descriptor_pb2.FileDescriptorSet.FromString(done.stdout).file:
            pool.Add(each)
    return pool


def _types(proto: tuple[str, ...]) -> descriptor_pool.DescriptorPool:
    return _reflected.get(proto[0]) or _pool(proto)


def _method(proto: tuple[str, ...], method: str) -> Any:
    """Return what describes a method; SystemFileError for one that the file does not have."""
    service, _, name = method.partition("/")
    try:
        return _types(proto).FindServiceByName(service).FindMethodByName(name)
    except KeyError:
        raise SystemFileError(f"{proto[0]} has no method {method}: write package.Service/Method") from None


@functools.cache
def types_of(proto: tuple[str, ...], method: str) -> tuple[Any, Any]:
    """Return the classes of a method's request and reply; SystemFileError for one that the file does not have."""
    descriptor, class_of = _method(proto, method), message_factory.GetMessageClass
    return class_of(descriptor.input_type), class_of(descriptor.output_type)


def check(described: Service, is_asked: bool) -> None:
    """Encode messages, and what is expected of replies; SystemFileError says what is wrong.

    is_asked: of the calls for which the service is asked for its interface, not of those that name a .proto file.
    """
    for each in (_pool, types_of):  # a file may have changed
        each.cache_clear()
    drawn = itertools.islice(service_file.prepared(described, random.Random(0)), service_file.DISTINCT)
    for request in (request for request in drawn if not request.needs):
        if request.proto and is_asked == (request.proto == (described.file,)):
            encoded(request, _method(request.proto, request.target).server_streaming)
            _message(request, of_reply=True)


def has_streams(described: Service) -> bool:
    """Return whether a method whose .proto file is named answers with a stream."""
    calls = [call for request in described.says.requests if (call := request.grpc) and call.proto]
    return any(_method(described.interface(call.proto), call.method).server_streaming for call in calls)


def encoded(request: Prepared, has_stream: bool = False) -> bytes:
    """Return the bytes of a request's message; SystemFileError for fields that its type does not have.

    has_stream: whether the method has to be one whose request is answered by a stream of messages.
    """
    descriptor = _method(request.proto, request.target)
    if request.expect.messages and not descriptor.server_streaming:
        raise SystemFileError(f"{request.name}: {request.target} has one reply: leave messages out")
    if request.expect.status not in (None, "OK") and descriptor.server_streaming:
        raise SystemFileError(f"{request.name}: a stream is measured to its end, with the status OK: leave status out")
    if descriptor.client_streaming:
        raise SystemFileError(f"{request.target} takes a stream of requests, which is not measured here: name another")
    if descriptor.server_streaming != has_stream:
        address = "bench run streaming" if descriptor.server_streaming else "latency and others, not by streaming"
        what = "has a stream of replies" if descriptor.server_streaming else "has one reply"
        raise SystemFileError(f"{request.target} {what}: measure it by {address}, with a file of its own")
    message = _message(request)
    if missing := message.FindInitializationErrors():
        kind = message.DESCRIPTOR.full_name
        raise SystemFileError(f"{request.name}: {kind} requires {listed(missing)}: add this to its message")
    return bytes(message.SerializeToString())


def _message(request: Prepared, of_reply: bool = False) -> Any:
    """Return the message of a request, or the one that is expected; SystemFileError if its type has no such fields."""
    kind = types_of(request.proto, request.target)[of_reply]
    fields, what = (request.expect.message, "what is expected") if of_reply else (request.message, "its message")
    if fields is msgspec.UNSET:
        return kind()
    with _explained(f"{request.name}: no {kind.DESCRIPTOR.full_name} in protobuf's JSON", f"correct {what}"):
        return json_format.ParseDict(fields, kind(), descriptor_pool=_types(request.proto))


def fault(request: Prepared, status: str, data: bytes) -> str:
    """Return what is wrong with a reply; "" for the expected one."""
    return fault_of_status(request, status, data) or fault_of_message(request, data)


def fault_of_status(request: Prepared, status: str, data: bytes) -> str:
    """Return what is wrong with the status of a reply or stream, with its details; "" for the expected one."""
    named = request.expect.status
    assert not isinstance(named, list)
    wanted = named or "OK"
    return "" if status == wanted else StatusFault(status, f"expected {wanted}: {begin(data)}", named)


def fault_of_message(request: Prepared, data: bytes) -> str:
    """Return what is wrong with a reply's message, or with one of a stream; "" for the expected one."""
    wanted = request.expect
    if wanted.text is not None and wanted.text.encode() not in data:
        return f"it does not contain {wanted.text!r}"
    if wanted.message is msgspec.UNSET:
        return ""
    expected = _message(request, of_reply=True)
    try:
        reply = type(expected).FromString(data)
    except Exception:
        return f"it is no {expected.DESCRIPTOR.full_name}: {begin(data)}"
    try:
        return _unlike(wanted.message, _plain(expected), _plain(reply), expected.DESCRIPTOR, "$")
    except Exception as reason:
        return f"it cannot be compared: {one_line(redacted(str(reason)), 200)}"


def member(request: Prepared, data: bytes, path: str) -> Any:
    """Return the member of a reply's message at a path, by the names of the file or of protobuf's JSON; or KeyError."""
    _, kind = types_of(request.proto, request.target)
    try:
        message = kind.FromString(data)
    except DecodeError as reason:
        raise KeyError(path) from reason
    try:
        return values.member(path, _plain(message))
    except KeyError:
        return values.member(path, _plain(message, has_names_of_file=False))


def _type(pool: Any, name: str) -> Any:
    """Return a type, an empty one for an unknown one in an Any, beside which there may be what is expected."""
    try:
        return pool.FindMessageTypeByName(name)
    except Exception:
        return empty_pb2.Empty.DESCRIPTOR


def _plain(message: Any, has_names_of_file: bool = True) -> Any:
    """Return a message as JSON, with the names of its file and the fields that have their defaults."""
    return json_format.MessageToDict(
        message,
        preserving_proto_field_name=has_names_of_file,
        always_print_fields_with_no_presence=True,
        descriptor_pool=SimpleNamespace(FindMessageTypeByName=functools.partial(_type, message.DESCRIPTOR.file.pool)),
    )


def _unlike(wanted: Any, right: Any, reply: Any, kind: Any, path: str) -> str:
    """Return where a message as JSON differs from the members that are wanted, at every level; "" if it does not.

    right: a message that has these, as protobuf writes it.
    """
    if kind and kind.full_name == f"{OF_PROTOBUF}Any" and wanted:
        kind = kind.file.pool.FindMessageTypeByName(wanted["@type"].rpartition("/")[2])
    is_list = isinstance(wanted, list)
    if kind is None or kind.full_name.startswith(OF_PROTOBUF) or (is_list and len(right) != len(reply)):
        return differs(right, reply, path)
    if is_list:
        parts = enumerate(zip(wanted, right, reply, strict=True))
        return next(filter(None, (_unlike(*part, kind, f"{path}[{index}]") for index, part in parts)), "")
    is_map = kind.GetOptions().map_entry
    fields = {} if is_map else {name: field for field in kind.fields for name in (field.name, field.json_name)}
    for name, value in wanted.items():
        field = kind.fields_by_name["value"] if is_map else fields.get(name)  # extensions and @type have none
        own = field.name if field and not is_map else name
        if own in reply and value is not None:
            fault = _unlike(value, right[own], reply[own], field and field.message_type, f"{path}.{own}")
        else:  # null is wanted where a field must not be there
            fault = "" if own not in reply and value is None else differs({own: right.get(own)}, reply, path)
        if fault:
            return fault
    return ""


def _metadata(request: Prepared) -> tuple[tuple[str, str | bytes], ...]:
    """Return a request's metadata as grpcio takes it: that with a name in -bin as bytes."""
    pairs = request.headers.items()
    return tuple((name, service_file.binary(text) if name.endswith("-bin") else text) for name, text in pairs)


class Channel:
    """A channel, and the calls that were made through it."""

    def __init__(self, described: Service, address: Address) -> None:
        self._described, self._timeout_s = described, described.says.timeout_s
        reflect(described, address)
        self._channel = _channel(aio, described, address)
        self._calls: dict[str, Any] = {}

    async def call(self, request: Prepared, data: bytes) -> tuple[str, bytes]:
        """Make a call; return the name of its status and the reply's bytes, or what the server says of the failure.

        TransportError where nothing answers.
        """
        call = self._calls.get(request.target)
        if call is None:
            call = self._calls[request.target] = self._channel.unary_unary(f"/{request.target}")
        try:
            return "OK", await call(data, metadata=_metadata(request), timeout=self._timeout_s)
        except grpc.RpcError as reason:
            return self._status(request, reason)

    async def stream(self, request: Prepared, data: bytes) -> AsyncIterator[_service_streams.Message]:
        """Make a call; yield its messages; TransportError where nothing answers, or they are not as expected."""
        call, count = self._channel.unary_stream(f"/{request.target}"), 0
        try:
            async for message in call(data, metadata=_metadata(request), timeout=self._timeout_s):
                count += 1
                yield _service_streams.Message(request, message, fault_of_message)
            status, details = "OK", b""
        except grpc.RpcError as reason:
            status, details = self._status(request, reason)
        refuse(request, fault_of_status(request, status, details) or request.fault_of_stream(count, has_ended=True))

    def _status(self, request: Prepared, reason: Any) -> tuple[str, bytes]:
        """Return the name of a failed call's status and what the server says; TransportError where nothing answers."""
        code, details = reason.code(), str(reason.details())
        if code.name == request.expect.status:
            return code.name, details.encode()
        if code == grpc.StatusCode.DEADLINE_EXCEEDED:
            raise too_late(self._described, request) from reason
        if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED):
            raise TransportError(f"{request.name} had no answer: {details}", "read") from reason
        return code.name, details.encode()

    async def close(self) -> None:
        await self._channel.close()


class Wire(_grpc_wire.Calls):
    """The calls of one method as bytes, for the load generator ``wire``: one message for each payload."""

    def __init__(self, address: str, described: Service, request_of: Callable[[bytes], Prepared]) -> None:
        calls = [request.grpc for request in described.says.requests if request.grpc]
        if len(calls) < len(described.says.requests) or len({call.method for call in calls}) > 1:
            raise ValueError("the wire makes calls of one gRPC method: describe a service of that alone")
        of_calls = [described.says.headers | call.headers for call in calls]
        if any(headers != of_calls[0] for headers in of_calls) or any(
            not name.startswith("env:") for name in values.names_in(of_calls[0])
        ):
            raise ValueError("the wire makes gRPC calls with the same headers: write them without values")
        self._described, self._request_of = described, request_of
        self.timeout_s = described.says.timeout_s
        metadata = tuple((name.lower(), value) for name, value in request_of(b"").headers.items())
        tls = _service_tls.layer(described, address, "h2")
        host = described.called(parse_address(address))
        super().__init__(address, calls[0].method, host, metadata, MOST_MESSAGE, tls)

    def request(self, payload: bytes) -> bytes:
        """Return the body of a request; the service is asked for its interface where its file names none."""
        reflect(self._described, self.server)
        return _grpc_wire.request_of(encoded(self._request_of(payload)))

    def body(self, response: Any, payload: bytes) -> bytes:
        request, (status, details) = self._request_of(payload), _grpc_wire.status_of(response)
        refuse(request, fault(request, status, _grpc_wire.message_of(response) if status == "OK" else details.encode()))
        return payload


class Connection(_service_wire.OverHttp2):
    """One connection of HTTP/2, and the call under way on it."""

    def begin(self, request: Prepared, body: bytes) -> None:
        """Make a call with an encoded message."""
        headers = _grpc_wire.HEADERS | request.headers
        call = msgspec.structs.replace(request, method="POST", target=f"/{request.target}", headers=headers)
        super().begin(call, _grpc_wire.request_of(body))


class StreamWire(_service_wire.Streams):
    """Streams of messages that answer a call, as bytes for the load generator ``wire``."""

    _connection: Connection

    def __init__(
        self, address: str, described: Service, requests_of: Callable[[bytes], _service_wire.Requests]
    ) -> None:
        self._described, self._connection = described, Connection(address, described)
        super().__init__(self._connection, described, requests_of)

    def begin(self, payload: bytes) -> None:
        """Do what ``Streams.begin`` does; the service is asked for its interface where its file names none."""
        reflect(self._described, self._connection.server)
        super().begin(payload)
        self._messages, self._count = _grpc_wire.Messages(MOST_MESSAGE), 0

    def receive(self, data: bytes) -> Iterator[_service_streams.Message]:
        """Do what ``EventStreams.receive`` does."""
        connection, part = self._connection, self._connection.feed(data)
        if not connection.fields:  # of a reply: servers send their settings before there is one
            return
        request = self._request
        if not self._is_right:
            _grpc_wire.refuse_others(connection.fields)
            self._is_right = True
        for message in self._messages.feed(part):
            self._count += 1
            yield _service_streams.Message(request, message, fault_of_message)
        if connection.is_over:
            status, details = _grpc_wire.status_in(connection.trailers)
            refuse(request, fault_of_status(request, status, details.encode()))
            self._messages.end()
            refuse(request, request.fault_of_stream(self._count, has_ended=True))
