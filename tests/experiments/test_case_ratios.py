"""One question, one answer: sentence, table, score and expected results give the same ratio of two cases."""

import re

import numpy as np
import pytest
from handmade import PAIR, handmade, reference

from bench.analysis.comparison import effect
from bench.analysis.resources import total_cpu
from bench.apps.teaching import predictions, questions, scores
from bench.grammar import result_tables
from bench.grammar.experiment import experiment

NOTEBOOKS = ("overview", "messages", "streaming", "connections", "network", "clients", "fanin")


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
    shown = result_tables.ratios(run)
    assert [f"{row['ratio']} times ({row['interval']})" for _, row in shown.iterrows()] == list(map(str, ratios))


@pytest.mark.parametrize("question", [one.name for n in ("latency", "tls", *NOTEBOOKS) for one in asked(n)])
def test_score_and_expected_results_give_the_ratio_of_the_table(question, monkeypatch):
    one = questions.find(question)
    run = reference(one.notebook)
    value, low, high = one.shown(questions.measured(run, one))
    if question != "latency q2":  # tcp and ipc of one system: the table compares with raw sockets
        rows = result_tables.ratios(run)
        is_in_table = any(row["ratio"] == value and f"{low} to {high}" in row["interval"] for _, row in rows.iterrows())
        own = experiment(one.notebook)
        text = "\n".join([own.conclusion(run), *(own.table(run, name).to_string() for name in own.tables)])
        assert is_in_table or f"**{value}** (95 % CI {low} to {high})" in text or f"{value} [{low}, {high}]" in text
    made = predictions.Prediction(1, 2, "because I say so", "2000-01-01T00:00:00+00:00")
    score = str(scores.Score(one, made, "", questions.measured(run, one)))
    assert f" {value} times" in score and f"{low} to {high}" in score


def test_fewer_than_six_blocks_give_a_ratio_without_an_interval():
    run = handmade(PAIR, [100, 50], starts=5)
    (row,) = result_tables.ratios(run).to_dict("records")
    assert row["ratio"] == "2.00" and not re.search(r"\d\.\d", row["interval"]) and row["distinguishable"] == "no"
