"""Codecs: how a structured message becomes bytes and back. One file each, found by looking; its stem is its name.

A file defines ``coder(kind)`` for a kind of ``bench.codecs.message_types`` ("" for a user's own message), ``REQUIRES``,
and its docstring's first line describes it. **A codec's library is imported in its file and nowhere else.**
"""

import ast
import glob
import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from bench.codecs import message_types
from bench.errors import NotInstalledError, TransportError, UsageError, unknown


@dataclass(frozen=True)
class Coder:
    """A codec, ready for one kind of message.

    All codecs do the same work: encode makes bytes of an object whose values are all Python's own, and decode makes
    such an object of bytes. What a library holds in memory of its own (a message of protobuf, a batch of Arrow) is
    built in encode and read in decode, as a user's program would have to.

    natural: a message to the object that a user of this codec works with (a dictionary, or an instance of a declared
    Python type), made before any clock runs. answer: the application, from the decoded request to the reply, both such
    objects; it may change the request. build, read: from such an object to what the call of a system with a codec of
    its own takes, and back from what it returns.
    """

    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]
    natural: Callable[[message_types.Message], Any] = message_types.same
    answer: Callable[[Any], Any] = message_types.same
    build: Callable[[Any], Any] = message_types.same
    read: Callable[[Any], Any] = message_types.same

    def exchange(self, message: message_types.Message) -> message_types.Exchange:
        """Return a request and the reply that is expected to it."""
        request = self.natural(message)
        return message_types.Exchange(request, self.answer(self.decode(self.encode(request))))


def names() -> list[str]:
    """Return the names of all codecs, in alphabetical order, without importing any."""
    return sorted(file.removesuffix(".py") for file in glob.glob("[a-z]*.py", root_dir=__path__[0]))  # noqa: PTH207


def describe(name: str) -> str:
    """Return the first line of a codec's docstring, without importing it."""
    return (ast.get_docstring(_tree(name)) or name).splitlines()[0]


def _tree(name: str) -> ast.Module:
    with open(os.path.join(__path__[0], f"{name}.py"), "rb") as source:  # noqa: PTH118, PTH123
        return ast.parse(source.read())


def requires(name: str) -> tuple[str, ...]:
    """Return the packages that a codec's file names in ``REQUIRES``."""
    assigned = [node for node in _tree(name).body if isinstance(node, ast.Assign)]
    return next(ast.literal_eval(node.value) for node in assigned if ast.unparse(node.targets[0]) == "REQUIRES")


def load(name: str, kind: str) -> Coder:
    """Return a codec for a kind of message.

    UsageError for a codec that is not there, and for a kind that it has no types for; NotInstalledError names the
    package that it lacks.
    """
    if name not in names():
        raise unknown("codec", name, names())
    try:
        return importlib.import_module(f"bench.codecs.{name}").coder(kind if kind in message_types.KINDS else "")
    except ImportError as missing:
        wanted = " ".join(requires(name))
        raise NotInstalledError(
            f"codec {name!r} cannot be imported ({missing}); install it: python -m pip install {wanted}"
        ) from missing


def values(encode: Callable[[Any], bytes], decode: Callable[[bytes], Any], kind: str) -> Coder:
    """Return the codec of a library that encodes dictionaries itself."""
    return Coder(encode, decode, answer=message_types.answerer(kind))


def no_types(name: str, kind: str) -> UsageError:
    """Return the error for a codec that needs declared types and has none for this kind."""
    what = f"the message {kind!r}" if kind else "a message of your own"
    return UsageError(f"codec {name} needs declared types, and there are none for {what}: use json, msgpack or cbor")


def refuse_what_cannot_be_carried(coder: Coder, name: str, message: message_types.Message, label: str) -> None:
    """Raise UsageError if a codec cannot encode a message, or gives back another one than it was given."""
    try:
        request = coder.natural(message)
        back = coder.decode(coder.encode(request))
    except Exception as reason:  # codecs raise what they like
        raise UsageError(f"codec {name} cannot carry the message {label!r}: {_words(reason)}") from reason
    if back != coder.natural(message):
        raise UsageError(f"codec {name} gives back the message {label!r} altered")


def around(coder: Coder) -> Callable[[bytes], bytes]:
    """Return what a server does with a request's bytes: decode, answer, encode; TransportError for other bytes."""
    encode, decode, answer = coder.encode, coder.decode, coder.answer

    def respond(data: bytes) -> bytes:
        try:
            return encode(answer(decode(data)))
        except Exception as reason:  # codecs raise what they like
            raise TransportError(f"a request is not the expected message: {_words(reason)}", "decode") from reason

    return respond


def failed(reason: Exception) -> TransportError:
    """Return the error for a reply that could not be decoded, or a request that could not be encoded."""
    return TransportError(f"the codec failed: {_words(reason)}", "codec")


def _words(reason: Exception) -> str:
    text = " ".join(str(reason).split())[:300]
    return f"{type(reason).__name__}: {text}" if text else type(reason).__name__
