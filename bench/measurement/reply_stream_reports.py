"""What the clients report of reply streams, as columns of the tables ``streams`` and ``replies``."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from bench.errors import SystemFailedError
from bench.process.spec import Done
from bench.run.start_record import Times

MOST_KEPT = 1000  # replies of a start that are stored one by one: enough for p99 of a start; the rates count all
WIDTH = 6  # columns that each caller reports

Columns = dict[str, Any]


def reply_streams_of(done: Sequence[Done], go_ns: int) -> tuple[Columns, Columns, int]:
    """Return the columns of ``streams`` and of ``replies``, and when the last reply came, in ns since *go*.

    Of more than ``MOST_KEPT`` replies those of every k-th stream are returned, so that whole streams are kept, and at
    least one.
    """
    callers = list(_callers(done))
    streams = [_streams(number, caller, go_ns) for number, caller in enumerate(callers)]
    joined: Columns = {name: np.concatenate([one[name] for one in streams]) for name in streams[0]}
    joined["stream"] = np.arange(len(joined["client"]), dtype="i4")
    none = joined["replies"] == 0
    last_ns = int((joined["t_send_ns"] + joined["last_ns"])[~none].max(initial=0))
    table = joined | {name: np.ma.masked_array(joined[name], none).tolist() for name in ("first_ns", "last_ns")}
    return table, _replies(callers, joined["replies"]), last_ns


def _callers(done: Sequence[Done]) -> Iterator[list[Times]]:
    """Yield the columns of each caller: sent, complete, sizes, received, due, handed."""
    for message in done:
        blobs = [np.frombuffer(blob, "i8") for blob in message.blobs]
        for first in range(0, len(blobs), WIDTH):
            yield blobs[first : first + WIDTH]


def _streams(number: int, caller: list[Times], go_ns: int) -> Columns:
    sent, complete, sizes, received, _, handed = caller
    if (received < handed).any():
        raise SystemFailedError("a reply came before it was sent: the clock of this machine steps back")
    ends = np.cumsum(sizes)
    padded = np.append(received, 0)
    first, last = padded[np.where(sizes > 0, ends - sizes, -1)], padded[np.where(sizes > 0, ends - 1, -1)]
    return {
        "client": np.full(len(sent), number, "i4"),
        "t_send_ns": sent - go_ns,
        "first_ns": np.where(sizes > 0, first - sent, 0),
        "last_ns": np.where(sizes > 0, last - sent, 0),
        "replies": sizes,
        "is_complete": complete.astype(bool),
    }


def _replies(callers: list[list[Times]], sizes: Times) -> Columns:
    """Return the columns of ``replies`` of every k-th stream."""
    sent, received, due, handed = (np.concatenate([one[place] for one in callers]) for place in (0, 3, 4, 5))
    stream = np.repeat(np.arange(len(sizes), dtype="i4"), sizes)
    is_first = np.append(True, np.diff(stream) > 0)[: len(stream)]
    before = np.where(is_first, sent[stream], np.append(0, received[:-1])[: len(stream)])
    kept = stream % max(1, -(-len(stream) // MOST_KEPT)) == 0
    columns = {
        "stream": stream,
        "gap_ns": received - before,
        "pacing_ns": handed - due,
        "transit_ns": received - handed,
    }
    return {name: values[kept] for name, values in columns.items()}
