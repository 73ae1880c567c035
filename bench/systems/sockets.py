"""Raw sockets: length-prefixed messages over a blocking stream; the baseline for every other system."""

import contextlib
import select
import socket
import struct
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.plan.replies import END
from bench.systems import _client, _connections, _messages, _tls, _wire

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ()
FOR_WIRE = {"writes": 1}
FOR_MULTIPLEXED = {"writes": 1, "tls": False}  # an encrypted connection carries one call at a time here

Send = Callable[[bytes], None]
Receive = Callable[[], bytes | None]

PREFIX = 4
pack, unpack = struct.Struct("!I").pack, struct.Struct("!I").unpack_from


@dataclass(frozen=True)
class Options:
    """How the bytes are handed to the kernel.

    client_nodelay, server_nodelay: set TCP_NODELAY there, so that Nagle's algorithm does not
    delay small writes; not on ipc.
    writes: 1 sends length and payload in one write, 2 in one write each.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: encrypt with TLS 1.3, by Python's ssl; the client verifies the server's certificate.
    tls_session: resumed lets each connection but the first resume the TLS session of the one before it.
    """

    client_nodelay: bool = True
    server_nodelay: bool = True
    writes: Literal[1, 2] = 1
    codec: str = "json"
    tls: bool = False
    tls_session: Literal["new", "resumed"] = "new"

    def __post_init__(self) -> None:
        _tls.refuse_session(self.tls, self.tls_session)


def stream(connection: socket.socket, nodelay: bool = True, writes: int = 1) -> tuple[Send, Receive]:
    """Return two functions that send and receive whole messages, each after its length (4 bytes, big-endian).

    The second returns None when the other side has closed between two messages. Closures, not methods: as the baseline,
    this must cost no more than a bare loop.
    """
    if connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
    sendall, recv = connection.sendall, connection.recv

    def send(payload: bytes) -> None:
        sendall(pack(len(payload)) + payload)

    def send_in_two(payload: bytes) -> None:
        sendall(pack(len(payload)))
        sendall(payload)

    def receive() -> bytes | None:
        data = recv(65536)
        try:
            if unpack(data)[0] + PREFIX == len(data):
                return data[PREFIX:]
        except struct.error:
            if not data:
                return None
        return _rest(data, recv)

    return send if writes == 1 else send_in_two, receive


def caller(connection: socket.socket, options: Options) -> Callable[[bytes], bytes]:
    """Return a function that sends a request and returns its reply; the common case is inlined, see ``stream``."""
    send, _ = stream(connection, options.client_nodelay, options.writes)
    sendall, recv, in_one = connection.sendall, connection.recv, options.writes == 1

    def call(payload: bytes) -> bytes:
        if in_one:
            sendall(pack(len(payload)) + payload)
        else:
            send(payload)
        data = recv(65536)
        try:
            if unpack(data)[0] + PREFIX == len(data):
                return data[PREFIX:]
        except struct.error:
            if not data:
                raise TransportError("the server closed the connection instead of answering", "read") from None
        return _rest(data, recv)

    return call


def messages(connection: socket.socket, came: bytes = b"") -> Iterator[bytes]:
    """Yield the messages that come, several of which may come at once; end when the other side has closed.

    ``came``: what has been received already.
    """
    buffer = _messages.Buffer(came)
    while True:
        while (message := buffer.take()) is not None:
            yield message
        data = connection.recv(65536)
        if not data:
            return
        buffer.add(data)


class SeveralError(TransportError):
    """More came than one message; ``data`` is all that came."""

    def __init__(self, data: bytes) -> None:
        super().__init__("more bytes came than one message holds: the peer does not speak this protocol")
        self.data = data


def _rest(data: bytes, recv: Callable[[int], bytes]) -> bytes:
    """Receive the rest of a message that did not arrive in one piece."""
    while len(data) < PREFIX:
        data += _more(65536, recv)
    chunks, missing = [data], unpack(data)[0] + PREFIX - len(data)
    if missing > _wire.MOST_BYTES:
        text = f"a message is larger than {_wire.MOST_BYTES:,} bytes: the peer does not speak this protocol"
        raise TransportError(_tls.plain_text(data) or text, "connect")
    while missing > 0:
        chunks.append(_more(missing, recv))
        missing -= len(chunks[-1])
    if missing < 0:
        raise SeveralError(data)
    return b"".join(chunks)[PREFIX:]


def _more(size: int, recv: Callable[[int], bytes]) -> bytes:
    data = recv(min(size, 1 << 20))
    if not data:
        raise TransportError("the connection was closed in the middle of a message", "read")
    return data


def _answer_all(connection: socket.socket, options: Options, answer: Callable[[bytes], bytes]) -> None:
    """Serve one connection until its client leaves."""
    send, receive = stream(connection, options.server_nodelay, options.writes)
    sendall, in_one = connection.sendall, options.writes == 1
    try:
        while (payload := receive()) is not None:
            reply = answer(payload)
            if in_one:
                sendall(pack(len(reply)) + reply)
            else:
                send(reply)
    except SeveralError as several:  # this client sends requests before it has its replies
        _answer_in_order(connection, several.data, send, answer)
    except (OSError, TransportError):
        pass  # the client disconnected, or does not speak this protocol
    finally:
        connection.close()


def _stream_all(connection: socket.socket, options: Options, replies: Callable[[bytes], Iterable[bytes]]) -> None:
    """Answer each request of one connection with a stream of replies, until its client leaves.

    A message without content ends a stream. Sending waits while the client does not read.
    """
    send, receive = stream(connection, options.server_nodelay, options.writes)
    with connection, contextlib.suppress(OSError, TransportError):  # the client disconnected, or broke the protocol
        while (payload := receive()) is not None:
            for reply in replies(payload):
                send(reply)
            send(END)


def _answer_in_order(connection: socket.socket, came: bytes, send: Send, answer: Callable[[bytes], bytes]) -> None:
    """Serve a connection whose requests come before the replies to earlier ones have left; ``came``: the first."""
    with contextlib.suppress(OSError):
        for payload in messages(connection, came):
            send(answer(payload))


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Accept connections and answer each in a thread of its own."""
    listener, address = _connections.bound(binding, options.tls, backlog=1024)
    service.announce(address)
    if service.is_streaming:
        _connections.serve(listener, lambda connection: _stream_all(connection, options, service.replies))
    _connections.serve(listener, lambda connection: _answer_all(connection, options, service.answer))


class Client(_client.SocketClient):
    """One connection to the server; a call is a closure, see ``stream``."""

    def connect(self) -> None:
        options = self.options
        self.connection = _connections.connect(self.server, False, options.tls, options.tls_session)
        self._call = caller(self.connection, options)
        self._messages: Iterator[bytes] | None = None

    @property
    def call(self) -> Callable[[bytes], bytes]:  # type: ignore[override]  # the base class sets it, this one makes it
        """Send one request and return its reply (a closure, see ``stream``; a subclass may have a method instead)."""
        return self._call

    def stream(self, payload: bytes) -> Iterator[bytes]:
        """Send one request and yield its replies, until a message without content."""
        if self._messages is None:
            self._messages = messages(self.connection)
        stream(self.connection, self.options.client_nodelay, self.options.writes)[0](payload)
        for reply in self._messages:
            if not reply:
                return
            yield reply
        raise TransportError("the server closed the connection before its stream had ended", "read")


StreamClient = Client


class Wire(_wire.Wire):
    """Requests and responses as bytes; without TLS it has no state, so connections could share an instance."""

    has_streams = True

    def request(self, payload: bytes) -> bytes:
        return pack(len(payload)) + payload

    def size(self, buffer: bytes | bytearray, length: int) -> int:
        return PREFIX + unpack(buffer)[0] if length >= PREFIX else 0

    def body(self, response: bytes, payload: bytes) -> bytes:
        return response[PREFIX:]


MultiplexedWire = Wire  # responses come in order


class Multiplexed(_client.Client):
    """One connection on which requests leave before earlier ones are answered (pipelining); replies come in order."""

    def connect(self) -> None:
        self._under_way: deque[int] = deque()
        self._came = _messages.Buffer()
        self.connection = _connections.connect(self.server, self.options.client_nodelay)
        self.connection.setblocking(False)

    def send(self, number: int, payload: bytes) -> None:
        self._under_way.append(number)
        rest = memoryview(pack(len(payload)) + payload)
        while rest:
            try:
                rest = rest[self.connection.send(rest) :]
            except BlockingIOError:
                self._wait_for_room()

    def _wait_for_room(self) -> None:
        """Wait until more can be sent; take in replies meanwhile, or both sides would wait for each other."""
        if select.select([self.connection], [self.connection], [])[0]:
            self._take_in()

    def receive(self) -> tuple[int, bytes]:
        """Return the number of the oldest call under way, and its reply, waiting for it."""
        while (reply := self._came.take()) is None:
            select.select([self.connection], [], [])
            self._take_in()
        return self._under_way.popleft(), reply

    def _take_in(self) -> None:
        """Read what has come; TransportError at the end of the connection."""
        try:
            data = self.connection.recv(1 << 18)
        except BlockingIOError:
            return
        if not data:
            raise TransportError("the server closed the connection instead of answering", "read")
        self._came.add(data)
