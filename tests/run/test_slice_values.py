"""Slices: the pauses between them are left out, their first calls do not count, and a drift of the machine cancels."""

import numpy as np
import pandas as pd
import pytest
from handmade import PAIR, calls_of, in_turns

from bench.analysis.comparison import compare_cases, ratios
from bench.grammar import figure, result_tables
from bench.grammar.experiment import experiment
from bench.grammar.method import measured
from bench.measurement.slices import without_pauses
from bench.plan.case import Case
from bench.run import slices, start_record
from bench.run.calls import gathered
from bench.run.start_record import StartRecord


def test_a_quantity_that_is_not_known_has_no_contrast():
    run = in_turns([100, 100])
    run.stored_slices["server_cpu_ns"] = np.nan
    assert run.contrasts(0, 1, "cpu_us_per_call") is None


def test_pauses_are_left_out_and_calls_belong_to_their_slices():
    times = np.concatenate([calls_of(0, 10, 3), calls_of(1000, 20, 2)], axis=1)
    (moved,), rows = without_pauses([times], [{"at_ns": 0}, {"at_ns": 990}])
    assert moved.tolist() == [[0, 10, 20, 30, 50], [10, 20, 30, 50, 70]]
    assert [(row["number"], row["begin_ns"], row["length_ns"], row["calls"]) for row in rows] == [
        (0, 0, 30, 3),
        (1, 30, 40, 2),
    ]


def test_a_slice_of_several_callers_begins_with_the_first_of_them():
    (one, two), rows = without_pauses([calls_of(100, 10, 2), calls_of(105, 10, 2)], [{"at_ns": 90}])
    assert one[0].tolist() == [0, 10] and two[0].tolist() == [5, 15] and rows[0]["length_ns"] == 25


def test_the_rate_of_a_slice_of_few_calls_in_step_counts_those_under_way_at_its_edges():
    callers, rows = without_pauses([calls_of(late, 1_000_000, 3) for late in range(4)], [{"at_ns": 0, "round": 1}])
    known = {"start": 0, "client_cpu_ns": 1, "server_cpu_ns": 1, "router_cpu_ns": 1, "controller_cpu_ns": 1}
    tables = [start_record.tables(0, 0, 0, PAIR[0], StartRecord({}, callers))["samples"]]
    ledger = pd.DataFrame({"block": [0], "case": [0], "turns_with": [0]})
    slice_rows = slices.values(pd.DataFrame(rows).assign(**known), gathered(tables), ledger)
    assert slice_rows["rate_per_s"].tolist() == pytest.approx([4e3], rel=1e-5)


def test_warm_calls_are_those_of_the_rounds_without_the_first_of_each_slice():
    run = in_turns([100, 50])
    rounds = run.samples.join(run.stored_slices.set_index(["start", "number"])["round"], on=["start", "slice"])
    warm = rounds[rounds["warm"]]
    assert warm["round"].min() == 1 and warm["round"].notna().all()
    assert warm.groupby(["start", "slice"]).size().unique().tolist() == [100 - slices.DROPPED]
    assert run.starts["p50_rtt_us"].groupby(run.ledger["case"]).first().tolist() == pytest.approx([100, 50])


def test_few_calls_in_a_slice_lose_a_quarter_of_them():
    run = in_turns([100, 50], calls=10)
    assert run.samples.groupby(["start", "slice"])["warm"].sum().max() == 8


def test_a_drift_of_the_machine_cancels_in_the_ratio_of_a_block():
    run = in_turns([100, 50], drift=0.01)
    for name, ratio in (("p50_rtt_us", 0.5), ("rate_per_s", 2.0)):
        assert np.exp(ratios(run, 0, 1, name)).tolist() == pytest.approx([ratio] * 8, rel=2e-3)
    by_start = run.starts.set_index(["block", "case"])["p50_rtt_us"].unstack()
    assert np.abs(by_start[1] / by_start[0] / 0.5 - 1).max() > 1e-3  # not the ratio of two medians


def test_a_baseline_of_two_groups_is_compared_in_each_and_others_through_it():
    cases = [Case(name, "ipc") for name in ("sockets", "zeromq", "nng", "sockets")]
    run = in_turns([100, 50, 200, 100], drift=0.01, cases=cases, groups=((0, 1, 3), (0, 2)), notebook="overview")
    assert len(run.starts_of(0)) == 16 and run.twins == {3}
    for pair, ratio in (((0, 1), 0.5), ((0, 2), 2.0), ((1, 2), 4.0), ((0, 3), 1.0)):
        assert np.exp(ratios(run, *pair, "p50_rtt_us")).tolist() == pytest.approx([ratio] * 8, rel=2e-3)
    assert compare_cases(run, 0, 1)[0].floor == pytest.approx(0, abs=2e-3)  # of sockets and their twin
    assert sorted(system_ratio.other for system_ratio in experiment("overview").ratios(run)) == [1, 2]
    assert (
        "again" not in f"{result_tables.calls(run)} {result_tables.costs(run)} {experiment('overview').conclusion(run)}"
    )
    shown = {label.get_text() for label in figure.panel(run, "layers").axes[0].get_yticklabels()}
    assert len(shown & {"sockets ipc", "zeromq ipc", "nng ipc", "sockets ipc again"}) == 3
    assert "8 blocks of 4 slices of 25 ms" in figure.caption(run) and "up to 3 cases" in measured(run)


def test_rare_slow_calls_count_in_rates_however_few_slices_have_one():
    fast, slow = [1000.0, 250.0, 1000.0, 250.0], [800.0, 800.0, 250.0, 800.0]  # one call in 50 takes 30 ms
    frame = pd.DataFrame([
        {"block": 0, "turns_with": 1, "round": number + 1, "case": case, "rate_per_s": rate, "calls": 20}
        for case, rates in enumerate((fast, slow))
        for number, rate in enumerate(rates)
    ])  # fmt: skip
    logs = slices.logarithms(frame, "rate_per_s")
    rates = [4 / sum(1 / rate for rate in rates) for rates in (fast, slow)]
    assert np.exp(logs[1] - logs[0]).tolist() == pytest.approx([rates[1] / rates[0]])
    per_start = slices.pooled(frame.assign(start=frame["case"]), "rate_per_s", ["start"])
    assert per_start["rate_per_s"].tolist() == pytest.approx(rates)
