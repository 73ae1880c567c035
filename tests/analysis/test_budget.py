"""Budgets: where the variance is decides what is repeated, and what does not fit is refused."""

import numpy as np
import pytest
from handmade import handmade, noisy

import bench
from bench.apps import budget
from bench.errors import UsageError
from bench.grammar.experiment import experiment
from bench.measurement.validation.estimate import expected_s
from bench.measurement.validation.profiles import make_plan
from bench.plan.case import Case
from bench.run import stored
from bench.stats.variance import Components

CASES = [Case("zeromq", "ipc"), Case("sockets", "ipc")]


def chosen(parts, starts, seconds=100):
    return budget._best(make_plan("latency", CASES), seconds, [Components(parts, starts)] * 2)


def test_more_starts_where_starts_differ_and_longer_windows_where_calls_do():
    short, many = chosen(parts=0.0001, starts=0.01)
    long, few = chosen(parts=0.1, starts=0.0001)
    assert short < 0.4 < long and few < many
    for window_s, starts in ((short, many), (long, few)):
        planned = make_plan("latency", CASES, starts=starts, window_s=window_s)
        assert starts >= 6 and 70 < expected_s(planned) <= 100.5


def test_six_starts_come_before_long_windows():
    window_s, starts = chosen(parts=0.1, starts=0.0, seconds=10)
    assert starts == 6 and expected_s(make_plan("latency", CASES, starts=6, window_s=window_s)) <= 10.1


def slow(start, calls):
    """Starts that differ by a tenth, and calls of their own."""
    return noisy(start, calls) * (1 + 0.1 * (start % 3))


def test_a_known_run_saves_the_pilot_and_says_what_it_can_tell():
    run = handmade(CASES, [100, 50], shape=slow)
    said = []
    plan = budget.spend(run.plan, "30", lambda plan: pytest.fail("a pilot was measured"), said.append)
    assert plan.profile == "budget 30 s" and plan.cases == run.plan.cases and expected_s(plan) <= 30.5
    assert run.id in said[-1]
    share = float(said[-1].split("%")[0].split()[-1])
    assert share > 90  # of the variance is between starts, as it was made


def test_a_pilot_is_part_of_the_budget():
    asked, plan = [], make_plan("latency", CASES)

    def measure(pilot):
        asked.append(pilot)
        return handmade(CASES, [100, 50], starts=pilot.starts, shape=slow)

    found = budget.spend(plan, 30, measure, lambda text: None)
    (pilot,) = asked
    assert pilot.profile == "pilot" and expected_s(pilot) + expected_s(found) <= 31


def test_what_does_not_fit_is_refused_with_what_would(tmp_path):
    with pytest.raises(UsageError, match="budget_s"):
        budget.spend(make_plan("latency", CASES), 3, lambda plan: pytest.fail("measured"))
    with pytest.raises(UsageError, match="budget_s"):
        budget.spend(make_plan("latency", CASES), "soon", lambda plan: pytest.fail("measured"))
    with pytest.raises(UsageError, match="budget_s"):
        bench.measure("latency", budget_s=60, starts=6)
    assert not stored.all_runs()


@pytest.mark.slow
def test_a_budget_is_kept_by_a_real_run_and_gone_on_with(capsys):
    run = bench.measure("latency", budget_s=12, system="sockets", transport="ipc")
    said = capsys.readouterr().out
    assert "Pilot" in said and "budget 12 s" in said
    assert run.plan.starts >= 6 and run.manifest["finished"]
    planned = [expected_s(folder.plan()) for folder in stored.all_runs()]
    assert len(planned) == 2 and sum(planned) <= 12.5
    run.folder.files("ledger")[-1].unlink()
    again = bench.measure("latency", resume=True, budget_s=12, system="sockets", transport="ipc")
    assert again.id == run.id and len(again.ledger) == run.plan.starts * len(run.plan.cases)
    assert np.isfinite(again.cases["p50_rtt_us"]).all()


def test_a_plan_in_slices_spends_its_budget_on_blocks():
    plan, said = experiment("compare").plan(), []
    chosen = budget.spend(plan, 30, lambda plan: pytest.fail("no pilot is needed"), said.append)
    assert chosen.window_s == plan.window_s and 20 <= chosen.starts <= 60 and expected_s(chosen) <= 30
    assert str(chosen.starts) in said[0]
    with pytest.raises(UsageError):
        budget.spend(plan, 1, lambda plan: pytest.fail("no pilot is needed"))
