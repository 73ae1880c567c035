"""MessagePack into declared types, by msgspec."""

import msgspec

from bench.codecs import Coder, _structs, message_types

REQUIRES = ("msgspec",)


def coder(kind: str) -> Coder:
    """Return the codec for a kind of message: instances of its types; dictionaries for a message of the user's own."""
    if not kind:
        return Coder(msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode)
    encode, decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder(_structs.TYPES[kind]).decode
    return Coder(encode, decode, _structs.maker(kind), message_types.typed_answerer(kind))
