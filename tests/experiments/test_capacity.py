"""What is said of a search for a capacity: its starts where it decides, and whose limit the rate is."""

import math

import pandas as pd
import pytest
from handmade import reference

from bench import stats
from bench.analysis import checks
from bench.analysis.trust_card import CAUTION, PASS
from bench.experiments import panels, tables
from bench.experiments.capacity import findings, text
from bench.stats import Spread


def test_a_search_is_judged_by_the_starts_at_the_rate_that_it_states():
    run = reference("capacity")
    search = run.manifest["capacity"]
    there = [one for one in search["probes"] if one["rate"] == search["low_per_s"]]
    further = sum(one["confirms"] for one in there)
    found = checks.starts(run)
    assert found.verdict == PASS and further == text.evidence(run) >= 6
    assert found.found.startswith(f"{further} further starts ") and f"({len(there)} there," in found.found
    assert f"2 to {len(there)} starts " in panels.caption(run)


def test_too_few_starts_at_that_rate_are_a_caution(monkeypatch):
    run = reference("capacity")
    search = run.manifest["capacity"]
    rest = [one for one in search["probes"] if one["rate"] != search["low_per_s"]]
    monkeypatch.setitem(run.manifest, "capacity", search | {"probes": rest})
    assert checks.starts(run).verdict == CAUTION


def test_starts_at_one_rate_that_disagree_are_counted(monkeypatch):
    tried = [(100.0, True)] * 2 + [(300.0, True)] + [(300.0, False)] * 2 + [(200.0, False)] * 2
    monkeypatch.setattr(text, "probes", lambda run: pd.DataFrame(tried, columns=["rate", "met"]))
    monkeypatch.setattr(text, "bracket", lambda run: (100.0, 200.0))
    said = text._disagreement(None)
    assert "1 of 3 at 300/s (above" in said and "100/s" not in said and "200/s" not in said


def spread(value):
    return Spread(value, 0.9 * value, 1.1 * value)


@pytest.mark.parametrize(
    ("cpu_us", "switches", "switch_us", "falls", "share"),
    [
        ((100, 30), (4.0, 3.0), 3.5, True, 0.05),  # fewer switches, and yet something else makes calls cheaper
        ((20, 13), (3.0, 1.0), 3.5, True, 1.0),
        ((20, 10), (3.0, 1.0), 2.75, True, 0.55),  # half of it is not an explanation
        ((30, 30), (4.0, 1.0), 3.5, False, math.nan),
        ((100, 30), (4.0, 3.0), math.nan, True, math.nan),
    ],
)
def test_fewer_switches_explain_cheaper_calls_only_as_far_as_switches_cost(cpu_us, switches, switch_us, falls, share):
    cost = findings.Cost("server", tuple(map(spread, cpu_us)), tuple(map(spread, switches)), switch_us)
    assert cost.falls == falls and cost.by_switches == pytest.approx(share, nan_ok=True)
    said = text._role(cost)
    assert ("does **not** fall" in said) == (not falls)
    assert ("not measured here" in said) == (share < 0.8) and ("and explain it" in said) == (share == 1.0)
    assert ("not known" in said) == (falls and math.isnan(share))


def test_beside_a_crowd_the_cost_of_a_switch_is_not_known(monkeypatch):
    run = reference("capacity")
    assert all(cost.switch_us > 0 for cost in findings.costs(run)[2])
    monkeypatch.setattr(findings, "crowded", lambda run, case: 1.0)
    assert all(math.isnan(cost.switch_us) for cost in findings.costs(run)[2])


def test_the_cost_at_two_rates_is_that_of_the_runs_cases():
    run = reference("capacity")
    least, stated, costs = findings.costs(run)
    assert least == run.cases["offered_per_s"].min() and stated == run.manifest["capacity"]["low_per_s"]
    assert [cost.role for cost in costs] == ["server", "client"]
    for cost in costs:
        cases = [run.first(offered_per_s=rate) for rate in (least, stated)]
        assert cost.cpu_us == tuple(run.over_starts(case, f"{cost.role}_cpu_us_per_call") for case in cases)


def test_a_search_without_a_stated_rate_compares_the_lowest_with_the_highest(monkeypatch):
    run = reference("capacity")
    rates = run.cases["offered_per_s"]
    monkeypatch.setattr(findings, "bracket", lambda run: (0.0, float(rates.min())))
    assert findings.costs(run)[:2] == (rates.min(), rates.max())


@pytest.mark.parametrize(
    ("tried", "found"),
    [
        ([(10, False)] * 2 + [(20, True)] * 2, (10, 20)),
        ([(10, True)] * 2 + [(20, False)] * 2, None),
        ([(10, False)] + [(20, True)] * 2, None),  # one start may meet a stall of the machine
        ([(10, False), (10, True)] + [(20, True)] * 2, None),
    ],
)
def test_a_lower_rate_that_violates_below_one_that_meets_is_found(monkeypatch, tried, found):
    monkeypatch.setattr(findings, "probes", lambda run: pd.DataFrame(tried, columns=["rate", "met"]))
    assert findings.reversed_rates(None) == found


def test_the_plan_of_a_search_is_what_it_measured():
    run = reference("capacity")
    assert tables.plan(run)["starts"].sum() == len(run.manifest["capacity"]["probes"])


def test_response_times_are_those_that_the_search_judged():
    run = reference("capacity")
    search, rows = findings.searched(run), findings.probes(run)
    ends = [findings.response_us(run, findings.case_at(run, rate)) for rate in findings.bracket(run)]
    for start, us in [one for of_starts in ends for one in of_starts.items()]:
        assert stats.quantile(us, search["p"]) == pytest.approx(rows.loc[start, "quantile_us"])
