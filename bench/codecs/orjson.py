"""JSON, by orjson."""

import orjson

from bench.codecs import Coder, values

REQUIRES = ("orjson",)


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries."""
    return values(orjson.dumps, orjson.loads, kind)
