"""Connections of the engine ``wire`` that have a state: gRPC's, encrypted ones, and those that are not kept."""

import itertools
import struct
import time
from os import dup
from socket import socket, socketpair

import pytest
from wire_servers import (
    answering,
    echo,
    framed,
    grpc_echo,
    grpc_response,
    load_of,
    served,
)

from bench.child import handshake
from bench.contract import parse_address
from bench.errors import SystemFailedError, TransportError
from bench.measurement import certificates
from bench.plan import credentials
from bench.systems import _grpc, _http2, _tls, grpc_aio, sockets
from bench.systems._http2 import ACK, GOAWAY, HEADERS, PING, RST_STREAM, SETTINGS, frame

PLAIN = _grpc.Options(serialization="bytes")


def grpc_load(address, options=PLAIN, **spec):
    return load_of(address, grpc_aio, options=options, **spec)


def in_pieces(connection, encoder, stream, payload):
    response = grpc_response(encoder, stream, payload, most=30)
    for place in range(0, len(response), 7):
        connection.sendall(response[place : place + 7])


def with_pings(connection, encoder, stream, payload):
    ping = frame(PING, 0, 0, struct.pack("!Q", stream))
    response = grpc_response(encoder, stream, payload)
    connection.sendall(ping + response + ping)


@pytest.mark.parametrize(("answer", "callers"), [(grpc_echo, 1), (in_pieces, 3), (with_pings, 3)])
def test_every_call_is_made_and_timed(answer, callers):
    with served(answering(answer)) as address:
        load, report, blobs = grpc_load(address, callers=callers)
    assert (report.calls, report.errors) == (20 * callers, 0) and [len(blob) for blob in blobs] == [20] * 2 * callers
    for sent, received in zip(*[iter(blobs)] * 2, strict=True):
        times = [t for pair in zip(sent, received, strict=True) for t in pair]
        assert times == sorted(times) and times[0] > 0
    assert [one.reopened for one in load.connections] == [0] * callers


def test_large_messages_wait_for_windows():
    with served(answering(grpc_echo, _http2.settings({4: 1_000_000, 5: 70_000}))) as address:
        _, report, _ = grpc_load(address, payload_bytes=3_000_000, max_calls=3, callers=2)
    assert (report.calls, report.errors) == (6, 0)


def goaway(last, code, words=b""):
    return frame(GOAWAY, 0, 0, struct.pack("!II", last, code) + words)


def test_a_server_that_takes_leave_is_connected_to_again_without_a_failure():
    def leave(connection, encoder, stream, payload):
        connection.sendall(goaway(stream, 0) + grpc_response(encoder, stream, payload))

    with served(answering(leave)) as address:
        load, report, _ = grpc_load(address)
    assert (report.calls, report.errors) == (20, 0) and load.connections[0].reopened >= 20


def test_the_preface_is_the_first_that_a_server_gets_that_sends_its_settings_at_once():
    conversation = _http2.Conversation([], 100)
    conversation.receive(_http2.settings({}))
    sent = conversation.begin(0, b"body")
    assert sent.startswith(_http2.OPENING + frame(SETTINGS, ACK, 0)) and not conversation.outgoing


def spoilt(spoil, after=5):
    """Return a behaviour: each connection answers some requests, and does something else with the others."""

    def behave(connection, asked):
        numbers = itertools.count()
        answering(lambda *arguments: (spoil if next(numbers) >= after else grpc_echo)(*arguments))(connection, asked)

    return behave


def raw(content):
    return lambda connection, encoder, stream, payload: connection.sendall(content(encoder, stream, payload))


BROKEN = {  # counted as what, how; others are tried on a conversation alone
    "RST_STREAM REFUSED_STREAM": raw(lambda e, s, p: frame(RST_STREAM, 0, s, struct.pack("!I", 7))),
    "GOAWAY ENHANCE_YOUR_CALM": raw(lambda e, s, p: goaway(0, 11, b"too_many")),
    "status 502": raw(lambda e, s, p: frame(HEADERS, 5, s, e.encode([(":status", "502")]))),
    "read": lambda c, e, s, p: (c.send(grpc_response(e, s, p)[:50]), c.shutdown(1)),
}


@pytest.mark.parametrize(("kind", "spoil"), BROKEN.items(), ids=BROKEN)
def test_calls_that_fail_are_counted_by_kind_and_the_connection_is_made_anew(kind, spoil):
    with served(spoilt(spoil)) as address:
        made, report, blobs = grpc_load(address, callers=2)
    failed = sum(one.failures.kinds.total() for one in made.connections)
    assert report.errors == failed >= 2 and report.numbers == [(f"error_{kind}", failed, "1")]
    assert report.calls + failed == 40
    assert sum(map(len, blobs)) == 2 * report.calls


def test_an_answer_to_an_earlier_request_is_noticed_though_its_bytes_are_known():
    def stale(connection, asked):
        earlier = []

        def answer(connection, encoder, stream, payload):
            earlier.append(payload)
            grpc_echo(connection, encoder, stream, earlier[-1] if len(earlier) < 40 else earlier[-2])

        answering(answer)(connection, asked)

    with served(stale) as address, pytest.raises(SystemFailedError, match=r"request 38 .*100 bytes"):
        grpc_load(address, max_calls=100)


def test_a_server_that_speaks_unasked_is_an_error():
    def speak(connection, encoder, stream, payload):
        grpc_echo(connection, encoder, stream, payload)
        time.sleep(0.02)
        grpc_echo(connection, encoder, stream, payload)

    with served(answering(speak)) as address, pytest.raises(SystemFailedError, match="stream 1"):
        grpc_load(address, load="open", offered_per_s=5, window_s=1.0)


def test_a_peer_that_pings_and_does_not_read_is_an_error_and_memory_stays_bounded():
    def flood(connection, asked):
        connection.sendall(_http2.settings({}))
        while True:
            connection.sendall(frame(PING, 0, 0, bytes(8)) * 1000)

    with served(flood) as address, pytest.raises(TransportError):
        grpc_load(address)


def test_a_response_larger_than_the_option_allows_is_refused():
    options = _grpc.Options(serialization="bytes", max_message_bytes=1000)

    def more(connection, encoder, stream, payload):
        connection.sendall(grpc_response(encoder, stream, payload * 20))

    with served(spoilt(more, 1)) as address:
        _, report, _ = grpc_load(address, options)
    assert report.numbers == [("error_RESOURCE_EXHAUSTED", 10, "1")] and report.calls == 10


# Connections that are not kept


@pytest.mark.parametrize("each", [1, 3, 20, 50])
@pytest.mark.parametrize("name", ["sockets", "grpc"])
def test_a_connection_is_opened_anew_after_so_many_calls(name, each):
    opened = []

    def count(behave):
        return lambda connection, asked: (opened.append(connection), behave(connection, asked))

    spec = {"calls_per_connection": each, "callers": 2}
    with served(count(echo if name == "sockets" else answering(grpc_echo))) as address:
        load, report, blobs = load_of(address, **spec) if name == "sockets" else grpc_load(address, **spec)
    assert (report.calls, report.errors, len(blobs)) == (40, 0, 6)
    assert len(opened) == 2 + 2 * -(-20 // each) == 2 + sum(one.reopened for one in load.connections)
    for sent, received, began in zip(*[iter(blobs)] * 3, strict=True):
        assert len(sent) == len(received) == len(began) == 20
        late = [number for number in range(20) if began[number] < sent[number]]
        assert late == list(range(0, 20, each))
        assert all(end > start for start, end in zip(sent, received, strict=True))


def test_failures_over_connections_that_are_not_kept_are_counted():
    numbers = itertools.count()

    def sometimes(connection, asked):
        for payload in asked:
            if next(numbers) % 5 == 4:
                return
            connection.sendall(framed(payload))

    with served(sometimes) as address:
        _, report, blobs = load_of(address, sockets, calls_per_connection=2)
    assert report.errors >= 3 and report.calls + report.errors == 20
    assert [len(blob) for blob in blobs] == [report.calls] * 3


# Encryption


@pytest.fixture
def encrypted(tmp_path):
    """Return the context of a server whose certificate this process trusts."""
    made = certificates.make()
    credentials.write(str(tmp_path), made)
    credentials.use(made)
    yield _tls.server_context(str(tmp_path))
    credentials.use({})


def encrypted_echo(context, connection):
    with context.wrap_socket(connection, server_side=True) as secured:
        while (data := secured.recv(4)) and len(data) == 4:
            payload, size = b"", struct.unpack("!I", data)[0]
            while len(payload) < size:
                payload += secured.recv(size - len(payload))
            secured.sendall(framed(payload))


def test_encrypted_calls_are_made_and_sessions_resumed(encrypted):
    with served(lambda connection, asked: encrypted_echo(encrypted, connection)) as address:
        for session in ("new", "resumed"):
            options = sockets.Options(tls=True, tls_session=session)
            spec = {"options": options, "calls_per_connection": 5, "callers": 2, "payload_bytes": 40_000}
            load, report, _ = load_of(address, **spec)
            assert (report.calls, report.errors) == (40, 0)
            assert [one._tls.resumed for one in load.connections] == [session == "resumed"] * 2


def test_a_peer_that_says_nothing_is_not_waited_for_for_ever(encrypted, monkeypatch):
    monkeypatch.setattr(handshake, "HANDSHAKE_S", 0.05)
    ours, theirs = socketpair()
    with ours, theirs, pytest.raises(TransportError, match="TLS"):
        handshake.secure(ours, _tls.Layer(parse_address("tcp://127.0.0.1:1")))


def test_handshakes_that_fail_in_the_window_are_counted(encrypted):
    numbers = itertools.count()

    def behave(connection, asked):
        if next(numbers) % 3 == 1:
            connection.sendall(b"this is no handshake\r\n")
            connection.recv(1 << 16)
        else:
            encrypted_echo(encrypted, connection)

    with served(behave) as address:
        options = sockets.Options(tls=True)
        _, report, _ = load_of(address, options=options, calls_per_connection=1, max_calls=6)
    assert report.calls == 3 and report.numbers == [("error_connect", 3, "1")]


def test_records_that_were_altered_are_a_failure(encrypted):
    def behave(connection, asked):
        with encrypted.wrap_socket(connection, server_side=True) as secured:
            secured.recv(4 + 100)
            raw = socket(fileno=dup(secured.fileno()))
            raw.sendall(b"\x17\x03\x03\x00\x20" + bytes(32))
            raw.close()
            secured.recv(1)

    with served(behave) as address, pytest.raises(TransportError):
        load_of(address, options=sockets.Options(tls=True))
