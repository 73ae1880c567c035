"""Cases, contrasts and levels of a run: which are chosen, and one estimator for all ratios."""

import numpy as np
import pytest
from handmade import PAIR, handmade, in_order, recorded, usual

from bench.analysis.comparison import effect
from bench.grammar import CPU, P50, Contrast, Table, chosen, each, fewest, most, over_starts
from bench.plan.case import Case
from bench.run.start_record import StartRecord

GROWN = [Case(name, "tcp", clients=count) for name in ("sockets", "zeromq") for count in (1, 2, 4)]
TIMES = (100, 120, 150, 200, 390, 810)


@pytest.fixture(scope="module")
def run():
    return handmade([*GROWN, Case("loopback", "inproc")], (*TIMES, 0.1), notebook="clients")


@pytest.mark.parametrize(
    ("choose", "cases"),
    [
        ({}, [0, 1, 2, 3, 4, 5]),
        ({"system": "zeromq", "clients": 2}, [4]),
        ({"clients": lambda count: count > 1}, [1, 2, 4, 5]),
        ({"nosuch": 1}, []),
        (most("clients"), [2]),
        (fewest(P50), [0]),
        (each("system", fewest("clients"), most(P50)), [0, 2, 3, 5]),
        (each("system", most(P50), most("clients")), [2, 5]),
    ],
)
def test_cases_are_chosen_by_factors_by_extremes_and_in_groups_without_the_instrument(run, choose, cases):
    assert chosen(run, choose) == cases


def test_a_contrast_has_a_ratio_for_each_group_of_alike_cases(run):
    slower = Contrast(P50, of=most("clients"), over=fewest("clients"), by=("system",))
    assert [(ratio.base, ratio.other) for ratio in slower.ratios(run)] == [(0, 2), (3, 5)]
    assert [ratio.value for ratio in slower.ratios(run)] == pytest.approx([1.5, 4.05], rel=1e-2)
    assert [ratio.interval for ratio in slower.ratios(run)] == [effect(run, 0, 2, P50), effect(run, 3, 5, P50)]
    over_sockets = Contrast(P50, of={"system": "zeromq"}, over={"system": "sockets"}, by=("clients",))
    assert [(ratio.base, ratio.other) for ratio in over_sockets.ratios(run)] == [(0, 3), (1, 4), (2, 5)]
    assert Contrast(P50, of=most("clients"), over=most("clients")).ratios(run) == []


def test_its_estimate_is_the_hodges_lehmann_median_of_the_blocks_ratios():
    def record(start, block, index):
        us = (50 + 50 * (block < 4)) if index else (100 + 100 * (block < 3))
        rtt_ns = np.full(1000, 1000 * us + block, "i8")
        return StartRecord(usual(1000, rtt_ns.sum() / 1e9), [in_order(rtt_ns)])

    run = recorded("latency", PAIR, record, starts=9)
    (ratio,) = Contrast(P50, of={"system": "zeromq"}, over={"system": "sockets"}).ratios(run)
    logs = np.log(run.starts_of(0)[P50].to_numpy() / run.starts_of(1)[P50].to_numpy())
    means = [(a + b) / 2 for i, a in enumerate(logs) for b in logs[i:]]
    assert ratio.value == pytest.approx(np.exp(np.median(means)), rel=1e-6)


def test_a_table_has_a_row_for_each_case_and_a_column_for_each_quantity_or_function(run):
    columns = {"RTT": P50, "CPU": CPU, "clients": lambda run, case: run.case(case).clients}
    table = Table(columns, where={"system": "sockets"})(run)
    assert list(table.index) == [run.labels[case] for case in (0, 1, 2)] and list(table["clients"]) == [1, 2, 4]
    assert table["RTT"].iloc[0].startswith("10") and over_starts(run, 0, CPU).middle == pytest.approx(30)
