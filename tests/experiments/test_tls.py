"""What encryption costs: the arithmetic on known numbers, the plan, and a run that is measured and stored."""

import math
import re

import numpy as np
import pytest
from handmade import handmade, in_turns, recorded, reference, usual
from hypothesis import given
from hypothesis import strategies as st

from bench.analysis.comparison import compare
from bench.errors import DataError, UsageError
from bench.experiments import panels, registry, sentences
from bench.experiments.tls import findings, text
from bench.measurement import runner
from bench.plan.case import Case
from bench.run.frames import Run
from bench.run.start_record import StartRecord
from bench.stats.intervals import Interval
from bench.validation.estimate import described
from bench.validation.support import checked

SIZES = (100, 10_000, 100_000)
BLOCKS = 6


@given(b=st.floats(-50, 1e4), c=st.floats(-1, 100), plain=st.lists(st.floats(1, 1e4), min_size=3, max_size=3))
def test_the_regression_finds_the_line_that_made_the_numbers(b, c, plain):
    sizes = np.array(SIZES, float)
    found = findings.fit(sizes, b + c / 1e3 * sizes, np.array(plain))
    assert np.allclose(found, (b, c), rtol=1e-6, atol=1e-4)


def connection(number, calls, size, connect_us, call_us, cpu_us):
    """Return a row of the table of connections: times in us from its number on."""
    begin = number * 10_000_000
    answered = begin + int(connect_us * 1e3)
    called = answered + int((calls - 1) * call_us * 1e3)
    spent = int((connect_us / 2 + (calls - 1) * cpu_us) * 1e3)
    return {
        "number": number, "calls": calls, "payload_bytes": size, "begin_ns": begin, "opened_ns": begin + 1000,
        "answered_ns": answered, "called_ns": called, "end_ns": called + 1000, "client_cpu_ns": spent,
        "server_cpu_ns": 2 * spent, "median_ns": int(call_us * 1e3) if calls > 1 else None,
    }  # fmt: skip


def made_up(connect_us, call_us, byte_ns):
    """Return a run of sockets, not encrypted and encrypted; what encryption adds grows by 1 % with each block."""
    planned = [(1, SIZES[0]), *((11, size) for size in SIZES)]
    shared = {"load": "reconnect", "sessions": tuple(planned)}
    cases = [checked(Case("sockets", "tcp", SIZES[0], {"tls": on}, **shared)) for on in (False, True)]

    def record(start, block, index):
        more = index * 1.01**block
        rows = [
            connection(
                number, calls, size,
                200 + more * (connect_us + call_us + byte_ns * SIZES[0] / 1e3),
                20 + size / 1e3 + more * (call_us + byte_ns * size / 1e3), 5 + more * 3,
            )
            for number, (calls, size) in enumerate(planned)
        ]  # fmt: skip
        calls = sum(calls for calls, _ in planned)
        ledger = usual(calls, 1.0, client_cpu_ns=10**6, server_cpu_ns=10**6, server_cpus="0", first_rtt_ns=1000)
        return StartRecord(ledger, tables={"sessions": rows})

    return recorded("tls", cases, record, BLOCKS)


def test_the_three_costs_of_a_known_run():
    run = made_up(connect_us=1000, call_us=10, byte_ns=4)
    (pair,) = findings.pairs(run)
    assert pair == (0, 1, None) and findings.sizes(run) == list(SIZES)
    found = findings.added(run, *pair[:2])
    middle = np.median([(1.01**a + 1.01**b) / 2 for a in range(BLOCKS) for b in range(a, BLOCKS)])
    for one, value in zip(found, (1000, 10.4, 4), strict=True):
        assert (one.middle, one.low, one.high) == pytest.approx((value * middle, value, value * 1.01**5), rel=2e-3)
    assert findings.connect_us(run, 0).to_list() == [200.0] * BLOCKS
    assert findings.call_us(run, 0, SIZES[1]).to_list() == [30.0] * BLOCKS
    assert findings.call_us(run, 0, SIZES[1], "client").to_list() == pytest.approx([5.0] * BLOCKS)
    assert findings.call_us(run, 0, SIZES[1], "server").to_list() == pytest.approx([10.0] * BLOCKS)
    assert findings.cpu_ratio(run, pair, SIZES[0]).low == pytest.approx(8 / 5, rel=1e-3)
    assert findings.connect_ratio(run, pair).low == pytest.approx((200 + 1010.4) / 200, rel=1e-3)
    assert findings.resumed_ratio(run, pair) is None


def test_sentences_of_a_known_run_say_its_numbers():
    run = made_up(connect_us=1000, call_us=10, byte_ns=4)
    assert re.search(r"TLS .*1\.03 ms .*1\.00 ms to 1\.05 ms.*100 B.* 96\.", text.added(run))
    assert "200 µs" in text.handshakes(run)
    assert ": sockets tcp: " in panels.alt_text(run) or "? sockets tcp: " in panels.alt_text(run)


@pytest.mark.parametrize(
    ("interval", "times"),
    [
        ((5, 2, 9), ["5.00", "2.00", "9.00"]),
        ((5, -2, 9), ["9.00"]),
        ((-5, -7, -1), []),
        ((5, math.nan, math.nan), ["5.00"]),
    ],
)
def test_what_is_not_known_is_not_said(interval, times):
    assert re.findall(r"([\d.]+) µs", text._time(Interval(*interval, 0.95))) == times


def test_the_plan_pairs_each_system_with_itself():
    plan = registry.plan("tls", system="[sockets, zeromq, http_stdlib]", payload_bytes="[100, 5000]", connections=3)
    asked = [(case.system, case.tls, case.options.get("tls_session")) for case in plan.cases]
    assert asked[:8] == [
        ("sockets", False, "new"), ("sockets", True, "new"), ("sockets", True, "resumed"),
        ("zeromq", False, None), ("zeromq", True, None),
        ("http_stdlib", False, "new"), ("http_stdlib", True, "new"), ("http_stdlib", True, "resumed"),
    ]  # fmt: skip
    assert plan.cases[0].sessions == ((1, 100),) * 3 and "3 connections" in described(plan)
    for group in plan.groups:
        of_group = {(plan.cases[at].system, plan.cases[at].payload_bytes, plan.cases[at].tls) for at in group}
        assert of_group == {(name, size, on) for name, size, _ in of_group for on in (False, True)}
    assert len(plan.cases) == 8 + 3 * 2 * 2 == len(plan.apart) + sum(map(len, plan.groups))


def test_calls_on_open_connections_come_from_slices():
    sockets = [checked(Case("sockets", "tcp", size, {"tls": on})) for size in SIZES for on in (False, True)]
    run = in_turns([100, 110, 200, 220, 1000, 1200], drift=0.002, cases=sockets, notebook="tls")
    pair = findings.Pair(0, 1, None)
    assert findings.call_ratio(run, pair, SIZES[1]).middle == pytest.approx(1.1, rel=2e-3)
    assert findings.cpu_ratio(run, pair, SIZES[2]).middle == pytest.approx(1.2, rel=2e-2)
    for size, share in zip(SIZES, (0.1, 0.1, 0.2), strict=True):
        added = findings.added_us(run, 0, 1, size) / findings.call_us(run, 0, size)
        assert added.to_list() == pytest.approx([share] * 8, rel=2e-2)


def test_all_are_those_that_encrypt():
    plan = registry.plan("tls", system="all", transport="all")
    assert {"sockets", "wamp_crossbar", "grpc_aio"} <= {case.system for case in plan.cases}
    assert {case.transport for case in plan.cases if case.system == "http_aiohttp"} == {"tcp"}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"payload_bytes": 100}, "^payload_bytes "),
        ({"system": "loopback"}, "^loopback .*sockets"),
    ],
)
def test_what_cannot_be_planned_is_refused(given, why):
    with pytest.raises(UsageError, match=why):
        registry.plan("tls", **given)


@pytest.mark.slow
def test_a_run_is_measured_stored_and_drawn():
    plan = registry.plan("tls", system="sockets", payload_bytes="[100, 5000]", connections=3, starts=2, slice_ms=10)
    run = Run(runner.run(plan))
    assert len(run.sessions) == 2 * 3 * 3 and set(run.sessions["resumed"].dropna()) == {0, 1}
    assert findings.sizes(run) == [100, 5000] and len(findings.pairs(run)) == 1
    assert re.search(r"\b2 starts", sentences.conclusion(run))
    assert "n = 18 connections with 18 calls" in panels.caption(run).replace("\n", " ")
    assert panels.save(run)[1].stat().st_size > 50_000


def test_the_reference_run_holds_every_cost_of_every_system():
    run = reference("tls")
    systems = {run.case(pair.plain).system for pair in findings.pairs(run)}
    assert systems == {"sockets", "http_stdlib", "grpc_sync", "zeromq"}
    for pair in findings.pairs(run):
        found = findings.added(run, *pair[:2])
        assert all(one.low <= one.middle <= one.high for one in found)
    resumed = [case for case in run.find(tls_session="resumed") if run.case(case).tls]
    assert resumed and (run.sessions.loc[run.sessions["case"].isin(resumed), "resumed"] == 1).all()


def test_the_overview_encrypts_every_system_that_can():
    plan = registry.plan("overview", system="[sockets, zeromq, http_aiohttp, xmlrpc_pstream]", tls=True)
    encrypted = {(case.system, case.transport): case.tls for case in plan.cases if case.system != "loopback"}
    expected = [("sockets", "ipc"), ("zeromq", "ipc"), ("http_aiohttp", "tcp"), ("sockets", "tcp")]
    assert encrypted == dict.fromkeys(expected, True)
    plain = registry.plan("overview", system="[sockets, zeromq]")
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


@pytest.mark.parametrize(
    ("added_us", "words"), [(9, "not distinguishable from 1"), (90, "not CPU time"), (3, "outside")]
)
def test_whether_the_added_time_is_computation_is_what_the_run_measured(added_us, words):
    run = made_up(0, added_us, 0)  # 9 us of CPU time are added to each call
    share = findings.computed(run, findings.pairs(run)[0], SIZES[-1])
    assert share.middle == pytest.approx(9 / added_us, rel=0.05)
    assert words in text.computation(run)
