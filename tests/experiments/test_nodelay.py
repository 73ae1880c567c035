"""Stalls by Nagle's algorithm and delayed ACKs: predicted rates, the kernel's count, and the plain HTTP server."""

import math
import sys

import pytest
from handmade import handmade
from wire_servers import posted, served

from bench.child.caller import translating
from bench.errors import TransportError, UsageError
from bench.experiments import registry, sentences
from bench.experiments.nodelay.findings import combinations
from bench.experiments.nodelay.plan import ABLE
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.systems import http_stdlib

HELD = {"client_nodelay": False, "server_nodelay": False, "writes": 2}


def factorial(system="xmlrpc_pstream"):
    return [
        Case(system, "tcp", 100, {"client_nodelay": client, "server_nodelay": server, "writes": writes}, max_calls=400)
        for writes in (1, 2)
        for client, server in ((True, True), (False, True), (True, False), (False, False))
    ]


def test_stalls_are_predicted_from_sides_and_writes():
    run = handmade(factorial(), [100] * 8, calls=20)
    found = {(one.sides, one.writes): one for one in combinations(run)}
    assert len(found) == 8 and all(
        one.stalls == 0 and math.isinf(one.rate_per_s) for one in found.values() if one.writes == 1
    )
    assert [found[sides, 2].stalls for sides in ("both", "server only", "client only", "neither")] == [0, 1, 1, 2]
    assert found["client only", 2].rate_per_s == pytest.approx(25) and found["neither", 2].rate_per_s == pytest.approx(
        12.5
    )


def test_the_conclusion_sets_rates_beside_the_origins():
    rtt_us = [100, 100, 100, 100, 100, 44_000, 44_000, 88_000]
    text = sentences.conclusion(handmade(factorial(), rtt_us, calls=20, notebook="nodelay", tcp_delayed_acks=20))
    facts = ("fails in 1 of 3", " 12 calls/s", " 2.00 there", " 2.00 here", " 83 ms ", " 45 ms ")
    assert [fact for fact in facts if fact not in text] == []


@pytest.mark.parametrize("system", ABLE)
@pytest.mark.skipif(sys.platform != "linux", reason="the counter is Linux's")
def test_the_kernel_delays_two_acknowledgements_of_each_call_that_both_sides_hold_back(system):
    held = measure(Case(system, "tcp", 100, HELD, max_calls=3), 2.0, 1).ledger
    assert held["calls"] == 3 and held["tcp_delayed_acks"] >= 3
    assert held["tcp_segments_out"] >= 4 * held["calls"]


def test_only_systems_with_these_options_are_planned():
    with pytest.raises(UsageError, match=r"'zeromq'.*sockets, xmlrpc_pstream, http_stdlib"):
        registry.plan("nodelay", system="zeromq")
    plan = registry.plan("nodelay", system="sockets", sizes=[100, 70_000])
    assert len(plan.cases) == 8 + 1 + 1 and plan.window_s == 0.12


ANSWERS = {
    "500": b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
    "truncated": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    "closed": b"",
    "other": b"no HTTP\r\n\r\n",
}


@pytest.mark.parametrize("said", ANSWERS.values(), ids=ANSWERS)
def test_a_server_that_fails_is_an_error(said):
    with served(lambda connection, _: (posted(connection), connection.sendall(said))) as address:
        client = http_stdlib.Client(address, http_stdlib.Options())
        client.open()
        with pytest.raises(TransportError), translating(client):
            client.call(b"hello")
        client.close()


@pytest.mark.parametrize(("acks", "words"), [(20, "fails in 1 of 3"), (0, "fails in 3 of 3")])
def test_a_prediction_of_stalls_that_the_kernel_does_not_count_is_said_to_fail_first(acks, words):
    rtt_us = [100, 100, 100, 100, 100, 44_000, 44_000, 88_000]  # neither side: two stalls per call, one of them counted
    run = handmade(factorial(), rtt_us, calls=20, notebook="nodelay", tcp_delayed_acks=acks)
    assert words in sentences.conclusion(run).split(". ")[0]
