"""MessagePack, by msgpack."""

import msgpack

from bench.codecs import Coder, values

REQUIRES = ("msgpack",)


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries."""
    return values(msgpack.packb, msgpack.unpackb, kind)
