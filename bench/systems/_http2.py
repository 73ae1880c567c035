"""HTTP/2 as bytes, from the side of a client; for systems with a ``Wire``.

Frames are made and read here, header blocks by the library hpack. A response is read frame by frame; one whose frames
are, but for the stream's number, those of an earlier response that was found right is recognized by comparing bytes.
Stricter than many parsers, because a benchmark needs no tolerance: what is malformed, too large or on another stream
than the one under way is an error. Source: RFC 9113 (frames, settings, flow control), RFC 7541 (header blocks).
"""

import struct
from typing import Any, NamedTuple

from bench.errors import NotInstalledError, TransportError

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 5, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS, PADDED, PRIORITY = 0x1, 0x1, 0x4, 0x8, 0x20
TABLE_SIZE, ENABLE_PUSH, MAX_STREAMS, INITIAL_WINDOW, MAX_FRAME, MAX_HEADERS = 1, 2, 3, 4, 5, 6  # settings

HEAD = 9  # bytes of a frame's header
WINDOW = 65_535  # of a connection and of a stream, until the peer says otherwise
MOST_WINDOW = 2**31 - 1
FRAME = 16_384  # bytes of the largest frame that we accept: the protocol's default
MOST_HEAD = 1 << 16  # bytes of a response's header fields
MOST_FRAGMENTS = 100  # frames of one header block
MOST_KNOWN = 1 << 14  # bytes of a response that is recognized as a whole
MOST_OUTGOING = 1 << 20  # bytes of acknowledgements that a peer may cause while it does not read

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


class Conversation:
    """The state of a connection on which one request at a time is made, all with the same header fields.

    last: whether the server takes no more requests on this connection.
    outgoing: bytes that have to be sent beside requests; the caller empties it.
    """

    def __init__(self, fields: list[tuple[str, str]], most_body: int) -> None:
        """Keep the request's header fields, and how many bytes a body may have; NotInstalledError without hpack."""
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
        self._stream = -1  # its number; odd ones are the client's
        self._is_open = False  # whether a response is awaited
        self._encoder, self._decoder = self._hpack.Encoder(), self._hpack.Decoder(MOST_HEAD)
        self._block, self._is_constant = b"", False
        self._room, self._stream_room, self._peer_window, self._peer_frame = WINDOW, WINDOW, WINDOW, FRAME
        self._unsent = memoryview(b"")
        self._most_outgoing = MOST_OUTGOING  # and what is left of the request
        self._taken = 0  # bytes of bodies received since the last window update
        self._head = b""
        self._known: dict[int, Known] = {}
        self._expected = b""
        self._place = 0
        self._is_settled = False
        self._fragments: list[bytes] = []
        self._is_end = False
        self._clear()

    # Requests

    def begin(self, place: int, body: bytes) -> bytes:
        """Return what begins a request with this body, as far as the windows allow; ``outgoing`` gets the rest.

        place: a number of the body; the response to it is recognized if it is one that was ``known``.
        """
        if not self._is_constant:
            self._encode()
        self._stream += 2
        stream = _word.pack(self._stream)
        self._is_open, self._place = True, place
        self._clear()
        known = self._known.get(place)
        self._expected = stream.join(known.parts) if known else b""
        self._stream_room = self._peer_window
        opening, self._opening = self._opening, b""
        size = len(body)
        if size <= self._room and size <= self._stream_room and size <= self._peer_frame:
            self._room -= size
            self._stream_room -= size
            return opening + stream.join((self._head, self._block + _prefix(DATA, END_STREAM, size), body))
        self._unsent, self._expected = memoryview(body), b""
        self._most_outgoing = MOST_OUTGOING + size
        return opening + self._head + stream + self._block + self._more()

    def _encode(self) -> None:
        """Make the request's header block, until it is the same twice: all its fields are in the table."""
        before, self._block = self._block, self._encoder.encode(self._fields)
        self._is_constant = before == self._block
        self._head = _prefix(HEADERS, END_HEADERS, len(self._block))

    def _more(self) -> bytes:
        """Return as much of the request's body as the windows allow."""
        frames = []
        while (left := len(self._unsent)) and (size := min(self._room, self._stream_room, self._peer_frame, left)) > 0:
            frames.append(frame(DATA, END_STREAM if size == left else 0, self._stream, bytes(self._unsent[:size])))
            self._unsent = self._unsent[size:]
            self._room -= size
            self._stream_room -= size
        return b"".join(frames)

    # Responses

    def _clear(self) -> None:
        self._body = bytearray()
        self._heads: list[Fields] = []
        self._parts: list[bytes] = [b""]  # of what came on the stream, without its number
        self._is_alike = True  # whether a response of the same bytes means the same: no header table was changed

    def receive(self, data: bytes) -> Response | bool | None:
        """Take in what has come; return the response if it is complete, True for one that is known, else None.

        TransportError for anything but what may come: the connection is of no more use.
        """
        found: Response | bool | None = None
        buffer, at = self._rest + data if self._rest else data, 0
        end, expected = len(buffer), self._expected
        while at < end:
            if expected and buffer.startswith(expected, at):
                at += len(expected)
                self._expected = expected = b""
                self._take(self._known[self._place].size)
                self._is_open, found = False, True
                continue
            if end - at < HEAD:
                break
            high, low, kind, flags, stream = _head.unpack_from(buffer, at)
            size = high << 8 | low
            if size > FRAME or not (self._is_settled or kind == SETTINGS):
                raise TransportError(self._no_frame(buffer, at, size))
            if at + HEAD + size > end:
                break
            content = buffer[at + HEAD : at + HEAD + size]
            if self._is_open and stream == self._stream:
                self._keep(buffer[at : at + 5], content)
            at += HEAD + size
            if self._handle(kind, flags, stream & MOST_WINDOW, content):
                if found:
                    raise TransportError("more than one response came to a request")
                found = self._complete()
                self._expected = expected = b""
        self._rest = buffer[at:]
        if len(self.outgoing) > self._most_outgoing:
            raise TransportError(
                f"more than {MOST_OUTGOING:,} bytes of acknowledgements wait for a peer that does not read"
            )
        return found

    @staticmethod
    def _no_frame(buffer: bytes, at: int, size: int) -> str:
        if size > FRAME:
            return f"this is no HTTP/2 frame, or one of {size:,} bytes (at most {FRAME:,}): {buffer[at : at + 40]!r}"
        return f"the server does not begin with its settings: {buffer[at : at + 40]!r}"

    def _keep(self, prefix: bytes, content: bytes) -> None:
        """Remember a frame of the response, from which a later one is recognized."""
        if len(self._body) + len(content) <= MOST_KNOWN:
            self._parts[-1] += prefix
            self._parts.append(content)
        else:
            self._is_alike = False

    def _handle(self, kind: int, flags: int, stream: int, content: bytes) -> bool:
        """Take in a frame; return whether it is the last of the response."""
        if self._fragments and kind != CONTINUATION:
            raise TransportError("a header block is interrupted by another frame")
        if kind == WINDOW_UPDATE:
            self._widen(stream, _exactly(content, 4, "WINDOW_UPDATE"))
        elif kind == PING:
            self._check_connection(stream, "PING")
            _exactly(content, 8, "PING")
            if not flags & ACK:
                self.outgoing += frame(PING, ACK, 0, content)
        elif kind in (DATA, HEADERS, CONTINUATION, RST_STREAM):
            return self._of_stream(kind, flags, stream, content)
        elif kind == SETTINGS:
            self._check_connection(stream, "SETTINGS")
            self._settle(flags, content)
        elif kind == GOAWAY:
            self._check_connection(stream, "GOAWAY")
            self._leave(content)
        elif kind == PUSH_PROMISE:
            raise TransportError("the server pushes, which this client has switched off")
        return False  # other kinds are to be ignored

    @staticmethod
    def _check_connection(stream: int, what: str) -> None:
        if stream:
            raise TransportError(f"{what} names stream {stream}, but it is of the connection")

    def _widen(self, stream: int, content: bytes) -> None:
        """Enlarge a window, and send what waited for that."""
        more = _word.unpack(content)[0] & MOST_WINDOW
        if not more:
            raise TransportError("WINDOW_UPDATE by nothing")
        if stream == 0:
            self._room += more
        elif stream == self._stream:
            self._stream_room += more
        elif stream > self._stream:
            raise TransportError(f"WINDOW_UPDATE names stream {stream}, which is not open")
        if max(self._room, self._stream_room) > MOST_WINDOW:
            raise TransportError("the server's window is larger than the protocol allows")
        self.outgoing += self._more()

    def _settle(self, flags: int, content: bytes) -> None:
        """Take over the server's settings, and acknowledge them."""
        if flags & ACK:
            _exactly(content, 0, "SETTINGS of acknowledgement")
            return
        if len(content) % _setting.size:
            raise TransportError(f"SETTINGS of {len(content)} bytes, which is no multiple of {_setting.size}")
        for number, value in _setting.iter_unpack(content):
            if number == TABLE_SIZE and value < self._encoder.header_table_size:
                self._encoder.header_table_size, self._is_constant = value, False
            elif number == INITIAL_WINDOW:
                if value > MOST_WINDOW:
                    raise TransportError("the server's window is larger than the protocol allows")
                self._stream_room += value - self._peer_window
                self._peer_window = value
            elif number == MAX_FRAME:
                if not FRAME <= value < 1 << 24:
                    raise TransportError(f"the server accepts frames of {value:,} bytes, which the protocol forbids")
                self._peer_frame = value
        self._is_settled = True
        self.outgoing += frame(SETTINGS, ACK, 0) + self._more()

    def _leave(self, content: bytes) -> None:
        """Note that the server takes no more requests; TransportError if it does not answer the one under way."""
        if len(content) < 8:
            raise TransportError(f"GOAWAY of {len(content)} bytes, but it has 8 at least")
        last, code = struct.unpack_from("!II", content)
        self.last = True
        if self._is_open and (code or last & MOST_WINDOW < self._stream):
            raise TransportError(
                f"the server ended the connection with GOAWAY {error_name(code)}{_words(content[8:])}",
                f"GOAWAY {error_name(code)}",
            )

    def _of_stream(self, kind: int, flags: int, stream: int, content: bytes) -> bool:
        """Take in a frame of a stream; return whether it is the last of the response."""
        if kind == RST_STREAM:
            code = _word.unpack(_exactly(content, 4, "RST_STREAM"))[0]
            if self._is_open and stream == self._stream:
                text = f"the server reset the request's stream with RST_STREAM {error_name(code)}"
                raise TransportError(text, f"RST_STREAM {error_name(code)}")
            if 0 < stream <= self._stream and stream % 2:
                return False  # of a request that has been answered
        if not self._is_open or stream != self._stream:
            raise TransportError(f"a frame came on stream {stream}, on which nothing is awaited")
        if kind == DATA:
            return self._add(flags, content)
        if kind == HEADERS:
            if len(self._heads) > 1:
                raise TransportError("header fields came after the trailer fields")
            content = _unpadded(flags, content)
            if flags & PRIORITY:
                content = content[5:]
            self._fragments, self._is_end = [b""], bool(flags & END_STREAM)
        elif not self._fragments:
            raise TransportError("CONTINUATION of no header block")
        self._fragments.append(content)
        if sum(map(len, self._fragments)) > MOST_HEAD or len(self._fragments) > MOST_FRAGMENTS:
            raise TransportError(f"the header fields of a response are larger than {MOST_HEAD:,} bytes")
        if not flags & END_HEADERS:
            return False
        block, self._fragments = b"".join(self._fragments), []
        return self._add_fields(self._decode(block))

    def _decode(self, block: bytes) -> Fields:
        """Return the header fields of a block; note whether it changed the table that later blocks refer to."""
        before = self._table()
        try:
            found = [(bytes(name), bytes(value)) for name, value in self._decoder.decode(block, raw=True)]
        except self._hpack.HPACKError as reason:
            raise TransportError(f"malformed header block: {type(reason).__name__}: {reason}") from reason
        if self._table() != before:
            self._is_alike = False
            self._known.clear()  # their bytes may mean something else by now
        return found

    def _table(self) -> tuple[Any, ...]:
        table = self._decoder.header_table
        return table.maxsize, *table.dynamic_entries

    def _add_fields(self, found: Fields) -> bool:
        is_interim = not self._heads and dict(found).get(b":status", b"").startswith(b"1")
        if is_interim and not self._is_end:
            return False
        if self._heads and not self._is_end:
            raise TransportError("header fields came twice, and the second time did not end the response")
        self._heads.append(found)
        return self._is_end

    def _add(self, flags: int, content: bytes) -> bool:
        if not self._heads:
            raise TransportError("a body came before the header fields")
        self._take(len(content))
        self._is_alike = self._is_alike and not flags & PADDED
        self._body += _unpadded(flags, content)
        if len(self._body) > self._most_body:
            raise TransportError(f"a response is larger than {self._most_body:,} bytes", "RESOURCE_EXHAUSTED")
        return bool(flags & END_STREAM)

    def _take(self, size: int) -> None:
        """Count received bytes, and let the server send as many more when they are half of the window."""
        self._taken += size
        if self._taken > MOST_WINDOW // 2:
            self.outgoing += frame(WINDOW_UPDATE, 0, 0, _word.pack(self._taken))
            self._taken = 0

    def _complete(self) -> Response:
        self._is_open = False
        if self._unsent:
            raise TransportError("the server answered before it had the whole request")
        return Response(self._heads[0], bytes(self._body), self._heads[-1])

    def known(self, place: int) -> None:
        """Recognize the response that came last, found right by the caller, if it comes again to this body."""
        if self._is_alike and len(self._parts) > 1:
            self._known[place] = Known(self._parts, len(self._body))


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


OF_A_STREAM = (
    *("_stream", "_is_open", "_place", "_stream_room", "_unsent", "_body", "_heads", "_parts", "_is_alike", "_is_end"),
)


class Found(NamedTuple):
    """A response of several under way. number: the call's; known: what it is recognized by later, if it can be."""

    number: int
    response: Response | bool
    known: tuple[int, Known] | None = None


class Streams(Conversation):
    """The state of a connection on which several requests are under way, each on a stream of its own.

    What a stream is about to be is kept apart from the connection's state and taken in for each of its frames, so that
    all that ``Conversation`` checks is checked here too.
    """

    def start(self) -> None:
        """Begin a connection."""
        super().start()
        self._open: dict[int, dict[str, Any]] = {}  # by the stream's number, what ``OF_A_STREAM`` names
        self._numbers: dict[int, int] = {}  # of the calls, by their streams
        self._alike: dict[int, tuple[bytes, int]] = {}  # streams of which nothing came: known bytes, size of the body
        self._newest, self._block_of, self._changes = -1, 0, 0
        self._most_open = MOST_WINDOW

    def begin(self, place: int, body: bytes, number: int = 0) -> bytes:
        """Do what ``Conversation.begin`` does, for the call of this number; TransportError for too many streams."""
        if self.last:
            raise TransportError("the server takes no more requests on this connection", "GOAWAY")
        if len(self._open) >= self._most_open:
            text = f"the server takes {self._most_open:,} calls at once on a connection: give outstanding no more"
            raise TransportError(text, "REFUSED_STREAM")
        self._stream, self._unsent, self._is_end = self._newest, memoryview(b""), False
        content = super().begin(place, body)
        self._newest, self._numbers[self._stream] = self._stream, number
        if self._expected:
            self._alike[self._stream] = self._expected, self._known[place].size
        self._store()
        self._most_outgoing = max(self._most_outgoing, MOST_OUTGOING + len(self._open) * len(body))
        return content

    def _store(self) -> None:
        mine = self.__dict__
        self._open[self._stream] = {name: mine[name] for name in OF_A_STREAM}

    def _rest_at(self) -> None:
        """Be between two streams: what comes for none of those that are open is judged by the newest."""
        self._stream, self._is_open, self._unsent = self._newest, False, memoryview(b"")

    def receive_all(self, data: bytes) -> list[Found]:
        """Take in what has come; return the responses that are complete, in the order of their ends.

        TransportError for anything but what may come: the connection is of no more use.
        """
        found: list[Found] = []
        buffer, at = self._rest + data if self._rest else data, 0
        end = len(buffer)
        while end - at >= HEAD:
            high, low, kind, flags, stream = _head.unpack_from(buffer, at)
            if (alike := self._alike.get(stream)) and not self._fragments and buffer.startswith(alike[0], at):
                at += len(alike[0])
                self._take(alike[1])
                found.append(Found(self._end(stream), True))
                continue
            size = high << 8 | low
            if size > FRAME or not (self._is_settled or kind == SETTINGS):
                raise TransportError(self._no_frame(buffer, at, size))
            if at + HEAD + size > end:
                break
            content = buffer[at + HEAD : at + HEAD + size]
            if self._fragments and stream != self._block_of:
                raise TransportError("a header block is interrupted by another stream's frame")
            if is_open := stream in self._open:
                self._alike.pop(stream, None)
                self.__dict__.update(self._open[stream])
                self._keep(buffer[at : at + 5], content)
            else:
                self._rest_at()
            at += HEAD + size
            if self._handle(kind, flags, stream & MOST_WINDOW, content):
                response = self._complete()
                is_alike = self._is_alike and len(self._parts) > 1
                known = (self._changes, Known(self._parts, len(self._body))) if is_alike else None
                found.append(Found(self._end(stream), response, known))
            elif is_open:
                self._store()
            self._block_of = stream
        self._rest = buffer[at:]
        if len(self.outgoing) > self._most_outgoing:
            text = f"more than {MOST_OUTGOING:,} bytes of acknowledgements wait for a peer that does not read"
            raise TransportError(text)
        return found

    def _end(self, stream: int) -> int:
        """Forget a stream; return its call's number."""
        del self._open[stream]
        self._alike.pop(stream, None)
        return self._numbers.pop(stream)

    def recognize(self, place: int, known: tuple[int, Known] | None) -> None:
        """Recognize a response, found right by the caller, if it comes again to this body and means the same."""
        if known and known[0] == self._changes:
            self._known[place] = known[1]

    def _decode(self, block: bytes) -> Fields:
        before = self._table()
        found = super()._decode(block)
        if self._table() != before:
            self._changes += 1
            self._alike.clear()
            for state in self._open.values():
                state["_is_alike"] = False
        return found

    def _widen(self, stream: int, content: bytes) -> None:
        super()._widen(stream, content)
        if stream == 0:
            self._send_on(0)

    def _settle(self, flags: int, content: bytes) -> None:
        before = self._peer_window
        super()._settle(flags, content)
        if not flags & ACK:
            self._most_open = dict(_setting.iter_unpack(content)).get(MAX_STREAMS, self._most_open)
            self._send_on(self._peer_window - before)

    def _send_on(self, wider: int) -> None:
        """Widen the window of each stream, and send what waited for room in the order of the streams."""
        for state in list(self._open.values()):
            if wider or state["_unsent"]:
                self.__dict__.update(state)
                self._stream_room += wider
                if self._stream_room > MOST_WINDOW:
                    raise TransportError("the server's window is larger than the protocol allows")
                self.outgoing += self._more()
                self._store()
        self._rest_at()

    def _leave(self, content: bytes) -> None:
        self._is_open, self._stream = bool(self._open), max(self._open, default=self._newest)
        super()._leave(content)
        self._rest_at()
