"""JSON, by Python's own json."""

import json

from bench.codecs import Coder, values

REQUIRES = ()
_encoder = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries."""
    encode = _encoder.encode
    return values(lambda message: encode(message).encode(), json.loads, kind)
