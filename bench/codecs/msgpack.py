"""MessagePack, by msgpack."""

import msgpack

from bench import message_types
from bench.codecs import Coder

REQUIRES = ("msgpack",)


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries."""
    return Coder(msgpack.packb, msgpack.unpackb, answer=message_types.answerer(kind))
