"""pickle, protocol 5: for peers that trust each other, because unpickling runs code that the sender chooses."""

import functools
import pickle

from bench.codecs import Coder, values

REQUIRES = ()


def coder(kind: str) -> Coder:
    """Return the codec for any kind of message: dictionaries."""
    return values(functools.partial(pickle.dumps, protocol=5), pickle.loads, kind)
