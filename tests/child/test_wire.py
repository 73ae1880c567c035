"""The loop of the engine ``wire``: every response is checked, what fails is counted, what is wrong ends it."""

import itertools
import struct
import threading
import time
from contextlib import nullcontext
from socket import MSG_MORE, SHUT_WR, SO_LINGER, SOL_SOCKET, socketpair

import numpy as np
import pytest
from specs import client_spec, reported
from wire_servers import byte_by_byte, echo, framed, http, late, leaving, load_of, requests, served

from bench.child import caller, open_files, polling, wire, wire_connection
from bench.child.timed_loops import spun_ns, zeros
from bench.child.wire import ConnectionLoop
from bench.child.wire_connection import Connection, Script
from bench.errors import SystemFailedError, TransportError
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.systems import _xmlrpc, sockets, xmlrpc_stdlib


@pytest.fixture(params=["epoll", "selectors"])
def poller(request, monkeypatch):
    if request.param == "selectors":
        monkeypatch.setattr(wire, "Poller", polling.Selector)


@pytest.mark.parametrize(("behave", "callers"), [(echo, 1), (byte_by_byte, 3), (late, 3)])
def test_every_call_is_made_and_timed(poller, behave, callers):
    with served(behave) as address:
        load, report, blobs = load_of(address, callers=callers)
    assert (report.calls, report.errors, report.scheduled) == (20 * callers, 0, None)
    assert [len(blob) for blob in blobs] == [20] * 2 * callers
    for sent, received in zip(*[iter(blobs)] * 2, strict=True):
        times = [t for pair in zip(sent, received, strict=True) for t in pair]
        assert times == sorted(times) and times[0] > 0
    assert [one.reopened for one in load.connections] == [0] * callers


def test_the_call_under_way_at_the_end_is_the_last():
    with served(echo) as address:
        _, report, _ = load_of(address, callers=3, window_s=0)
    assert (report.calls, report.errors, report.scheduled) == (3, 0, None)


def echo_as_it_comes(wire_connection, asked):
    while data := wire_connection.recv(10_000):
        wire_connection.sendall(data)


@pytest.mark.slow
@pytest.mark.parametrize("behave", [echo, echo_as_it_comes])
def test_requests_larger_than_the_buffers_are_sent_in_parts(behave):
    with served(behave) as address:
        _, report, _ = load_of(address, payload_bytes=20_000_000, max_calls=2, callers=2)
    assert (report.calls, report.errors, report.scheduled) == (4, 0, None)


def test_a_peer_that_sends_and_does_not_read_is_an_error_and_memory_stays_bounded(monkeypatch):
    monkeypatch.setattr(wire_connection, "MOST_EARLY", 3_000_000)

    def flood(peer, asked):
        while True:
            peer.sendall(bytes(100_000))

    with served(flood) as address, pytest.raises(TransportError, match="3,000,000 bytes"):
        load_of(address, payload_bytes=60_000_000)


def close_after(response):
    """Return a behaviour: answer one request, the connection's end in the same segment as the answer's."""

    def behave(wire_connection, asked):
        for payload in itertools.islice(asked, 1):
            wire_connection.send(response(payload), MSG_MORE)
            wire_connection.shutdown(SHUT_WR)
            wire_connection.recv(1)

    return behave


def ended(*fields):
    """Return what answers by HTTP/1.0, whose connections end unless they are kept."""
    return lambda payload: http(_xmlrpc.response(_xmlrpc.request(payload), bytes), fields=fields, version=b"1.0")


@pytest.mark.parametrize(
    ("system", "response"),
    [(sockets, framed), (xmlrpc_stdlib, ended()), (xmlrpc_stdlib, ended(b"Connection: close"))],
)
def test_a_connection_that_ends_between_two_responses_is_opened_again(system, response):
    with served(close_after(response)) as address:
        load, report, _ = load_of(address, system)
    assert (report.calls, report.errors, report.scheduled) == (20, 0, None) and load.connections[0].reopened >= 20


def test_an_idle_connection_that_ends_is_opened_again():
    with served(close_after(framed)) as address:
        load, report, _ = load_of(address, load="open", offered_per_s=20, window_s=0.5, callers=2)
    assert report.calls + report.errors <= report.scheduled == 10  # where the machine stalls, some are not sent
    assert sum(one.reopened for one in load.connections) >= report.calls >= 1


@pytest.mark.parametrize("gone", [1, 2])
def test_a_connection_that_ended_before_a_request_left_is_opened_again_once(gone):
    pairs = [socketpair() for _ in range(3)]
    ours = sockets.Wire("ipc:///nowhere", sockets.Options())
    ours.connect = iter([end for end, _ in pairs]).__next__
    for _, other in pairs[:gone]:
        other.close()
    server = pairs[gone][1]
    threading.Thread(target=echo, args=(server, requests(server)), daemon=True).start()
    script, many, times = Script(ours, [b"a", b"b"]), wire.Poller(), (zeros(5), zeros(5))
    line = Connection(lambda: ours, script, many)
    line.open()
    failure = pytest.raises(TransportError, match=r"Broken pipe.*\b0 bytes")
    with failure if gone > 1 else nullcontext():
        ConnectionLoop(many, [(line, line.talk(script.turns(5), *times, 1 << 62))], persistent=False).run()
    assert (line.reopened, line.calls) == (1, 5 if gone == 1 else 1)
    line.close()
    many.close()
    for ends in pairs:
        ends[0].close()


def spoilt(spoil, after=5):
    """Return a behaviour: answer some requests, then do what ``spoil(connection, payload)`` does."""

    def behave(wire_connection, asked):
        for payload in itertools.islice(asked, after):
            wire_connection.sendall(framed(payload))
        for payload in asked:
            spoil(wire_connection, payload)

    return behave


def reset(wire_connection, payload):
    wire_connection.sendall(framed(payload)[:7])
    wire_connection.setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
    wire_connection.close()


BROKEN = [  # how, what the error quotes, counted as what
    (lambda c, p: c.shutdown(2), "0 bytes", "read"),
    (lambda c, p: (c.send(framed(p)[:7], MSG_MORE), c.shutdown(1)), "7 bytes", "read"),
    (reset, ". bytes", "read"),
    (lambda c, p: c.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "larger", "call"),
]
WRONG = [
    (lambda c, p: c.sendall(framed(p[:50] + bytes(50))), "100 bytes .*50"),
    (lambda c, p: c.sendall(framed(p[:-1])), "99 bytes .*100"),
]


@pytest.mark.parametrize(("spoil", "text"), [*WRONG, *(broken[:2] for broken in BROKEN)])
def test_a_first_call_that_fails_ends_the_load(spoil, text):
    with (
        served(spoilt(spoil, 0)) as address,
        pytest.raises((TransportError, SystemFailedError), match=text) as caught,
    ):
        load_of(address, callers=2)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("spoil", "text"), WRONG)
def test_a_wrong_answer_ends_the_load(spoil, text):
    with served(spoilt(spoil, 18)) as address, pytest.raises(SystemFailedError, match=text):
        load_of(address, callers=2)


@pytest.mark.parametrize(
    ("load", "spoil", "kind"), [*(("closed", how, kind) for how, _, kind in BROKEN), ("open", reset, "read")]
)
def test_calls_that_fail_are_counted_by_kind_and_the_connection_is_made_anew(load, spoil, kind):
    paced = {"load": "open", "offered_per_s": 100, "window_s": 0.4} if load == "open" else {}
    with served(spoilt(spoil, 5)) as address:
        made, report, blobs = load_of(address, callers=2, **paced)
    failed = sum(one.failures.kinds.total() for one in made.connections)
    assert report.errors == failed >= 2 and report.numbers == [(f"error_{kind}", failed, "1")]
    assert report.calls + failed == 40
    width = 3 if load == "open" else 2
    assert sum(map(len, blobs)) == width * report.calls and all(min(blob) > 0 for blob in blobs if len(blob))
    for sent, received in zip(blobs[::width], blobs[1::width], strict=True):
        assert all(end > begin for begin, end in zip(sent, received, strict=True))


def test_a_server_that_is_gone_ends_the_load_with_the_failure_that_told():
    with pytest.raises(TransportError, match="Connection refused"):
        load_of(leaving(3))


def test_too_many_failures_end_the_load(monkeypatch):
    monkeypatch.setattr(caller, "MOST_LOST", 3)
    spoil = spoilt(BROKEN[0][0], 1)
    with served(spoil) as address, pytest.raises(TransportError, match=r"\b2 more"):
        load_of(address)


def test_a_response_to_an_earlier_request_is_noticed():
    def stale(wire_connection, asked):
        earlier = b""
        for payload in asked:
            wire_connection.sendall(framed(earlier or payload))
            earlier = payload

    with served(stale) as address, pytest.raises(SystemFailedError, match=r"request 1 .*100 bytes"):
        load_of(address)


def test_a_server_that_speaks_unasked_is_an_error():
    def speak(wire_connection, asked):
        for number, payload in enumerate(asked):
            wire_connection.sendall(framed(payload))
            time.sleep(0.02 * number)
            wire_connection.sendall(b"x" * number)

    with served(speak) as address, pytest.raises(SystemFailedError, match="1 bytes"):
        load_of(address, load="open", offered_per_s=5, window_s=1)


def test_responses_whose_header_changes_are_read_again():
    numbers = itertools.count()

    def number(wire_connection, asked):
        for payload in asked:
            document = _xmlrpc.response(_xmlrpc.request(payload), lambda echoed: echoed)
            wire_connection.sendall(http(document, fields=[b"Number: %d" % next(numbers)], sizes=[3, 40]))

    with served(number) as address:
        _, report, _ = load_of(address, xmlrpc_stdlib, max_calls=50)
    assert (report.calls, report.errors, report.scheduled) == (50, 0, None)


# Open loads


def test_requests_leave_when_due_by_the_connection_that_is_free_and_spinning_until_then_is_counted():
    before_ns = spun_ns()
    with served(echo) as address:
        _, report, blobs = load_of(address, load="open", offered_per_s=100, window_s=0.4, callers=4)
    assert 0 < spun_ns() - before_ns < 500_000_000
    assert (report.calls, report.errors, report.scheduled) == (40, 0, 40) and len(blobs) == 12
    sent, received, due = (np.concatenate([blobs[place] for place in range(which, 12, 3)]) for which in range(3))
    assert np.all(sent >= due) and np.all(received > sent) and len(set(due.tolist())) == 40
    assert np.all(np.diff(np.sort(due)) == 10_000_000)
    assert min(len(blob) for blob in blobs) > 0


def test_what_is_due_while_all_wait_is_late_and_what_is_too_late_is_dropped():
    def slow(wire_connection, asked):
        for payload in asked:
            time.sleep(0.02)
            wire_connection.sendall(framed(payload))

    with served(slow) as address:
        _, report, blobs = load_of(address, load="open", offered_per_s=5000, window_s=0.1, callers=2)
    assert report.scheduled == 500 and 2 <= report.calls < 500
    for sent, received, due in zip(*[iter(blobs)] * 3, strict=True):
        assert all(later >= earlier for earlier, later in zip(received, sent[1:], strict=False))
        assert all(at >= when for at, when in zip(sent, due, strict=True))


# Time limit and many connections


@pytest.fixture
def limited(monkeypatch):
    monkeypatch.setattr(sockets.Wire, "timeout_s", 0.25, raising=False)


def silent_once(numbers):
    """Return a behaviour: the 8th request of all is never answered, nor are later ones on its open connection."""

    def behave(wire_connection, asked):
        for payload in asked:
            if next(numbers) == 7:
                list(asked)
                return
            wire_connection.sendall(framed(payload))

    return behave


@pytest.mark.parametrize("load", ["closed", "open"])
def test_a_call_that_is_never_answered_fails_and_the_others_go_on(limited, load):
    paced = {"load": "open", "offered_per_s": 100, "window_s": 0.3} if load == "open" else {}
    with served(silent_once(itertools.count())) as address:
        made, report, _ = load_of(address, callers=2, **paced)
    failed = report.errors  # on a busy machine more than that one
    assert report.numbers == [("error_timeout", failed, "1")] and failed >= 1
    assert report.calls + failed == (30 if load == "open" else 40)
    assert sum(one.reopened for one in made.connections) == failed


def test_calls_that_wait_behind_one_that_is_never_answered_fail_with_it(limited):
    from bench.child.wire_outstanding import WireOutstanding

    numbers = itertools.count()
    with served(silent_once(numbers)) as address:
        report = reported(WireOutstanding(sockets, sockets.Options(), address, client_spec(callers=2, outstanding=3)))
    assert report.numbers == [("error_timeout", report.errors, "1")] and report.errors >= 1 and report.calls == 120


def test_a_first_call_that_is_never_answered_ends_the_load(limited):
    with served(lambda connection, asked: list(asked)) as address, pytest.raises(TransportError, match=r"0\.25 s"):
        load_of(address, callers=3)


@pytest.mark.slow
def test_a_thousand_connections_are_held_at_once_and_all_are_served():
    case = Case("sockets_c", "tcp", 100, {"client": "python"}, engine="wire", callers=1000, max_calls=3000)
    ledger = measure(checked(case), 20, 1).ledger
    assert ledger["calls"] == ledger["server_calls"] == 3000 and ledger["errors"] == 0


def test_too_few_open_files_are_one_sentence(monkeypatch):
    monkeypatch.setattr(open_files, "MOST_FILES", 0)
    monkeypatch.setattr(open_files.resource, "getrlimit", lambda _: (100, 100))
    with pytest.raises(SystemFailedError, match=r"100 files .*200 connections.* 264"):
        load_of("tcp://127.0.0.1:1", callers=200)
