"""Validation of the load ``reply_stream``: whether a system has it, and how much a request may ask for."""

from typing import Any

from bench import systems
from bench.errors import UsageError
from bench.plan import parameters, replies
from bench.plan.case import Case

MOST_STREAM_BYTES = 256 * 1024 * 1024  # of all replies to one request: what may wait where a stack has no flow control
MOST_STREAM_S = 60.0  # of a paced stream


def check(case: Case, module: Any) -> None:
    """Refuse a case that cannot be carried out; UsageError says what to change."""
    if not hasattr(module, "StreamClient") and systems.service_of(case.system):
        raise UsageError(f"{case.system} has no streams of messages: write stream: sse under http of its requests")
    if not hasattr(module, "StreamClient"):
        raise UsageError(
            f"{case.system} has no streams of replies: {', '.join(systems.offering('StreamClient'))} have them"
        )
    if getattr(module.StreamClient, "checks_messages", False):
        _check_service(case)
        return
    if case.transport == "inproc" or case.target is not None:
        raise UsageError(
            "streams of replies need a server that is started here, over ipc or tcp: replies carry instants of this "
            "machine's clock"
        )
    if case.engine != "library" and not (case.engine == "wire" and has_wire(module)):
        raise UsageError(f"{case.system} has no streams of replies by the engine {case.engine}: give engine library")
    parameters.positive(case.replies, "replies", replies.MOST_REPLIES)
    parameters.positive(case.reply_bytes, "reply_bytes", replies.MOST_REPLY_BYTES)
    if case.reply_bytes < replies.LEAST_REPLY or case.payload_bytes < replies.LEAST_REQUEST:
        raise UsageError(
            f"a reply holds its number and two instants: reply_bytes must be at least {replies.LEAST_REPLY}, and "
            f"payload_bytes of the request at least {replies.LEAST_REQUEST}"
        )
    if case.replies * case.reply_bytes > MOST_STREAM_BYTES:
        raise UsageError(f"a stream may have {MOST_STREAM_BYTES:,} B in all: ask for fewer or smaller replies")
    if not 0 <= case.gap_us <= replies.MOST_GAP_US or case.stream_s > MOST_STREAM_S:
        raise UsageError(f"gap_us must be 0 or more, and a stream at most {MOST_STREAM_S:g} s long")


def _check_service(case: Case) -> None:
    """Refuse what is asked of the streams of a user's service, which says itself what it sends."""
    if case.engine not in ("library", "wire"):
        raise UsageError(f"{case.system} has no streams of replies by {case.engine}: give engine library or wire")
    if (case.replies, case.reply_bytes, case.gap_us) != (0, 0, 0):
        raise UsageError(f"{case.system} is a service, whose file says what it sends: leave out replies and gaps")


def has_wire(module: Any) -> bool:
    """Return whether a system describes streams of replies for the engine wire, an empty body behind the last."""
    return bool(getattr(getattr(module, "Wire", None), "has_streams", False))
