"""HTTP/2 as bytes, from the side of a client; for systems with a ``Wire``.

Frames are made and read here, header blocks by the library hpack. A response is read frame by frame; one whose frames
are, but for the stream's number, those of an earlier response that was found right is recognized by comparing bytes.
Stricter than many parsers, because a benchmark needs no tolerance: what is malformed, too large or on a stream on which
nothing is awaited is an error. Source: RFC 9113 (frames, settings, flow control), RFC 7541 (header blocks).
"""

import socket
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

from bench.contract import parse_address
from bench.errors import NotInstalledError, TransportError, UnprocessedError
from bench.systems import _connections

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
TABLE_SIZE, ENABLE_PUSH, MAX_STREAMS, INITIAL_WINDOW, MAX_FRAME, MAX_HEADERS = 1, 2, 3, 4, 5, 6  # settings

HEAD = 9  # bytes of a frame's header
WINDOW = 65_535  # of a connection and of a stream, until the peer says otherwise
MOST_WINDOW = 2**31 - 1
FRAME = 16_384  # bytes of the largest frame that we accept: the protocol's default
MOST_HEAD = 1 << 16  # bytes of a response's header fields
MOST_KNOWN = 1 << 14  # bytes of a response that is recognized as a whole
MOST_CANCELLED = 1000  # streams, the latest, of which something may still come
MOST_OUTGOING = 1 << 20  # bytes of acknowledgements that a peer may cause while it does not read

CANCEL = 8
ERRORS = [
    "NO_ERROR",
    "PROTOCOL_ERROR",
    "INTERNAL_ERROR",
    "FLOW_CONTROL_ERROR",
    "SETTINGS_TIMEOUT",
    "STREAM_CLOSED",
    "FRAME_SIZE_ERROR",
    "REFUSED_STREAM",
    "CANCEL",
    "COMPRESSION_ERROR",
    "CONNECT_ERROR",
    "ENHANCE_YOUR_CALM",
    "INADEQUATE_SECURITY",
    "HTTP_1_1_REQUIRED",
]

Fields = list[tuple[bytes, bytes]]
Asked = Sequence[tuple[str, str] | tuple[str, str, bool]]  # of requests; True: not for the table that blocks refer to

_head, _word, _setting = struct.Struct("!HBBBI"), struct.Struct("!I"), struct.Struct("!HI")


def frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    """Return a frame."""
    return _prefix(kind, flags, len(content)) + _word.pack(stream) + content


def _prefix(kind: int, flags: int, size: int) -> bytes:
    """Return what precedes the stream's number in a frame."""
    return _word.pack(size)[1:] + bytes((kind, flags))


def settings(values: dict[int, int]) -> bytes:
    """Return a frame of settings."""
    return frame(SETTINGS, 0, 0, b"".join(_setting.pack(*pair) for pair in values.items()))


def error_name(code: int) -> str:
    """Return the protocol's name of an error code."""
    return ERRORS[code] if code < len(ERRORS) else f"error {code}"


# Whatever the server may send without updates: the windows are as large as the protocol allows.
OURS = {ENABLE_PUSH: 0, INITIAL_WINDOW: MOST_WINDOW, MAX_HEADERS: MOST_HEAD}
OPENING = PREFACE + settings(OURS) + frame(WINDOW_UPDATE, 0, 0, _word.pack(MOST_WINDOW - WINDOW))


class Response(NamedTuple):
    """A whole response: its header fields, its body, its trailer fields (those of the head where it has no body)."""

    fields: Fields
    body: bytes
    trailers: Fields


class Known(NamedTuple):
    """A response that was found right. parts: its bytes without the stream's numbers; size: those of its body."""

    parts: list[bytes]
    size: int


# A call, as ``begin`` has it; its complete response, or True for one that is known; and what a later one is recognized
# by: the response, and how often the table of header fields had changed. None: its bytes may mean something else later.
Found = tuple[Any, Response | bool, tuple[int, Known] | None]


class Stream:
    """A request under way, and what has come of its response.

    room: bytes of the body that its window still allows. parts: what came on it, without its number. is_alike: whether
    a response of the same bytes means the same. expected: the bytes of the known response, b"" once others have come.
    is_new: whether nothing has come; only then are there no ``body``, ``heads`` (blocks of header fields) and parts.
    """

    unsent = memoryview(b"")
    size = 0  # of the body of the known response
    is_alike = True
    body: bytearray
    heads: list[Fields]
    parts: list[bytes]

    def __init__(self, number: int, call: Any, room: int) -> None:
        self.number, self.call, self.room = number, call, room
        self.expected = b""
        self.is_new = True

    def receive(self) -> None:
        """Expect a response in frames: nothing of it has come."""
        self.expected, self.is_new = b"", False
        self.body, self.heads, self.parts = bytearray(), [], [b""]

    @property
    def fields(self) -> Fields:
        """The header fields of the response, [] before they have come."""
        return self.heads[0] if not self.is_new and self.heads else []

    @property
    def headers(self) -> dict[str, str]:
        """The same as text, by their names."""
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self.fields}

    @property
    def status(self) -> int:
        """The status of the response, 0 before it has come."""
        text = self.headers.get(":status", "0")
        return int(text) if text.isdecimal() else 0

    def taken(self) -> bytes:
        """Return what has come of the body since the last time."""
        part = b"" if self.is_new else bytes(self.body)
        if part:
            self.body.clear()
        return part


class Conversation:
    """The state of a connection on which requests are made, each on a stream of its own, all with the same fields.

    last: whether the server takes no more requests on this connection.
    outgoing: bytes that have to be sent beside requests; the caller empties it.
    """

    def __init__(self, fields: Asked, most_body: int) -> None:
        try:
            import hpack
        except ImportError as missing:
            raise NotInstalledError("HTTP/2 needs hpack; install it: python -m pip install hpack") from missing
        self._hpack = hpack
        self._fields, self._most_body = fields, most_body
        self.start()

    def start(self) -> None:
        """Begin a connection."""
        self.last = False
        self.outgoing = bytearray()
        self._opening = OPENING
        self._rest = b""
        self._streams: dict[int, Stream] = {}  # under way, by their numbers
        self._cancelled: dict[int, Stream] = {}
        self._newest = -1  # number of the stream begun last; odd ones are the client's
        self._most_open = MOST_WINDOW
        self._encoder, self._decoder = self._hpack.Encoder(), self._hpack.Decoder(MOST_HEAD)
        self._blocks: dict[int, list[bytes]] = {}  # header blocks that are made, by the requests' kinds
        self._kind = 0  # of the requests with these fields
        self._room, self._peer_window, self._peer_frame = WINDOW, WINDOW, FRAME
        self._most_outgoing = MOST_OUTGOING  # and what is left of the requests
        self._taken = 0  # bytes of bodies received since the last window update
        self._known: dict[int, Known] = {}
        self._changes = 0  # of the table that header blocks refer to
        self._recent: tuple[int, Known] | None = None
        self._is_settled = False
        self._fragments: list[bytes] = []  # of a header block that is not complete
        self._block_of, self._is_end = 0, False  # its stream, and whether the response ends with it

    # Requests

    def begin(self, index: int, body: bytes, number: Any = 0) -> bytes:
        """Return what begins a request with this body, as far as the windows allow; ``outgoing`` gets the rest.

        place: a number of the body; the response to it is recognized if it is one that was ``known``. number: of the
        call. TransportError if the server takes no more requests on this connection, or not so many at once.
        """
        if self.last:
            raise TransportError("the server takes no more requests on this connection", "GOAWAY")
        if len(self._streams) >= self._most_open:
            text = f"the server takes {self._most_open:,} calls at once on a connection: give outstanding no more"
            raise TransportError(text, "REFUSED_STREAM")
        head = self._blocks.get(self._kind) or self._encode(not body)
        self._newest += 2
        stream = self._streams[self._newest] = Stream(self._newest, number, self._peer_window)
        number_bytes, size = _word.pack(self._newest), len(body)
        opening, self._opening = self._opening, b""
        if opening:  # what acknowledges the settings of a server that sent them first follows the preface
            opening += bytes(self.outgoing)
            self.outgoing.clear()
        if size <= self._room and size <= stream.room and size <= self._peer_frame:
            if response := self._known.get(index):
                stream.expected, stream.size = number_bytes.join(response.parts), response.size
            if not size:
                return opening + number_bytes.join(head)
            self._room -= size
            stream.room -= size
            return opening + number_bytes.join((*head[:-1], head[-1] + _prefix(DATA, END_STREAM, size), body))
        stream.unsent = memoryview(body)
        self._most_outgoing = max(self._most_outgoing, MOST_OUTGOING + len(self._streams) * size)
        return opening + number_bytes.join(head) + self._more(stream)

    def _encode(self, is_whole: bool) -> list[bytes]:
        """Return the frames of a header block, between which the stream's number stands; is_whole: without a body.

        They are kept if the block is the same again: all that it refers to is in the table, which it has not changed.
        """
        before = _table(self._encoder)
        block, frames, max_bytes = self._encoder.encode(self._fields), [b""], self._peer_frame
        for at in range(0, len(block), max_bytes):
            flags = END_HEADERS * (at + max_bytes >= len(block)) | END_STREAM * (is_whole and not at)
            frames[-1] += _prefix(CONTINUATION if at else HEADERS, flags, len(block[at : at + max_bytes]))
            frames.append(block[at : at + max_bytes])
        if _table(self._encoder) == before:
            self._blocks[self._kind] = frames
        else:
            self._blocks.clear()
        return frames

    def _more(self, stream: Stream) -> bytes:
        """Return as much of a request's body as the windows allow."""
        frames = []
        while (left := len(stream.unsent)) and (size := min(self._room, stream.room, self._peer_frame, left)) > 0:
            frames.append(frame(DATA, END_STREAM if size == left else 0, stream.number, bytes(stream.unsent[:size])))
            stream.unsent = stream.unsent[size:]
            self._room -= size
            stream.room -= size
        return b"".join(frames)

    def _send_on(self) -> None:
        """Send what waited for room, in the order of the streams."""
        for stream in self._streams.values():
            if stream.unsent:
                self.outgoing += self._more(stream)

    # Responses

    def receive(self, data: bytes) -> Response | bool | None:
        """Do what ``receive_all`` does, where one request is under way; return its response, None if not complete."""
        if not (answered := self.receive_all(data)):
            return None
        _, response, self._recent = answered[0]
        return response

    def known(self, index: int) -> None:
        """Recognize the response that ``receive`` returned last, found right by the caller, if it comes again."""
        self.recognize(index, self._recent)

    def receive_all(self, data: bytes) -> list[Found]:
        """Take in what has come; return the responses that are complete, in the order of their ends.

        TransportError for anything but what may come: the connection is of no more use.
        """
        answered: list[Found] = []
        buffer, at = self._rest + data if self._rest else data, 0
        end = len(buffer)
        while end - at >= HEAD:
            high, low, kind, flags, number = _head.unpack_from(buffer, at)
            number &= MOST_WINDOW  # the first bit means nothing
            stream = self._streams.get(number)
            if stream and stream.expected and not self._fragments and buffer.startswith(stream.expected, at):
                at += len(stream.expected)
                self._take(stream.size)
                answered.append((self._end(stream), True, None))
                continue
            size = high << 8 | low
            if size > FRAME or not (self._is_settled or kind == SETTINGS):
                raise TransportError(self._no_frame(buffer, at, size))
            if at + HEAD + size > end:
                break
            content = buffer[at + HEAD : at + HEAD + size]
            if stream:
                self._keep(stream, buffer[at : at + 5], content)
            at += HEAD + size
            if self._handle(kind, flags, number, content) and stream:
                response = self._complete(stream)
                is_alike = stream.is_alike and len(stream.parts) > 1
                recognized = (self._changes, Known(stream.parts, len(stream.body))) if is_alike else None
                answered.append((self._end(stream), response, recognized))
        self._rest = buffer[at:]
        if len(self.outgoing) > self._most_outgoing:
            raise TransportError(
                f"more than {MOST_OUTGOING:,} bytes of acknowledgements wait for a peer that does not read"
            )
        return answered

    def recognize(self, index: int, known: tuple[int, Known] | None) -> None:
        """Recognize a response, found right by the caller, if it comes again to this body and means the same."""
        if known and known[0] == self._changes:
            self._known[index] = known[1]

    def _end(self, stream: Stream) -> Any:
        """Forget a stream, whose request may not be sent to its end; return its call."""
        if stream.unsent:
            self.outgoing += frame(RST_STREAM, 0, stream.number, _word.pack(CANCEL))
        del self._streams[stream.number]
        return stream.call

    @staticmethod
    def _no_frame(buffer: bytes, at: int, size: int) -> str:
        if buffer[at : at + 5] == b"HTTP/" or buffer[at : at + 1] == b"<":
            return f"this is no HTTP/2 frame, the server speaks HTTP/1.1: {buffer[at : at + 40]!r}"
        if size > FRAME:
            return f"this is no HTTP/2 frame, or one of {size:,} bytes (at most {FRAME:,}): {buffer[at : at + 40]!r}"
        return f"the server does not begin with its settings: {buffer[at : at + 40]!r}"

    def _keep(self, stream: Stream, prefix: bytes, content: bytes) -> None:
        """Remember a frame of the response, from which a later one is recognized."""
        if stream.is_new:
            stream.receive()
        if len(stream.body) + len(content) <= MOST_KNOWN:
            stream.parts[-1] += prefix
            stream.parts.append(content)
        else:
            stream.is_alike = False

    def _handle(self, kind: int, flags: int, number: int, content: bytes) -> bool:
        """Take in a frame; return whether it is the last of a response."""
        if self._fragments and (kind != CONTINUATION or number != self._block_of):
            raise TransportError("a header block is interrupted by another frame")
        if kind == WINDOW_UPDATE:
            self._widen(number, _exactly(content, 4, "WINDOW_UPDATE"))
        elif kind == PING:
            _exactly(content, 8, "PING")
            if not flags & ACK:
                self.outgoing += frame(PING, ACK, 0, content)
        elif kind in (DATA, HEADERS, CONTINUATION, RST_STREAM):
            return self._of_stream(kind, flags, number, content)
        elif kind == SETTINGS:
            self._settle(flags, content)
        elif kind == GOAWAY:
            self._leave(content)
        elif kind == PUSH_PROMISE:
            raise TransportError("the server pushes, which this client has switched off")
        return False  # other kinds are to be ignored

    def _widen(self, number: int, content: bytes) -> None:
        """Enlarge a window, and send what waited for that."""
        more = _word.unpack(content)[0] & MOST_WINDOW
        if not more:
            raise TransportError("WINDOW_UPDATE by nothing")
        if number == 0:
            self._room += more
            self._check_window(self._room)
            self._send_on()
        elif stream := self._streams.get(number):
            stream.room += more
            self._check_window(stream.room)
            self.outgoing += self._more(stream)
        elif number > self._newest:
            raise TransportError(f"WINDOW_UPDATE names stream {number}, which is not open")

    @staticmethod
    def _check_window(room: int) -> None:
        if room > MOST_WINDOW:
            raise TransportError("the server's window is larger than the protocol allows")

    def _settle(self, flags: int, content: bytes) -> None:
        """Take over the server's settings, and acknowledge them."""
        if flags & ACK:
            _exactly(content, 0, "SETTINGS of acknowledgement")
            return
        if len(content) % _setting.size:
            raise TransportError(f"SETTINGS of {len(content)} bytes, which is no multiple of {_setting.size}")
        for number, value in _setting.iter_unpack(content):
            if number == TABLE_SIZE and value < self._encoder.header_table_size:
                self._encoder.header_table_size = value
                self._blocks.clear()
            elif number == MAX_STREAMS:
                self._most_open = value
            elif number == INITIAL_WINDOW:
                self._check_window(value)
                for stream in self._streams.values():
                    stream.room += value - self._peer_window
                    self._check_window(stream.room)
                self._peer_window = value
            elif number == MAX_FRAME:
                if not FRAME <= value < 1 << 24:
                    raise TransportError(f"the server accepts frames of {value:,} bytes, which the protocol forbids")
                self._peer_frame = value
                self._blocks.clear()
        self._is_settled = True
        self.outgoing += frame(SETTINGS, ACK, 0)
        self._send_on()

    def _leave(self, content: bytes) -> None:
        """Note that the server takes no more requests; TransportError if it does not answer one under way."""
        if len(content) < 8:
            raise TransportError(f"GOAWAY of {len(content)} bytes, but it has 8 at least")
        last, code = struct.unpack_from("!II", content)
        self.last = True
        text = f"the server ended the connection with GOAWAY {error_name(code)}{_words(content[8:])}"
        if code and self._streams:
            raise TransportError(text, f"GOAWAY {error_name(code)}")
        for stream in [each for number, each in self._streams.items() if number > last & MOST_WINDOW]:
            self._lose(stream, UnprocessedError(text, f"GOAWAY {error_name(code)}"))

    def _lose(self, stream: Stream, error: TransportError) -> None:
        """Take in that a request gets no response."""
        raise error

    def _of_stream(self, kind: int, flags: int, number: int, content: bytes) -> bool:
        """Take in a frame of a stream; return whether it is the last of the response."""
        stream = self._streams.get(number)
        if kind == RST_STREAM:
            code = _word.unpack(_exactly(content, 4, "RST_STREAM"))[0]
            if stream:
                text = f"the server reset the request's stream with RST_STREAM {error_name(code)}"
                self._lose(stream, TransportError(text, f"RST_STREAM {error_name(code)}"))
                return False
            if 0 < number <= self._newest and number % 2:
                return False  # of a request that has been answered
        if number in self._cancelled:
            stream = self._cancelled[number]
            stream.body.clear()
        if not stream:
            raise TransportError(f"a frame came on stream {number}, on which nothing is awaited")
        if kind == DATA:
            return self._add(stream, flags, content)
        if kind == HEADERS:
            if len(stream.heads) > 1:
                raise TransportError("header fields came after the trailer fields")
            content = _unpadded(flags, content)
            if flags & PRIORITY:
                content = content[5:]
            self._fragments, self._block_of, self._is_end = [b""], number, bool(flags & END_STREAM)
        elif not self._fragments:
            raise TransportError("CONTINUATION of no header block")
        self._fragments.append(content)
        if sum(map(len, self._fragments)) > MOST_HEAD:
            raise TransportError(f"the header fields of a response are larger than {MOST_HEAD:,} bytes")
        if not flags & END_HEADERS:
            return False
        block, self._fragments = b"".join(self._fragments), []
        return self._add_fields(stream, self._decode(block))

    def _decode(self, block: bytes) -> Fields:
        """Return the header fields of a block; note whether it changed the table that later blocks refer to."""
        before = _table(self._decoder)
        try:
            fields = [(bytes(name), bytes(value)) for name, value in self._decoder.decode(block, raw=True)]
        except self._hpack.HPACKError as reason:
            raise TransportError(f"malformed header block: {type(reason).__name__}: {reason}") from reason
        if _table(self._decoder) != before:
            self._changes += 1
            self._known.clear()  # their bytes may mean something else by now
            for stream in self._streams.values():
                stream.is_alike, stream.expected = False, b""
        return fields

    def _add_fields(self, stream: Stream, fields: Fields) -> bool:
        is_interim = not stream.heads and dict(fields).get(b":status", b"").startswith(b"1")
        if is_interim and not self._is_end:
            return False
        if stream.heads and not self._is_end:
            raise TransportError("header fields came twice, and the second time did not end the response")
        stream.heads.append(fields)
        return self._is_end

    def _add(self, stream: Stream, flags: int, content: bytes) -> bool:
        if not stream.heads:
            raise TransportError("a body came before the header fields")
        self._take(len(content))
        stream.is_alike = stream.is_alike and not flags & PADDED
        stream.body += _unpadded(flags, content)
        if len(stream.body) > self._most_body:
            raise TransportError(f"a response is larger than {self._most_body:,} bytes", "RESOURCE_EXHAUSTED")
        return bool(flags & END_STREAM)

    def _take(self, size: int) -> None:
        """Count received bytes, and let the server send as many more when they are half of the window."""
        self._taken += size
        if self._taken > MOST_WINDOW // 2:
            self.outgoing += frame(WINDOW_UPDATE, 0, 0, _word.pack(self._taken))
            self._taken = 0

    @staticmethod
    def _complete(stream: Stream) -> Response:
        return Response(stream.heads[0], bytes(stream.body), stream.heads[-1])


class Wire(Conversation):
    """Requests on a connection to an address, encrypted by a layer ``tls`` if there is one."""

    def __init__(self, address: str, fields: Asked, most_body: int, tls: Any = None) -> None:
        self.server, self.tls = parse_address(address), tls
        super().__init__(fields, most_body)

    def connect(self) -> socket.socket:
        """Return a connection to the server, whose state begins anew; TransportError where that is not possible."""
        self.start()
        return _connections.connect(self.server, nodelay=True)


class Parts(Conversation):
    """A connection whose requests have fields of their own each; the bodies of responses are taken while they come."""

    def ask(self, fields: Asked, body: bytes, call: Any = 0) -> Stream:
        """Put a request into ``outgoing``; return its stream. See ``begin``."""
        self._fields = fields
        self._blocks.clear()
        content = self.begin(0, body, call)
        self.outgoing += content
        return self._streams[self._newest]

    def cancel(self, stream: Stream) -> None:
        """Tell the server that a response is no longer awaited; pass over what still comes of it."""
        if self._streams.pop(stream.number, None):
            stream.unsent = memoryview(b"")
            stream.receive()
            self._cancelled[stream.number] = stream
            if len(self._cancelled) > MOST_CANCELLED:
                del self._cancelled[next(iter(self._cancelled))]
            self.outgoing += frame(RST_STREAM, 0, stream.number, _word.pack(CANCEL))

    @property
    def room(self) -> int:
        """How many more requests can begin now: one until the server's settings have come."""
        return (self._most_open if self._is_settled else 1) - len(self._streams)

    def _keep(self, stream: Stream, prefix: bytes, content: bytes) -> None:
        if stream.is_new:
            stream.receive()


def _table(coder: Any) -> tuple[Any, ...]:
    """Return what header blocks refer to, on one side of a connection."""
    table = coder.header_table
    return table.resized, table.maxsize, *table.dynamic_entries


def _exactly(content: bytes, size: int, what: str) -> bytes:
    if len(content) != size:
        raise TransportError(f"{what} has {len(content)} bytes instead of {size}")
    return content


def _unpadded(flags: int, content: bytes) -> bytes:
    """Return a frame's content without its padding."""
    if not flags & PADDED:
        return content
    if not content or content[0] >= len(content):
        raise TransportError("a frame has more padding than content")
    return content[1 : len(content) - content[0]]


def _words(debug: bytes) -> str:
    text = debug[:200].decode("ascii", "replace")
    return f": {' '.join(text.split())}" if text.strip() else ""
