"""JSON into declared types, by msgspec."""

import msgspec.json

from bench.codecs import Coder, _structs

REQUIRES = ("msgspec",)


def coder(kind: str) -> Coder:
    """Return the codec for a kind of message: instances of its types; dictionaries for a message of the user's own."""
    return _structs.coder(msgspec.json, kind)
