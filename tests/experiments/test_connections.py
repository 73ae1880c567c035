"""connections.ipynb: its plan, and what its figure and its sentences say of runs whose answers are known."""

import re

import numpy as np
import pytest
from handmade import FACTS, finished, handmade, noisy
from matplotlib.figure import Figure

from bench.analysis.quantiles import quantile
from bench.apps.teaching import questions
from bench.errors import UsageError
from bench.experiments import panels, registry, tables
from bench.experiments.claims import AGAINST, above
from bench.experiments.connections import figure, findings, text
from bench.grammar.contrast import P50, RATE
from bench.plan.case import Case
from bench.run import start_record, stored
from bench.run.start_record import StartRecord
from bench.validation.profiles import make_plan

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
    plan = make_plan("connections", cases, starts=starts, window_s=0.01)
    folder, made = stored.create(plan, FACTS), []
    for start, block, index in plan.order():
        case, factor = plan.cases[index], 1 + block / 100
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
        known = {
            "calls": total, "server_calls": total, "window_s": max(one[1][-1] for one in times) / 1e9, "errors": 0,
            "first_rtt_ns": 1, "client_cpu_ns": 10_000 * total, "server_cpu_ns": 20_000 * total, "client_cpus": "0",
            "server_cpus": "1", "gc_collections": 0, "tcp_connections": -(-calls // each) if each else 0,
            "tcp_time_wait": 7,
        }  # fmt: skip
        record = StartRecord(known, calls=times)
        made.append(start_record.tables(start, block, index, case, record))
    return finished(folder, made)


def test_the_plan_measures_each_case_once_and_the_groups_asked_for():
    plan = registry.plan("connections")
    cases = [case for case in plan.cases if case.system != "loopback"]
    assert len(cases) == len({str(case) for case in cases}) and plan.starts * len(cases) * plan.window_s <= 60
    kept = [case for case in cases if case.under_way == 1 and not case.calls_per_connection]
    assert sorted(case.system for case in kept) == ["grpc_aio", "grpc_sync", "http_aiohttp", "sockets", "zeromq"]
    (shared,) = [case for case in cases if case.system == "http_aiohttp" and case.large_bytes and case.callers == 1]
    assert shared.options["pool"] == 1 and shared.outstanding == 2
    few = registry.plan("connections", churn="[]", depth="sockets", outstanding="[2]", head_of_line=[], connections=3)
    assert [(case.callers, case.outstanding) for case in few.cases[:-1]] == [(3, 2)]


WRONG = [
    ({"churn": [], "depth": [], "head_of_line": []}, "churn, depth or head_of_line"),
    ({"calls_per_connection": []}, "^calls_per_connection "),
    ({"calls_per_connection": [-1]}, "^calls_per_connection .*-1"),
    ({"outstanding": "[0]"}, "^outstanding .*0"),
    ({"depth": "http_stdlib"}, "http_stdlib .*callers.* outstanding"),
    ({"p99_bytes": 10}, r"^p99_bytes .*payload_bytes \(100\)"),
    ({"churn": "sokets"}, r"sockets\?"),
]


@pytest.mark.parametrize(("given", "why"), WRONG, ids=range(len(WRONG)))
def test_a_wrong_parameter_is_one_sentence(given, why):
    with pytest.raises(UsageError, match=why):
        registry.plan("connections", **given)


def test_a_persistent_connection_is_as_many_times_as_fast_as_its_calls_are():
    run = by_hand(CHURN, [100, 100, 100], opening_us=300)
    assert findings.levels(run) == [1, 10, 0]
    assert findings.persistence(run, "sockets").value == pytest.approx(4, rel=2e-3)  # the edge of a window
    new, _, persistent = (findings.time_per_call_us(run, case).median() for case in (0, 1, 2))
    assert new == pytest.approx(400 * 1.025, rel=0.01) and persistent == pytest.approx(100 * 1.025, rel=0.01)
    assert str(findings.persistence(run, "sockets")) in text.conclusion(run)
    assert re.search(r"\b1\.00 .*\b7 ", text.ports(run))
    assert questions.measured(run, questions.find("connections q1"))[0] == pytest.approx(4, rel=2e-3)


def test_more_calls_under_way_make_more_calls_per_second():
    run = by_hand(DEPTH, [100, 200])
    assert findings.deepening(run, "zeromq").value == pytest.approx(2, rel=0.02)
    assert all(str(findings.deepening(run, "zeromq", what)) in text.depths(run) for what in (RATE, P50))
    assert questions.measured(run, questions.find("connections q2"))[0] == pytest.approx(2, rel=0.02)


def test_small_calls_beside_large_ones_are_those_whose_quantiles_are_shown():
    run = by_hand(BESIDE, [100, 500, 200], large_us=5000)
    (one,) = findings.beside(run)
    assert (one.alone, one.same, one.own) == (0, 1, 2)
    assert run.cases.loc[1, "p50_rtt_us"] == pytest.approx(500 * 1.025, rel=0.01)
    assert findings.blocking(run, one).value == pytest.approx(2.5, rel=1e-3)
    assert run.samples["large"].sum() == 2 * 6 * 500
    assert quantile(run, 1, 0.99).value == pytest.approx(500 * 1.025, rel=0.01)
    assert quantile(run, 1, 0.99).has == run.cases.loc[1, "n"] == run.count(1)
    equal = by_hand(BESIDE, [100, 200, 200], large_us=5000)
    faster = by_hand(BESIDE, [100, 100, 200], large_us=5000)
    against = [text.head_of_line(each).startswith(AGAINST) for each in (run, equal, faster)]
    assert against == [False, False, True]
    assert [above(findings.blocking(each, one)) for each in (run, equal, faster)] == [True, None, False]


def test_head_of_line_blocking_is_not_decided_where_the_numbers_of_large_calls_differ(monkeypatch):
    run = by_hand(BESIDE, [100, 500, 200], large_us=5000)
    (one,) = findings.beside(run)
    assert findings.blocks(run, one) is True
    monkeypatch.setattr(findings, "large_calls", lambda run, case: {1: 883, 2: 586}[case])
    assert findings.difference(run, one) == pytest.approx(883 / 586 - 1)
    assert findings.blocks(run, one) is None and "51%" in text.head_of_line(run)


def test_small_calls_that_leave_no_room_for_a_large_one_show_nothing_about_sharing(monkeypatch):
    run = by_hand(BESIDE, [100, 100, 200], large_us=5000)
    assert findings.large_calls(run, 0) == 0 and findings.large_calls(run, 1) > 1000
    monkeypatch.setattr(findings, "large_calls", lambda run, case: 0)
    assert findings.ratios(run) == [] and AGAINST not in text.head_of_line(run)
    panels.panel(run, "head_of_line").draw_without_rendering()


def test_a_run_in_which_renewed_connections_are_as_fast_contradicts_the_card():
    run = by_hand(CHURN, [100, 100, 130])
    assert findings.persistence(run, "sockets").value < 1
    assert text.renewal(run).startswith(AGAINST)


def test_a_persistent_connection_is_compared_with_each_number_of_calls_per_connection():
    run = by_hand(CHURN, [100, 50, 100], opening_us=300)  # 400, 80 and 100 us per call
    assert findings.persistence(run, "sockets").value > 1
    found = {calls: findings.persistent_over(run)[calls]["sockets"] for calls in (1, 10)}
    assert [above(found[calls]) for calls in (1, 10)] == [True, False]
    said = text.renewal(run)
    assert said.startswith(AGAINST) and all(str(ratio) in said for ratio in found.values())


def test_quantiles_of_a_renewed_connection_leave_out_the_calls_that_open_it():
    run = by_hand(CHURN, [100, 100, 100], opening_us=300)
    assert [quantile(run, case, 0.9).has for case in (0, 1, 2)] == run.cases["n"].to_list()


def test_every_panel_draws_every_run_or_says_what_is_missing():
    for run in (by_hand(CHURN, [100] * 3, 50), by_hand(DEPTH, [100, 150]), by_hand(BESIDE, [9, 9, 9], large_us=99)):
        for panel in (*figure.PANELS, figure.round_trips, figure.time_wait):
            drawn = panels.panel(run, panel.__name__)
            assert isinstance(drawn, Figure) and drawn.axes[0].get_title(loc="left")
        assert text.conclusion(run) and len(tables.plan(run)) == len(run.plan.cases)
    assert panels.panel(by_hand(DEPTH, [1, 1]), "time_per_call").axes[0].texts  # it says why nothing is drawn


def test_ratios_of_a_run_are_those_of_its_sentences():
    run = by_hand([*CHURN, *DEPTH, *BESIDE], [100, 100, 100, 100, 200, 100, 500, 200], 300, 5000)
    assert [round(one.value, 1) for one in findings.ratios(run)] == [4.0, 1.3, 2.0, 2.0, 2.5]
    assert len(tables.ratios(run)) == 5


def test_a_run_without_connections_of_interest_has_none_of_its_ratios():
    run = handmade([Case("sockets", "tcp"), Case("zeromq", "tcp")], [100, 50], notebook="connections", shape=noisy)
    assert findings.churn(run).empty and findings.depth(run).empty and not findings.beside(run)
    assert findings.ratios(run) == [] and text.conclusion(run) == ""
    assert questions.measured(run, questions.find("connections q1")) is None
