"""One question, one answer: sentence, table, score and expected results give the same ratio of two cases."""

import re

import numpy as np
import pytest
from handmade import PAIR, handmade, in_order, recorded, reference, usual

from bench.analysis.comparison import effect
from bench.analysis.resources import total_cpu
from bench.apps.teaching import predictions, questions, scores
from bench.experiments import overview
from bench.grammar import tables
from bench.grammar.contrast import has_medians, ratio
from bench.grammar.experiment import experiment
from bench.grammar.quantities import P50
from bench.plan.case import Case
from bench.run.start_record import StartRecord

NOTEBOOKS = ("overview", "messages", "streaming", "connections", "network")


def asked(notebook):
    """Return the questions of a notebook that ask for a ratio."""
    return [one for one in questions.of_notebook(notebook) if one.unit == questions.RATIO]


def quantity_of(starts, name):
    """Return a quantity of each start; CPU time is that of all roles."""
    return total_cpu(starts) if name == "cpu_us_per_call" else starts[name]


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_table_gives_the_ratios_of_the_one_estimator(notebook):
    run = reference(notebook)
    ratios = experiment(notebook).ratios(run)
    assert ratios
    for one in ratios:
        logs = [np.log(quantity_of(run.starts_of(case).set_index("block"), one.name)) for case in (one.base, one.other)]
        turns = run.contrasts(one.base, one.other, one.name)  # None: of starts
        of_blocks = logs[1] - logs[0] if turns is None else turns.groupby(level="block").median()
        each = of_blocks.dropna().to_numpy()
        means = [(a + b) / 2 for i, a in enumerate(each) for b in each[i:]]  # Hodges and Lehmann, written out
        assert one.value == pytest.approx(np.exp(np.median(means)))
        assert one.interval == effect(run, one.base, one.other, one.name)
    shown = tables.ratios(run)
    assert [f"{row['ratio']} times ({row['interval']})" for _, row in shown.iterrows()] == list(map(str, ratios))


@pytest.mark.parametrize("question", [one.name for n in ("latency", *NOTEBOOKS) for one in asked(n)])
def test_score_and_expected_results_give_the_ratio_of_the_table(question, monkeypatch):
    one = questions.find(question)
    run = reference(one.notebook)
    value, low, high = one.shown(questions.measured(run, one))
    if question != "latency q2":  # tcp and ipc of one system: the table compares with raw sockets
        rows = tables.ratios(run)
        assert any(row["ratio"] == value and f"{low} to {high}" in row["interval"] for _, row in rows.iterrows())
    made = predictions.Prediction(1, 2, "because I say so", "2000-01-01T00:00:00+00:00")
    text = str(scores.Score(one, made, "", questions.measured(run, one)))
    assert f" {value} times" in text and f"{low} to {high}" in text


def test_fewer_than_six_blocks_give_a_ratio_without_an_interval():
    run = handmade([Case("zeromq", "ipc"), Case("sockets", "ipc")], [100, 50], starts=5)
    (row,) = tables.ratios(run).to_dict("records")
    assert row["ratio"] == "2.00" and not re.search(r"\d\.\d", row["interval"]) and row["distinguishable"] == "no"


def test_systems_are_compared_with_raw_sockets_over_the_same_transport():
    cases = [Case("sockets", "ipc"), Case("xmlrpc_stdlib", "tcp"), Case("sockets", "tcp"), Case("zeromq", "ipc")]
    run = handmade(cases, [10, 200, 20, 40], notebook="overview")
    ratios = {case_ratio.other: case_ratio for case_ratio in overview.over_sockets.ratios(run)}
    assert overview.above(run, 3).startswith("  × 4.00 [")
    assert ratios[1].base == 2 and ratios[1].value == pytest.approx(10, rel=0.01)
    assert ratios[3].base == 0 and ratios[3].value == pytest.approx(4, rel=0.01)
    without = handmade(cases[:2], [10, 200], notebook="overview")
    assert overview.over_sockets.ratios(without) == [] and "tcp" in overview.above(without, 1)
    assert overview.tables["systems"](without).iloc[1, 2] == "not measured"


def test_overview_measures_raw_sockets_over_every_transport_that_a_system_uses():
    planned = experiment("overview").plan(system="[sockets, http_stdlib]").cases
    assert {case.transport for case in planned if case.system == "sockets"} == {"ipc", "tcp"}
    assert {case.transport for case in experiment("overview").plan(system="zeromq").cases} == {"ipc", "inproc"}


@pytest.mark.parametrize(("slow_blocks", "are_shown"), [(4, True), (5, False)])
def test_medians_whose_ratio_is_another_are_not_shown_beside_it(slow_blocks, are_shown):
    """Raw sockets take twice as long in four of nine blocks, zeromq in these or in one more."""

    def record(start, block, index):
        us = (50 + 50 * (block < 4)) if index else (100 + 100 * (block < slow_blocks))
        rtt_ns = np.full(1000, 1000 * us + block, "i8")
        return StartRecord(usual(1000, rtt_ns.sum() / 1e9), [in_order(rtt_ns)])

    run = recorded("latency", PAIR, record, starts=9)
    assert has_medians(run, [ratio(run, 1, 0, P50)]) is are_shown
