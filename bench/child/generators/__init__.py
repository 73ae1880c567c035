"""External load generators: programs that make closed loads over HTTP and print a report; one file for each.

A generator's file holds ``PACKAGE`` (of Debian), ``command(connections, window_s, url)``, the words to start it with,
``seconds(window_s)``, how long it then runs, and ``read(said, complained, connections)``, the ``Report`` that it
printed. Reports are read strictly: a line that is not as expected ends the start, so that another version's report is
never taken for this one's.
"""

import importlib
import re
import shutil
from dataclasses import dataclass, field
from typing import Any

from bench.errors import NotInstalledError, SystemFailedError

Number = tuple[float, str]  # a value and its unit: us, s, 1, 1/s, B, B/s or %


@dataclass(frozen=True)
class Report:
    """The report of a load generator on one window.

    calls: requests that were answered, failed ones included. window_s: how long they were counted. numbers: all
    reported values, by name. errors: how many requests failed, by kind.
    """

    calls: int
    window_s: float
    numbers: dict[str, Number]
    errors: dict[str, int] = field(default_factory=dict)

    def rows(self) -> list[tuple[str, float, str]]:
        """Return (name, value, unit) of every number; the name of a kind of error begins with ``error_``."""
        rows = [(name, float(value), unit) for name, (value, unit) in self.numbers.items()]
        return rows + [(f"error_{kind}", float(count), "1") for kind, count in self.errors.items()]


class Lines:
    """The lines of a report, taken one after the other; SystemFailedError for one that is not as expected."""

    def __init__(self, program: str, text: str) -> None:
        self._program = program
        self._lines = text.split("\n")
        self._at = 0

    def take(self, pattern: str) -> tuple[str, ...]:
        """Return the groups of the next line, which has to match as a whole."""
        groups = self.maybe(pattern)
        if groups is None:
            raise strange(self._program, repr(self._next()[:200]))
        return groups

    def maybe(self, pattern: str) -> tuple[str, ...] | None:
        """Return the groups of the next line if it matches; else None, and the line stays the next."""
        match = re.fullmatch(pattern, self._next(), re.ASCII)
        self._at += match is not None
        return None if match is None else match.groups()

    def end(self) -> None:
        """Refuse anything that follows."""
        self.take("")
        if self._at < len(self._lines):
            raise strange(self._program, repr(self._next()[:200]))

    def _next(self) -> str:
        return self._lines[self._at] if self._at < len(self._lines) else "(its end)"


def strange(program: str, what: str) -> SystemFailedError:
    """Return the error for a report that cannot be relied upon."""
    return SystemFailedError(f"the report of {program} is not understood: {what}; is it another version?")


def none_answered(program: str, errors: dict[str, int]) -> SystemFailedError:
    """Return the error for a window without any answer."""
    kinds = ", ".join(f"{kind} {count}" for kind, count in errors.items())
    return SystemFailedError(f"{program} received no reply in its window (errors: {kinds or 'none reported'})")


def module(name: str) -> Any:
    """Return a generator's file as a module."""
    return importlib.import_module(f"bench.child.generators.{name}")


def program(name: str) -> str:
    """Return where a generator's program is; NotInstalledError with the command that installs it."""
    if path := shutil.which(name):
        return path
    raise NotInstalledError(f"{name} is not installed; install it: apt-get install {module(name).PACKAGE}")
