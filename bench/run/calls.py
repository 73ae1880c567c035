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

Array = npt.NDArray[Any]
COLUMNS = ("client", "t_send_ns", "lag_ns", "rtt_ns", "open_ns")


@dataclass(frozen=True, slots=True)
class Calls:
    """The columns of the table ``samples``, as arrays of one length; open_ns: NaN where the connection was open."""

    client: Array
    t_send_ns: Array
    lag_ns: Array
    rtt_ns: Array
    open_ns: Array

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

    def where(self, chosen: slice | Array) -> "Calls":
        """Return some of the calls: a view of those of a slice, a copy of those of which a flag is true."""
        return Calls(*(getattr(self, name)[chosen] for name in COLUMNS))


@dataclass(frozen=True, slots=True)
class AllCalls:
    """The calls of all starts, in the order of sending within each.

    places: where in the arrays those of each start are, for the starts that have any, in the order of the starts.
    """

    calls: Calls
    places: dict[Any, slice]

    def place_of(self, start: object) -> slice:
        """Return where the calls of a start are; an empty slice for one without any."""
        return self.places.get(start, slice(0))

    def of(self, start: object) -> Calls:
        """Return a view of the calls of a start."""
        return self.calls.where(self.place_of(start))

    def by_start(self) -> Iterator[tuple[int, Calls]]:
        """Yield each start that has any calls with a view of them."""
        return ((start, self.calls.where(place)) for start, place in self.places.items())


def gathered(parts: Iterable[pa.Table]) -> AllCalls:
    """Return the calls of parts of a table ``samples``; each is read when the one before it has been taken over."""
    arrays: dict[str, list[Array]] = {name: [] for name in ("start", *COLUMNS)}
    for part in parts:
        for name, of_parts in arrays.items():
            of_parts.append(lean(np.array(part[name])))  # a copy: what Arrow read is released
    starts = joined(arrays.pop("start"))
    order = np.argsort(starts, kind="stable") if (starts[1:] < starts[:-1]).any() else slice(None)
    places = _places(starts[order])
    del starts
    calls = Calls(*(joined(arrays.pop(name))[order] for name in COLUMNS))
    for place in places.values():
        _put_in_order(calls, place)
    return AllCalls(calls, places)


def _places(starts: Array) -> dict[Any, slice]:
    """Return where each start's calls are. ``starts``: of each call, sorted."""
    edges = [0, *(np.flatnonzero(starts[1:] != starts[:-1]) + 1).tolist(), len(starts)]
    return {int(starts[begin]): slice(begin, end) for begin, end in itertools.pairwise(edges) if end}


def _put_in_order(calls: Calls, place: slice) -> None:
    """Sort the calls of one start by the time of sending, where they are of several callers."""
    sent = calls.t_send_ns[place]
    if (sent[1:] < sent[:-1]).any():
        order = np.argsort(sent, kind="stable")
        for column in (getattr(calls, name) for name in COLUMNS):
            if not is_lean(column):
                column[place] = column[place][order]


def lean(values: Array) -> Array:
    """Return an array that takes no memory where all values are equal; otherwise the array itself."""
    if not len(values) or not _same(values[0], values[-1]):
        return values
    is_one = (values == values[0]).all() or (values.dtype.kind == "f" and np.isnan(values).all())
    return constant(values[0], len(values)) if is_one else values


def constant(value: Any, count: int) -> Array:
    """Return an array of one value, which takes no memory and cannot be written."""
    return np.broadcast_to(value, count)


def is_lean(values: Array) -> bool:
    """Return whether an array holds one value and takes no memory."""
    return values.strides == (0,)


def joined(arrays: Sequence[Array]) -> Array:
    """Return arrays behind each other: without memory where all of them hold the same value."""
    filled = [array for array in arrays if len(array)] or list(arrays[:1]) or [np.empty(0, np.int64)]
    first = filled[0]
    if len(first) and all(is_lean(array) and _same(array[0], first[0]) for array in filled):
        return constant(first[0], sum(map(len, filled)))
    return np.concatenate(filled)


def _same(one: Any, other: Any) -> bool:
    return bool(one == other or (one != one and other != other))
