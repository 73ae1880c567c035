"""connections.ipynb: its plan, and what its figure and its sentences say of runs whose answers are known."""

import numpy as np
import pytest
from handmade import recorded, usual

from bench.analysis.quantiles import quantile
from bench.experiments import connections
from bench.grammar import chosen, over_starts
from bench.grammar.claim import CONTRADICTED, HOLDS
from bench.plan.case import Case
from bench.run.start_record import StartRecord

CHURN = [Case("sockets", "tcp", 100, calls_per_connection=n) for n in (1, 10, 0)]
SMALL = Case("grpc_aio", "tcp", 100)
BESIDE = [
    SMALL,
    Case("grpc_aio", "tcp", 100, outstanding=2, large_bytes=10_000),
    Case("grpc_aio", "tcp", 100, callers=2, large_bytes=10_000),
]


def by_hand(cases, rtt_us, opening_us=0.0, large_us=0.0, starts=6, calls=500):
    """Return a run in which each slot of case c takes rtt_us[c], its last one large_us if it carries large calls.

    Every connection takes opening_us to open; each start is slower by its number in per cent.
    """

    def record(start, block, index):
        case, factor = cases[index], 1 + block / 100
        each, slots = case.calls_per_connection, case.callers * case.outstanding
        times = []
        for slot in range(slots):
            us = large_us if case.large_bytes and slot == slots - 1 else rtt_us[index]
            took = np.rint(np.full(calls, 1000 * us * factor)).astype("i8")
            opens = (np.arange(calls) % each == 0) * np.int64(1000 * opening_us * factor) if each else 0 * took
            begin = np.concatenate([[0], np.cumsum(took + opens)[:-1]])
            sent = begin + opens
            times.append(np.stack([sent, sent + took, begin]) if each else np.stack([sent, sent + took]))
        total = calls * slots
        opened = {"tcp_connections": -(-calls // each) if each else 0, "tcp_time_wait": 7}
        return StartRecord(usual(total, max(one[1][-1] for one in times) / 1e9, **opened), calls=times)

    return recorded("connections", cases, record, starts)


def only(contrast, run):
    """Return the one ratio of a contrast."""
    (ratio,) = contrast.ratios(run)
    return ratio


def test_a_persistent_connection_is_as_many_times_as_fast_as_its_calls_are():
    run = by_hand(CHURN, [100, 100, 100], opening_us=300)
    assert [run.case(case).calls_per_connection for case in chosen(run, connections.renewed)] == [1, 10, 0]
    assert only(connections.persistent, run).value == pytest.approx(4, rel=2e-3)  # the edge of a window
    new, _, persistent = (over_starts(run, case, connections.TIME).middle for case in (0, 1, 2))
    assert new == pytest.approx(400 * 1.025, rel=0.01) and persistent == pytest.approx(100 * 1.025, rel=0.01)
    assert [quantile(run, case, 0.9).has for case in (0, 1, 2)] == run.cases["n"].to_list()  # without those that open


def test_small_calls_beside_large_ones_are_those_whose_quantiles_are_shown():
    run = by_hand(BESIDE, [100, 500, 200], large_us=5000)
    assert chosen(run, connections.beside) == [0, 1, 2]
    assert run.cases.loc[1, "p50_rtt_us"] == pytest.approx(500 * 1.025, rel=0.01)
    assert only(connections.blocking, run).value == pytest.approx(2.5, rel=1e-3)
    assert run.samples["large"].sum() == 2 * 6 * 500
    assert quantile(run, 1, 0.99).value == pytest.approx(500 * 1.025, rel=0.01)
    assert quantile(run, 1, 0.99).has == run.cases.loc[1, "n"] == run.count(1)


RENEWAL, _, BLOCKING = connections.claims


@pytest.mark.parametrize("answered", [{1: 883, 2: 586}, {1: 0, 2: 9}], ids=["unlike", "none"])
def test_head_of_line_blocking_is_not_decided_by_unlike_numbers_of_large_calls(answered, monkeypatch):
    run = by_hand(BESIDE, [100, 500, 200], large_us=5000)
    monkeypatch.setattr(connections, "large_calls", lambda run, case: answered[case])
    assert BLOCKING.verdicts(run) == [] and len(connections.blocking.ratios(run)) == bool(answered[1])
    assert connections.large(run).loc["grpc_aio", "compared"].startswith("no")


def test_a_persistent_connection_is_compared_with_each_number_of_calls_per_connection():
    run = by_hand(CHURN, [100, 50, 100], opening_us=300)  # 400, 80 and 100 us per call
    assert [ratio.value > 1 for ratio in connections.persistent_over_each.ratios(run)] == [True, False]
    assert [verdict.word for verdict in RENEWAL.verdicts(run)] == [HOLDS, CONTRADICTED]
