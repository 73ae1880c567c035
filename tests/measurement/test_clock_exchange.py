"""A host's clock is compared with this process's: in time, within the bound, or with one sentence."""

import contextlib
import socket
import time

import numpy as np
import pytest
from conftest import is_gone, wait_for
from wire_servers import served

from bench.child import clock_server
from bench.errors import SystemFailedError, UsageError
from bench.measurement.hosts import clock_exchange
from bench.measurement.hosts.clock_exchange import compare
from bench.measurement.hosts.host import LEAST, MOST
from bench.process.channel import Listening
from bench.process.child_process import Child, collect
from bench.process.spec import ClockSpec


@contextlib.contextmanager
def listening(host="127.0.0.1"):
    """A clock's process, and its address."""
    child = Child("clock", "bench.child.clock_server", ClockSpec(bind=f"tcp://{host}:0"))
    try:
        yield child, collect(Listening, [child], 15)[0].address
    finally:
        child.stop()


def peer(behave):
    """Something that listens at an address and does with each connection what ``behave`` does."""
    return served(lambda connection, _: behave(connection))


def answering(tick):
    """Return what answers each frame with the times that ``tick(number)`` gives."""

    def behave(connection):
        while len(frame := connection.recv(clock_server.ASK.size, socket.MSG_WAITALL)) == clock_server.ASK.size:
            name, number = clock_server.ASK.unpack(frame)
            connection.sendall(clock_server.ANSWER.pack(name, number, *tick(number)))

    return behave


def test_this_machines_own_clock_differs_by_nothing_within_the_bound():
    with listening() as (_, address):
        before = time.perf_counter_ns()
        readings = [compare(address) for _ in range(20)]
        after = time.perf_counter_ns()
    assert all(abs(one.offset_ns) <= one.bound_ns for one in readings)
    assert all(before < one.at_ns < after for one in readings)
    assert len({one.at_ns for one in readings}) == 20


def test_a_clock_ends_when_its_input_ends_though_somebody_is_connected():
    with listening() as (child, address):
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)):
            child.ask_to_leave()
            assert wait_for(lambda: is_gone(child.pid))


def test_one_who_is_silent_or_talks_nonsense_keeps_nobody_from_the_clock():
    with listening() as (_, address):
        port = int(address.rpartition(":")[2])
        with socket.create_connection(("127.0.0.1", port)), socket.create_connection(("127.0.0.1", port)) as other:
            other.sendall(b"GET / HTTP/1.0\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):  # what it had not read is thrown away
                assert other.recv(1) == b""
            assert compare(address).bound_ns > 0


def test_nobody_at_the_address():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(SystemFailedError, match=f"tcp://127.0.0.1:{port}"):
        compare(f"tcp://127.0.0.1:{port}")
    with pytest.raises(UsageError, match="tcp://HOST:PORT"):
        compare("127.0.0.1")


def slowly(connection):
    answering(lambda number: (time.sleep(0.1), (0, 0))[1])(connection)


def jumping(connection):
    def tick(number):
        now = time.perf_counter_ns() + 10**9 * (number >= clock_exchange.LEAST // 2)
        return now, now

    answering(tick)(connection)


@pytest.mark.parametrize(
    ("behave", "limit_s"),
    [
        (lambda connection: connection.recv(10**6, socket.MSG_WAITALL), 0.2),  # it answers nothing
        (slowly, 0.3),
        (lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n"), 5.0),
        (jumping, 5.0),  # the clock is set meanwhile
    ],
)
def test_one_who_is_no_clock_or_too_slow_is_named_by_the_address(behave, limit_s):
    with peer(behave) as address, pytest.raises(SystemFailedError, match=address):
        compare(address, limit_s=limit_s)


@pytest.mark.parametrize(("exchanges", "shift"), [(LEAST, -(10**13)), (MOST, 50_000_000)])
def test_the_clock_of_another_host_need_not_be_close(exchanges, shift, monkeypatch):
    monkeypatch.setattr(clock_exchange, "ENOUGH_S", 10.0)  # a busy machine ends with fewer exchanges
    seen = []

    def shifted(number):
        seen.append(number)
        now = time.perf_counter_ns() + shift
        return now, now

    with peer(answering(shifted)) as address:
        reading = compare(address, exchanges)
    assert abs(reading.offset_ns - shift) <= reading.bound_ns and np.isfinite(reading.bound_ns)
    assert len(seen) == exchanges
