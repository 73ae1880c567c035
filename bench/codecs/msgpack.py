"""MessagePack, by msgpack."""

import msgpack

from bench.codecs import Coder, message_types

REQUIRES = ("msgpack",)


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries."""
    return Coder(msgpack.packb, msgpack.unpackb, answer=message_types.answerer(kind))
