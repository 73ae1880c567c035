"""Stalls by Nagle's algorithm and delayed ACKs: predicted rates, the kernel's count, and the plain HTTP server."""

import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from handmade import handmade
from wire_servers import posted, served

from bench.analysis.stalls import DELAY_S, held_back, rate_per_s, stalls
from bench.child.caller import translating
from bench.errors import TransportError
from bench.experiments import nodelay
from bench.experiments.nodelay import ABLE, HELD
from bench.grammar.claim import CONTRADICTED, HOLDS
from bench.grammar.experiment import experiment
from bench.measurement.start import measure
from bench.plan.case import Case
from bench.systems import http_stdlib


def factorial(system="xmlrpc_pstream"):
    return [
        Case(system, "tcp", 100, {"client_nodelay": client, "server_nodelay": server, "writes": writes}, max_calls=400)
        for writes in (1, 2)
        for client, server in ((True, True), (False, True), (True, False), (False, False))
    ]


RTT_US = [100, 100, 100, 100, 100, 44_000, 44_000, 88_000]


def known(acks):
    """Return a run whose stalls take 44 ms each, with as many delayed ACKs per call in each case."""
    return handmade(factorial(), RTT_US, calls=20, notebook="nodelay", tcp_delayed_acks=20 * acks)


def test_stalls_are_predicted_from_sides_writes_and_segment():
    cases = {(nodelay.sides(case), case.options["writes"]): case for case in factorial()}
    assert [stalls(cases[sides, 1]) for sides in nodelay.SIDES.values()] == [0, 0, 0, 0]
    assert [stalls(cases[sides, 2]) for sides in nodelay.SIDES.values()] == [0, 1, 1, 2]
    assert [rate_per_s(cases[sides, 2]) for sides in nodelay.SIDES.values()] == pytest.approx([np.inf, 25, 25, 12.5])
    assert [stalls(replace(cases["neither", 2], payload_bytes=size)) for size in (65_000, 66_000)] == [2, 0]


@pytest.mark.parametrize(("acks", "verdict"), [(1, CONTRADICTED), (2, HOLDS)])
def test_the_kernels_count_decides_on_the_prediction(acks, verdict):
    counted, slower = nodelay.claims  # one and two stalls are predicted, and as many are counted in all cases
    run = known(acks)
    assert (counted.verdict(run), slower.verdict(run)) == (verdict, HOLDS)
    assert [each.limit for each in counted.verdicts(run)] == [0.9] * 3


def test_the_time_that_stalls_add_is_that_beyond_the_case_without_any():
    one, two = nodelay.added(known(2))
    assert (one.subject, two.subject) == ("one stall", "two stalls")
    assert (one.interval.middle, two.interval.middle) == pytest.approx((43_900, 87_900), rel=0.05)


def test_in_a_class_one_call_without_its_stall_is_within_the_tenth_that_the_claim_allows():
    plan = experiment("nodelay").sweep.plan("nodelay", {})
    calls = math.ceil(plan.window_s / (1.1 * DELAY_S))
    assert 1 - 1 / calls > 0.9


def test_delayed_acks_in_most_calls_are_named_with_their_remedies():
    text = held_back(known(1))
    assert text.count("delayed ACKs per call: 1.") == 3  # not of the calls that took 0.1 ms
    assert "TCP_NODELAY" in text and held_back(known(0)) == ""


@pytest.mark.parametrize("system", ABLE)
@pytest.mark.skipif(sys.platform != "linux", reason="the counter is Linux's")
def test_the_kernel_delays_two_acknowledgements_of_each_call_that_both_sides_hold_back(system):
    held = measure(Case(system, "tcp", 100, HELD, max_calls=3), 2.0, 1).ledger
    assert held["calls"] == 3 and held["tcp_delayed_acks"] >= 3
    assert held["tcp_segments_out"] >= 4 * held["calls"]


ANSWERS = {
    "500": b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n",
    "truncated": b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc",
    "closed": b"",
    "other": b"no HTTP\r\n\r\n",
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_a_server_that_fails_is_an_error(answer):
    with served(lambda connection, _: (posted(connection), connection.sendall(answer))) as address:
        client = http_stdlib.Client(address, http_stdlib.Options())
        client.open()
        with pytest.raises(TransportError), translating(client):
            client.call(b"hello")
        client.close()
