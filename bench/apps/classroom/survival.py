"""A look that may end a process is tried by a copy of it first."""

import os
import resource
import signal
import time
import warnings
from collections.abc import Callable
from typing import NoReturn

PATIENCE_S = 5.0


def survives(look: Callable[[], object]) -> bool:
    """Return whether a process survives a look at what a stranger wrote; a copy of this one tries it first.

    pyarrow ends the process instead of raising an error for some descriptions of columns (a histogram of another size).
    """
    if not hasattr(os, "fork"):
        return True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # threads: the copy takes no lock, and ends at once
        copy = os.fork()
    if copy == 0:
        _try(look)
    end = time.monotonic() + PATIENCE_S
    while (ended := os.waitpid(copy, os.WNOHANG))[0] == 0:
        if time.monotonic() > end:
            os.kill(copy, signal.SIGKILL)
        time.sleep(0.001)
    return not os.WIFSIGNALED(ended[1])


def _try(look: Callable[[], object]) -> NoReturn:
    """Look, and end without a word, however that comes; an error will be raised again by who looks next."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        signal.signal(signal.SIGABRT, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        look()
    finally:
        os._exit(0)
