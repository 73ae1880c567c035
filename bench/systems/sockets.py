"""Raw sockets: length-prefixed messages over a blocking stream; the floor for every other system."""

import os
import socket
import struct
import threading
from dataclasses import dataclass

from bench.contract import Address, Binding, Service, parse_address
from bench.errors import TransportError

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ()

LENGTH = struct.Struct("!I")


@dataclass(frozen=True)
class Options:
    """How the bytes are handed to the kernel.

    nodelay: set TCP_NODELAY on both sides, so that small writes are not held back (Nagle); no effect on ipc.
    writes: 1 sends length and payload in one write, 2 in one write each.
    """

    nodelay: bool = True
    writes: int = 1

    def __post_init__(self) -> None:
        """Refuse what cannot be carried out."""
        if self.writes not in (1, 2):
            raise ValueError("writes must be 1 or 2")


class Stream:
    """A connected socket that carries whole messages, each behind its length (4 bytes, big-endian)."""

    def __init__(self, connection: socket.socket, options: Options) -> None:
        """Set the socket's options; the stream owns the socket from here on."""
        if connection.family != socket.AF_UNIX:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, options.nodelay)
        self._socket = connection
        self._one_write = options.writes == 1

    def send(self, payload: bytes) -> None:
        """Send one message."""
        length = LENGTH.pack(len(payload))
        if self._one_write:
            self._socket.sendall(length + payload)
        else:
            self._socket.sendall(length)
            self._socket.sendall(payload)

    def receive(self) -> bytes | None:
        """Return the next message, or None when the other side has closed between two messages."""
        data = self._socket.recv(65536)
        if not data:
            return None
        while len(data) < LENGTH.size:
            data += self._more(65536)
        missing = LENGTH.size + LENGTH.unpack_from(data)[0] - len(data)
        if missing == 0:
            return data[LENGTH.size :]
        return self._rest(data, missing)

    def _rest(self, data: bytes, missing: int) -> bytes:
        chunks = [data]
        while missing > 0:
            chunks.append(self._more(missing))
            missing -= len(chunks[-1])
        if missing < 0:
            raise TransportError("more bytes came than one message holds: the peer does not speak this protocol")
        return b"".join(chunks)[LENGTH.size :]

    def _more(self, size: int) -> bytes:
        data = self._socket.recv(min(size, 1 << 20))
        if not data:
            raise TransportError("the connection was closed in the middle of a message")
        return data

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()


def _listen(address: Address) -> socket.socket:
    if address.transport == "ipc":
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address.path)
    else:
        family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
        listener = socket.create_server((address.host, address.port), family=family)
    listener.listen(128)
    return listener


def _answer_all(stream: Stream, service: Service) -> None:
    """Serve one connection until its client leaves."""
    try:
        while (payload := stream.receive()) is not None:
            stream.send(service.answer(payload))
    except OSError:
        pass  # the client went away: nobody is left to tell
    finally:
        stream.close()


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Accept connections and answer each in a thread of its own."""
    address = parse_address(binding.endpoint())
    try:
        listener = _listen(address)
    except OSError as reason:
        raise TransportError(f"cannot listen at {binding.endpoint()}: {os.strerror(reason.errno or 0)}") from reason
    if address.transport == "tcp":
        service.announce(f"tcp://{_place(address._replace(port=listener.getsockname()[1]))}")
    else:
        service.announce(binding.endpoint())
    while True:
        stream = Stream(listener.accept()[0], options)
        threading.Thread(target=_answer_all, args=(stream, service), daemon=True).start()


class Client:
    """One connection to the server."""

    def __init__(self, address: str, options: Options) -> None:
        """Keep the address; ``open`` connects."""
        self._address = parse_address(address)
        self._options = options

    def open(self) -> None:
        """Connect."""
        where = self._address
        try:
            if where.transport == "ipc":
                connection = socket.socket(socket.AF_UNIX)
                connection.connect(where.path)
            else:
                connection = socket.create_connection((where.host, where.port))
        except OSError as reason:
            raise TransportError(f"cannot connect to {where.transport}://{_place(where)}: {reason}") from reason
        self._stream = Stream(connection, self._options)

    def call(self, payload: bytes) -> bytes:
        """Send one request and return its reply."""
        try:
            self._stream.send(payload)
            reply = self._stream.receive()
        except OSError as reason:
            raise TransportError(f"the call failed: {reason}") from reason
        if reply is None:
            raise TransportError("the server closed the connection instead of answering")
        return reply

    def close(self) -> None:
        """Disconnect."""
        self._stream.close()


def _place(address: Address) -> str:
    if address.transport == "ipc":
        return address.path
    host = f"[{address.host}]" if ":" in address.host else address.host
    return f"{host}:{address.port}"
