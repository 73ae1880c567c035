"""connections.ipynb: what small calls beside large ones are compared with, of runs whose answers are known."""

import numpy as np
import pytest
from handmade import in_order, recorded, usual

from bench.analysis.quantiles import quantile
from bench.experiments import connections
from bench.grammar import chosen
from bench.plan.case import Case
from bench.run.start_record import StartRecord

ALONE = Case("grpc_aio", "tcp", 100)
SHARED = Case("grpc_aio", "tcp", 100, outstanding=2, large_bytes=10_000)
APART = Case("grpc_aio", "tcp", 100, callers=2, large_bytes=10_000)
CASES, RTT_US = [ALONE, SHARED, APART], [100, 500, 200]


@pytest.fixture
def run():
    """Return a run in which a large call takes 5 ms."""

    def record(start, block, index):
        each_us = [RTT_US[index]] + [5000] * (index > 0)
        times = [in_order(np.full(500, round(1000 * us * (1 + block / 100)), "i8")) for us in each_us]
        return StartRecord(usual(500 * len(times), times[-1][1][-1] / 1e9), calls=times)

    return recorded("connections", CASES, record)


def test_small_calls_beside_large_ones_are_those_whose_quantiles_are_shown(run):
    assert chosen(run, connections.beside) == [0, 1, 2]
    assert run.cases.loc[1, "p50_rtt_us"] == pytest.approx(500 * 1.025, rel=0.01)
    assert [ratio.value for ratio in connections.blocking.ratios(run)] == pytest.approx([2.5], rel=1e-3)
    assert run.samples["large"].sum() == 2 * 6 * 500
    assert quantile(run, 1, 0.99).value == pytest.approx(500 * 1.025, rel=0.01)
    assert quantile(run, 1, 0.99).has == run.cases.loc[1, "n"] == run.count(1)


@pytest.mark.parametrize("answered", [{1: 883, 2: 586}, {1: 0, 2: 9}], ids=["unlike", "none"])
def test_head_of_line_blocking_is_not_decided_by_unlike_numbers_of_large_calls(run, answered, monkeypatch):
    monkeypatch.setattr(connections, "large_calls", lambda run, case: answered[case])
    blocking = connections.claims[-1]
    assert blocking.verdicts(run) == [] and len(connections.blocking.ratios(run)) == bool(answered[1])
    assert connections.large(run).loc["grpc_aio", "compared"].startswith("no")
