"""When data arrived, by the kernel's clock: before the process read them, and after they were sent."""

import socket
import sys
import time

import pytest
from conftest import wait_for
from wire_servers import served

from bench.child import arrivals
from bench.child.arrivals import Arrivals, watch


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's stamps are Linux's")
def test_the_instant_is_that_of_the_arrival_and_not_of_the_read():
    sent = []

    def behave(connection, asked):
        connection.recv(2)
        before = time.perf_counter_ns()
        connection.sendall(b"answer")
        sent.append((before, time.perf_counter_ns()))
        connection.recv(1)

    with served(behave) as address:
        host, port = address.removeprefix("tcp://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            assert watch(connection)
            time.sleep(0.2)  # Linux begins to stamp in a work queue: data that comes before is stamped when it is read
            connection.sendall(b"go")
            assert wait_for(lambda: sent)
            time.sleep(0.01)
            began = time.perf_counter_ns()
            data, arrived = Arrivals().read(connection, 100)
    assert data == b"answer" and sent[0][0] <= arrived + 1_000_000  # the clocks are compared
    assert arrived < began  # the process slept after it


def test_where_the_kernel_reports_nothing_the_read_counts():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        assert not watch(ours)
        theirs.sendall(b"abc")
        before = time.perf_counter_ns()
        data, arrived = Arrivals().read(ours, 100)
        assert data == b"abc" and before <= arrived <= time.perf_counter_ns()


def test_the_pair_of_clocks_that_was_read_fastest_counts(monkeypatch):
    mono = iter([0, 900, 1000, 1010, 2000, 2800, 3000, 3500, 4000, 4400])
    wall = iter([10**6 + at for at in (5, 1005, 2700, 3010, 4390)])
    monkeypatch.setattr(arrivals.time, "perf_counter_ns", mono.__next__)
    monkeypatch.setattr(arrivals.time, "time_ns", wall.__next__)
    assert arrivals.offset_ns() == 10**6
