"""Several requests side by side on an HTTP/2 connection: each response is its own request's, whatever comes between."""

import itertools
import struct

import hpack
import pytest
from hypothesis import given
from hypothesis import settings as settings_of
from hypothesis import strategies as some
from wire_servers import HEAD, OK, SETTLED, grpc_message, grpc_response

from bench.errors import TransportError
from bench.systems import _http2
from bench.systems._http2 import (
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PING,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
    settings,
)

FIELDS = [(":method", "POST"), (":path", "/a/b"), ("te", "trailers")]
BETWEEN = [b"", frame(PING, 0, 0, b"12345678"), frame(SETTINGS, 0, 0), frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\5")]


def conversation():
    """Return a conversation whose settings have come."""
    talk = _http2.Conversation(FIELDS, 1 << 20)
    assert talk.receive_all(SETTLED) == []
    return talk


def fed(talk, stream, cuts=()):
    """Return the responses in a stream of bytes that comes in pieces."""
    places = itertools.pairwise([0, *sorted({cut % (len(stream) + 1) for cut in cuts}), len(stream)])
    return [one for start, stop in places for one in talk.receive_all(stream[start:stop])]


@given(
    some.lists(some.binary(max_size=300), min_size=1, max_size=5),
    some.randoms(use_true_random=False),
    some.lists(some.integers(0, 10_000), max_size=8),
)
@settings_of(max_examples=40)
def test_responses_whose_frames_are_mixed_are_found_each_for_its_call(payloads, chance, cuts):
    talk, encoder, first = conversation(), hpack.Encoder(), 1
    for _ in range(4):  # the third time all are known, if nothing is mixed
        streams = [first + 2 * number for number in range(len(payloads))]
        for number in range(len(payloads)):
            talk.begin(number, b"request", number)
        order = [stream for stream in streams for _ in range(3)]
        if chance.random() < 0.5:
            chance.shuffle(order)
        sent, came = b"", dict.fromkeys(streams, 0)
        for stream in order:
            sent += chance.choice(BETWEEN)
            if came[stream] == 0:
                sent += frame(HEADERS, END_HEADERS, stream, encoder.encode(HEAD))
            elif came[stream] == 1:
                sent += frame(DATA, 0, stream, grpc_message(payloads[(stream - first) // 2]))
            else:
                sent += frame(HEADERS, END_HEADERS | END_STREAM, stream, encoder.encode(OK))
            came[stream] += 1
        responses = fed(talk, sent, cuts)
        assert sorted(one[0] for one in responses) == list(range(len(payloads)))
        for number, response, known in responses:
            assert response is True or response.body == grpc_message(payloads[number])
            talk.recognize(number, known)
        first += 2 * len(payloads)


def test_nothing_that_is_under_way_is_recognized_after_the_table_has_changed():
    talk, encoder = conversation(), hpack.Encoder()
    for stream in (1, 3, 5):
        talk.begin(0, b"request", 0)
        ((_, response, known),) = talk.receive_all(grpc_response(encoder, stream, b"one"))
        talk.recognize(0, known)
    assert response is True
    talk.begin(0, b"request", 0)
    talk.begin(1, b"request", 1)
    changed = talk.receive_all(grpc_response(encoder, 9, b"one", trailers=[*OK, ("number", "7")]))
    ((number, response, known),) = talk.receive_all(grpc_response(encoder, 7, b"one"))
    assert changed[0][0] == 1 and changed[0][2] is None
    assert number == 0 and response is not True and response.body == grpc_message(b"one")


def test_after_goaway_what_is_under_way_is_answered_and_nothing_else_begins():
    talk, encoder = conversation(), hpack.Encoder()
    talk.begin(0, b"abc", 0)
    assert talk.receive_all(frame(GOAWAY, 0, 0, struct.pack("!II", 1, 0))) == []
    assert [one[0] for one in talk.receive_all(grpc_response(encoder, 1, b"x"))] == [0]
    with pytest.raises(TransportError):
        talk.begin(0, b"abc", 0)


def test_no_more_calls_are_begun_than_the_server_takes():
    talk = conversation()
    talk.receive_all(settings({3: 2}))
    for number in range(2):
        talk.begin(0, b"abc", number)
    with pytest.raises(TransportError, match=r"2 calls .*outstanding"):
        talk.begin(0, b"abc", 2)


def test_of_cancelled_streams_the_latest_are_passed_over_and_others_forgotten(monkeypatch):
    monkeypatch.setattr(_http2, "MOST_CANCELLED", 3)
    talk = _http2.Parts([], 1 << 20)
    talk.receive_all(SETTLED)
    streams = [talk.ask(FIELDS, b"") for _ in range(9)]
    for stream in streams:
        talk.cancel(stream)
    assert len(talk._cancelled) == 3
    head = hpack.Encoder().encode([(":status", "200")])
    assert talk.receive_all(frame(HEADERS, END_HEADERS | END_STREAM, streams[-1].number, head)) == []
