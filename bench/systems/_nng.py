"""Shared by the two nng systems: options, addresses, sockets, encryption, errors, the server of one socket."""

import logging
import socket as sockets
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pynng

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.plan import credentials
from bench.systems import _client, _connections, _tls, _wire


@dataclass(frozen=True)
class Options:
    """How sockets are used. The library's own threads move messages, and it sets TCP_NODELAY.

    codec: how structured messages become bytes; not used for opaque bytes.
    tls: encrypt by the library's own Mbed TLS, over tcp; the client verifies the server's certificate.
    """

    codec: str = "json"
    tls: bool = False


def opened(kind: Any, own: Any = None) -> Any:
    """Return a socket of a kind, for messages of any size; ``own``: settings for encryption."""
    logging.getLogger("pynng").propagate = False
    socket = kind(recv_max_size=0)
    if own is not None:
        socket.tls_config = own
    return socket


def _of_server(folder: str) -> Any:
    """Return a server's settings for encryption, with the certificate in a folder."""
    chain, key = (Path(file).read_text() for file in _tls.files(folder))
    return pynng.TLSConfig(pynng.TLSConfig.MODE_SERVER, own_key_string=key, own_cert_string=chain)


def _of_client(host: str) -> Any:
    """Return a client's settings for encryption: it trusts the run's authority alone, and verifies the name."""
    return pynng.TLSConfig(
        pynng.TLSConfig.MODE_CLIENT,
        server_name=host,
        ca_string=credentials.text(credentials.AUTHORITY),
        auth_mode=pynng.TLSConfig.AUTH_MODE_REQUIRED,
    )


FOR_WIRE = {"tls": False}


def bound(kind: Any, binding: Binding, options: Options) -> tuple[Any, str]:
    """Return a socket of a kind that listens, and the address that clients connect to."""
    endpoint = binding.endpoint()
    socket = opened(kind, _of_server(binding.credentials) if options.tls else None)
    try:
        listener = socket.listen(f"tls+{endpoint}" if options.tls else endpoint)
    except pynng.NNGException as reason:
        raise TransportError(f"cannot listen at {endpoint}: {reason}") from reason
    return socket, f"tcp://{listener.local_address}" if binding.transport == "tcp" else endpoint


class Connected(_client.Connected):
    """What connects a socket of the kind ``kind``, and what its library's failures mean, for clients of both sorts."""

    ERRORS = (pynng.NNGException,)
    kind: Any

    def dial(self) -> None:
        """Connect."""
        self.connection = opened(self.kind, _of_client(self.server.host) if self.options.tls else None)
        try:
            self.connection.dial(f"{'tls+' * self.options.tls}{self.server}", block=True)
        except pynng.NNGException:
            self.connection.close()
            raise

    def unreachable(self, reason: BaseException) -> TransportError:
        """Return the error for a connection that was not made; the library does not say what a handshake failed of."""
        if self.options.tls:
            return _connections.handshake_error(self.server)
        hint = _tls.IF if "shutdown" in str(reason) else ""
        return TransportError(f"cannot connect to {self.server}: {reason}{hint}", "connect")


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer requests in one thread, with one REP socket: one after another, whoever sent them."""
    socket, address = bound(pynng.Rep0, binding, options)
    service.announce(address)
    answer, send, receive = service.answer, socket.send, socket.recv
    while True:
        send(answer(receive()))


OURS, THEIRS = b"\0SP\0\0\x30\0\0", b"\0SP\0\0\x31\0\0"  # greetings of REQ and of REP
REQUEST = 0x8000_0001  # the number of every request of a wire: a connection has one under way
_head = {"tcp": struct.Struct("!QI"), "ipc": struct.Struct("!BQI")}  # over ipc a 1; the length; the request's number


class Wire(_wire.GreetingWire):
    """Requests and responses as bytes, of a REQ socket: SP (Scalability Protocols), for the load generator ``wire``.

    Source: RFCs sp-tcp-mapping-01 and sp-request-reply-01 of nanomsg; for ipc nng_ipc(7).
    """

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address, options)
        self._head, self._first = _head[self.server.transport], (1,) * (self.server.transport == "ipc")

    def greet(self, connection: sockets.socket) -> None:
        connection.sendall(OURS)
        if (theirs := _wire.take(connection, len(THEIRS))) != THEIRS:
            raise TransportError(f"the server is no REP socket of nng: it greets with {theirs!r}{_tls.IF}", "connect")

    def request(self, payload: bytes) -> bytes:
        return self._head.pack(*self._first, 4 + len(payload), REQUEST) + payload

    def size(self, buffer: bytes | bytearray, length: int) -> int:
        if length < self._head.size:
            return 0
        *first, size, number = self._head.unpack_from(buffer)
        if tuple(first) != self._first or number != REQUEST or size < 4:
            raise TransportError(f"a message is no reply of SP: it begins with {bytes(buffer[: self._head.size])!r}")
        return int(self._head.size - 4 + size)

    def body(self, response: bytes, payload: bytes) -> bytes:
        return response[self._head.size :]
