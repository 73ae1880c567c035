"""Streams of a service's messages: server-sent events in parts, and what a stream must hold."""

import asyncio
import itertools

import pytest

from bench.errors import TransportError
from bench.plan.service_file import Expect, Prepared
from bench.systems import _service_streams
from bench.systems._service_streams import Events, of_events


@pytest.mark.parametrize(
    ("content", "data"),
    [
        (b"data: a\n\ndata:b\n\n", [b"a", b"b"]),
        (b"data: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r:", [b"a", b"b"]),
        (b": comment\nevent: x\nid: 7\nretry: 10\ndata: a\ndata:  b\n\n", [b"a\n b"]),
        (b'event: x\n\n\n\ndata\n\ndata: {"a": 1}\n\n', [b"", b'{"a": 1}']),
        (b"data: whole\n\ndata: begun\n", [b"whole"]),
    ],
)
def test_events_are_the_same_in_whatever_parts_they_come(content, data):
    for cuts in itertools.combinations_with_replacement(range(len(content) + 1), 2):
        parts = [content[begin:end] for begin, end in itertools.pairwise([0, *cuts, len(content)])]
        events = Events()
        assert [each for part in parts for each in events.feed(part)] == data


def test_an_event_without_end_is_refused(monkeypatch):
    monkeypatch.setattr(_service_streams, "MOST_EVENT", 100)
    for line in (b"x" * 101, b"data: " + b"x" * 99 + b"\ndata: xx\n"):
        with pytest.raises(TransportError, match="100 bytes"):
            Events().feed(line)


@pytest.mark.parametrize(
    ("expect", "content", "fault"),
    [
        (Expect(), b"data: 1\n\n", ""),
        (Expect(), b"", "no message"),
        (Expect(messages=2), b"data: 1\n\ndata: 2\n\n", ""),
        (Expect(messages=2), b"data: 1\n\n", "1 message, not 2"),
        (Expect(messages=1, end="[DONE]"), b"data: 1\n\ndata: [DONE]\n\n", ""),
        (Expect(end="[DONE]"), b"data: 1\n\n", "without .*DONE"),
        (Expect(end="[DONE]"), b"data: [DONE]\n\ndata: 1\n\n", "goes on"),
        (Expect(json={"a": 1}), b'data: {"a": 1}\n\ndata: {"a": 2}\n\n', r"\$\.a is 2"),
        (Expect(text="x"), b"data: axb\n\ndata: ab\n\n", "does not contain"),
    ],
)
def test_a_stream_is_compared_with_what_is_expected(expect, content, fault):
    request = Prepared("tokens", "GET", "/", {}, b"", expect)

    async def parts():
        yield content

    async def received():
        async for message in of_events(request, parts()):
            message.check()

    if not fault:
        asyncio.run(received())
        return
    with pytest.raises(TransportError, match=fault) as refused:
        asyncio.run(received())
    assert refused.value.kind == "tokens"
