"""Protocol Buffers (proto3), by protobuf's upb."""

from collections.abc import Callable
from typing import Any

from google.protobuf import json_format

from bench import message_types
from bench.codecs import Coder, no_types

REQUIRES = ("protobuf",)
TYPES = {"record": "Records", "items": "Items", "tree": "Trees", "numbers": "Numbers"}


def coder(kind: str) -> Coder:
    """Return the codec for a kind of message: instances of its generated class; UsageError for other messages."""
    if kind not in TYPES:
        raise no_types("protobuf", kind)
    from bench.codecs import _messages_pb2

    type_ = getattr(_messages_pb2, TYPES[kind])
    return Coder(type_.SerializeToString, type_.FromString, _maker(type_), message_types.typed_answerer(kind))


def _maker(type_: Any) -> Callable[[message_types.Message], Any]:
    return lambda message: json_format.ParseDict(message, type_())
