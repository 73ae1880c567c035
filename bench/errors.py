"""The errors that users see: each says what happened, why, and what to do.

BenchError
├── UsageError          a parameter or argument cannot be used as given
├── NotInstalledError   a system's library is missing here
│   └── SystemFileError a system's file cannot be used as it is
├── SystemFailedError   a server or client died, hung, or answered wrongly
├── TransportError      a system's library failed (raised by files in bench/systems)
│   └── WrongReplyError a reply came, and is not the expected one
└── DataError           a run on disk cannot be written or read

Programs exit with ``exit_status``; notebooks show the message alone, without a traceback.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Iterable

from bench.redaction import redacted
from bench.text import quoted


def _command() -> str:
    """Return the command as it is typed here: in a clone by its path, elsewhere by its name."""
    clone, folder = os.path.split(sys.prefix)
    if folder != ".venv":
        return "bench"
    program = os.path.join(sys.prefix, "bin", "bench")  # noqa: PTH118
    try:
        here = os.getcwd()  # noqa: PTH109
    except OSError:  # it was removed
        return program
    is_inside = os.path.join(here, "").startswith(os.path.join(clone, ""))  # noqa: PTH118
    return os.path.relpath(program, here) if is_inside else program


BENCH = _command()


class BenchError(Exception):
    """Base of all errors raised on purpose by this package."""

    exit_status = 1

    def __str__(self) -> str:
        """Return what it says, without the values of variables that requests hold: libraries quote these."""
        return redacted(super().__str__())

    def _render_traceback_(self) -> list[str]:
        """Show one line in a notebook (IPython calls this method)."""
        return [f"{type(self).__name__}: {self}"]


class UsageError(BenchError):
    """A parameter or argument cannot be used as given."""

    exit_status = 2


class NotInstalledError(BenchError):
    """A system's library or program is not installed.

    packages: the Debian packages that hold what is missing; empty if Python packages are.
    """

    def __init__(self, text: str, packages: Iterable[str] = ()) -> None:
        super().__init__(text)
        self.packages = tuple(packages)


class SystemFileError(NotInstalledError):
    """A system's file cannot be used as it is; what wants any system that works does without it."""


class SystemFailedError(BenchError):
    """A server or client died, hung, never became ready, or answered wrongly."""


class TransportError(BenchError):
    """A system's own library failed; its exception is the cause.

    kind: what failed calls are counted by: connect, read (a reply did not come, or not whole), status and its number,
    body (a reply of other content), fault and its number, a library's own name for it, call (anything else). Of a wrong
    reply of a service the name of its request and the fault.
    """

    def __init__(self, text: str, kind: str = "call") -> None:
        super().__init__(text)
        self.kind = kind


class WrongReplyError(TransportError):
    """A reply came whole and is not the expected one: the connection can be used as before."""


class UnprocessedError(TransportError):
    """The server says that it has not processed a request, which may therefore be sent again."""


class Kinds(Counter[str]):
    """How many calls failed, by kind. Kinds that differ only in what replies held count as the first of them."""

    _COMMON = re.compile(r".*?: (?:wrong content|\$.*? (?:is|does) )(?!missing$)")

    def __init__(self) -> None:
        super().__init__()
        self._first: dict[str, str] = {}

    def add(self, kind: str, count: int = 1) -> None:
        """Count calls that failed."""
        common = self._COMMON.match(kind)
        self[self._first.setdefault(common[0] if common else kind, kind)] += count


class DataError(BenchError):
    """A run folder cannot be written, read or understood."""


def without_package(missing: ModuleNotFoundError) -> str:
    """Return a sentence on a package that this interpreter lacks: who lacks what, and what to do."""
    package = (missing.name or str(missing)).partition(".")[0]
    return (
        f"{sys.executable} lacks the package {package}: activate the environment that Roundtrip is installed in "
        "(in a checkout: . .venv/bin/activate), or run make in a checkout to create one"
    )


def unknown(what: str, name: object, known: Iterable[str]) -> UsageError:
    """Return the error for a name that does not exist: it lists those that do."""
    known = list(known)
    return UsageError(f"unknown {what} {quoted(name)}: there are {', '.join(known)}{did_you_mean(name, known)}")


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return which name is like one that does not exist, "; did you mean tcp?"; "" if none is."""
    import difflib

    near = difflib.get_close_matches(name[:100], known, n=1) if isinstance(name, str) else []
    return f"; did you mean {near[0]}?" if near else ""


def reason_of(error: Exception) -> str:
    """Return what an error of a library says; of an OSError without its number and its path."""
    return getattr(error, "strerror", None) or str(error)
