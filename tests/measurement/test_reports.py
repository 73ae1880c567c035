"""What clients report of reply streams, as the columns that are stored: exact, for whole, broken and empty streams."""

from array import array
from types import SimpleNamespace

import numpy as np
import pytest

from bench.errors import SystemFailedError
from bench.measurement.reports import MOST_KEPT, reply_streams_of


def done(*callers):
    """Return a client's report of callers: of each its requests as (sent, complete, [(received, due, handed), ...])."""
    blobs = []
    for requests in callers:
        flat = [one for _, _, each in requests for one in each]
        columns = [
            [sent for sent, _, _ in requests],
            [complete for _, complete, _ in requests],
            [len(each) for _, _, each in requests],
            *([one[place] for one in flat] for place in range(3)),
        ]
        blobs += [array("q", column) for column in columns]
    return SimpleNamespace(blobs=blobs)


def test_whole_broken_and_empty_streams():
    first = [(100, 1, [(110, 101, 103), (130, 121, 125)]), (200, 0, []), (300, 0, [(340, 301, 302)])]
    second = [(150, 1, [(155, 151, 152), (190, 171, 180)])]
    streams, replies, last = reply_streams_of([done(first), done(second)], 50)
    assert streams["stream"].tolist() == [0, 1, 2, 3] and streams["client"].tolist() == [0, 0, 0, 1]
    assert streams["t_send_ns"].tolist() == [50, 150, 250, 100]
    assert streams["first_ns"] == [10, None, 40, 5] and streams["last_ns"] == [30, None, 40, 40]
    assert streams["replies"].tolist() == [2, 0, 1, 2]
    assert streams["is_complete"].tolist() == [True, False, False, True]
    assert replies["stream"].tolist() == [0, 0, 2, 3, 3]
    assert replies["gap_ns"].tolist() == [10, 20, 40, 5, 35]
    assert replies["pacing_ns"].tolist() == [2, 4, 1, 1, 9]
    assert replies["transit_ns"].tolist() == [7, 5, 38, 3, 10]
    assert last == 290


def test_of_too_many_replies_every_kth_stream_is_kept_whole():
    streams = [(10 * n, 1, [(10 * n + 1 + i, 0, 0) for i in range(5)]) for n in range(1000)]
    columns, replies, _ = reply_streams_of([done(streams)], 0)
    kept, sizes = np.unique(replies["stream"], return_counts=True)
    assert len(replies["stream"]) == MOST_KEPT and set(sizes) == {5}
    assert kept.tolist() == list(range(0, 1000, 5))
    assert sum(columns["replies"]) == 5000  # the counts are of all


def test_streams_are_kept_from_the_whole_window_however_many_each_caller_has():
    replies_at = [[(begin + 1 + i, 0, 0) for i in range(5)] for begin in (0, 10_000)]
    callers = [done([(0, 1, replies_at[0]), (10_000, 1, replies_at[1])]) for _ in range(200)]
    _, replies, _ = reply_streams_of(callers, 0)
    kept = np.unique(replies["stream"])
    assert len(kept) == 200 and np.mean(kept % 2) == 0.5  # as many first streams of callers as second ones


def test_a_reply_before_it_was_sent_is_refused():
    with pytest.raises(SystemFailedError):
        reply_streams_of([done([(100, 1, [(110, 105, 111)])])], 0)
