"""HTTP/2 as bytes: responses are found however they are split, and what must not come is an error, never a hang."""

import itertools
import struct

import hpack
import pytest
from hypothesis import given
from hypothesis import settings as settings_of
from hypothesis import strategies as some
from wire_servers import HEAD, OK, SETTLED, grpc_message, grpc_response

from bench.errors import TransportError
from bench.systems import _grpc, _grpc_wire, _http2
from bench.systems._http2 import (
    ACK,
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    GOAWAY,
    HEADERS,
    PADDED,
    PING,
    PUSH_PROMISE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    frame,
    settings,
)

FIELDS = [(":method", "POST"), (":path", "/a/b"), ("te", "trailers")]
CUTS = some.lists(some.integers(0, 10_000), max_size=8)


def conversation(most=1 << 20):
    return _http2.Conversation(FIELDS, most)


def begun(most=1 << 20):
    """Return a conversation whose settings have come and whose first request was sent: its stream is 1."""
    talk = conversation(most)
    assert talk.receive(SETTLED) is None
    talk.begin(0, b"abc")
    talk.outgoing.clear()
    return talk


def parts(stream, cuts):
    """Return the parts of a stream of bytes that is cut."""
    places = itertools.pairwise([0, *sorted({cut % (len(stream) + 1) for cut in cuts}), len(stream)])
    return [stream[start:stop] for start, stop in places if stop > start]


def fed(talk, stream, cuts=()):
    """Return the response in a stream of bytes that comes in parts; None if it is not whole."""
    whole_response = None
    for part in parts(stream, cuts):
        if (response := talk.receive(part)) is not None:
            assert whole_response is None
            whole_response = response
    return whole_response


def sent_by(talk, data):
    """Return (kind, flags, stream, content) of each frame in what a client has sent."""
    data, frames = data.removeprefix(_http2.PREFACE), []
    while data:
        size = int.from_bytes(data[:3], "big")
        frames.append((data[3], data[4], int.from_bytes(data[5:9], "big"), data[9 : 9 + size]))
        data = data[9 + size :]
    return frames


def test_a_response_that_is_known_is_recognized_and_one_that_differs_is_not():
    talk, encoder = conversation(), hpack.Encoder()
    talk.receive(SETTLED)
    answers = []
    for number, payload in enumerate([b"one"] * 5 + [b"two", b"one"]):
        talk.begin(0, b"request")
        answers.append(talk.receive(grpc_response(encoder, 2 * number + 1, payload)))
        talk.known(0)
    assert [answer is True for answer in answers] == [False, False, True, True, True, False, False]
    assert answers[5].body == grpc_message(b"two")


HEAD_FRAME = frame(HEADERS, END_HEADERS, 1, hpack.Encoder().encode(HEAD))
WRONG = {  # what comes, and what the error names of it
    "this is no HTTP/2 frame": (b"HTTP/1.1 400 Bad Request\r\n\r\n", "HTTP/2"),
    "a body came before the header fields": (frame(DATA, 0, 1, b"x"), ""),
    "a frame came on stream 3, on which nothing is awaited": (HEAD_FRAME + frame(DATA, 0, 3, b"x"), "stream 3"),
    "more padding than content": (HEAD_FRAME + frame(DATA, PADDED, 1, b"\x09x"), "padding"),
    "header fields twice": (HEAD_FRAME + HEAD_FRAME, ""),
    "malformed header block": (frame(HEADERS, END_HEADERS, 1, b"\xff\xff\xff\xff\xff\xff"), "header block"),
    "interrupted by another frame": (frame(HEADERS, 0, 1, b"\x88") + frame(PING, 0, 0, bytes(8)), ""),
    "a header block that is too large": (
        frame(HEADERS, 0, 1, bytes(16_000)) + frame(CONTINUATION, 0, 1, bytes(16_000)) * 5,
        "65,536 bytes",
    ),
    "CONTINUATION of no header block": (frame(CONTINUATION, END_HEADERS, 1, b"\x88"), "CONTINUATION"),
    "pushes": (frame(PUSH_PROMISE, END_HEADERS, 1, b"\0\0\0\2\x88"), ""),
    "PING has 4 bytes instead of 8": (frame(PING, 0, 0, b"1234"), "PING"),
    "settings of 7 bytes": (frame(SETTINGS, 0, 0, b"1234567"), " 6"),
    "a window that is too large": (settings({4: 2**31}), ""),
    "a window opened by nothing": (frame(WINDOW_UPDATE, 0, 0, bytes(4)), ""),
    "GOAWAY and why": (
        frame(GOAWAY, 0, 0, struct.pack("!II", 1, 11) + b"too_many_pings"),
        "GOAWAY ENHANCE_YOUR_CALM: too_many_pings",
    ),
    "RST_STREAM REFUSED_STREAM": (frame(RST_STREAM, 0, 1, struct.pack("!I", 7)), "RST_STREAM REFUSED_STREAM"),
    "a frame after the response": (grpc_response(hpack.Encoder(), 1, b"x") + frame(DATA, 0, 1, b"y"), "stream 1"),
}  # fmt: skip


@pytest.mark.parametrize("what", WRONG)
def test_what_must_not_come_is_an_error(what):
    stream, fact = WRONG[what]
    for cuts in ((), range(0, 100_000, 7)):
        with pytest.raises(TransportError) as caught:
            fed(begun(), stream, cuts)
        assert fact in str(caught.value) and "\n" not in str(caught.value)


def test_a_response_that_is_too_large_is_refused_before_it_is_whole():
    talk = begun(most=20_000)
    stream = HEAD_FRAME + frame(DATA, 0, 1, bytes(16_000)) * 2
    with pytest.raises(TransportError, match="20,000 bytes") as caught:
        talk.receive(stream)
    assert caught.value.kind == "RESOURCE_EXHAUSTED"


def test_settings_and_pings_are_acknowledged():
    talk = begun()
    talk.receive(frame(PING, 0, 0, b"abcdefgh") + settings({1: 4096}) + frame(PING, ACK, 0, bytes(8)))
    assert sent_by(talk, bytes(talk.outgoing)) == [(PING, ACK, 0, b"abcdefgh"), (SETTINGS, ACK, 0, b"")]


@given(some.integers(0, 200_000), some.lists(some.integers(1, 60_000), max_size=30), some.integers(0, 100_000))
def test_a_request_never_exceeds_the_windows_and_arrives_whole(size, updates, initial):
    talk, body = conversation(), bytes(range(256)) * (size // 256) + bytes(size % 256)
    talk.receive(settings({4: initial}))
    talk.outgoing.clear()
    sent, room, stream_room = b"", 65_535, initial
    content = talk.begin(0, body)
    for more in [*updates, 70_000, 70_000, 70_000, 70_000]:
        for kind, flags, stream, data in sent_by(talk, content):
            if kind == DATA:
                assert stream == 1 and len(data) <= 16_384
                sent += data
                assert bool(flags & END_STREAM) == (len(sent) == size)
        assert len(sent) <= min(room, stream_room)
        increment = struct.pack("!I", more)
        talk.receive(frame(WINDOW_UPDATE, 0, 0, increment) + frame(WINDOW_UPDATE, 0, 1, increment))
        content, talk.outgoing = bytes(talk.outgoing), bytearray()
        room, stream_room = room + more, stream_room + more
    assert sent == body


def test_header_blocks_are_constant_once_the_server_knows_the_fields():
    talk, decoder, blocks = conversation(), hpack.Decoder(), []
    talk.receive(SETTLED)
    for number in range(6):
        if number == 4:
            talk.receive(settings({1: 0}))  # the server keeps no table: from now on fields are spelled out
        sent = sent_by(talk, talk.begin(0, b"abc"))
        head = next(one for one in sent if one[0] == HEADERS)
        assert head[2] == 2 * number + 1
        assert decoder.decode(head[3]) == FIELDS
        blocks.append(head[3])
    assert blocks[1] == blocks[2] == blocks[3] != blocks[0] and len(blocks[1]) < len(blocks[0])
    assert len(blocks[5]) > len(blocks[1])


def outcome(stream, cuts):
    """Return what a stream of bytes is read as: a response, nothing yet, or an error."""
    try:
        return fed(begun(), stream, cuts)
    except TransportError as reason:
        assert "\n" not in str(reason)
        return TransportError


KINDS, FLAGS = some.integers(0, 12), some.sampled_from([0, 1, 4, 5, 8, 0x2D])
FRAMES = some.builds(frame, KINDS, FLAGS, some.sampled_from([0, 1, 2, 3]), some.binary(max_size=40))


@given(some.lists(FRAMES, max_size=12), CUTS)
def test_any_frames_in_any_order_are_read_alike_however_they_are_split(frames, cuts):
    stream = b"".join(frames)
    cut_outcome, whole = outcome(stream, cuts), outcome(stream, [])
    assert cut_outcome == whole or TransportError in (cut_outcome, whole)


def response(head=HEAD, trailers=OK, body=None):
    def pairs(fields):
        return [(name.encode(), value.encode()) for name, value in fields]

    return _http2.Response(pairs(head), grpc_message(b"payload") if body is None else body, pairs(trailers))


@pytest.mark.parametrize(
    ("given_response", "text", "kind"),
    [
        (response(head=[(":status", "503")]), "503", "status 503"),
        (response(head=[(":status", "200"), ("content-type", "text/html")]), "text/html|gRPC", "call"),
        (response(trailers=[("grpc-status", "14"), ("grpc-message", "gone%20away")]), "gone away", "UNAVAILABLE"),
        (response(trailers=[("grpc-status", "8")]), "max_message_bytes", "RESOURCE_EXHAUSTED"),
        (response(trailers=[("grpc-status", "99")]), "status 99", "status 99"),
        (response(trailers=[]), "grpc-status: ''", "call"),
        (response(body=b""), "0 bytes", "body"),
        (response(body=grpc_message(b"a") * 2), "message", "body"),
        (response(body=b"\0\0\0\0\x09abc"), "9", "body"),
        (response(body=b"\1\0\0\0\1a"), "compressed", "body"),
    ],
)
def test_what_is_no_good_response_of_grpc_is_told(given_response, text, kind):
    wire = _grpc_wire.Wire("tcp://127.0.0.1:1", _grpc.Options(serialization="bytes"))
    assert wire.body(response(), b"") == b"payload"
    with pytest.raises(TransportError, match=text) as caught:
        wire.body(given_response, b"")
    assert caught.value.kind == kind


def test_protobuf_is_parsed_by_its_library():
    wire = _grpc_wire.Wire("ipc:///nowhere", _grpc.Options())
    request = wire.request(b"payload")
    assert wire.body(response(body=request), b"") == b"payload"
    with pytest.raises(TransportError, match="protobuf"):
        wire.body(response(body=grpc_message(b"\x0a\xff\xff")), b"")


# Several requests side by side


def settled():
    """Return a conversation whose settings have come."""
    talk = conversation()
    assert talk.receive_all(SETTLED) == []
    return talk


BETWEEN = [
    *(b"", frame(PING, 0, 0, b"12345678"), frame(PING, ACK, 0, b"12345678"), frame(SETTINGS, 0, 0)),
    *(frame(WINDOW_UPDATE, 0, 0, b"\0\0\0\5"), frame(0x77, 3, 0, b"of another kind")),
]


@given(some.lists(some.binary(max_size=300), min_size=1, max_size=5), some.randoms(use_true_random=False), CUTS)
@settings_of(max_examples=40)
def test_responses_whose_frames_are_mixed_are_found_each_for_its_call(payloads, chance, cuts):
    talk, encoder, first = settled(), hpack.Encoder(), 1
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
        responses = [one for part in parts(sent, cuts) for one in talk.receive_all(part)]
        assert sorted(one[0] for one in responses) == list(range(len(payloads)))
        for number, response, known in responses:
            assert response is True or response.body == grpc_message(payloads[number])
            talk.recognize(number, known)
        first += 2 * len(payloads)


def test_nothing_is_recognized_after_the_table_of_header_fields_has_changed():
    talk, encoder = settled(), hpack.Encoder()
    for stream in (1, 3, 5):
        talk.begin(0, b"request", 0)
        ((_, response, known),) = talk.receive_all(grpc_response(encoder, stream, b"one"))
        talk.recognize(0, known)
    assert response is True
    for number in (0, 1):
        talk.begin(number, b"request", number)
    changed = talk.receive_all(grpc_response(encoder, 9, b"one", trailers=[*OK, ("number", "7")]))
    assert changed[0][0] == 1 and changed[0][2] is None
    for stream in (7, 11):  # what was under way, and what follows
        ((number, response, _),) = talk.receive_all(grpc_response(encoder, stream, b"one"))
        assert number == 0 and response is not True and response.body == grpc_message(b"one")
        talk.begin(0, b"request", 0)


def test_after_goaway_what_is_under_way_is_answered_and_nothing_else_begins():
    talk, encoder = settled(), hpack.Encoder()
    talk.begin(0, b"abc", 0)
    assert talk.receive_all(frame(GOAWAY, 0, 0, struct.pack("!II", 1, 0))) == []
    assert [one[0] for one in talk.receive_all(grpc_response(encoder, 1, b"x"))] == [0]
    with pytest.raises(TransportError):
        talk.begin(0, b"abc", 0)


def test_no_more_calls_are_begun_than_the_server_takes():
    talk = settled()
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
