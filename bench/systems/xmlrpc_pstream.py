"""XML-RPC packet stream: the same XML between delimiters on a bare connection, without HTTP, in Python.

Framing as Xmlrpc-c defines it: the byte ESC (0x1B) begins a control word of four bytes, which opens a packet (PKT),
ends it (END), stands for the byte ESC in it (ESC), or means nothing (NOP). Stricter here: no packet opens in another.
"""

import contextlib
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.systems import _client, _connections, _wire, _xmlrpc

TRANSPORTS = ("ipc", "tcp")
START_S = 0.12
REQUIRES = ()
FOR_WIRE = {"writes": 1}

MOST_BYTES = 256_000_000  # of one packet
READ_BYTES = 1 << 16

ESC = b"\x1b"
OPEN, END, LITERAL = b"\x1bPKT", b"\x1bEND", b"\x1bESC"
WORDS = (b"PKT", b"END", b"ESC", b"NOP")


@dataclass(frozen=True)
class Options:
    """How packets are handed to the kernel.

    client_nodelay, server_nodelay: set TCP_NODELAY there, so that Nagle's algorithm does not
    delay small writes; not on ipc.
    writes: 1 sends a packet in one write, 2 its last control word in one of its own, 3 both, as Xmlrpc-c does.
    """

    client_nodelay: bool = True
    server_nodelay: bool = True
    writes: Literal[1, 2, 3] = 1


def pack(document: bytes) -> bytes:
    """Return a document as a packet, delimiters included."""
    return b"".join(_parts(document))


def _parts(document: bytes) -> tuple[bytes, bytes, bytes]:
    return OPEN, document.replace(ESC, LITERAL), END


class Unpacker:
    """Decoder of packets from a byte stream; ``feed`` raises TransportError for malformed input."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._tail = b""  # ESC and up to two bytes: an incomplete control word
        self._packet = bytearray()
        self._inside = False

    @property
    def between(self) -> bool:
        """Whether the stream may end here."""
        return not self._inside and not self._tail

    def feed(self, data: bytes) -> list[bytes]:
        """Process the next bytes of the stream; return the packets that they complete, often none or one."""
        if (
            self.between
            and data[:4] == OPEN
            and data[-4:] == END
            and data.count(ESC) == 2
            and self._fits(len(data) - 8)
        ):
            return [data[4:-4]]  # the usual case: one whole packet, and nothing to replace
        packets: list[bytes] = []
        bytes_first, *parts = (self._tail + data).split(ESC)
        self._tail = b""
        self._add(bytes_first)
        for number, part in enumerate(parts, 1):
            if len(part) < 3 and number == len(parts) and any(word.startswith(part) for word in WORDS):
                self._tail = ESC + part
            else:
                self._obey(part[:3], packets)
                self._add(part[3:])
        return packets

    def _obey(self, word: bytes, packets: list[bytes]) -> None:
        if word == b"PKT" and not self._inside:
            self._inside = True
        elif word == b"END" and self._inside:
            packets.append(bytes(self._packet))
            self._packet, self._inside = bytearray(), False
        elif word == b"ESC" and self._inside:
            self._add(ESC)
        elif word != b"NOP":
            raise TransportError(f"malformed packet stream: the control word {word!r} cannot stand there")

    def _add(self, data: bytes) -> None:
        """Append to the packet; only control words may stand between packets."""
        if not data:
            return
        if not self._inside:
            raise TransportError(f"malformed packet stream: {data[:8]!r} stands outside packets")
        self._fits(len(self._packet) + len(data))
        self._packet += data

    def _fits(self, size: int) -> bool:
        if size > self._most_bytes:
            raise TransportError(f"a packet is larger than {self._most_bytes:,} bytes")
        return True


def sender(connection: socket.socket, nodelay: bool, writes: int) -> Callable[[bytes], None]:
    """Return a function that sends a document as a packet in the given number of writes."""
    if connection.family != socket.AF_UNIX:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, nodelay)
    sendall = connection.sendall

    def send(document: bytes) -> None:
        sendall(pack(document))

    def send_in_parts(document: bytes) -> None:
        opening, content, end = _parts(document)
        for part in (opening + content, end) if writes == 2 else (opening, content, end):
            sendall(part)

    return send if writes == 1 else send_in_parts


def _answer_all(connection: socket.socket, options: Options, answer: Callable[[bytes], bytes]) -> None:
    """Serve one connection until its client leaves, or sends malformed data."""
    unpacker, send = Unpacker(), sender(connection, options.server_nodelay, options.writes)
    with connection, contextlib.suppress(OSError, TransportError):
        while data := connection.recv(READ_BYTES):
            for document in unpacker.feed(data):
                send(_xmlrpc.response(document, answer))


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Accept connections and answer each in a thread of its own."""
    listener, address = _connections.bound(binding)
    service.announce(address)
    _connections.serve(listener, lambda connection: _answer_all(connection, options, service.answer))


class Client(_client.Client):
    """One connection to the server."""

    def connect(self) -> None:
        self._unpacker = Unpacker()
        self.connection = _connections.connect(self.server)
        self._send = sender(self.connection, self.options.client_nodelay, self.options.writes)

    def call(self, payload: bytes) -> bytes:
        self._send(_xmlrpc.request(payload))
        return _xmlrpc.result(self._receive())

    def failed(self, reason: BaseException) -> TransportError:
        return _xmlrpc.failed(reason)

    def _receive(self) -> bytes:
        """Return the next packet."""
        packets: list[bytes] = []
        while not packets:
            data = self.connection.recv(READ_BYTES)
            if not data:
                raise TransportError("the server closed the connection instead of answering", "read")
            packets = self._unpacker.feed(data)
        if len(packets) > 1 or not self._unpacker.between:
            raise TransportError("more came than one reply: the server answers what was not asked")
        return packets[0]


class Wire(_wire.Wire):
    """Calls and their replies as packets; one instance for each connection: it keeps its position."""

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address, options)
        self._begin()

    def _begin(self) -> None:
        self._unpacker, self._seen = Unpacker(), 0

    def request(self, payload: bytes) -> bytes:
        return pack(_xmlrpc.request(payload))

    def end(self, buffer: bytes | bytearray, length: int) -> int:
        """Return how many bytes the first packet takes, 0 if it is incomplete; TransportError if it is malformed."""
        begin = buffer.find(END, max(0, self._seen - 3), length)
        stop = length if begin < 0 else begin + len(END)
        packets = self._unpacker.feed(bytes(buffer[self._seen : stop]))
        self._seen = stop
        if not packets:
            return 0
        self._begin()
        return stop

    def body(self, response: bytes, payload: bytes) -> bytes:
        (document,) = Unpacker().feed(response)
        return _xmlrpc.result(document)
