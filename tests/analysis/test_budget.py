"""Budgets: as many starts as fit, and what does not fit is refused."""

import numpy as np
import pytest

import bench
from bench.apps import budget
from bench.errors import UsageError
from bench.grammar.experiment import experiment
from bench.measurement.validation.plan_time import expected_s
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.run import stored

CASES = [Case("zeromq", "ipc"), Case("sockets", "ipc")]


@pytest.mark.parametrize(
    "plan",
    [make_plan("latency", CASES), make_plan("wamp", [Case("wamp_crossbar", "ipc")]), experiment("compare").plan()],
)
def test_as_many_starts_as_fit_with_the_windows_of_the_plan(plan):
    chosen = budget.spend(plan, "40")
    assert chosen.profile == "budget 40 s" and chosen.cases == plan.cases and chosen.window_s == plan.window_s
    assert chosen.starts >= 6 and 30 < expected_s(chosen) <= 40


def test_what_does_not_fit_is_refused_with_what_would(tmp_path):
    for plan in (make_plan("latency", CASES), experiment("compare").plan()):
        with pytest.raises(UsageError, match="budget_s") as refused:
            budget.spend(plan, 1)
        needed = int(str(refused.value).split("about ")[1].split()[0])
        assert budget.spend(plan, needed).starts >= 6
        with pytest.raises(UsageError):
            budget.spend(plan, needed - 1)
    with pytest.raises(UsageError, match="budget_s"):
        budget.spend(plan, "soon")
    with pytest.raises(UsageError, match="budget_s"):
        bench.measure("latency", budget_s=60, starts=6)
    assert not stored.all_runs()


@pytest.mark.slow
def test_a_budget_is_kept_by_a_real_run_and_gone_on_with(capsys):
    asked = {"budget_s": 12, "system": "sockets", "transport": "ipc"}
    run = bench.measure("latency", **asked)
    assert "budget 12 s" in capsys.readouterr().out
    assert run.plan.starts >= 6 and run.manifest["finished"] and expected_s(run.plan) <= 12
    run.folder.files("ledger")[-1].unlink()
    again = bench.measure("latency", resume=True, **asked)
    assert again.id == run.id and len(again.ledger) == run.plan.starts * len(run.plan.cases)
    assert np.isfinite(again.cases["p50_rtt_us"]).all()
