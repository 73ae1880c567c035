"""What encryption costs: the arithmetic on known numbers, the plan, and the reference run."""

import numpy as np
import pytest
from handmade import handmade, in_order, in_turns, recorded, usual

from bench.analysis import encryption
from bench.analysis.comparison import compare
from bench.errors import DataError
from bench.experiments import tls
from bench.grammar.experiment import experiment
from bench.measurement.validation.cases import all_present
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.run.start_record import StartRecord

SIZES = (100, 10_000, 100_000)
BLOCKS, CALLS = 6, 20


def connection(number, connect_us):
    """Return a row of the table of connections: one call on each, times in us."""
    begin = number * 10_000_000
    answered = begin + int(connect_us * 1e3)
    return {
        "number": number, "calls": 1, "payload_bytes": SIZES[0], "begin_ns": begin, "opened_ns": begin + 1000,
        "answered_ns": answered, "called_ns": answered, "end_ns": answered + 1000, "client_cpu_ns": 1000,
        "server_cpu_ns": 1000,
    }  # fmt: skip


def made_up(connect_us, call_us, byte_ns):
    """Return a run of sockets, not encrypted and encrypted; what encryption adds grows by 1 % with each block."""
    single = {"load": "reconnect", "sessions": ((1, SIZES[0]),)}
    ways = [(SIZES[0], single), *((size, {}) for size in SIZES)]
    cases = [checked(Case("sockets", "tcp", size, {"tls": on}, **how)) for size, how in ways for on in (False, True)]

    def record(start, block, index):
        case, more = cases[index], cases[index].tls * 1.01**block
        added_us = call_us + byte_ns * case.payload_bytes / 1e3
        if case.load == "reconnect":
            rows = {"sessions": [connection(0, 200 + more * (connect_us + added_us))]}
            return StartRecord(usual(1, 1.0, server_cpus="0"), tables=rows)
        rtt_ns = np.full(CALLS, round(1e3 * (20 + case.payload_bytes / 1e3 + more * added_us)), "i8")
        cpu_ns = round(CALLS * 1e3 * (5 + more * 3))
        spent = {"client_cpu_ns": cpu_ns, "server_cpu_ns": 2 * cpu_ns, "server_cpus": "0"}
        return StartRecord(usual(CALLS, rtt_ns.sum() / 1e9, **spent), [in_order(rtt_ns)])

    return recorded("tls", cases, record, BLOCKS)


def test_the_three_costs_of_a_known_run():
    run = made_up(connect_us=1000, call_us=10, byte_ns=4)
    (pair,) = encryption.pairs(run)
    assert pair == (0, 1, {size: (2 + 2 * place, 3 + 2 * place) for place, size in enumerate(SIZES)})
    costs = encryption.added(run, pair)
    middle = np.median([(1.01**a + 1.01**b) / 2 for a in range(BLOCKS) for b in range(a, BLOCKS)])
    for one, value in zip(costs, (1000, 10.4, 4), strict=True):
        assert (one.middle, one.low, one.high) == pytest.approx((value * middle, value, value * 1.01**5), rel=2e-3)
    assert encryption.connect_us(run, 0).to_list() == [200.0] * BLOCKS
    assert encryption.call_us(run, 4).to_list() == [30.0] * BLOCKS
    assert encryption.call_us(run, 4, "client").to_list() == pytest.approx([5.0] * BLOCKS)
    assert encryption.call_us(run, 4, "server").to_list() == pytest.approx([10.0] * BLOCKS)
    (connecting,), (smallest, *_) = tls.connecting.ratios(run), tls.computing.ratios(run)
    assert smallest.interval.low == pytest.approx(8 / 5, rel=1e-3)
    assert connecting.interval.low == pytest.approx((200 + 1010.4) / 200, rel=1e-3)
    assert tls.resuming.ratios(run) == []


def test_calls_on_open_connections_come_from_slices():
    sockets = [checked(Case("sockets", "tcp", size, {"tls": on})) for size in SIZES for on in (False, True)]
    run = in_turns([100, 110, 200, 220, 1000, 1200], drift=0.002, cases=sockets, notebook="tls")
    assert tls.calling.ratios(run)[1].value == pytest.approx(1.1, rel=2e-3)
    assert tls.computing.ratios(run)[2].value == pytest.approx(1.2, rel=2e-2)
    for plain, share in ((0, 0.1), (2, 0.1), (4, 0.2)):
        added = encryption.added_us(run, plain, plain + 1) / encryption.call_us(run, plain)
        assert added.to_list() == pytest.approx([share] * 8, rel=2e-2)


def test_all_are_those_that_encrypt():
    with all_present():
        plan = experiment("tls").plan(system="all", transport="all")
    assert {"sockets", "wamp_crossbar", "grpc_aio"} <= {case.system for case in plan.cases}
    assert {case.transport for case in plan.cases if case.system == "http_aiohttp"} == {"tcp"}


def test_the_overview_encrypts_every_system_that_can():
    plan = experiment("overview").plan(system="[sockets, zeromq, http_aiohttp, xmlrpc_pstream]", tls=True)
    encrypted = {(case.system, case.transport): case.tls for case in plan.cases if case.system != "loopback"}
    expected = [("sockets", "ipc"), ("zeromq", "ipc"), ("http_aiohttp", "tcp"), ("sockets", "tcp")]
    assert encrypted == dict.fromkeys(expected, True)
    plain = experiment("overview").plan(system="[sockets, zeromq]")
    assert not any(case.tls for case in plain.cases)


def test_a_run_from_before_encryption_is_compared_with_one_of_today():
    before = handmade([Case("sockets", "tcp", options={"writes": 1})], [100], calls=200)
    today = handmade(
        [Case("sockets", "tcp", options={"writes": 1, "tls": False, "tls_session": "new"})], [200], calls=200
    )
    assert compare(before, today)[0].ratio == pytest.approx(2, rel=0.01)
    encrypted = handmade([Case("sockets", "tcp", options={"writes": 1, "tls": True})], [200], calls=200)
    with pytest.raises(DataError):
        compare(before, encrypted)


@pytest.mark.parametrize("added_us", [9, 90, 3])
def test_how_much_of_the_added_time_is_computation(added_us):
    run = made_up(0, added_us, 0)  # 9 us of CPU time are added to each call
    share = encryption.computed(run, *encryption.pairs(run)[0].calls[SIZES[-1]])
    assert share.middle == pytest.approx(9 / added_us, rel=0.05)
