"""Responses as bytes: found however they are split; what is malformed, cut off or too large is no response."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as some
from wire_servers import http

from bench import systems
from bench.errors import TransportError
from bench.systems import _http_wire, _xmlrpc, xmlrpc_pstream

FIELDS = some.lists(some.sampled_from([b"Server: x y", b"Date: Mon, 01 Jan 2024 00:00:00 GMT", b"X-Empty:", b"a:b:c"]))
RESPONSES = some.builds(
    lambda body, *rest: (http(body, b"200 OK", *rest), body),
    some.binary(max_size=300) | some.just(b"\r\n0\r\n\r\n" * 9),
    FIELDS,
    some.none() | some.lists(some.integers(1, 50), max_size=8),
    FIELDS,
)


def gathered(reader, stream, cuts):
    """Return what ``end`` says of a stream that comes in these pieces, until it is not 0."""
    buffer = bytearray()
    for start, stop in itertools.pairwise([0, *sorted({cut % (len(stream) + 1) for cut in cuts}), len(stream)]):
        buffer += stream[start:stop]
        if size := reader.end(buffer, len(buffer)):
            return size
    return 0


CUTS = some.lists(some.integers(0, 10_000), max_size=12)


@given(some.lists(RESPONSES, min_size=1, max_size=3), CUTS)
def test_responses_are_found_wherever_they_are_split(responses, cuts):
    reader, stream = _http_wire.Responses("tcp://127.0.0.1:1"), b"".join(response for response, _ in responses)
    for response, body in responses:
        size = gathered(reader, stream, cuts)
        assert stream[:size] == response and _http_wire.content(response) == body
        stream = stream[size:]


@given(RESPONSES, CUTS)
def test_a_body_is_the_same_in_whatever_parts_it_comes(response, cuts):
    stream, body = response
    head = _http_wire.read_head(stream, len(stream))
    reader, rest = _http_wire.Body(head.size), stream[head.start :]
    places = sorted({cut % (len(rest) + 1) for cut in cuts})
    parts = [rest[start:stop] for start, stop in itertools.pairwise([0, *places, len(rest)])]
    assert b"".join(map(reader.feed, parts)) == body and reader.is_over


@pytest.mark.parametrize(
    ("size", "parts", "fact"),
    [
        (None, [b"5\r\nabc", b"deX\n"], "does not end"),
        (None, [b"g\r\n"], "malformed"),
        (None, [b"0\r\n\r\n", b"x"], "1 bytes came after"),
        (None, [b"5\r\nab", b""], "in the middle"),
        (3, [b"abcd"], "1 bytes came after"),
        (3, [b"ab", b""], "in the middle"),
    ],
)
def test_a_body_that_is_malformed_or_cut_off_is_refused(size, parts, fact):
    reader = _http_wire.Body(size)
    with pytest.raises(TransportError, match=fact):
        for part in parts:
            reader.feed(part) if part else reader.end()


def test_a_body_may_last_until_the_connection_ends_where_that_is_allowed():
    stream = b"HTTP/1.1 200 OK\r\n\r\nabc"
    with pytest.raises(TransportError, match="length"):
        _http_wire.read_head(stream, len(stream))
    head = _http_wire.read_head(stream, len(stream), to_end=True)
    reader = _http_wire.Body(head.size)
    assert head.last and reader.feed(b"abc") == b"abc" and not reader.is_over
    assert reader.end() == b"" and reader.is_over


@given(RESPONSES, CUTS, some.integers(0, 10_000))
def test_a_response_that_is_cut_off_is_not_there_yet(response, cuts, length):
    stream = response[0][: length % len(response[0])]
    assert gathered(_http_wire.Responses("tcp://127.0.0.1:1"), stream, cuts) == 0


@given(RESPONSES, some.integers(0, 10_000), some.binary(max_size=3), some.integers(0, 3), CUTS)
def test_a_damaged_response_is_an_error_or_not_there_or_read_alike_however_it_is_split(response, at, put, over, cuts):
    whole, _ = response
    at %= len(whole)
    stream = whole[:at] + put + whole[at + over :]

    def outcome(pieces):
        try:
            size = gathered(_http_wire.Responses("tcp://127.0.0.1:1"), stream, pieces)
            return _http_wire.content(stream[:size]) if size else None
        except TransportError as reason:
            assert "\n" not in str(reason)
            return TransportError

    cut_outcome = outcome(cuts)
    assert outcome([]) == cut_outcome or TransportError in (cut_outcome, outcome([]))


@pytest.mark.parametrize(
    ("stream", "fact"),
    [
        (b"SSH-2.0-x", "SSH-2.0-x"),
        (b"HTTP/2 200 OK\r\n", "HTTP/2 200 OK"),
        (b"HTTP/1.1 200 OK\nContent-Length: 0\n\n", "Content-Length: 0"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "20 OK"),
        (b"HTTP/1.1 200 OK\r\n\r\n", "length"),
        (http(b"", fields=[b"Content-Length: 5"]), "5"),
        (http(b"", fields=[b"Transfer-Encoding: gzip"], sizes=[]), "gzip"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "-5"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 999999999999\r\n\r\n", f"{_http_wire.MOST_BODY:,}"),
        (http(b"", fields=[b"a b: c"]), "a b: c"),
        (http(b"", fields=[b" folded"]), " folded"),
        (http(b"abc", sizes=[]).replace(b"3;", b"2;"), "chunk"),
        (http(b"abc", sizes=[]).replace(b"3;", b"-3;"), "-3;"),
        (http(b"abc", sizes=[]).replace(b"3;", b"FFFFFFFFFF;"), f"{_http_wire.MOST_BODY:,}"),
        (http(b"abc", sizes=[], trailers=[b"not a field"]), "not a field"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 20_000, f"{_http_wire.MOST_HEAD:,}"),
        (http(b"abc", sizes=[], trailers=[b"a: b"] * 20_000), "bytes"),
    ],
)
def test_what_is_malformed_or_too_large_is_refused(stream, fact):
    with pytest.raises(TransportError) as caught:
        _http_wire.Responses("tcp://127.0.0.1:1").end(bytearray(stream), len(stream))
    assert fact in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("response", "last"),
    [
        (http(b""), False),
        (http(b"", fields=[b"Connection: Close"]), True),
        (http(b"", fields=[b"connection: x, close"], sizes=[]), True),
        (http(b"", version=b"1.0"), True),
        (http(b"", version=b"1.0", fields=[b"Connection: keep-alive"]), False),
        (b"HTTP/1.1 204 No Content\r\n\r\n", False),
    ],
)
def test_the_end_of_a_connection_is_noticed(response, last):
    reader = _http_wire.Responses("tcp://127.0.0.1:1")
    assert reader.end(response, len(response)) == len(response) and reader.last == last


def test_a_status_that_is_no_success_is_told():
    with pytest.raises(TransportError, match=r"503 Busy$"):
        _http_wire.content(http(b"no", b"503 Busy"))
    with pytest.raises(TransportError):
        _http_wire.content(b"HTTP/1.1 200")


# Each system's wire


def wire_of(name):
    module = systems.load(name)
    return module.Wire("tcp://127.0.0.1:1", module.Options())


def test_faults_and_sizes_that_nobody_sends_are_errors():
    fault = _xmlrpc.response(_xmlrpc.request(b"x").replace(b"echo", b"other"), bytes)
    with pytest.raises(TransportError, match="fault 1"):
        wire_of("xmlrpc_stdlib").body(http(fault), b"x")
    with pytest.raises(TransportError, match="fault 1"):
        wire_of("xmlrpc_pstream").body(xmlrpc_pstream.pack(fault), b"x")
    with pytest.raises(TransportError):
        wire_of("sockets").end(bytearray(b"HTTP/1.1"), 8)
