"""Several calls under way on a connection by the engine ``wire``: never more than asked for, each verified."""

import itertools
import select
import socket
import struct
import time

import numpy as np
import pytest
from specs import client_spec
from wire_servers import framed, served

from bench.child.wire_outstanding import WireOutstanding
from bench.errors import SystemFailedError, TransportError
from bench.systems import sockets

FOREVER_NS = 10**11


def made(address, **spec):
    """Make a window's calls in this process; return what was reported, and the times of each slot."""
    load = WireOutstanding(sockets, sockets.Options(), address, client_spec(**{"max_calls": 10} | spec))
    try:
        assert load.first() > 0
        now = time.perf_counter_ns()
        load.load(now, now + FOREVER_NS)
        report = load.report()
    finally:
        load.close()
    return report, [np.array(one) for one in report.times]


def rounds(depth, seen, pieces=0):
    """Return what answers the first call at once, and then each round of ``depth`` calls when all have come."""

    def behave(connection, asked):
        connection.sendall(framed(next(asked)))
        while came := list(itertools.islice(asked, depth)):
            more, _, _ = select.select([connection], [], [], 0.01)
            seen.append((len(came), bool(more)))
            data = b"".join(map(framed, came))
            for at in range(0, len(data), pieces or len(data)):
                connection.sendall(data[at : at + (pieces or len(data))])

    return behave


@pytest.mark.parametrize(("depth", "pieces"), [(2, 0), (7, 33), (64, 0)])
def test_as_many_calls_are_under_way_as_asked_for_and_never_more(depth, pieces):
    seen = []
    with served(rounds(depth, seen, pieces)) as address:
        report, times = made(address, outstanding=depth, max_calls=4)
    assert seen == [(depth, False)] * 4
    assert report.calls == 4 * depth and report.errors == 0 and [len(one) for one in times] == [4] * 2 * depth
    assert all((sent < received).all() for sent, received in zip(times[::2], times[1::2], strict=True))


def test_a_call_sent_later_begins_after_the_answer_before_it():
    with served(rounds(5, [])) as address:
        _, times = made(address, outstanding=5, callers=2, max_calls=6)
    assert all((sent[1:] >= received[:-1]).all() for sent, received in zip(times[::2], times[1::2], strict=True))


def test_replies_in_the_wrong_order_end_the_start():
    def behave(connection, asked):
        connection.sendall(framed(next(asked)))
        one, other = next(asked), next(asked)
        connection.sendall(framed(other) + framed(one))

    with served(behave) as address, pytest.raises(SystemFailedError, match="the server does not echo"):
        made(address, outstanding=2)


def test_what_nobody_asked_for_and_what_is_no_response_is_an_error():
    def served_by(answer, text):
        def behave(connection, asked):
            connection.sendall(answer(next(asked)))
            list(asked)

        with served(behave) as address, pytest.raises(TransportError, match=text):
            made(address, outstanding=3)

    served_by(lambda payload: framed(payload) + framed(b"no"), "6 bytes came after a response, without a request")
    served_by(lambda payload: struct.pack("!I", 2**31), "a response is larger than")


def test_a_connection_that_ends_fails_all_calls_under_way_and_the_next_one_goes_on():
    def behave(connection, asked):
        for payload in itertools.islice(asked, 6):
            connection.sendall(framed(payload))
        connection.shutdown(socket.SHUT_WR)
        list(asked)  # closed with requests unread, it would be reset

    with served(behave) as address:
        report, times = made(address, outstanding=4, max_calls=8)
    assert report.calls == 32 and report.errors >= 4 and sum(number for _, number, _ in report.numbers) == report.errors
    assert [len(one) for one in times] == [8] * 8 and all((one > 0).all() for one in times)


def test_requests_that_do_not_fit_the_kernels_buffer_go_on_when_there_is_room():
    def behave(connection, asked):
        connection.sendall(framed(next(asked)))
        time.sleep(0.1)  # meanwhile the buffers are full
        for payload in asked:
            connection.sendall(framed(payload))

    with served(behave) as address:
        report, _ = made(address, outstanding=16, max_calls=2, payload_bytes=1_000_000)
    assert report.calls == 32 and report.errors == 0


def test_a_server_that_is_gone_ends_the_start():
    with served(lambda connection, asked: connection.sendall(framed(next(asked)))) as address:
        load = WireOutstanding(sockets, sockets.Options(), address, client_spec(outstanding=4))
        load.first()
    with pytest.raises(TransportError, match=r"closed by the server|cannot connect|a connection failed"):
        load.load(0, time.perf_counter_ns() + FOREVER_NS)
    load.close()
