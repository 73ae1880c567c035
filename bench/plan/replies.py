"""Streams of replies: what a request asks for, what a reply holds, and its verification; the same for every system.

A request says in its first bytes how many replies it wants, how large they are, and how far apart. A reply holds its
number, when it was due and when the server handed it to its library; the rest are fixed bytes. Both instants are of
``time.perf_counter_ns``, one clock for all processes of a host. Servers and clients import this: keep it light.
"""

import struct
from typing import NamedTuple

from bench.errors import SystemFailedError, TransportError

_HEAD = struct.Struct("!IIq")
_MARK = struct.Struct("!Iqq")
LEAST_REQUEST, LEAST_REPLY = _HEAD.size, _MARK.size  # bytes
MOST_REPLIES = 1_000_000  # of one request
MOST_REPLY_BYTES = 16 * 1024 * 1024
MOST_GAP_US = 60_000_000
END = b""  # what ends a stream where the protocol has no end of its own: no reply is empty

mark_of = _MARK.unpack_from  # of a reply: its number, when it was due, when it was handed over; struct.error if short


class Ask(NamedTuple):
    """What a request asks for: how many replies, their size in bytes, and the time between two of them in ns."""

    replies: int
    reply_bytes: int
    gap_ns: int


def request(ask: Ask, filler: bytes) -> bytes:
    """Return a request as long as ``filler``, which keeps its bytes behind the first ``LEAST_REQUEST``."""
    return _HEAD.pack(*ask) + filler[LEAST_REQUEST:]


def asked(payload: bytes) -> Ask:
    """Return what a request asks for; TransportError for bytes that are no request, or ask for too much."""
    if len(payload) < LEAST_REQUEST:
        raise TransportError(f"{len(payload)} bytes are no request for replies: it has at least {LEAST_REQUEST}")
    ask = Ask(*_HEAD.unpack_from(payload))
    allowed = (
        ask.replies <= MOST_REPLIES,
        LEAST_REPLY <= ask.reply_bytes <= MOST_REPLY_BYTES,
        0 <= ask.gap_ns <= 1000 * MOST_GAP_US,
    )
    if not all(allowed):
        raise TransportError(
            f"a request asks for {ask.replies:,} replies of {ask.reply_bytes:,} B, {ask.gap_ns} ns apart"
        )
    return ask


def rest(reply_bytes: int) -> bytes:
    """Return the fixed bytes of each reply, behind its mark."""
    pattern = bytes(range(256))
    size = max(0, reply_bytes - LEAST_REPLY)
    return (pattern * (size // 256 + 1))[:size]


def reply(number: int, due_ns: int, sent_ns: int, fixed: bytes) -> bytes:
    """Return a reply: its mark, and the fixed bytes."""
    return _MARK.pack(number, due_ns, sent_ns) + fixed


def parts(content: bytes) -> tuple[int, int, int, bytes]:
    """Return a reply's number, its two instants and its fixed bytes; TransportError for one that is too short."""
    try:
        return (*mark_of(content), content[LEAST_REPLY:])
    except struct.error:
        raise TransportError(f"a reply has {len(content)} bytes, fewer than its mark", "body") from None


def wrong(content: bytes, number: int, ask: Ask) -> SystemFailedError:
    """Return the error for a reply that is not the one of this number."""
    if number >= ask.replies:
        what = f"too many replies came: at least {number + 1:,} instead of {ask.replies:,}"
    elif len(content) != ask.reply_bytes:
        what = f"reply {number:,} has {len(content):,} bytes instead of {ask.reply_bytes:,}"
    elif mark_of(content)[0] != number:
        what = f"reply {mark_of(content)[0]:,} came instead of reply {number:,}"
    else:
        what = f"reply {number:,} has the wrong bytes"
    return SystemFailedError(f"a stream is wrong: {what}; was the server started by this version?")


def too_few(came: int, ask: Ask) -> SystemFailedError:
    """Return the error for a stream that the server ended early, as if it were complete."""
    return SystemFailedError(
        f"a stream is wrong: too few replies came: the server ended it after {came:,} of {ask.replies:,}"
    )
