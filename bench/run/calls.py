"""The calls of a run in memory: one array for each column, in which the calls of each start follow each other.

A column that holds one value, as the lag does in a closed loop, takes no memory: a call of one takes 16 bytes.
"""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bench.text import harmless

Array = npt.NDArray[Any]
COLUMNS = ("client", "t_send_ns", "lag_ns", "rtt_ns", "open_ns", "request")
ONE_REQUEST = -1  # of a service that has no others, or of no service


@dataclass(frozen=True, slots=True)
class Calls:
    """The columns of the table ``samples``, as arrays of one length; open_ns: NaN where the connection was open.

    request: the place of its name in ``AllCalls.requests``, or ``ONE_REQUEST``.
    """

    client: Array
    t_send_ns: Array
    lag_ns: Array
    rtt_ns: Array
    open_ns: Array
    request: Array

    @property
    def size(self) -> int:
        """The number of calls."""
        return len(self.rtt_ns)

    @property
    def received_ns(self) -> Array:
        """When each reply had been received."""
        return self.t_send_ns + self.rtt_ns

    @property
    def response_ns(self) -> Array:
        """The time of each call from when it was due."""
        return self.lag_ns + self.rtt_ns

    def select(self, chosen: slice | Array) -> "Calls":
        """Return some of the calls: a view of those of a slice, a copy of those of which a flag is true."""
        return Calls(*(getattr(self, name)[chosen] for name in COLUMNS))


@dataclass(frozen=True, slots=True)
class AllCalls:
    """The calls of all starts, in the order of sending within each.

    places: where in the arrays those of each start are, for the starts that have any, in the order of the starts.
    requests: the names of a service's requests, if it has several.
    """

    calls: Calls
    places: dict[Any, slice]
    requests: tuple[str, ...] = ()

    def place_of(self, start: object) -> slice:
        """Return where the calls of a start are; an empty slice for one without any."""
        return self.places.get(start, slice(0))

    def of_start(self, start: object) -> Calls:
        """Return a view of the calls of a start."""
        return self.calls.select(self.place_of(start))

    def by_start(self) -> Iterator[tuple[int, Calls]]:
        """Yield each start that has any calls with a view of them."""
        return ((start, self.calls.select(rows)) for start, rows in self.places.items())


def gathered(parts: Iterable[pa.Table]) -> AllCalls:
    """Return the calls of parts of a table ``samples``; each is read when the one before it has been taken over."""
    columns, slices = {name: _Column() for name in COLUMNS}, list[tuple[int, slice]]()
    requests: dict[str, int] = {}
    for part in parts:
        starts, begin = part["start"].to_numpy(), columns["rtt_ns"].count
        edges = [0, *(np.flatnonzero(starts[1:] != starts[:-1]) + 1).tolist(), len(starts)]
        slices += [(int(starts[at]), slice(begin + at, begin + end)) for at, end in itertools.pairwise(edges) if end]
        for name, column in columns.items():
            column.add(_numbered(part[name], requests) if name == "request" else part[name].to_numpy())
    calls, in_order = Calls(*(column.taken() for column in columns.values())), sorted(slices, key=lambda pair: pair[0])
    if slices != in_order:
        calls = calls.select(np.concatenate([np.arange(rows.start, rows.stop) for _, rows in in_order]))
    places: dict[Any, slice] = {}
    end = 0
    for start, rows in in_order:
        begin, end = end, end + rows.stop - rows.start
        places[start] = slice(places[start].start if start in places else begin, end)
    for rows in places.values():
        _put_in_order(calls, rows)
    return AllCalls(calls, places, tuple(requests))


def _numbered(names: pa.ChunkedArray, numbers: dict[str, int]) -> Array:
    """Return the number of each name; new ones are added to ``numbers``; ``ONE_REQUEST`` for none."""
    if names.null_count == len(names):
        return constant(np.int32(ONE_REQUEST), len(names))
    coded = names.combine_chunks().dictionary_encode()
    known = [numbers.setdefault(harmless(name), len(numbers)) for name in coded.dictionary.to_pylist()]
    places = coded.indices.fill_null(-1).to_numpy()
    return np.array([*known, ONE_REQUEST], np.int32)[places]


class _Column:
    """A column to which parts are added in place: a whole beside its parts would take twice the memory."""

    def __init__(self) -> None:
        self.count = 0
        self._values: Array = np.empty(0, np.int64)

    def add(self, values: Array) -> None:
        """Add values at the end."""
        begin, self.count, values = self.count, self.count + len(values), compact(values)
        if not begin:
            self._values = values if is_constant(values) else np.array(values)
        elif len(values) and is_constant(values) and is_constant(self._values) and _same(values[0], self._values[0]):
            self._values = constant(values[0], self.count)
        elif len(values):
            self._grow(np.result_type(self._values, values))
            self._values[begin : self.count] = values

    def _grow(self, kind: "np.dtype[Any]") -> None:
        """Make room for all values, and more, so that it is seldom made."""
        if not self._values.flags.owndata or self._values.dtype != kind:
            self._values = np.array(self._values, kind)
        if len(self._values) < self.count:
            self._values.resize(max(self.count, 3 * len(self._values) // 2), refcheck=False)

    def taken(self) -> Array:
        """Return the values; nothing can be added to them."""
        if len(self._values) != self.count:
            self._values.resize(self.count, refcheck=False)
        return self._values


def _put_in_order(calls: Calls, rows: slice) -> None:
    """Sort the calls of one start by the time of sending, where they are of several callers."""
    sent = calls.t_send_ns[rows]
    if (sent[1:] < sent[:-1]).any():
        order = np.argsort(sent, kind="stable")
        for column in (getattr(calls, name) for name in COLUMNS):
            if not is_constant(column):
                column[rows] = column[rows][order]


def compact(values: Array) -> Array:
    """Return an array that takes no memory where all values are equal; otherwise the array itself."""
    if not len(values) or not _same(values[0], values[-1]):
        return values
    is_one = (values == values[0]).all() or (values.dtype.kind == "f" and np.isnan(values).all())
    return constant(values[0], len(values)) if is_one else values


def constant(value: Any, count: int) -> Array:
    """Return an array of one value, which takes no memory and cannot be written."""
    return np.broadcast_to(value, count)


def is_constant(values: Array) -> bool:
    """Return whether an array holds one value and takes no memory."""
    return values.strides == (0,)


def joined(arrays: Sequence[Array]) -> Array:
    """Return arrays behind each other: without memory where all of them hold the same value."""
    filled = [array for array in arrays if len(array)] or list(arrays[:1]) or [np.empty(0, np.int64)]
    first = filled[0]
    if len(first) and all(is_constant(array) and _same(array[0], first[0]) for array in filled):
        return constant(first[0], sum(map(len, filled)))
    return np.concatenate(filled)


def _same(first: Any, other: Any) -> bool:
    return bool(first == other or (first != first and other != other))
