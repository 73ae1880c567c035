"""Streams of replies: the request and the reply as bytes, the loop that receives them, and streams that go wrong."""

import asyncio
import importlib
import itertools
from types import SimpleNamespace

import pytest
from specs import client_spec, reported

from bench.child.reply_streams import Record, ReplyStreams, receive, receive_async
from bench.child.server import Echo
from bench.errors import SystemFailedError, TransportError
from bench.plan import replies
from bench.plan.replies import Ask

ASK = Ask(4, 50, 0)
REQUEST = replies.request(ASK, bytes(100))


def answers(numbers, size=50, fixed=None):
    """Replies with these numbers, due at 1 000 ns a number and handed over 7 ns later."""
    rest = replies.rest(size) if fixed is None else fixed
    return [replies.reply(number, 1000 * number, 1000 * number + 7, rest) for number in numbers]


def received(each):
    """Return the record of one stream that brings these replies."""
    record = Record()
    receive(lambda request: iter(each), REQUEST, ASK, record)
    return record


@pytest.mark.parametrize("payload", [b"", bytes(15), replies.request(Ask(1, 19, 0), bytes(16)),
                                     replies.request(Ask(2**31, 50, 0), bytes(16)),
                                     replies.request(Ask(1, 50, -1), bytes(16))])  # fmt: skip
def test_bytes_that_ask_for_nothing_possible_are_refused(payload):
    with pytest.raises(TransportError):
        replies.asked(payload)


@pytest.mark.parametrize("size", [20, 21, 50, 300, 10_000])
def test_a_reply_has_the_size_asked_for_and_comes_apart_again(size):
    reply = replies.reply(3, 11, 12, replies.rest(size))
    assert len(reply) == size and replies.parts(reply) == (3, 11, 12, replies.rest(size))


def test_a_source_makes_the_replies_asked_for_and_counts_them():
    source = Echo(lambda address, pids: None)
    made = list(source.replies(REQUEST))
    assert [replies.mark_of(one)[0] for one in made] == [0, 1, 2, 3] and source.count().count == 4
    marks = [replies.mark_of(one)[1:] for one in made]
    assert all(due == handed for due, handed in marks)  # without pauses nothing is late


def test_a_paced_source_follows_an_absolute_schedule():
    source = Echo(lambda address, pids: None)
    request = replies.request(Ask(5, 50, 2_000_000), bytes(16))
    marks = [replies.mark_of(one) for one in source.replies(request)]
    assert [due - marks[0][1] for _, due, _ in marks] == [0, 2_000_000, 4_000_000, 6_000_000, 8_000_000]
    assert all(handed >= due for _, due, handed in marks)


def test_known_gaps_replace_those_of_the_request():
    source = Echo(lambda address, pids: None)
    marks = [replies.mark_of(one) for one in source.replies(REQUEST, iter([10, 20, 3_000_000, 40]))]
    assert [marks[i + 1][1] - marks[i][1] for i in range(3)] == [20, 3_000_000, 40]


@pytest.mark.parametrize("event_loop", ["asyncio", "uvloop"])
def test_an_event_loop_has_the_same_schedule_and_does_not_spin(event_loop, monkeypatch):
    pytest.importorskip(event_loop)
    source = Echo(lambda address, pids: None)
    request = replies.request(Ask(4, 50, 3_000_000), bytes(16))

    async def marks():
        return [replies.mark_of(one) async for one in source.replies_async(request)]

    pauses, sleep = [], asyncio.sleep
    monkeypatch.setattr(asyncio, "sleep", lambda seconds: (pauses.append(seconds), sleep(seconds))[1])
    with asyncio.Runner(loop_factory=importlib.import_module(event_loop).new_event_loop) as runner:
        reply_marks = runner.run(marks())
    assert [due - reply_marks[0][1] for _, due, _ in reply_marks] == [0, 3_000_000, 6_000_000, 9_000_000]
    assert all(handed >= due for _, due, handed in reply_marks)
    assert pauses and (event_loop == "asyncio" or min(pauses) >= 0.001)  # of less than 0.5 ms uvloop makes none


def test_a_whole_stream_is_recorded():
    record = received(answers(range(4)))
    assert list(record.complete) == [1] and list(record.sizes) == [4]
    assert list(record.due) == [0, 1000, 2000, 3000] and list(record.handed) == [7, 1007, 2007, 3007]
    times = [record.sent[0], *record.received]
    assert times == sorted(times)


@pytest.mark.parametrize(
    ("each", "words"),
    [
        (answers(range(3)), "3 of 4"),
        (answers(range(5)), "5 .*4"),
        (answers([0, 2]), "reply 2 .*reply 1"),
        (answers(range(4), size=49), "reply 0 .*49 .*50"),
        (answers(range(4), fixed=bytes(30)), "reply 0"),
    ],
)
def test_a_wrong_stream_is_an_error_that_says_what_is_wrong(each, words):
    with pytest.raises(SystemFailedError, match=words):
        received(each)

    async def stream(request):
        for one in each:
            yield one

    with pytest.raises(SystemFailedError, match=words):
        asyncio.run(receive_async(stream, REQUEST, ASK, Record()))


class Breaking:
    """A client of which every second stream breaks after two replies."""

    streams = itertools.count()

    def __init__(self, address, options):
        self.open = self.close = lambda: None

    def stream(self, payload):
        ask, is_broken = replies.asked(payload), next(self.streams) % 2
        yield from answers(range(2 if is_broken else ask.replies), ask.reply_bytes)
        if is_broken:
            raise TransportError("the peer has gone", "read")


class BreakingAsync(Breaking):
    """The same, awaited."""

    async def stream(self, payload):
        for one in super().stream(payload):
            yield one


@pytest.mark.parametrize("client", [Breaking, BreakingAsync])
def test_a_stream_that_breaks_is_a_counted_failure_and_its_replies_are_kept_apart(client):
    client.streams = itertools.count()
    spec = client_spec(load="reply_stream", replies=4, reply_bytes=50, payload_bytes=100)
    report = reported(ReplyStreams(SimpleNamespace(StreamClient=client), None, "", spec), 300_000_000)
    _, complete, sizes, came, _, _ = map(list, report.times)
    assert report.errors == complete.count(0) >= 1 and ("error_read", report.errors, "1") in report.numbers
    assert {(size, whole) for size, whole in zip(sizes, complete, strict=True)} == {(2, 0), (4, 1)}
    assert report.calls == len(came) == sum(sizes)
