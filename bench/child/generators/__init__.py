"""External load generators: programs that make closed loads over HTTP and print a report; one file for each.

A generator's file holds ``PACKAGE`` (of Debian), ``command(connections, window_s, url)``, the words to start it with,
``seconds(window_s)``, how long it then runs, and ``read(output, complained, connections)``, the ``Report`` that it
printed. Reports are read strictly, by patterns that match once each: one that is not as expected ends the start, so
that another version's report is never taken for this one's. ``certify`` reads reports so, too.
"""

import importlib
import math
import re
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bench.errors import NotInstalledError, SystemFailedError
from bench.text import listed, quoted

Scales = dict[str, float]
TIMES_US: Scales = {
    "ns": 1e-3, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "min": 60e6, "h": 3600e6,
}  # fmt: skip
NUMBER = re.compile(r"(\d+|\d{1,3}(,\d{3})+)(\.\d*)?([eE][+-]?\d+)?|\.\d+", re.ASCII)


@dataclass(frozen=True)
class Report:
    """The report of a load generator on one window.

    calls: requests that were answered, failed ones included. window_s: how long they were counted. numbers: its
    ``rate`` per second, and its times in us, whose names begin with ``rtt_``. errors: how many requests failed, by
    kind.
    """

    calls: int
    window_s: float
    numbers: dict[str, float]
    errors: dict[str, int] = field(default_factory=dict)

    def rows(self) -> list[tuple[str, float, str]]:
        """Return (name, value, unit) of every number; the name of a kind of error begins with ``error_``."""
        rows = [(name, value, "1/s" if name == "rate" else "us") for name, value in self.numbers.items()]
        return rows + [(f"error_{kind}", float(count), "1") for kind, count in self.errors.items()]


def once(pattern: str, text: str) -> re.Match[str]:
    """Return the match of a pattern in a report (^ and $ match at lines); ValueError unless there is exactly one."""
    matches = list(re.finditer(pattern, text, re.M))
    if len(matches) != 1:
        raise ValueError(f"the pattern {pattern} matches {len(matches)} times, not once")
    return matches[0]


def amount(digits: str, unit: str | None, scales: Scales | None) -> float:
    """Return a number, multiplied by its unit's scale where there are any; ValueError for what is none."""
    if not NUMBER.fullmatch(digits):
        raise ValueError("it is no number")
    if scales and unit not in scales:
        raise ValueError(f"its unit is none of {listed(scales)}")
    number = float(digits.replace(",", "")) * (scales[unit or ""] if scales else 1.0)
    if not math.isfinite(number):
        raise ValueError("it is no finite number")
    return number


def numbers(name: str, text: str, patterns: Iterable[str]) -> dict[str, float]:
    """Return the numbers in a program's report by the names of the patterns' groups: times in us, 0 if not there.

    SystemFailedError for a pattern that does not match once, so that nothing is read from a report of another kind.
    """
    values: dict[str, float] = {}
    for pattern in patterns:
        try:
            for group, words in once(pattern, text).groupdict("0").items():
                unit = words.lstrip("0123456789.")
                values[group] = amount(words.removesuffix(unit), unit, TIMES_US if unit else None)
        except ValueError as reason:
            groups = [*re.compile(pattern).groupindex]
            wanted = listed(groups) if groups else "that it was called as asked"
            raise strange(name, f"{wanted} cannot be read in {quoted(text.strip())}") from reason
    return values


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
