"""Raw sockets: length-prefixed messages over a blocking stream; the baseline for every other system."""

import contextlib
import select
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from bench.contract import Binding, Service, parse_address
from bench.errors import TransportError
from bench.replies import END
from bench.systems import _connections, _messages, _tls

TRANSPORTS = ("ipc", "tcp")
REQUIRES = ()

Send = Callable[[bytes], None]
Receive = Callable[[], bytes | None]

PREFIX = 4
MOST_BYTES = 256_000_000  # of one response, where they are gathered unseen
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
        try:
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
        except OSError as reason:
            raise TransportError(f"the call failed: {reason}{_tls.hint(options.tls, reason)}", "read") from reason

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
    if missing > MOST_BYTES:
        text = f"a message is larger than {MOST_BYTES:,} bytes: the peer does not speak this protocol"
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
    work: Any = (_stream_all, service.replies) if service.is_streaming else (_answer_all, service.answer)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=work[0], args=(connection, options, work[1]), daemon=True).start()


class Client:
    """One connection to the server."""

    def __init__(self, address: str, options: Options) -> None:
        self._address = parse_address(address)
        self._options = options

    def open(self) -> None:
        """Connect."""
        options = self._options
        self._connection = _connections.connect(self._address, False, options.tls, options.tls_session)
        self._call = caller(self._connection, self._options)
        self._messages: Iterator[bytes] | None = None

    @property
    def call(self) -> Callable[[bytes], bytes]:
        """Send one request and return its reply (a closure, see ``stream``)."""
        return self._call

    @property
    def resumed(self) -> bool | None:
        """Whether the connection resumed a TLS session; None without TLS."""
        return _tls.was_resumed(self._connection)

    def stream(self, payload: bytes) -> Iterator[bytes]:
        """Send one request and yield its replies, until a message without content."""
        if self._messages is None:
            self._messages = messages(self._connection)
        try:
            stream(self._connection, self._options.client_nodelay, self._options.writes)[0](payload)
            while reply := next(self._messages):
                yield reply
        except StopIteration:
            raise TransportError("the server closed the connection in the middle of a stream", "read") from None
        except OSError as reason:
            raise TransportError(f"the stream failed: {reason}", "read") from reason

    def close(self) -> None:
        """Disconnect."""
        if self._options.tls:
            _tls.keep_session(self._connection, self._address)
        self._connection.close()


StreamClient = Client


class Wire:
    """Requests and responses as bytes; without TLS it has no state, so connections could share an instance."""

    last = False
    has_streams = True

    def __init__(self, address: str, options: Options) -> None:
        if options.writes != 1:
            raise ValueError("the engine wire sends each request in one write: give writes 1")
        self._where, self._options = parse_address(address), options
        self.tls = _tls.Layer(self._where, options.tls_session) if options.tls else None

    def connect(self) -> socket.socket:
        """Return a connection to the server; TransportError where that is not possible."""
        return _connections.connect(self._where, self._options.client_nodelay)

    def request(self, payload: bytes) -> bytes:
        """Return a request: its length, the payload."""
        return pack(len(payload)) + payload

    def end(self, buffer: bytes | bytearray, length: int) -> int:
        """Return how many bytes the first response takes, 0 if it is incomplete; TransportError if too large."""
        if length < PREFIX:
            return 0
        stop = PREFIX + unpack(buffer)[0]
        if stop > MOST_BYTES:
            raise TransportError(
                f"a response is larger than {MOST_BYTES:,} bytes: the peer does not speak this protocol"
            )
        return stop if stop <= length else 0

    def body(self, response: bytes, payload: bytes) -> bytes:
        """Return the payload in a whole response."""
        return response[PREFIX:]


class MultiplexedWire(Wire):
    """Requests that leave before earlier ones are answered; responses come in order."""

    def __init__(self, address: str, options: Options) -> None:
        if options.tls:
            raise ValueError("an encrypted connection carries one call at a time here: give tls false")
        super().__init__(address, options)


class Multiplexed:
    """One connection on which requests leave before earlier ones are answered (pipelining); replies come in order."""

    def __init__(self, address: str, options: Options) -> None:
        if options.writes != 1:
            raise ValueError("several calls under way on one connection leave in one write each: give writes 1")
        if options.tls:
            raise ValueError("an encrypted connection carries one call at a time here: give tls false")
        self._where, self._options = parse_address(address), options
        self._under_way: deque[int] = deque()
        self._came = _messages.Buffer()

    def open(self) -> None:
        """Connect."""
        self._connection = _connections.connect(self._where, self._options.client_nodelay)
        self._connection.setblocking(False)

    def send(self, number: int, payload: bytes) -> None:
        """Send one request."""
        self._under_way.append(number)
        rest = memoryview(pack(len(payload)) + payload)
        while rest:
            try:
                rest = rest[self._connection.send(rest) :]
            except BlockingIOError:
                self._wait_for_room()
            except OSError as reason:
                raise TransportError(f"the call failed: {reason}", "read") from reason

    def _wait_for_room(self) -> None:
        """Wait until more can be sent; take in replies meanwhile, or both sides would wait for each other."""
        if select.select([self._connection], [self._connection], [])[0]:
            self._take_in()

    def receive(self) -> tuple[int, bytes]:
        """Return the number of the oldest call under way, and its reply, waiting for it."""
        while (reply := self._came.take()) is None:
            select.select([self._connection], [], [])
            self._take_in()
        return self._under_way.popleft(), reply

    def _take_in(self) -> None:
        """Read what has come; TransportError at the end of the connection."""
        try:
            data = self._connection.recv(1 << 18)
        except BlockingIOError:
            return
        except OSError as reason:
            raise TransportError(f"the call failed: {reason}", "read") from reason
        if not data:
            raise TransportError("the server closed the connection instead of answering", "read")
        self._came.add(data)

    def close(self) -> None:
        """Disconnect."""
        self._connection.close()
