"""Protocol Buffers (proto3), by protobuf's upb."""

from collections.abc import Callable
from typing import Any

import google.protobuf  # noqa: F401 - a codec that is not installed says so

from bench.codecs import Coder, message_types, no_types

REQUIRES = ("protobuf",)


def coder(kind: str) -> Coder:
    """Return the codec for a kind of message: dictionaries; UsageError for other messages.

    As in an application, a generated message is built from the values to be sent, and the fields of one that was
    received are read: both belong to the codec's work.
    """
    if kind not in READERS:
        raise no_types("protobuf", kind)
    from bench.codecs import _messages_pb2

    name, read = READERS[kind]
    type_ = getattr(_messages_pb2, name)
    parse = type_.FromString

    def encode(message: message_types.Message) -> bytes:
        data: bytes = type_(**message).SerializeToString()
        return data

    return Coder(encode, lambda data: read(parse(data)), answer=message_types.answerer(kind))


def _records(message: Any) -> message_types.Message:
    return {
        "records": [
            {
                "id": record.id,
                "user": record.user,
                "session": record.session,
                "region": record.region,
                "created": record.created,
                "amount": record.amount,
                "score": record.score,
                "retries": record.retries,
                "priority": record.priority,
                "active": record.active,
                "label": record.label,
                "shards": list(record.shards),
            }
            for record in message.records
        ]
    }


def _items(message: Any) -> message_types.Message:
    return {"m": message.m, "items": [_item(item) for item in message.items]}


def _item(item: Any) -> message_types.Message:
    made = {
        "id": item.id,
        "name": item.name,
        "price": item.price,
        "quantity": item.quantity,
        "tags": list(item.tags),
    }
    if total := item.total:
        made["total"] = total
    return made


def _trees(message: Any) -> message_types.Message:
    return {"trees": [_node(node) for node in message.trees]}


def _node(node: Any) -> message_types.Message:
    made = {"title": node.title, "version": node.version}
    if node.HasField("weight"):
        made["weight"] = node.weight
    if node.HasField("open"):
        made["open"] = node.open
    if children := node.children:
        made["children"] = [_node(child) for child in children]
    return made


def _numbers(message: Any) -> message_types.Message:
    return {"numbers": list(message.numbers)}


Reader = Callable[[Any], message_types.Message]
READERS: dict[str, tuple[str, Reader]] = {  # the generated class of each kind, and what reads its fields
    "record": ("Records", _records),
    "items": ("Items", _items),
    "tree": ("Trees", _trees),
    "numbers": ("Numbers", _numbers),
}
