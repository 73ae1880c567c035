"""RPyC: transparent remote objects of Python, a server with a thread for each connection."""

import logging
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import rpyc
from rpyc.core.channel import Channel
from rpyc.core.stream import SocketStream
from rpyc.utils.server import ThreadedServer

from bench.contract import Binding, Service, parse_address
from bench.errors import TransportError
from bench.systems import _connections, _rpyc_wire, _tls

TRANSPORTS = ("ipc", "tcp")
START_S = 0.3
REQUIRES = ("rpyc",)
CONFIG = {"sync_request_timeout": None}  # this package has its own deadlines; the library's default is 30 s


@dataclass(frozen=True)
class Options:
    """How messages are sent: bytes by copying; other objects would be references, used by more calls.

    The method is looked up once, and messages above 3 000 bytes are compressed by zlib at level 1, as by default.

    nodelay: set TCP_NODELAY on both sides, as the other systems do; the library's connect and servers do not. A
        message above 64 kB is sent in several writes, the last of one byte, which without it may wait for a delayed
        acknowledgement. Not on ipc.
    codec: how structured messages become bytes; pickle is what the library's own copying (obtain, deliver) uses.
    tls: TLS 1.3 by Python's ssl; the client verifies the server's certificate.
    """

    nodelay: bool = True
    codec: str = "pickle"
    tls: bool = False


def _prepare(connection: socket.socket, options: Options) -> None:
    """Set TCP_NODELAY if asked for."""
    if options.nodelay and connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _service(options: Options, service: Service) -> rpyc.Service:
    """Return what clients call; it connects with these options, which the library's servers do not take."""

    class Echo(rpyc.Service):
        exposed_call = staticmethod(service.answer)
        exposed_stream = staticmethod(service.replies)

        def _connect(self, channel: Any, config: Any) -> Any:
            _prepare(channel.stream.sock, options)
            return super()._connect(channel, config | CONFIG)

    return Echo()


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Accept connections and answer them in threads."""
    listener, address = _connections.bound(binding, options.tls)
    silent = logging.getLogger("roundtrip.rpyc")
    silent.disabled = True  # it reports each client that leaves
    server = ThreadedServer(_service(options, service), hostname="127.0.0.1", logger=silent)
    server.listener.close()
    server.listener = listener  # the library's own wakes up every 0.5 s
    service.announce(address)
    server.start()


class Client:
    """One connection."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._options = parse_address(address), options

    def open(self) -> None:
        """Connect, and look the method up if it is to be kept."""
        connection = _connections.connect(self._where, tls=self._options.tls)
        _prepare(connection, self._options)
        try:
            channel = Channel(SocketStream(connection))
            self._connection = rpyc.connect_channel(channel, config=CONFIG)
            self._root = self._connection.root
            self._method = self._root.call
        except Exception as reason:  # the library raises what its steps raise, and what the other side raised
            raise self._failed(reason) from reason

    def call(self, payload: bytes) -> bytes:
        """Make one call and return its reply."""
        try:
            return self._method(payload)
        except Exception as reason:  # as in ``open``
            raise self._failed(reason) from reason

    def stream(self, payload: bytes) -> Iterator[bytes]:
        """Make one call that returns a generator of the server, and yield its replies: each is fetched by a call."""
        try:
            yield from self._root.stream(payload)
        except Exception as reason:  # as in ``open``
            raise self._failed(reason) from reason

    def _failed(self, reason: Exception) -> TransportError:
        """Return the error for a call without a reply."""
        if isinstance(reason, TransportError):
            return reason
        if isinstance(reason, EOFError):
            hint = "" if self._options.tls else _tls.IF
            return TransportError(
                f"the call failed: the server closed the connection instead of answering{hint}", "read"
            )
        words = str(reason).splitlines()
        return TransportError(f"the call failed: {type(reason).__name__}: {words[0] if words else ''}", "read")

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()


StreamClient = Client


class Wire(_rpyc_wire.Wire):
    """The same calls for the load generator ``wire``."""

    def __init__(self, address: str, options: Options) -> None:
        if options.tls:
            raise ValueError("the engine wire speaks to RPyC without encryption: give tls false")
        super().__init__(address)
