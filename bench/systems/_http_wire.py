"""HTTP/1.1 as bytes: requests to send, responses found in received data; for systems with a ``Wire``.

Stricter than many parsers, because a benchmark needs no tolerance: lines end with CRLF, a length is one number, and too
large a message is refused before it is stored. A response that only its connection's end would delimit is an error,
except a stream of events.
Source: RFC 9112, sections 2 to 7.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from bench.contract import Address
from bench.errors import TransportError
from bench.systems import _wire

MOST_HEAD = 1 << 16  # bytes of status line and header fields together; of trailer fields as well
MOST_BODY = 256_000_000  # bytes of a body, with what delimits its chunks
MOST_LINE = 1 << 10  # bytes of a line that says how long a chunk is

STATUS = re.compile(rb"HTTP/1\.([01]) ([2-5]\d\d)(?: ([\t\x20-\x7e\x80-\xff]*))?")
FIELD = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([\t\x20-\x7e\x80-\xff]*?)[ \t]*")
LENGTH = re.compile(rb"[0-9]{1,18}")
CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[^\r\n]*)?")
INTERIM = re.compile(rb"HTTP/1\.1 1\d\d ")
WITHOUT_BODY = (204, 304)
TO_END = -1  # the size of a body that the connection's end delimits

Buffer = bytes | bytearray


def authority(address: Address) -> str:
    """Return the server's name and port as HTTP names them."""
    return "localhost" if address.transport == "ipc" else address.place


def request(method: str, target: str, body: bytes, host: str, kind: str = "application/octet-stream") -> bytes:
    """Return a request with a body of this media type, for a connection that is kept."""
    head = f"{method} {target} HTTP/1.1\r\nHost: {host}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode("latin-1") + body


class Head(NamedTuple):
    """What precedes a body. start: where it begins, in bytes; size: its bytes, None if chunked; last: none follows.

    fields: the values of each header field by its name in small letters.
    """

    status: int
    reason: str
    start: int
    size: int | None
    last: bool
    fields: Mapping[str, list[str]]

    def value(self, name: str) -> str:
        """Return the value of a field, whose name is in small letters; "" without it."""
        return ", ".join(self.fields.get(name, []))


def final(buffer: Buffer, length: int) -> int:
    """Return where the final response begins: behind the interim ones that are complete (RFC 9110, section 15.2)."""
    begin = 0
    while INTERIM.match(buffer, begin, length) and (stop := buffer.find(b"\r\n\r\n", begin, length)) >= 0:
        begin = stop + 4
    return begin


def read_head(buffer: Buffer, length: int, to_end: bool = False) -> Head | None:
    """Return the head at the beginning of ``length`` bytes, None if more must come; TransportError if malformed.

    to_end: whether the connection's end may delimit the body.
    """
    stop = buffer.find(b"\r\n\r\n", 0, min(length, MOST_HEAD))
    lines = bytes(buffer[: min(length, MOST_HEAD) if stop < 0 else stop])
    if not b"HTTP/1.".startswith(lines[:7]) or lines.count(b"\n") > lines.count(b"\r\n"):
        raise TransportError(f"this is no HTTP/1.1 response: {lines[:40]!r}")
    if stop < 0:
        if length >= MOST_HEAD:
            raise TransportError(f"the header of a response is larger than {MOST_HEAD:,} bytes")
        return None
    first, *rest = lines.split(b"\r\n")
    status = STATUS.fullmatch(first)
    if status is None:
        raise TransportError(f"malformed or unexpected HTTP status line: {first[:40]!r}")
    return _head(int(status[1]), int(status[2]), (status[3] or b"").decode("latin-1"), stop + 4, _fields(rest), to_end)


def _fields(lines: list[bytes]) -> dict[str, list[str]]:
    """Return the values of each field by its name in small letters."""
    fields: dict[str, list[str]] = {}
    for line in lines:
        name, value = _field(line)
        fields.setdefault(name, []).append(value)
    return fields


def _field(line: bytes) -> tuple[str, str]:
    match = FIELD.fullmatch(line)
    if match is None:
        raise TransportError(f"malformed HTTP header field: {line[:40]!r}")
    return match[1].decode("ascii").lower(), match[2].decode("latin-1")


def _head(minor: int, status: int, reason: str, start: int, fields: dict[str, list[str]], to_end: bool) -> Head:
    wishes = {word.strip().lower() for value in fields.get("connection", []) for word in value.split(",")}
    last = "close" in wishes or (minor == 0 and "keep-alive" not in wishes)
    size = 0 if status in WITHOUT_BODY else _size(fields, to_end)
    return Head(status, reason, start, size, last or size == TO_END, fields)


def _size(fields: dict[str, list[str]], to_end: bool) -> int | None:
    """Return a body's length, None if chunked; TransportError if it is unclear or too large."""
    coding, lengths = fields.get("transfer-encoding", []), list(dict.fromkeys(fields.get("content-length", [])))
    if to_end and not coding and not lengths:
        return TO_END
    if coding and not lengths and [value.lower() for value in coding] == ["chunked"]:
        return None
    if coding or len(lengths) != 1 or not LENGTH.fullmatch(lengths[0].encode("latin-1")):
        raise TransportError(f"the length of a response is not clear: {coding or lengths or 'none is given'}")
    return _fits(int(lengths[0]))


def _fits(size: int) -> int:
    if size > MOST_BODY:
        raise TransportError(f"the body of a response is larger than {MOST_BODY:,} bytes")
    return size


def _chunk_size(line: bytes) -> int:
    match = CHUNK.fullmatch(line)
    if match is None:
        raise TransportError(f"malformed HTTP chunk: {line[:40]!r}")
    return int(match[1], 16)


class Body:
    """A body of any length, taken in as its bytes come; size: as in ``Head``.

    is_over: whether it is whole. rest: bytes that came and were not read yet, behind a whole body what follows it.
    """

    def __init__(self, size: int | None) -> None:
        self._is_chunked, self._is_last = size is None, False
        self._left = size or 0  # bytes of the body, or of the chunk under way with its delimiter
        self.rest = b""
        self.is_over = size == 0

    def feed(self, data: bytes) -> bytes:
        """Do what ``take`` does; TransportError also where something follows a whole body."""
        part = self.take(data)
        if self.is_over and self.rest:
            raise TransportError(f"{len(self.rest)} bytes came after a response, without a request")
        return part

    def take(self, data: bytes) -> bytes:
        """Return what has come of the body, without what delimits its chunks; TransportError if that is malformed."""
        if self._left == TO_END:
            return data
        data = self.rest + data
        part, at = self._of_chunks(data) if self._is_chunked else (data[: self._left], min(self._left, len(data)))
        if not self._is_chunked:
            self._left -= at
            self.is_over = not self._left
        self.rest = data[at:]
        return part

    def end(self) -> bytes:
        """Take in the connection's end, which brings no bytes; TransportError where the body is not whole."""
        if self._left != TO_END:
            raise TransportError("the server closed the connection in the middle of a response", "read")
        self.is_over = True
        return b""

    def _of_chunks(self, data: bytes) -> tuple[bytes, int]:
        """Return the data of chunks, whole ones or not, and how many bytes were read."""
        parts, at, length = [], 0, len(data)
        while not self.is_over:
            if self._left > 2:
                part = data[at : at + self._left - 2]
                parts.append(part)
                at += len(part)
                self._left -= len(part)
                if self._left > 2:
                    break
            if self._left:
                if length - at < 2:
                    break
                if data[at : at + 2] != b"\r\n":
                    raise TransportError("malformed HTTP chunk: it does not end where it says")
                at, self._left = at + 2, 0
            elif self._is_last:
                stop = _after_trailers(data, at, length)
                self.is_over = stop > 0
                at = stop or at
                break
            elif (line := _line(data, at, length, MOST_LINE)) is None:
                break
            else:
                at += len(line) + 2
                size = _fits(_chunk_size(line))
                self._left, self._is_last = size + 2 * (size > 0), not size
        return b"".join(parts), at


def _line(buffer: Buffer, at: int, length: int, max_bytes: int) -> bytes | None:
    """Return the line that begins there, without CRLF; None if it is incomplete."""
    stop = buffer.find(b"\r\n", at, min(length, at + max_bytes))
    if stop < 0 and length - at >= max_bytes:
        raise TransportError(f"a line of a chunked response is longer than {max_bytes:,} bytes")
    return None if stop < 0 else bytes(buffer[at:stop])


def _after_trailers(buffer: Buffer, at: int, length: int) -> int:
    """Return the end of a chunked response, given where its trailer fields begin; 0 if they are incomplete."""
    first = at
    while (line := _line(buffer, at, length, MOST_HEAD - (at - first))) is not None:
        at += len(line) + 2
        if not line:
            return at
        _field(line)
    return 0


class Responses(_wire.Wire):
    """Finder of the ends of successive responses; one instance for each connection: it keeps its position.

    last: whether the server ends the connection after the response whose end was found last.
    """

    def __init__(self, address: str, options: Any = None) -> None:
        super().__init__(address, options)
        self._head: Head | None = None
        self._body, self._at = Body(None), 0  # of chunks: what has been taken in of it, and where the rest begins

    def end(self, buffer: Buffer, length: int) -> int:
        """Return how many of ``length`` bytes the first response takes, 0 if it is incomplete.

        The buffer begins with the same bytes until a response is complete. TransportError if malformed or too large.
        """
        if self._head is None:
            self._head = read_head(buffer, length)
            if self._head is None:
                return 0
            self._body, self._at = Body(None), self._head.start
        stop = self._chunked(buffer, length) if self._head.size is None else self._head.start + self._head.size
        if not 0 < stop <= length:
            return 0
        self.last, self._head = self._head.last, None
        return stop

    @staticmethod
    def takes_leave(data: bytes) -> bool:
        """Return whether what came without a request says that the server ends the connection, as a status 408."""
        try:
            head = read_head(data, len(data), to_end=True)
        except TransportError:
            return False
        return head is not None and head.last

    def _chunked(self, buffer: Buffer, length: int) -> int:
        assert self._head
        self._body.take(bytes(buffer[self._at : length]))
        self._at = length
        _fits(length - self._head.start)
        return length - len(self._body.rest) if self._body.is_over else 0

    def body(self, response: bytes, payload: bytes) -> bytes:
        """Return the body of a whole response; TransportError for any status but 200."""
        return content(response)


def content(response: bytes) -> bytes:
    """Return the body of a whole response; TransportError for any status but 200, with code and reason."""
    head = read_head(response, len(response))
    if head is None:
        raise TransportError("this is no whole response")
    if head.status != 200:
        raise refused(head.status, head.reason)
    return body_of(response, head)


def refused(status: int, reason: str) -> TransportError:
    """Return the error for a response with another status than 200."""
    return TransportError(f"the server answered with HTTP status {status} {reason}".rstrip(), f"status {status}")


def body_of(response: bytes, head: Head) -> bytes:
    """Return the body of a whole response with this head, whatever its status."""
    return response[head.start :] if head.size is not None else Body(None).take(response[head.start :])
