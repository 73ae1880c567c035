"""Pyro5: remote objects of Python, a server with a thread for each connection."""

import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from threading import get_ident
from typing import Any, Literal

import Pyro5.api
import serpent
from Pyro5 import client, errors, protocol, serializers, socketutil

from bench import codecs
from bench.contract import Binding, Service, parse_address
from bench.errors import TransportError
from bench.systems import _client, _connections, _tls, _wire

TRANSPORTS = ("ipc", "tcp")
START_S = 0.3
REQUIRES = ("pyro5",)
ENCRYPTED = ("tcp",)  # the library takes the name to verify from a host
FOR_WIRE = {"tls": False}
NAME = "echo"
MOST_CONNECTIONS = 1000  # each holds a thread of the server; the library refuses further ones


@dataclass(frozen=True)
class Options:
    """How values become bytes, and how they are sent: each message in one write.

    serializer: serpent (Python literals as text, bytes as base64; the library's default), marshal or msgpack, which
        write bytes as they are.
    nodelay: set TCP_NODELAY on both sides, as the other systems do; it is not the library's default. Not on ipc.
    tls: TLS 1.3 by Python's ssl, over tcp; the client verifies the server's certificate.
    """

    serializer: Literal["serpent", "marshal", "msgpack"] = "serpent"
    nodelay: bool = True
    tls: bool = False


def coder(options: Options, kind: str) -> codecs.Coder:
    """Return how the library encodes and decodes a value."""
    serializer = serializers.serializers[options.serializer]
    return codecs.values(serializer.dumps, serializer.loads, kind)


def _configure(options: Options, context: Callable[[], Any]) -> None:
    """Set the library's settings, which are the process's."""
    logging.getLogger("Pyro5").addHandler(logging.NullHandler())  # of clients that disconnect
    logging.getLogger("Pyro5").propagate = False
    client.get_ident = get_ident  # with greenlet installed it would keep greenlets of ended threads, which crashes
    Pyro5.config.SERIALIZER = options.serializer
    Pyro5.config.THREADPOOL_SIZE = MOST_CONNECTIONS
    Pyro5.config.SOCK_NODELAY = options.nodelay
    Pyro5.config.SSL = options.tls
    if options.tls:
        made = context()
        socketutil.get_ssl_context = lambda **_: made  # the library's own reads files, and accepts TLS 1.2


def _unpacked(value: Any) -> bytes:
    """Return the bytes of what the other side sent: serpent makes a dictionary of them."""
    return value if type(value) is bytes else serpent.tobytes(value)


def _object(service: Service, is_bytes: bool) -> Any:
    """Return the object that clients call."""
    answer = service.answer

    @Pyro5.api.expose
    class Echo:
        def call(self, value: Any) -> Any:
            return answer(_unpacked(value)) if is_bytes else answer(value)

        def stream(self, value: Any) -> Any:
            return service.replies(_unpacked(value))

    return Echo()


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer until the process ends."""
    _configure(options, lambda: _tls.server_context(binding.credentials))
    address = parse_address(binding.endpoint())
    endpoint: dict[str, Any] = {"host": address.host, "port": address.port}
    if address.transport == "ipc":
        endpoint = {"unixsocket": address.path}
    try:
        daemon = Pyro5.api.Daemon(**endpoint)
    except OSError as reason:
        raise _connections.cannot_listen(address, reason) from reason
    daemon.register(_object(service, binding.message == "bytes"), NAME)
    service.announce(_connections.announced(daemon.sock, binding.endpoint()))
    daemon.requestLoop()


class Client(_client.Client):
    """One proxy, with its connection."""

    ERRORS = (Exception,)  # beside its own errors the library lets through what its steps raise
    ENDED = (errors.ConnectionClosedError,)

    def connect(self) -> None:
        _configure(self.options, _tls.client_context)
        endpoint = f"./u:{self.server.path}" if self.server.transport == "ipc" else self.server.place
        self.connection = Pyro5.api.Proxy(f"PYRO:{NAME}@{endpoint}")
        self.connection._pyroBind()
        self._method, self._owner = self.connection.call, get_ident()

    def _own(self) -> None:
        """Let this thread use the proxy, which belongs to one thread at a time."""
        if self._owner != get_ident():
            self.connection._pyroClaimOwnership()
            self._owner = get_ident()

    def call(self, payload: Any) -> Any:
        """Make one call and return its reply; a value of whatever type with a structured message."""
        self._own()
        if type(payload) is not bytes:
            return self._method(payload)
        return _unpacked(self._method(payload))

    def stream(self, payload: bytes) -> Iterator[bytes]:
        """Make one call that returns a generator of the server, and yield its replies: each is fetched by a call."""
        self._own()
        yield from map(_unpacked, self.connection.stream(payload))

    def close(self) -> None:
        self._own()
        self.connection._pyroRelease()


StreamClient = Client


HEAD = 40  # bytes of a message before its annotations and data


class Wire(_wire.GreetingWire):
    """The same calls as bytes, made and read by the library's own protocol, for the load generator ``wire``."""

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address, options)
        self._serializer = serializers.serializers[options.serializer]

    def _message(self, kind: int, data: bytes) -> bytes:
        """Return a message; all have the same number, because a connection has one call under way."""
        return bytes(protocol.SendingMessage(kind, 0, 0, self._serializer.serializer_id, data).data)

    def greet(self, connection: socket.socket) -> None:
        hello = self._serializer.dumps({"handshake": "hello", "object": NAME})
        connection.sendall(self._message(protocol.MSG_CONNECT, hello))
        answer = _received(_wire.take(connection, HEAD))
        rest = _wire.take(connection, answer.annotations_size + answer.data_size)
        if answer.type != protocol.MSG_CONNECTOK:
            raise TransportError(f"the server refused the handshake: {rest[:200]!r}", "connect")

    def request(self, payload: bytes) -> bytes:
        return self._message(protocol.MSG_INVOKE, self._serializer.dumpsCall(NAME, "call", (payload,), {}))

    def size(self, buffer: bytes | bytearray, length: int) -> int:
        if length < HEAD:
            return 0
        head = _received(bytes(buffer[:HEAD]))
        return HEAD + int(head.annotations_size + head.data_size)

    def body(self, response: bytes, payload: bytes) -> bytes:
        reply = _received(response[:HEAD])
        try:
            reply.add_payload(response[HEAD:])
            value = self._serializer.loads(reply.data)
            if reply.type == protocol.MSG_RESULT and not reply.flags & protocol.FLAGS_EXCEPTION:
                return _unpacked(value)
        except Exception as reason:  # what the serializers raise for what they cannot read
            raise TransportError(f"a reply holds no value: {reason}", "body") from reason
        raise TransportError(f"the call failed: {value!r:.200}")


def _received(head: bytes) -> Any:
    """Return what the head of a message says; TransportError for what is none."""
    try:
        return protocol.ReceivingMessage(head)
    except errors.ProtocolError as reason:
        raise TransportError(f"the server does not speak the protocol of Pyro: {reason}", "read") from reason
