"""pickle, protocol 5: for peers that trust each other, because unpickling runs code that the sender chooses."""

import functools
import pickle
from array import array

from bench import messages
from bench.codecs import Coder

REQUIRES = ()


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries; numbers are an ``array`` of float64."""
    natural = _with_array if kind == "numbers" else messages.same
    return Coder(functools.partial(pickle.dumps, protocol=5), pickle.loads, natural, messages.answerer(kind))


def _with_array(message: messages.Message) -> messages.Message:
    return {"numbers": array("d", message["numbers"])}
