"""The messages as msgspec's types."""

import functools
from typing import Any

import msgspec

from bench.codecs import Coder
from bench.codecs.message_types import typed_answerer


class Record(msgspec.Struct):
    """One record."""

    id: int
    user: str
    session: str
    region: str
    created: float
    amount: float
    score: float
    retries: int
    priority: int
    active: bool
    label: str
    shards: list[int]


class Records(msgspec.Struct):
    """The message ``record``."""

    records: list[Record]


class Item(msgspec.Struct, omit_defaults=True):
    """One item; the reply sets its total."""

    id: int
    name: str
    price: int
    quantity: int
    tags: list[str]
    total: int = 0


class Items(msgspec.Struct):
    """The message ``items``."""

    m: int
    items: list[Item]


class Node(msgspec.Struct, omit_defaults=True):
    """One node of a tree; what is None or empty is not sent."""

    title: str
    version: int
    weight: float | None = None
    open: bool | None = None
    children: "list[Node]" = []


class Trees(msgspec.Struct):
    """The message ``tree``."""

    trees: list[Node]


class Numbers(msgspec.Struct):
    """The message ``numbers``."""

    numbers: list[float]


TYPES: dict[str, Any] = {"record": Records, "items": Items, "tree": Trees, "numbers": Numbers}


def coder(library: Any, kind: str) -> Coder:
    """Return the codec by ``msgspec.json`` or ``msgspec.msgpack``: of instances, or of dictionaries without a kind."""
    if not kind:
        return Coder(library.Encoder().encode, library.Decoder().decode)
    make = functools.partial(msgspec.convert, type=TYPES[kind])
    return Coder(library.Encoder().encode, library.Decoder(TYPES[kind]).decode, make, typed_answerer(kind))
