"""Several calls under way on a connection: never more than asked for, each answered once, failures counted."""

import asyncio
import itertools
import select
import socket
import struct
import time
from types import SimpleNamespace

import numpy as np
import pytest
from specs import client_spec, library_load, reported, run_load
from wire_servers import framed, served

from bench.child import event_loop, payload_sizes
from bench.child.wire_outstanding import WireOutstanding
from bench.errors import SystemFailedError, TransportError
from bench.systems import sockets

FOREVER_NS = 10**11


ENGINES = pytest.mark.parametrize("make", [library_load, WireOutstanding], ids=["library", "wire"])


def made(system, address="", make=library_load, **spec):
    """Make a window's calls in this process; return the load, what was reported, and the times of each slot."""
    load = make(system, sockets.Options(), address, client_spec(**{"max_calls": 10, "window_s": 0.1} | spec))
    report = reported(load)
    return load, report, [np.array(one) for one in report.times]


def rounds(depth, seen, pieces=0):
    """Return what answers the first call at once, and then each round of ``depth`` calls when all have come."""

    def behave(connection, asked):
        connection.sendall(framed(next(asked)))
        while came := list(itertools.islice(asked, depth)):
            more, _, _ = select.select([connection], [], [], 0.02)
            seen.append((len(came), bool(more)))
            data = b"".join(map(framed, came))
            for at in range(0, len(data), pieces or len(data)):
                connection.sendall(data[at : at + (pieces or len(data))])

    return behave


@ENGINES
@pytest.mark.parametrize(("depth", "pieces"), [(2, 0), (7, 33), (64, 0)])
def test_as_many_calls_are_under_way_as_asked_for_and_never_more(make, depth, pieces):
    seen = []
    with served(rounds(depth, seen, pieces)) as address:
        _, report, times = made(sockets, address, make, outstanding=depth, max_calls=5)
    assert seen == [(depth, False)] * 5
    assert report.calls == 5 * depth and report.errors == 0 and [len(one) for one in times] == [5] * 2 * depth
    assert all((sent < received).all() for sent, received in zip(times[::2], times[1::2], strict=True))


@ENGINES
def test_replies_in_the_wrong_order_end_the_start(make):
    def behave(connection, asked):
        connection.sendall(framed(next(asked)))
        one, other = next(asked), next(asked)
        connection.sendall(framed(other) + framed(one))

    with served(behave) as address, pytest.raises(SystemFailedError, match="request 1 "):
        made(sockets, address, make, outstanding=2)


@ENGINES
def test_a_connection_that_ends_fails_all_calls_under_way_and_the_next_one_goes_on(make):
    def behave(connection, asked):
        for payload in itertools.islice(asked, 6):
            connection.sendall(framed(payload))
        connection.shutdown(socket.SHUT_WR)
        list(asked)  # closed with requests unread, it would be reset

    with served(behave) as address:
        _, report, times = made(sockets, address, make, outstanding=4, max_calls=8)
    assert report.calls == 32 and report.errors >= 4 and sum(number for _, number, _ in report.numbers) == report.errors
    assert [len(one) for one in times] == [8] * 8 and all((one > 0).all() for one in times)


@ENGINES
def test_a_server_that_is_gone_ends_the_start(make):
    with served(lambda connection, asked: connection.sendall(framed(next(asked)))) as address:
        load = make(sockets, sockets.Options(), address, client_spec(outstanding=4))
        load.first()
    with pytest.raises(TransportError):
        load.load(0, time.perf_counter_ns() + FOREVER_NS)
    load.close()


def test_what_nobody_asked_for_and_what_is_no_response_is_an_error():
    def served_by(answer, text):
        def behave(connection, asked):
            connection.sendall(answer(next(asked)))
            list(asked)

        with served(behave) as address, pytest.raises(TransportError, match=text):
            made(sockets, address, WireOutstanding, outstanding=3)

    served_by(lambda payload: framed(payload) + framed(b"no"), "6 bytes")
    served_by(lambda payload: struct.pack("!I", 2**31), "larger")


def test_requests_that_do_not_fit_the_kernels_buffer_go_on_when_there_is_room():
    def behave(connection, asked):
        connection.sendall(framed(next(asked)))
        time.sleep(0.1)  # meanwhile the buffers are full
        for payload in asked:
            connection.sendall(framed(payload))

    with served(behave) as address:
        _, report, _ = made(sockets, address, WireOutstanding, outstanding=16, max_calls=2, payload_bytes=1_000_000)
    assert report.calls == 32 and report.errors == 0


class Counting:
    """An asynchronous client that counts its calls under way; every ``fails``-th call fails."""

    most = now = calls = clients = fails = 0
    kind = "read"

    def __init__(self, address, options):
        type(self).clients += 1

    async def open(self):
        await asyncio.sleep(0)

    async def call(self, payload):
        kind = type(self)
        kind.calls += 1
        kind.now += 1
        kind.most = max(kind.most, kind.now)
        await asyncio.sleep(0.0001)
        kind.now -= 1
        if kind.fails and kind.calls % kind.fails == 0:
            raise TransportError("the call failed", kind.kind)
        return payload

    async def close(self):
        await asyncio.sleep(0)


def awaited(fails=0, why="read"):
    """Return a system whose only client counts."""
    kind = type("Client", (Counting,), {"fails": fails, "kind": why})
    return SimpleNamespace(Client=kind, Multiplexed=kind, Options=sockets.Options)


@pytest.mark.parametrize(("callers", "depth"), [(1, 2), (1, 32), (3, 5)])
def test_awaited_calls_are_as_many_as_asked_for_on_as_many_connections(callers, depth):
    system = awaited()
    _, report, times = made(system, callers=callers, outstanding=depth, max_calls=6)
    assert system.Client.most == callers * depth and system.Client.clients == callers
    assert report.calls == 6 * callers * depth == system.Client.calls - callers
    assert len(times) == 2 * callers * depth


@pytest.mark.parametrize(("why", "is_renewed"), [("read", True), ("RESOURCE_EXHAUSTED", False)])
def test_awaited_calls_that_fail_are_counted_and_renew_the_connection_once_unless_it_was_a_refusal(why, is_renewed):
    system = awaited(fails=10, why=why)
    _, report, _ = made(system, outstanding=4, max_calls=20)
    assert report.calls == 80 and report.errors >= 8 and report.numbers == [(f"error_{why}", report.errors, "1")]
    assert 1 + is_renewed <= system.Client.clients <= 1 + report.errors * is_renewed


@pytest.mark.parametrize(("callers", "depth"), [(1, 8), (4, 1), (4, 3)])
@pytest.mark.parametrize("arrivals", ["uniform", "poisson"])
def test_an_open_load_sends_each_request_once_and_not_before_it_is_due(callers, depth, arrivals):
    system = awaited()
    spec = {"load": "open", "offered_per_s": 1000.0, "arrivals": arrivals}
    load, report, times = made(system, callers=callers, outstanding=depth, **spec)
    sent, received, due = (np.concatenate(times[place::3]) for place in range(3))
    assert sorted(due) == list(load._due) and report.calls == report.scheduled == len(due)
    assert (sent >= due).all() and (received > sent).all()
    assert system.Client.most <= callers * depth and len(times) == 3 * callers * depth


def test_failed_requests_of_an_open_load_are_counted_and_have_no_times():
    system = awaited(fails=5)
    _, report, times = made(system, callers=1, outstanding=4, load="open", offered_per_s=500.0)
    assert report.errors > 0 and report.calls + report.errors == report.scheduled
    assert report.numbers == [("error_read", report.errors, "1")]
    assert sum(map(len, times)) == 3 * report.calls


def test_what_is_unsent_at_the_limit_is_dropped():
    system = awaited()
    spec = client_spec(load="open", callers=4, offered_per_s=1000.0, window_s=0.1)
    load = library_load(system, sockets.Options(), "", spec)
    load.first()
    now = time.perf_counter_ns()
    run_load(load, now - 10**9, now - 9 * 10**8)  # a window that is over
    report = load.report()
    load.close()
    assert report.calls == 0 and report.scheduled == 100


def test_the_event_loop_waits_no_longer_than_asked_and_wakes_for_what_comes():
    loop = event_loop.make()

    async def work():
        began = time.perf_counter_ns()
        await asyncio.sleep(0.002)
        took = time.perf_counter_ns() - began
        woken = loop.create_future()
        loop.call_later(60, woken.set_result, "the timer")
        await loop.run_in_executor(None, lambda: loop.call_soon_threadsafe(woken.set_result, "the call"))
        return took, await woken

    took, woken = loop.run_until_complete(work())
    loop.close()
    assert took >= 2_000_000 and woken == "the call"


def test_sizes_have_the_median_and_the_p99_asked_for_and_are_the_same_for_the_same_seed():
    drawn = payload_sizes.log_normal(1_500, 196_000)
    assert len(drawn) == 1000 and drawn == sorted(drawn) and min(drawn) >= 1 and max(drawn) <= payload_sizes.MOST_DRAWN
    assert np.median(drawn) == pytest.approx(1_500, rel=0.01)
    assert drawn[989] < 196_000 < drawn[990] * 1.01 and np.quantile(drawn, 0.99) == pytest.approx(196_000, rel=0.1)
    spec = client_spec(payload_bytes=100, p99_bytes=5_000)
    once, again = payload_sizes.payloads(spec), payload_sizes.payloads(spec)
    assert once == again and sorted(map(len, once)) == payload_sizes.log_normal(100, 5_000)
    assert [len(one) for one in payload_sizes.payloads(client_spec())] == [100] * 16
    another = payload_sizes.payloads(client_spec(payload_bytes=100, p99_bytes=5_000, seed=2))
    assert list(map(len, another)) != list(map(len, once))
