"""MessagePack, by msgpack."""

import msgpack

from bench import messages
from bench.codecs import Coder

REQUIRES = ("msgpack",)


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries."""
    return Coder(msgpack.packb, msgpack.unpackb, answer=messages.answerer(kind))
