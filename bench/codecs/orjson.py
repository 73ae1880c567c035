"""JSON, by orjson."""

import orjson

from bench.codecs import Coder, message_types

REQUIRES = ("orjson",)


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries."""
    return Coder(orjson.dumps, orjson.loads, answer=message_types.answerer(kind))
