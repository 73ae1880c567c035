"""Small messages of streams as objects, and their codecs: bytes as they are, pickle, protobuf.

A model server sends tokens as objects of a few fields; which codec writes them is an option of the systems here.
"""

from collections.abc import Callable
from typing import Any

from bench.errors import TransportError
from bench.plan import replies

Encode = Callable[[bytes], bytes]
Decode = Callable[[bytes], bytes]


def token_type() -> Any:
    """Return the generated message class."""
    from bench.systems._grpc_echo_pb2 import Token

    return Token


def to_message(token: Any) -> Callable[[bytes], Any]:
    """Return what makes a protobuf message of a reply."""

    def made(reply: bytes) -> Any:
        number, due_ns, sent_ns, text = replies.parts(reply)
        return token(number=number, due_ns=due_ns, sent_ns=sent_ns, text=text)

    return made


def from_message(message: Any) -> bytes:
    """Return the reply that a protobuf message holds."""
    return replies.reply(message.number, message.due_ns, message.sent_ns, message.text)


def codec(name: str) -> tuple[Encode, Decode]:
    """Return how a reply becomes the bytes of its object, and how these become the reply again.

    Decoding raises TransportError for bytes that are no such object.
    """
    if name == "bytes":
        return bytes, bytes  # which return the very object they are given
    return _pickle() if name == "pickle" else _protobuf()


def _pickle() -> tuple[Encode, Decode]:
    import pickle

    def encode(reply: bytes) -> bytes:
        number, due_ns, sent_ns, text = replies.parts(reply)
        return pickle.dumps({"number": number, "due_ns": due_ns, "sent_ns": sent_ns, "text": text}, 5)

    def decode(content: bytes) -> bytes:
        try:
            token = pickle.loads(content)  # of this host's own server
            return replies.reply(token["number"], token["due_ns"], token["sent_ns"], token["text"])
        except Exception as reason:  # pickle lets through whatever its bytes make happen
            raise TransportError(f"a reply cannot be unpickled: {reason}", "body") from reason

    return encode, decode


def _protobuf() -> tuple[Encode, Decode]:
    from google.protobuf.message import DecodeError

    token = token_type()
    make = to_message(token)

    def encode(reply: bytes) -> bytes:
        return bytes(make(reply).SerializeToString())

    def decode(content: bytes) -> bytes:
        try:
            return from_message(token.FromString(content))
        except DecodeError as reason:
            raise TransportError(f"a reply is no protobuf message: {reason}", "body") from reason

    return encode, decode
