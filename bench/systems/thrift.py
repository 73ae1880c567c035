"""Thrift by thriftpy2, a Python implementation of Apache Thrift's protocols; a server thread for each connection."""

import functools
import logging
import socket
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import thriftpy2
from thriftpy2.protocol import TBinaryProtocolFactory
from thriftpy2.server import TThreadedServer
from thriftpy2.thrift import TApplicationException, TClient, TProcessor, TType
from thriftpy2.transport import TBufferedTransportFactory, TServerSocket, TSocket, TTransportException
from thriftpy2.transport.memory import TMemoryBuffer

from bench import codecs
from bench.codecs import message_types
from bench.contract import Binding, Service
from bench.errors import TransportError, unknown
from bench.systems import _client, _connections, _tls, _wire

TRANSPORTS = ("ipc", "tcp")
START_S = 0.25
REQUIRES = ("thriftpy2",)


@dataclass(frozen=True)
class Options:
    """How structures travel, and the server's sockets, without the library's limit of 3 s on each wait.

    The binary protocol in buffers of 4 KiB, both in the library's Cython code; what a buffer does not take is sent by
    another write.

    server_nodelay: set TCP_NODELAY on the server's connections, as the other systems do. The library sets it on the
        client's only: a reply in two writes then may wait for a delayed acknowledgement. Not on ipc.
    codec: how structured messages are carried; not used for opaque bytes. thrift sends them as structures of an
        interface file, which the protocol reads and writes; other codecs make bytes of them.
    tls: TLS 1.3 by Python's ssl; the client verifies the server's certificate.
    """

    server_nodelay: bool = True
    codec: str = "thrift"
    tls: bool = False


@functools.cache
def _echo() -> Any:
    """Return the service that the interface file defines."""
    return thriftpy2.load(str(Path(__file__).with_name("_thrift_echo.thrift")), "roundtrip_thrift").Echo


@functools.cache
def _structures() -> Any:
    """Return the types and the service for structured messages that the interface file defines."""
    return thriftpy2.load(str(Path(__file__).with_name("_thrift_messages.thrift")), "roundtrip_messages_thrift")


TYPES = {"record": "Records", "items": "Items", "tree": "Trees", "numbers": "Numbers"}


def coder(options: Options, kind: str) -> codecs.Coder | None:
    """Return how the protocol, in the buffers of a connection, reads and writes structures; None for other codecs.

    UsageError for a message without declared types.
    """
    if options.codec != "thrift":
        if options.codec not in codecs.names():
            raise unknown("codec", options.codec, [*codecs.names(), "thrift"])
        return None
    if kind not in TYPES:
        raise codecs.no_types("thrift", kind)
    type_ = getattr(_structures(), TYPES[kind])

    def encode(structure: Any) -> bytes:
        memory = TMemoryBuffer()
        buffers = TRANSPORT.get_transport(memory)
        structure.write(PROTOCOL.get_protocol(buffers))
        buffers.flush()
        return memory.getvalue()

    def decode(data: bytes) -> Any:
        structure = type_()
        structure.read(PROTOCOL.get_protocol(TRANSPORT.get_transport(TMemoryBuffer(data))))
        return structure

    return codecs.Coder(encode, decode, functools.partial(_made, type_), message_types.typed_answerer(kind))


def _made(type_: Any, message: Mapping[str, Any]) -> Any:
    """Return the structure of a type that a message describes; what the message leaves out is not sent."""
    specs = {spec[1]: spec for spec in type_.thrift_spec.values()}
    return type_(**{name: _value(specs[name], value) for name, value in message.items()})


def _value(spec: Any, value: Any) -> Any:
    """Return a field's value: a list of structures for a list of dictionaries."""
    inner = spec[2] if spec[0] == TType.LIST else None
    return [_made(inner[1], item) for item in value] if isinstance(inner, tuple) else value


TRANSPORT, PROTOCOL = TBufferedTransportFactory(), TBinaryProtocolFactory()


class _Listener(TServerSocket):
    """The library's listening socket, at an address of this package; its own lets other servers share the port."""

    def __init__(self, listener: socket.socket) -> None:
        super().__init__()
        self.sock = listener

    def listen(self) -> None:
        """Do nothing: it listens already."""

    def accept(self) -> Any:
        """Return the next connection; the library would end it after 3 s without a call."""
        return TSocket(sock=self.sock.accept()[0])


class _Handler:
    """What answers calls: of bytes, and of each structure."""

    def __init__(self, service: Service) -> None:
        self.call = self.record = self.items = self.tree = self.numbers = service.answer


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Accept connections and answer each in a thread of its own."""
    logging.getLogger("thriftpy2").addHandler(logging.NullHandler())  # of clients that disconnect
    logging.getLogger("thriftpy2").propagate = False
    listener, address = _connections.bound(binding, options.tls, nodelay=options.server_nodelay)
    has_structures = binding.message != message_types.BYTES and options.codec == "thrift"
    server = TThreadedServer(
        TProcessor(_structures().Messages if has_structures else _echo(), _Handler(service)),
        _Listener(listener),
        itrans_factory=TRANSPORT,
        iprot_factory=PROTOCOL,
        daemon=True,
    )
    service.announce(address)
    server.serve()


class Client(_client.Client):
    """One connection; a call, of bytes or of a structure, is the method of the library's client for what it carries."""

    ERRORS = (Exception,)  # beside its own errors the library lets through what its steps raise on bad input

    def connect(self) -> None:
        by_socket = _connections.connect(self.server, nodelay=True, tls=self.options.tls)  # as the library does
        self._protocol = PROTOCOL.get_protocol(TRANSPORT.get_transport(TSocket(sock=by_socket)))
        self.connection = self._protocol.trans
        self._call: Any = self._first

    def _first(self, payload: Any) -> Any:
        """Make the first call, by the method for what all calls of this connection carry."""
        if isinstance(payload, bytes):
            self._call = TClient(_echo(), self._protocol).call
        else:
            kind = next(kind for kind, name in TYPES.items() if name == type(payload).__name__)
            self._call = getattr(TClient(_structures().Messages, self._protocol), kind)
        return self._call(payload)

    def call(self, payload: Any) -> Any:
        return self._call(payload)

    def failed(self, reason: BaseException) -> TransportError:
        if isinstance(reason, TTransportException) and reason.type == TTransportException.END_OF_FILE:
            hint = "" if self.options.tls else _tls.IF
            return TransportError(
                f"the call failed: the server closed the connection instead of answering{hint}", "read"
            )
        if isinstance(reason, OSError | TTransportException | TApplicationException):
            return super().failed(reason)
        return TransportError(f"the reply is not the expected one: {type(reason).__name__}: {reason}")


CALL, REPLY = 1, 2  # kinds of messages
STRING = b"\x0b"  # the type of a field of bytes
_message, _size = struct.Struct("!HHI4sI"), struct.Struct("!I")  # version, kind, the method's name and its length, 0
_version, _method = 0x8001, b"call"


class Wire(_wire.Wire):
    """Calls and replies as bytes, of the binary protocol, for the load generator ``wire``; without TLS it has no state.

    Source: https://github.com/apache/thrift/blob/master/doc/specs/thrift-binary-protocol.md
    """

    _begins = _message.pack(_version, REPLY, len(_method), _method, 0) + STRING + b"\0\0"

    def request(self, payload: bytes) -> bytes:
        """Return a call: the message's head, a structure of one field, its end."""
        head = _message.pack(_version, CALL, len(_method), _method, 0)
        return b"".join((head, STRING, b"\0\x01", _size.pack(len(payload)), payload, b"\0"))

    def size(self, buffer: bytes | bytearray, length: int) -> int:
        begins = len(self._begins)
        if not self._begins.startswith(bytes(buffer[: min(length, begins)])):
            raise TransportError(f"a message is no reply to a call: it begins with {bytes(buffer[:begins])!r}")
        if length < begins + _size.size:
            return 0
        return begins + _size.size + int(_size.unpack_from(buffer, begins)[0]) + 1

    def body(self, response: bytes, payload: bytes) -> bytes:
        return response[len(self._begins) + _size.size : -1]
