"""The protocols that the oracle's front speaks: its programs, and what a plain client sends to it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Name = Literal["http1", "http2", "grpc", "resp", "sse"]
FIELDS = b"\x82\x86\x84\x01\x06oracle"  # GET, http, /, and the authority: entries of the static table (RFC 7541, A)
DATA, HEADERS, SETTINGS = 0, 1, 4  # kinds of frames (RFC 9113, 6)
END_STREAM, END_HEADERS = 1, 4  # flags


@dataclass(frozen=True)
class Protocol:
    """One of them.

    title: its name in the field. scheme: of its URLs. source: of the program, in the folder of the systems; parts:
    what only it includes. opening: what a client sends first. request: the bytes of a request, by its number from 0.
    ending: the last bytes of the answer to one. resends: whether an HTTP library may send a failed request again.
    has_streams: whether an answer is a stream of events.
    """

    title: str
    scheme: str
    source: str
    request: Callable[[int], bytes]
    ending: bytes
    opening: bytes = b""
    parts: tuple[str, ...] = ()
    resends: bool = False
    has_streams: bool = False


def _frame(kind: int, flags: int, stream: int, content: bytes = b"") -> bytes:
    return len(content).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + content


def _get(number: int) -> bytes:
    return _frame(HEADERS, END_HEADERS | END_STREAM, 2 * number + 1, FIELDS)


def _call(number: int) -> bytes:
    """Return a call with an empty message: the front reads no header fields, so they are those of any request."""
    stream = 2 * number + 1
    return _frame(HEADERS, END_HEADERS, stream, FIELDS) + _frame(DATA, END_STREAM, stream, bytes(5))


REQUESTS, FRAMES = ("_oracle_http_requests.h",), ("_oracle_http2_frames.h",)
GET = b"GET / HTTP/1.1\r\nHost: oracle\r\n\r\n"
OPENING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _frame(SETTINGS, 0, 0)
PROTOCOLS: dict[str, Protocol] = {
    "http1": Protocol("HTTP/1.1", "http", "_oracle_http.c", lambda _: GET, b"ok", parts=REQUESTS, resends=True),
    "http2": Protocol("HTTP/2", "http", "_oracle_http2.c", _get, b"ok", OPENING, FRAMES, resends=True),
    "grpc": Protocol("gRPC", "grpc", "_oracle_grpc.c", _call, b"grpc-status\x010", OPENING, FRAMES),
    "resp": Protocol("RESP", "redis", "_oracle_resp.c", lambda _: b"GET oracle\r\n", b"ok\r\n"),
    "sse": Protocol(
        "server-sent events",
        "http",
        "_oracle_sse.c",
        lambda _: GET,
        b"\r\n0\r\n\r\n",
        parts=REQUESTS,
        has_streams=True,
    ),
}
