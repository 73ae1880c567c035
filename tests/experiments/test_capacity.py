"""What is said of a search for a capacity: its starts where it decides, and whose limit the rate is."""

import math

import pytest
from handmade import reference

from bench import stats
from bench.analysis import capacity as search
from bench.analysis import checks
from bench.analysis.trust_card import CAUTION, PASS
from bench.experiments import capacity
from bench.grammar import figure, tables
from bench.stats import Spread


def test_a_search_is_judged_by_the_starts_at_the_rate_that_it_states():
    run = reference("capacity")
    search_record = run.manifest["capacity"]
    there = [one for one in search_record["probes"] if one["rate"] == search_record["low_per_s"]]
    further = sum(one["confirms"] for one in there)
    check = checks.starts(run)
    assert check.verdict == PASS and further == capacity.evidence(run) >= 6
    assert check.found.startswith(f"{further} further starts ") and f"({len(there)} there," in check.found
    assert f"2 to {len(there)} starts " in figure.caption(run)


def test_too_few_starts_at_that_rate_are_a_caution(monkeypatch):
    run = reference("capacity")
    search_record = run.manifest["capacity"]
    rest = [one for one in search_record["probes"] if one["rate"] != search_record["low_per_s"]]
    monkeypatch.setitem(run.manifest, "capacity", search_record | {"probes": rest})
    assert checks.starts(run).verdict == CAUTION


def test_starts_at_one_rate_that_disagree_are_counted():
    run = reference("capacity")
    rows = search.probes(run).groupby("rate")["met"].agg(["sum", "size"])
    assert (rows["sum"] % rows["size"] > 0).any()
    assert capacity.tables["rates"](run)["SLO met"].to_list() == [
        f"{met} of {starts} starts" for met, starts in rows.to_numpy()
    ]


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
    cost = search.Cost("server", tuple(map(spread, cpu_us)), tuple(map(spread, switches)), switch_us)
    assert cost.falls == falls and cost.by_switches == pytest.approx(share, nan_ok=True)


def test_beside_a_crowd_the_cost_of_a_switch_is_not_known(monkeypatch):
    run = reference("capacity")
    assert all(cost.switch_us > 0 for cost in search.costs(run)[2])
    monkeypatch.setattr(search, "crowded", lambda run, case: 1.0)
    assert all(math.isnan(cost.switch_us) for cost in search.costs(run)[2])


def test_the_cost_at_two_rates_is_that_of_the_runs_cases():
    run = reference("capacity")
    least, stated, costs = search.costs(run)
    assert least == run.cases["offered_per_s"].min() and stated == run.manifest["capacity"]["low_per_s"]
    assert [cost.role for cost in costs] == ["server", "client"]
    for cost in costs:
        cases = [run.first(offered_per_s=rate) for rate in (least, stated)]
        assert cost.cpu_us == tuple(run.over_starts(case, f"{cost.role}_cpu_us_per_call") for case in cases)


def test_a_search_without_a_stated_rate_compares_the_lowest_with_the_highest(monkeypatch):
    run = reference("capacity")
    rates = run.cases["offered_per_s"]
    monkeypatch.setattr(search, "bracket", lambda run: (0.0, float(rates.min())))
    assert search.costs(run)[:2] == (rates.min(), rates.max())


def test_the_plan_of_a_search_is_what_it_measured():
    run = reference("capacity")
    assert tables.plan(run)["starts"].sum() == len(run.manifest["capacity"]["probes"])


def test_response_times_are_those_that_the_search_judged():
    run = reference("capacity")
    p, rows = search.searched(run)["p"], search.probes(run)
    ends = [search.response_us(run, search.case_at(run, rate)) for rate in search.bracket(run)]
    for start, us in [one for of_starts in ends for one in of_starts.items()]:
        assert stats.quantile(us, p) == pytest.approx(rows.loc[start, "quantile_us"])
