"""Streams of a service's messages: server-sent events in parts, what a stream must hold, and when its messages came."""

import asyncio
import itertools
import json
import statistics
import time

import pytest
import yaml
from specs import client_spec, library_load
from wire_servers import http, served

from bench import systems
from bench.errors import TransportError
from bench.plan.service_file import Expect, Prepared, Service, ServiceFile
from bench.systems import _service_streams
from bench.systems._service_streams import Events, of_events
from bench.systems._service_wire import EventStreams, OverHttp1


@pytest.mark.parametrize(
    ("content", "data"),
    [
        (b"data: a\n\ndata:b\n\n", [b"a", b"b"]),
        (b"\xef\xbb\xbfdata: a\r\n\r\ndata: b\r\n\r\n", [b"a", b"b"]),
        (b"data: a\r\rdata: b\r\r", [b"a", b"b"]),
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
        (Expect(), b"", "no message"),
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
    kind = "$.a is 2, expected 1" if fault.startswith(r"\$\.a is") else "wrong content: "
    assert refused.value.kind.startswith(f"tokens: {kind}")


EVENTS = [b"Content-Type: text/event-stream"]


def by_wire(expect, *parts):
    """Receive a stream in parts by the engine wire; return how many messages came, and whether it is over."""
    service, request = Service("tokens", "", ServiceFile()), Prepared("tokens", "GET", "/", {}, b"", expect)
    wire = EventStreams(OverHttp1("tcp://127.0.0.1:1", service), service, lambda payload: iter([(request, b"")]))
    wire.begin(b"")
    messages = [message for part in parts for message in wire.receive(part)]
    for message in messages:
        message.check()
    return len(messages), wire.is_over


@pytest.mark.parametrize("sizes", [None, [5, 1, 9]])
def test_the_wire_finds_the_same_messages_in_whatever_parts_they_come(sizes):
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    reply = interim + http(b"data: 1\n\ndata: 2\r\n\r\ndata: [DONE]\n\n", fields=EVENTS, sizes=sizes)
    for cut in range(1, len(reply)):
        assert by_wire(Expect(messages=2, end="[DONE]"), reply[:cut], reply[cut:]) == (2, True)


def test_the_wire_reads_a_stream_up_to_the_end_of_its_connection():
    reply = b"\r\n".join([b"HTTP/1.0 200 OK", *EVENTS, b"", b"data: 1\n\n"])
    assert by_wire(Expect(), reply) == (1, False)
    assert by_wire(Expect(), reply, b"") == (1, True)


@pytest.mark.parametrize(
    ("expect", "parts", "kind", "fact"),
    [
        (Expect(messages=2), [http(b"data: 1\n\n", fields=EVENTS)], "tokens: wrong content", "1 message, not 2"),
        (Expect(), [http(b"data: 1\n\n", fields=EVENTS)[:-4], b""], "read", "in the middle"),
        (Expect(), [b""], "read", "before its stream had ended"),
        (Expect(), [http(b"busy", b"503 Sorry")], "tokens: status 503", "503.*busy"),
        (Expect(), [http(b"{}", fields=[b"Content-Type: text/html"])], "tokens: wrong content", "text/html"),
        (Expect(), [http(b"", fields=[*EVENTS, b"Content-Encoding: gzip"])], "tokens: wrong content", "gzip"),
    ],
)
def test_the_wire_refuses_a_stream_that_is_not_as_expected(expect, parts, kind, fact):
    with pytest.raises(TransportError, match=fact) as refused:
        by_wire(expect, *parts)
    assert refused.value.kind.startswith(kind)


TICK_NS, CHECK_S = 20_000_000, 0.001


def at_known_instants(connection, _):
    """Answer requests by three events, each sent at a multiple of ``TICK_NS`` and with the instant before."""
    while b"\r\n\r\n" in connection.recv(1 << 16):
        connection.sendall(b"\r\n".join([b"HTTP/1.1 200 OK", *EVENTS, b"Transfer-Encoding: chunked", b"", b""]))
        for _ in range(3):
            time.sleep((TICK_NS - time.perf_counter_ns() % TICK_NS) / 1e9)
            data = b"data: %d\n\n" % time.perf_counter_ns()
            connection.sendall(b"%x\r\n%b\r\n" % (len(data), data))
        connection.sendall(b"0\r\n\r\n")


@pytest.mark.slow
def test_the_wires_times_are_those_at_which_messages_were_sent_however_busy_the_client_is(
    tmp_path, own_systems, monkeypatch
):
    """Ten streams bring their messages at once, and each takes 1 ms to check: by a library the last waits for all."""
    sent_ns = []

    def slow(request, body):
        sent_ns.append(json.loads(body))
        time.sleep(CHECK_S)
        return ""

    monkeypatch.setattr(Prepared, "fault_of_content", slow)
    late_us = {}
    with served(at_known_instants) as address:
        service = {"address": address.replace("tcp:", "http:"), "requests": [
            {"name": "tokens", "http": {"path": "/", "stream": "sse"}, "expect": {"messages": 3}}]}  # fmt: skip
        (tmp_path / "tokens.yaml").write_text(yaml.safe_dump(service))
        system = systems.load(systems.adopt(str(tmp_path / "tokens.yaml")))
        for engine in ("library", "wire"):
            spec = client_spec(system="tokens", load="reply_stream", engine=engine, callers=10)
            load = library_load(system, system.Options(), address, spec)
            load.first()
            sent_ns.clear()
            now = time.perf_counter_ns()
            load.load(now, now + 200_000_000)
            report = load.report()
            load.close()
            received_ns = sorted(instant for column in report.times[3::6] for instant in column)
            assert not report.errors and report.calls == len(received_ns) == len(sent_ns) > 0
            # the sorted differences are late if any is, and early if any is
            late_us[engine] = [(came - sent) / 1e3 for came, sent in zip(received_ns, sorted(sent_ns), strict=True)]
    assert min(late_us["wire"]) > -100  # the kernel's clock, which stamps what arrives, may be adjusted meanwhile
    assert statistics.median(late_us["library"]) > 1e6 * CHECK_S
    assert statistics.median(late_us["wire"]) < statistics.median(late_us["library"])
