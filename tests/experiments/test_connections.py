"""connections.ipynb: its plan, and what its figure and its sentences say of runs whose answers are known."""

import numpy as np
import pytest
from handmade import handmade, noisy, recorded, usual

from bench.analysis.quantiles import quantile
from bench.apps.teaching import questions
from bench.errors import UsageError
from bench.experiments import connections
from bench.grammar import chosen, over_starts, tables
from bench.grammar import figure as panels
from bench.grammar.claim import AGAINST, CONTRADICTED, HOLDS, UNDECIDED
from bench.grammar.experiment import experiment
from bench.plan.case import Case
from bench.run.start_record import StartRecord

CHURN = [Case("sockets", "tcp", 100, calls_per_connection=n) for n in (1, 10, 0)]
DEPTH = [Case("zeromq", "tcp", 100, outstanding=n) for n in (1, 4)]
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


def test_the_plan_measures_each_case_once_and_the_groups_asked_for():
    plan = experiment("connections").plan()
    cases = [case for case in plan.cases if case.system != "loopback"]
    assert len(cases) == len({str(case) for case in cases}) and plan.starts * len(cases) * plan.window_s <= 60
    kept = [case for case in cases if case.under_way == 1 and not case.calls_per_connection]
    assert sorted(case.system for case in kept) == ["grpc_aio", "grpc_sync", "http_aiohttp", "sockets", "zeromq"]
    (shared,) = [case for case in cases if case.system == "http_aiohttp" and case.large_bytes and case.callers == 1]
    assert shared.options["pool"] == 1 and shared.outstanding == 2
    few = experiment("connections").plan(churn="[]", depth="sockets", outstanding="[2]", head_of_line=[], connections=3)
    assert [(case.callers, case.outstanding) for case in few.cases[:-1]] == [(3, 2)]


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"churn": [], "depth": [], "head_of_line": []}, "churn, depth or head_of_line"),
        ({"depth": "http_stdlib"}, "http_stdlib .*callers.* outstanding"),
        ({"p99_bytes": 10}, r"^p99_bytes .*payload_bytes \(100\)"),
    ],
)
def test_a_wrong_parameter_is_one_sentence(parameters, why):
    with pytest.raises(UsageError, match=why):
        experiment("connections").plan(**parameters)


def only(contrast, run):
    """Return the one ratio of a contrast."""
    (ratio,) = contrast.ratios(run)
    return ratio


def score(run, name):
    return questions.measured(run, questions.find(f"connections {name}"))


def test_a_persistent_connection_is_as_many_times_as_fast_as_its_calls_are():
    run = by_hand(CHURN, [100, 100, 100], opening_us=300)
    assert [run.case(case).calls_per_connection for case in chosen(run, connections.renewed)] == [1, 10, 0]
    assert only(connections.persistent, run).value == pytest.approx(4, rel=2e-3)  # the edge of a window
    new, _, persistent = (over_starts(run, case, connections.TIME).middle for case in (0, 1, 2))
    assert new == pytest.approx(400 * 1.025, rel=0.01) and persistent == pytest.approx(100 * 1.025, rel=0.01)
    assert score(run, "q1")[0] == pytest.approx(4, rel=2e-3)
    ports = experiment("connections").tables["ports"](run)
    assert ports.to_numpy().tolist() == [["1.00 [1.00, 1.00]", "7.00 [7.00, 7.00]"]]


def test_more_calls_under_way_make_more_calls_per_second():
    run = by_hand(DEPTH, [100, 200])
    assert only(connections.deeper, run).value == pytest.approx(2, rel=0.02)
    assert only(connections.queued, run).value == pytest.approx(2, rel=0.02)
    assert score(run, "q2")[0] == pytest.approx(2, rel=0.02)


def test_small_calls_beside_large_ones_are_those_whose_quantiles_are_shown():
    run = by_hand(BESIDE, [100, 500, 200], large_us=5000)
    assert chosen(run, connections.beside) == [0, 1, 2]
    assert run.cases.loc[1, "p50_rtt_us"] == pytest.approx(500 * 1.025, rel=0.01)
    assert only(connections.blocking, run).value == pytest.approx(2.5, rel=1e-3)
    assert run.samples["large"].sum() == 2 * 6 * 500
    assert quantile(run, 1, 0.99).value == pytest.approx(500 * 1.025, rel=0.01)
    assert quantile(run, 1, 0.99).has == run.cases.loc[1, "n"] == run.count(1)


RENEWAL, DEEPER, BLOCKING = connections.claims


@pytest.mark.parametrize(("small_us", "word"), [(500, HOLDS), (200, UNDECIDED), (100, CONTRADICTED)])
def test_head_of_line_blocking_is_judged_by_its_ratio(small_us, word):
    assert BLOCKING.verdict(by_hand(BESIDE, [100, small_us, 200], large_us=5000)) == word


@pytest.mark.parametrize("answered", [{1: 883, 2: 586}, {1: 0, 2: 9}], ids=["unlike", "none"])
def test_head_of_line_blocking_is_not_decided_by_unlike_numbers_of_large_calls(answered, monkeypatch):
    run = by_hand(BESIDE, [100, 500, 200], large_us=5000)
    monkeypatch.setattr(connections, "large_calls", lambda run, case: answered[case])
    assert BLOCKING.verdicts(run) == [] and len(connections.blocking.ratios(run)) == bool(answered[1])
    row = connections.large(run).loc["grpc_aio"]
    assert row["answered on the shared connection"] == answered[1] and row["compared"].startswith("no")
    panels.panel(run, "head_of_line").draw_without_rendering()


def test_a_persistent_connection_is_compared_with_each_number_of_calls_per_connection():
    run = by_hand(CHURN, [100, 50, 100], opening_us=300)  # 400, 80 and 100 us per call
    assert [ratio.value > 1 for ratio in connections.persistent_over_each.ratios(run)] == [True, False]
    assert [verdict.word for verdict in RENEWAL.verdicts(run)] == [HOLDS, CONTRADICTED]
    answer, against, *_ = experiment("connections").conclusion(run).split("\n\n")
    assert "3.99" in answer and AGAINST in against


def test_quantiles_of_a_renewed_connection_leave_out_the_calls_that_open_it():
    run = by_hand(CHURN, [100, 100, 100], opening_us=300)
    assert [quantile(run, case, 0.9).has for case in (0, 1, 2)] == run.cases["n"].to_list()


def test_ratios_of_a_run_are_those_of_persistence_depth_and_blocking():
    run = by_hand([*CHURN, *DEPTH, *BESIDE], [100, 100, 100, 100, 200, 100, 500, 200], 300, 5000)
    assert [round(one.value, 1) for one in experiment("connections").ratios(run)] == [4.0, 1.3, 2.0, 2.0, 2.5]
    assert len(tables.ratios(run)) == 5


def test_a_run_without_connections_of_interest_has_none_of_its_ratios():
    run = handmade([Case("sockets", "tcp"), Case("zeromq", "tcp")], [100, 50], notebook="connections", shape=noisy)
    assert experiment("connections").ratios(run) == [] and experiment("connections").conclusion(run) == ""
    assert score(run, "q1") is None
