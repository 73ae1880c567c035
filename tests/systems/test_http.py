"""HTTP by aiohttp: every resource is verified, workers are counted and end, and what fails is said, not retried."""

import contextlib
import json
import os
import socket
import struct

import psutil
import pytest
from conftest import answered, children, is_gone, wait_for
from specs import calling
from wire_servers import http, posted, served

from bench.errors import SystemFailedError, TransportError
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.process.child_process import collect
from bench.process.spec import Closed
from bench.systems import _http, _workers

NAME = "http_aiohttp"


def ask(address, *payloads, **options):
    """Return what one client gets for these payloads."""
    with calling(NAME, address, **options) as call:
        return [call(payload) for payload in payloads]


@contextlib.contextmanager
def scripted(*answers):
    """Serve by prepared bytes, behind each of which the connection is kept, closed or reset.

    Yield the address, and a list that gets the connection of each request.
    """
    left, asked = iter(answers), []

    def behave(connection, _):
        end = "keep"
        while end == "keep" and posted(connection) is not None:
            asked.append(connection)
            content, end = next(left)
            connection.sendall(content)
        if end == "reset":
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    with served(behave) as address:
        yield address, asked


# ---- resources and options


@pytest.mark.parametrize("transport", ["ipc", "tcp"])
def test_every_resource_is_got_and_counted(transport, child_server):
    server, address = child_server(NAME, transport)
    for number, resource in enumerate(_http.TARGETS, 1):
        payloads = [b"x", os.urandom(1000), bytes(300_000)]
        assert ask(address, *payloads, resource=resource) == payloads
        assert answered(server) == 3 * number


# ---- failures


BROKEN = {
    "status": (http(b"sad", b"500 Oops"), "close", "500 Oops: b'sad'"),
    "redirected": (http(b"", b"302 Found", [b"Location: /json"]), "keep", "302 Found"),
    "silent": (b"", "close", "."),
    "reset": (b"", "reset", "reset"),
    "truncated": (http(bytes(50))[:-45], "close", "."),
    "within the head": (b"HTTP/1.1 200 OK\r\nConte", "close", "."),
    "within a chunk": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", "close", "."),
    "no HTTP": (b"\x00\xff+OK\r\n\r\n", "close", "."),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_server_that_fails_is_an_error(kind):
    answer, end, text = BROKEN[kind]
    with scripted((answer, end)) as (address, _), pytest.raises(TransportError, match=text):
        ask(address, b"hello")


@pytest.mark.parametrize("end", ["close", "reset"])
def test_a_kept_connection_that_is_lost_is_not_tried_again(end):
    right = http(json.dumps(_http.JSON).encode())
    with scripted((right, "keep"), (b"", end), (right, "keep")) as (address, asked):
        with pytest.raises(TransportError):
            ask(address, b"x", b"x", resource="json")
        assert len(asked) == 2 and asked[0] is asked[1]


@pytest.mark.parametrize(
    ("resource", "body", "text"),
    [
        ("bytes", b"\x00\x01", "2 bytes .*3.* byte 2"),
        ("bytes", b"\x00\x02\x02", "3 bytes .*3.* byte 1"),
        ("json", b"[" * 100_000, "JSON"),
        ("json", b'{"param1": "foobar"}', "{'param1': 'foobar'}"),
        ("static", b"<!DOCTYPE html>", "15 bytes .* byte 15"),
    ],
)
def test_a_wrong_body_is_an_error(resource, body, text):
    pattern = f"GET /.*200 OK: .*{text}"
    with scripted((http(body), "close")) as (address, _), pytest.raises(TransportError, match=pattern):
        ask(address, b"abc", resource=resource)


# ---- workers


def workers_of(child):
    """Return the process ids of a server's workers, in the order of their start."""
    return sorted(worker.pid for worker in psutil.Process(child.pid).children())


@pytest.mark.slow
def test_workers_share_the_calls_and_each_is_counted():
    case = Case("http_aiohttp", "tcp", 100, {"workers": 3, "pin": True}, clients=2, callers=8, max_calls=400)
    ledger = measure(case, 5.0, seed=1).ledger
    calls = json.loads(ledger["server_worker_calls"])
    assert ledger["server_cpu_ns"] > 0 and sum(calls) == ledger["calls"] == ledger["server_calls"] > 16
    assert len(calls) == 3 and sum(count > 0 for count in calls) > 1


@pytest.mark.slow
def test_each_worker_is_pinned_to_a_cpu_of_its_own_in_turn(child_server):
    allowed = sorted(os.sched_getaffinity(0))
    child, _ = child_server(NAME, options={"workers": 3, "pin": True})
    assert [os.sched_getaffinity(pid) for pid in workers_of(child)] == [{allowed[n % len(allowed)]} for n in range(3)]
    child, _ = child_server(NAME, options={"workers": 2, "pin": True}, cpus=allowed[-1:])
    assert [os.sched_getaffinity(pid) for pid in workers_of(child)] == [{allowed[-1]}] * 2
    child, _ = child_server(NAME, "ipc", {"pin": True})
    assert workers_of(child) == [] and os.sched_getaffinity(child.pid) == {allowed[0]}


@pytest.mark.slow
def test_workers_end_when_the_server_is_killed(child_server):
    child, address = child_server(NAME, options={"workers": 3})
    pids = workers_of(child)
    assert ask(address, b"x") == [b"x"] and len(pids) == 3
    os.kill(child.pid, 9)
    assert wait_for(lambda: all(map(is_gone, pids)))


@pytest.mark.slow
def test_a_worker_that_dies_ends_the_server_and_is_named(child_server):
    child, _ = child_server(NAME, options={"workers": 3})
    pids = workers_of(child)
    os.kill(pids[1], 9)
    with pytest.raises(SystemFailedError, match=r"worker 2 of 3 .*-9"):
        collect(Closed, [child], 10)
    assert wait_for(lambda: all(map(is_gone, pids)))


@pytest.mark.slow
def test_a_port_that_is_taken_is_not_shared_with_a_stranger(child_server):
    _, address = child_server(NAME, options={"workers": 2})
    with pytest.raises(SystemFailedError, match=f"{address}: Address already in use"):
        child_server(NAME, options={"workers": 2}, bind=address)
    assert ask(address, b"x") == [b"x"]


@pytest.mark.slow
def test_a_worker_that_cannot_begin_is_quoted_and_none_is_left():
    before, wrong = children(), {"options": {"no_option": 1}, "message": "bytes"}
    with pytest.raises(TransportError, match=r"worker 1 of 2 .*no_option"):
        _workers.Workers("bench.systems.http_aiohttp", "tcp://127.0.0.1:0", 2, False, wrong)
    assert children() == before


def test_workers_need_a_port():
    with pytest.raises(SystemFailedError, match=r"2 workers .*tcp"):
        measure(Case("http_aiohttp", "ipc", options={"workers": 2}), 0.1, seed=1)
