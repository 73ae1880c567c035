"""Arrow Flight: actions, or record batches through one exchange, over gRPC; pyarrow on both sides."""

import contextlib
import copy
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import pyarrow as pa
from pyarrow import flight

from bench import codecs
from bench.codecs import arrow, message_types
from bench.contract import Address, Binding, Service, parse_address
from bench.errors import TransportError
from bench.plan import credentials
from bench.systems import _client, _connections, _tls

TRANSPORTS = ("ipc", "tcp")
START_S = 0.5
RESERVES_BYTES = 1_073_741_824  # by mimalloc, the library's allocator
CONNECTION_THREADS = 3
REQUIRES = ("pyarrow", "grpcio", "hpack")  # the last two for the engine wire
FOR_MESSAGES = {"rpc": "exchange"}  # an action's body is bytes
ENCRYPTED = ("tcp",)  # over a socket file the library does not encrypt

FOR_WIRE = {"rpc": "action"}  # it makes a call for each request
SCHEMA = pa.schema([("payload", pa.uint8())])
NAME = "echo"


@dataclass(frozen=True)
class Options:
    """How a payload is carried, up to 2 GB; gRPC's limit of 4 MiB is lifted by the library.

    rpc: action makes an RPC for each call, a do_action with the payload as its body; exchange sends every call through
        one do_exchange, as a record batch of one column of bytes, which is copied only where the client takes it out.
    codec: how structured messages are carried; not used for opaque bytes. arrow sends a message's rows as the columns
        of a record batch, and what it holds beside them as the batch's application metadata. Other codecs make bytes of
        them.
    tls: TLS by gRPC's own BoringSSL, over tcp; the client verifies the server's certificate.
    """

    rpc: Literal["action", "exchange"] = "action"
    codec: str = "arrow"
    tls: bool = False


def _place(address: Address, tls: bool) -> str:
    """Return an address as the library wants it."""
    if address.transport == "ipc":
        return f"grpc+unix://{address.path}"
    return f"grpc+{'tls' if tls else 'tcp'}://{address.place}"


def _batch(payload: bytes) -> Any:
    """Return a record batch that shares the memory of a payload."""
    column = pa.Array.from_buffers(pa.uint8(), len(payload), [None, pa.py_buffer(payload)])
    return pa.RecordBatch.from_arrays([column], schema=SCHEMA)


def _payload(batch: Any) -> bytes:
    """Return a copy of the payload in a record batch."""
    column = batch.column(0)
    return column.buffers()[1].slice(column.offset, len(column)).to_pybytes()


class Rows(NamedTuple):
    """A structured message as it travels: a record batch, and its application metadata (the factor of items, or 0)."""

    batch: Any
    factor: int


_HEAD = struct.Struct("<II")  # number of columns, factor: of an encoded message


def coder(options: Options, kind: str) -> codecs.Coder | None:
    """Return how a message becomes a record batch, and this the bytes that follow a stream's schema; None for others.

    UsageError for a message that is no table.
    """
    if options.codec != "arrow":
        return None
    codecs.load("arrow", kind)  # which refuses what has no columns
    answer, request = message_types.answerer(kind), message_types.first(kind, 500)

    def build(message: message_types.Message) -> Rows:
        return Rows(arrow.batch(kind, message), message.get("m", 0))

    def read(rows: Rows) -> message_types.Message:
        return arrow.message(kind, *rows)

    made = build(request), build(answer(copy.deepcopy(request)))
    schemas = {rows.batch.num_columns: rows.batch.schema for rows in made}

    def decode(data: bytes) -> message_types.Message:
        columns, factor = _HEAD.unpack_from(data)
        return read(Rows(pa.ipc.read_record_batch(pa.py_buffer(data).slice(_HEAD.size), schemas[columns]), factor))

    return codecs.Coder(lambda message: _encoded(build(message)), decode, answer=answer, build=build, read=read)


def _encoded(rows: Rows) -> bytes:
    return _HEAD.pack(rows.batch.num_columns, rows.factor) + rows.batch.serialize().to_pybytes()


def _write(writer: Any, rows: Rows) -> None:
    """Send a batch, with the factor beside it where there is one."""
    if rows.factor:
        writer.write_with_metadata(rows.batch, str(rows.factor).encode())
    else:
        writer.write_batch(rows.batch)


def _read(chunk: Any) -> Rows:
    """Return what came; ValueError for metadata that are no number."""
    metadata = chunk.app_metadata
    return Rows(chunk.data, int(metadata.to_pybytes()) if metadata else 0)


class _Server(flight.FlightServerBase):
    """The server of the library with this package's application."""

    def __init__(self, location: str, service: Service, carries: str, **settings: Any) -> None:
        self._service, self._carries = service, carries
        super().__init__(location, **settings)

    def do_action(self, context: Any, action: Any) -> Iterator[Any]:
        """Answer one request."""
        yield flight.Result(self._service.answer(action.body))

    def do_exchange(self, context: Any, descriptor: Any, reader: Any, writer: Any) -> None:
        """Answer the requests of one client, each a record batch."""
        answer = self._service.answer
        if self._carries == "rows":
            self._exchange_rows(reader, writer)
            return
        writer.begin(SCHEMA)
        for chunk in reader:
            batch = chunk.data
            writer.write_batch(answer(batch) if self._carries == "bytes" else _batch(answer(_payload(batch))))

    def _exchange_rows(self, reader: Any, writer: Any) -> None:
        """Answer structured messages; the first reply shows the schema of all."""
        is_begun = False
        for chunk in reader:
            rows = self._service.answer(_read(chunk))
            if not is_begun:
                writer.begin(rows.batch.schema)
                is_begun = True
            _write(writer, rows)

    def do_get(self, context: Any, ticket: Any) -> Any:
        """Answer one request with a stream of replies, each a record batch."""
        return flight.GeneratorStream(SCHEMA, map(_batch, self._service.replies(ticket.ticket)))


def _carried(message: str, options: Options) -> str:
    """Return what a request carries: bytes, which are opaque; rows; or encoded, the bytes of a codec."""
    if message == message_types.BYTES:
        return message_types.BYTES
    return "rows" if options.codec == "arrow" else "encoded"


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer in the library's threads, until the process ends."""
    address, settings = parse_address(binding.endpoint()), {}
    _connections.refuse_if_taken(binding.endpoint())  # the library would share the port
    if options.tls:
        settings["tls_certificates"] = [tuple(Path(file).read_bytes() for file in _tls.files(binding.credentials))]
    try:
        server = _Server(_place(address, options.tls), service, _carried(binding.message, options), **settings)
    except (OSError, pa.ArrowException) as reason:
        raise TransportError(f"cannot listen at {binding.endpoint()}: {_words(reason)}") from reason
    service.announce(str(address._replace(port=server.port)))
    server.serve()


class Client(_client.Client):
    """One connection, which the first call makes."""

    ERRORS = (OSError, ValueError, StopIteration, pa.ArrowException)

    def connect(self) -> None:
        """Make the client, and with exchange its one RPC."""
        settings: dict[str, Any] = {"generic_options": [("grpc.use_local_subchannel_pool", 1)]}  # its own connection
        if self.options.tls:
            settings["tls_root_certs"] = credentials.text(credentials.AUTHORITY)
        self.connection = flight.connect(_place(self.server, self.options.tls), **settings)
        self._writer: Any = None
        self._call: Any = self._act
        if self.options.rpc == "exchange":
            self._call = self._first
            self._writer, self._reader = self.connection.do_exchange(flight.FlightDescriptor.for_command(NAME))

    def _act(self, payload: bytes) -> bytes:
        (result,) = self.connection.do_action(flight.Action(NAME, payload))
        return bytes(result.body.to_pybytes())

    def _first(self, payload: Any) -> Any:
        """Begin the exchange with the schema of what its calls carry, and make the first one."""
        is_bytes = isinstance(payload, bytes)
        self._writer.begin(SCHEMA if is_bytes else payload.batch.schema)
        self._call = self._exchange if is_bytes else self._exchange_rows
        return self._call(payload)

    def _exchange_rows(self, rows: Rows) -> Rows:
        _write(self._writer, rows)
        return _read(self._reader.read_chunk())

    def _exchange(self, payload: bytes) -> bytes:
        self._writer.write_batch(_batch(payload))
        return _payload(self._reader.read_chunk().data)

    def call(self, payload: Any) -> Any:
        """Make one call, of bytes or of rows, and return its reply."""
        return self._call(payload)

    def stream(self, payload: bytes) -> Iterator[bytes]:
        """Make one do_get and yield its replies."""
        for chunk in self.connection.do_get(flight.Ticket(payload)):
            yield _payload(chunk.data)

    def failed(self, reason: BaseException) -> TransportError:
        """Return the error for a call that failed; the library does not say what was wrong with a handshake."""
        if isinstance(reason, StopIteration):
            return TransportError("the server ended the exchange instead of answering", "read")
        is_new = isinstance(reason, flight.FlightUnavailableError) and "failed to connect" in str(reason)
        if is_new and self.options.tls:
            return _connections.handshake_error(self.server)
        hint = _tls.IF if is_new else ""
        return TransportError(f"the call failed: {_words(reason)}{hint}", "read")

    unreachable = failed

    def close(self) -> None:
        if self._writer is not None:
            with contextlib.suppress(OSError, pa.ArrowException):  # the server has gone
                self._writer.close()
        super().close()


StreamClient = Client


def _words(reason: BaseException) -> str:
    """Return the library's text without the details that follow it."""
    return str(reason).split(". gRPC client debug context")[0].split(". Detail:")[0].splitlines()[0]


def __getattr__(name: str) -> Any:
    """Return ``Wire``, which imports grpcio: other clients and the server do without it."""
    if name != "Wire":
        raise AttributeError(name)
    from bench.systems import _flight_wire

    return _flight_wire.Wire
