"""Values of a service file's requests: what ``{name}`` in their texts stands for.

A value is drawn when a request is prepared, or made when it is sent: one that is unique, or the present time.
"""

import csv
import functools
import io
import itertools
import json
import os
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import quote

import msgspec
from msgspec import Meta, Struct

from bench.errors import SystemFileError, reason_of
from bench.plan import documents
from bench.text import counted

NAME = re.compile(r"[^\W\d][\w.-]*")
PLACE = re.compile(r"\{(\{)?(env:[A-Za-z_]\w*|[^\W\d][\w.-]*)\}(?(1)\})")  # {name}; {{name}} is the text {name}
STEP = re.compile(r"\.([^.\[\]]+)|\[(\d+)\]|\['([^']+)'\]")  # from a value of JSON to a member of it
OF_SHELL = re.compile(r"(\$\{\w+\})")
LONE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
MOST_ROWS = 100_000  # of a file of values
MOST_BYTES = 20_000_000

Text = Annotated[str, Meta(min_length=1)]
Values = Callable[[str], Any]  # from a name to its value


class Source(Struct, forbid_unknown_fields=True, frozen=True):
    """Where a value comes from, one of these.

    uniform: whole numbers from the first to the second, all equally likely. numbers: a file of comma-separated values,
    whose column of that name holds numbers. unique: another value for each request, a number of 16 digits or a UUID.
    now: the time when the request is made, as 2026-11-26T12:00:00.000Z, or in s or ms since 1970.
    """

    uniform: tuple[int, int] | None = None
    numbers: Text | None = None
    unique: Literal["number", "uuid"] | None = None
    now: Literal["iso", "s", "ms"] | None = None

    @property
    def is_made(self) -> bool:
        """Whether its value is made when a request is sent."""
        return self.unique is not None or self.now is not None


def _numbers() -> Iterator[int]:
    """Yield numbers of 16 digits that JavaScript holds exactly; another process begins elsewhere."""
    return itertools.count(random.SystemRandom().randrange(100_000_000, 900_000_000) * 10_000_000)


def _uuids() -> Iterator[str]:
    """Yield UUIDs of version 4, whose last 48 bits are counted."""
    chance = random.SystemRandom()
    begin = f"{chance.getrandbits(32):08x}-{chance.getrandbits(16):04x}-4{chance.getrandbits(12):03x}"
    begin += f"-{0x8000 | chance.getrandbits(14):04x}-"
    return (f"{begin}{number % 2**48:012x}" for number in itertools.count(chance.getrandbits(48)))


_unique: dict[str, Iterator[Any]] = {"number": _numbers(), "uuid": _uuids()}


def made(source: Source) -> Any:
    """Return a new value of a source that makes its values."""
    if source.unique:
        return next(_unique[source.unique])
    if source.now == "iso":
        return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return time.time_ns() // (10**9 if source.now == "s" else 10**6)


class Draws:
    """The values of one request, each drawn when it is asked for; those from one file are from one row of it."""

    def __init__(self, sources: "dict[str, tuple[str, Sequence[Any]]]", chance: random.Random) -> None:
        self._sources, self._chance = sources, chance
        self._rows: dict[str, int] = {}
        self.drawn: dict[str, Any] = {}

    def __call__(self, name: str) -> Any:
        """Return the value of a name; KeyError for one without values."""
        if name not in self.drawn:
            source, values = self._sources[name]
            if source not in self._rows:
                self._rows[source] = self._chance.randrange(len(values))
            self.drawn[name] = values[self._rows[source]]
        return self.drawn[name]


def sources_of(values: "dict[str, list[Any] | Source | str]", folder: str) -> "dict[str, tuple[str, Sequence[Any]]]":
    """Return what each name's values are drawn from, and the name or file that one draw is for.

    SystemFileError for values that are none.
    """
    sources: dict[str, tuple[str, Sequence[Any]]] = {}
    for name, source in values.items():
        if isinstance(source, list):
            sources[name] = name, source
        elif isinstance(source, Source) and source.uniform:
            low, high = source.uniform
            if high - low >= sys.maxsize:
                raise SystemFileError(f"values of {name}: uniform has more than {sys.maxsize:,} numbers: give fewer")
            sources[name] = name, range(low, high + 1)
        elif file := source if isinstance(source, str) else source.numbers:
            path = os.path.join(folder, file)  # noqa: PTH118
            sources[name] = path, (_column if isinstance(source, str) else _numbers_of)(path, name)
        else:
            continue
        if not sources[name][1]:
            raise SystemFileError(f"values of {name} are empty: give at least one; in uniform, the lower limit first")
    return sources


@functools.cache
def _rows(file: str) -> tuple[list[str], list[list[str]]]:
    """Return the names of a file's columns, and its rows; SystemFileError for one that is damaged."""
    try:
        text = documents.read(Path(file), MOST_BYTES).decode("utf-8-sig")  # Excel begins a file with a mark
        names, *rows = [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row] or [[]]
    except (OSError, ValueError, csv.Error) as reason:
        raise SystemFileError(f"{file}: {reason_of(reason)}: correct the file") from reason
    if not 0 < len(rows) <= MOST_ROWS:
        raise SystemFileError(f"{file} has {len(rows):,} rows below the header: give 1 to {MOST_ROWS:,} rows")
    for number, row in enumerate(rows, 1):
        if len(row) != len(names):
            fields = f"{counted(len(row), 'field')}, but the header has {len(names)}"
            raise SystemFileError(f"{file}: row {number} below the header has {fields}: correct the row")
    return names, rows


@functools.cache
def _column(file: str, name: str) -> list[str]:
    names, rows = _rows(file)
    if names.count(name) != 1:
        has = f"{names.count(name)} columns {name}" if name in names else f"no column {name}"
        raise SystemFileError(f"{file} has {has}: the header has, separated by commas, {', '.join(names)}")
    index = names.index(name)
    return [row[index] for row in rows]


@functools.cache
def _numbers_of(file: str, name: str) -> list[int | float]:
    numbers = []
    for row, text in enumerate(_column(file, name), 1):
        try:
            numbers.append(msgspec.json.decode(text, type=int | float))
        except ValueError:
            raise SystemFileError(
                f"{file}: row {row} below the header has {text!r} in {name}, which is no number: correct it"
            ) from None
    return numbers


def names_in(part: Any) -> set[str]:
    """Return the names for which values stand in the texts of a part of a request."""
    if isinstance(part, dict):
        return set().union(*(names_in(name) | names_in(value) for name, value in part.items()))
    if isinstance(part, list):
        return set().union(*map(names_in, part))
    return {match[2] for match in PLACE.finditer(part) if not match[1]} if isinstance(part, str) else set()


def fill(part: Any, value_of: Values) -> Any:
    """Return a part with its names filled in; a text that is one name alone becomes the value, of its own type."""
    if isinstance(part, dict):
        named = ((name if isinstance(name, str) else json.dumps(name), value) for name, value in part.items())
        return {text(name, value_of): fill(value, value_of) for name, value in named}
    if isinstance(part, list):
        return [fill(value, value_of) for value in part]
    if not isinstance(part, str):
        return part
    if (whole := PLACE.fullmatch(part)) and not whole[1]:
        return value_of(whole[2])
    return text(part, value_of)


def text(template: str, value_of: Values) -> str:
    """Return a text with its names filled in; other values than texts as JSON writes them."""
    return PLACE.sub(lambda match: f"{{{match[2]}}}" if match[1] else as_text(value_of(match[2])), template)


def word(template: str, value_of: Values) -> str:
    """Return a word of a command with its names filled in; ${NAME} is left to a shell."""
    return "".join(part if number % 2 else text(part, value_of) for number, part in enumerate(OF_SHELL.split(template)))


def as_text(value: Any) -> str:
    """Return a value as it stands within a text."""
    return value if isinstance(value, str) else json.dumps(value)


def target(template: str, value_of: Values) -> str:
    """Return a path and query with its names filled in, and what no URL may hold encoded (RFC 3986).

    A value in the path begins no query, and is one value in the query: what has a meaning there is encoded, too.
    """
    path, mark, query = template.partition("?")
    in_path = text(path, lambda name: quote(as_text(value_of(name)), safe="/:@!$&'()*+,;=~"))
    return quoted(in_path + mark + text(query, lambda name: quote(as_text(value_of(name)), safe="")))


def quoted(target: str) -> str:
    """Return a path and query as they are sent: what no URL may hold is encoded (RFC 3986)."""
    return quote(LONE_PERCENT.sub("%25", target), safe="%/?:@!$&'()*+,;=~[]")


def member(path: str, value: Any) -> Any:
    """Return the member of a value of JSON at a path as ``$.items[0].id``; KeyError where it is not there."""
    for name, index, quoted_name in STEP.findall(path):
        try:
            if index and isinstance(value, str):
                raise TypeError("a text has no members")
            value = value[int(index) if index else name or quoted_name]
        except (LookupError, TypeError) as reason:
            raise KeyError(path) from reason
    return value


def is_path(path: str) -> bool:
    """Return whether a text is a path as ``$.items[0].id``."""
    return path[:1] == "$" and not STEP.sub("", path[1:])
