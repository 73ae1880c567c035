"""pickle, protocol 5: for peers that trust each other, because unpickling runs code that the sender chooses."""

import functools
import pickle
from array import array

from bench import message_types
from bench.codecs import Coder

REQUIRES = ()


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries; numbers are an ``array`` of float64."""
    natural = _with_array if kind == "numbers" else message_types.same
    return Coder(functools.partial(pickle.dumps, protocol=5), pickle.loads, natural, message_types.answerer(kind))


def _with_array(message: message_types.Message) -> message_types.Message:
    return {"numbers": array("d", message["numbers"])}
