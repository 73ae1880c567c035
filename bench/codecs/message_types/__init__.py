"""Messages: the structured values that a call can carry instead of opaque bytes. One file each, found by its name here.

A message is made of dictionaries, lists, text, numbers and truth values; its outermost value is a dictionary. The
server's application answers it: ``items`` gets a total for each item, all others are returned as they came.
A file defines ``EXAMPLE_BYTES`` and ``make(payload_bytes, chance)``, and ``answer`` if the reply is not the request.
Imported by servers and clients: standard library only.
"""

import functools
import importlib
import json
import random
from collections.abc import Callable
from typing import Any

from bench.errors import DataError, UsageError
from bench.plan import documents

BYTES = "bytes"  # opaque payloads: no message, and nothing of this is used
KINDS = ("record", "items", "tree", "numbers")
MOST_OWN_BYTES = 100_000  # of a message of the user's own, which every case in the manifest holds
MOST_TEXT = 2_000_000  # of all messages of a caller together, as JSON

Message = dict[str, Any]


def make(kind: str, payload_bytes: int, seed: int, content: str = "") -> list[Message]:
    """Return 2 to 16 different messages of a kind, of about this size; of a user's own ``content``, that one twice."""
    if content:
        return [json.loads(content), json.loads(content)]
    count = max(2, min(16, MOST_TEXT // payload_bytes))
    chance = random.Random(seed)
    return [_file(kind).make(payload_bytes, chance) for _ in range(count)]


@functools.lru_cache(8)
def first(kind: str, payload_bytes: int, content: str = "") -> Message:
    """Return the first message that ``make`` returns for the seed 1, to try it; it must not be changed."""
    if content:
        message: Message = json.loads(content)
        return message
    return _file(kind).make(payload_bytes, random.Random(1))


def answerer(kind: str) -> Callable[[Any], Any]:
    """Return the application: a function from the request, as it was decoded, to the reply."""
    return getattr(_file(kind), "answer", same) if kind in KINDS else same


def typed_answerer(kind: str) -> Callable[[Any], Any]:
    """Return the application for objects with attributes instead of dictionaries."""
    return getattr(_file(kind), "answer_typed", same)


def same(request: Any) -> Any:
    """Return the request."""
    return request


def compact(message: Message) -> str:
    """Return a message as JSON without spaces."""
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def read_own(text: bytes, name: str) -> str:
    """Return the compact JSON of a message in a user's file; UsageError says what is wrong with it."""
    try:
        message = documents.from_json(text)
    except ValueError as reason:
        raise UsageError(f"{name} is not JSON: {reason}") from reason
    if not isinstance(message, dict) or not message:
        raise UsageError(f"{name}: the outermost value of a message is an object with at least one field: {{...}}")
    try:
        content = compact(message)
        length = len(content.encode())
    except (UnicodeEncodeError, RecursionError) as reason:
        raise UsageError(f"{name} cannot be sent as text: {reason}") from reason
    if length > MOST_OWN_BYTES:
        raise UsageError(f"{name} holds {length:,} bytes, and a message of your own has at most {MOST_OWN_BYTES:,}")
    return content


class Exchange:
    """A request and the reply that is expected to it, as a codec's objects.

    A timed loop compares what it sent with the reply: ``exchange != reply`` is whether that is not the expected one.
    """

    __slots__ = ("reply", "request")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, request: Any, reply: Any) -> None:
        self.request, self.reply = request, reply

    def __eq__(self, reply: object) -> bool:
        return not self != reply

    def __ne__(self, reply: object) -> bool:
        return bool(self.reply != reply)

    def difference(self, reply: Any) -> str:
        """Return how a reply differs from the expected one, for an error."""
        received, wanted = _shown(reply), _shown(self.reply)
        if received[: len(wanted)] == wanted:
            return "a message that is not the expected one"
        index = next(
            (
                position
                for position, (actual, expected) in enumerate(zip(received, wanted, strict=False))
                if actual != expected
            ),
            len(received),
        )
        begin = max(0, index - 20)
        return f"a message with {received[begin : begin + 60]!r} where {wanted[begin : begin + 60]!r} was expected"


def _shown(message: Any) -> str:
    return repr(message)[:1_000_000]


def _file(kind: str) -> Any:
    if kind not in KINDS:
        raise DataError(f"there is no message {kind!r}: there are {', '.join(KINDS)}")
    return importlib.import_module(f"bench.codecs.message_types.{kind}")
