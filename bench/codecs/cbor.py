"""CBOR, by cbor2."""

import cbor2

from bench.codecs import Coder, values

REQUIRES = ("cbor2",)


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries."""
    return values(cbor2.dumps, cbor2.loads, kind)
