"""The requests that warm a service up: several at once, all of them checked."""

import os

import pytest
from specs import server_spec
from wire_servers import framed, served

from bench.child import warm_up
from bench.errors import TransportError
from bench.systems import sockets

SPEC = server_spec("sockets", payload_bytes=100)


@pytest.mark.parametrize(
    ("requests", "of_each"),
    [(5 * warm_up.ROUNDS * warm_up.CONNECTIONS, [5] * warm_up.ROUNDS * warm_up.CONNECTIONS), (5, [1] * 5)],
)
def test_as_many_come_as_are_asked_for_on_several_connections_and_the_process_stays_on_its_cpus(requests, of_each):
    before, answered = os.sched_getaffinity(0), []  # requests of each connection

    def noted(peer, asked):
        answered.append(mine := [])
        for payload in asked:
            mine.append(payload)
            peer.sendall(framed(payload))

    with served(noted) as address:
        assert warm_up.by_wire(SPEC, sockets, sockets.Options(), address, requests)
    assert [len(each) for each in answered] == of_each
    assert os.sched_getaffinity(0) == before


def test_a_service_that_fails_while_it_warms_up_is_not_measured():
    def leaving(peer, asked):
        for _, payload in zip(range(3), asked, strict=False):
            peer.sendall(framed(payload))

    with served(leaving) as address, pytest.raises(TransportError):
        warm_up.by_wire(SPEC, sockets, sockets.Options(), address, 100 * warm_up.CONNECTIONS)


def test_requests_that_have_no_bytes_are_left_to_the_service():
    class Without:
        @staticmethod
        def Wire(address, options):  # noqa: N802 - as the contract calls it
            raise ValueError("no bytes")

    assert not warm_up.by_wire(SPEC, Without, sockets.Options(), "tcp://127.0.0.1:1", 10)
