"""JSON, by Python's own json."""

import json

from bench.codecs import Coder, message_types

REQUIRES = ()
_encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries."""
    encode = _encoder.encode
    return Coder(lambda message: encode(message).encode(), json.loads, answer=message_types.answerer(kind))
