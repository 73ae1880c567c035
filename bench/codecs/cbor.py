"""CBOR, by cbor2."""

import cbor2

from bench.codecs import Coder, message_types

REQUIRES = ("cbor2",)


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries."""
    return Coder(cbor2.dumps, cbor2.loads, answer=message_types.answerer(kind))
