"""What is said of a search for a capacity: its starts where it decides, and whose limit the rate is."""

from handmade import reference

from bench.analysis import checks
from bench.analysis.card import CAUTION, PASS
from bench.experiments import panels
from bench.experiments.capacity import text
from bench.experiments.words import limit_of


def test_a_search_is_judged_by_the_starts_at_the_rate_that_it_states():
    run = reference("capacity")
    search = run.manifest["capacity"]
    mine = [one["rate"] for one in search["probes"]].count(search["low_per_s"])
    found = checks.starts(run)
    assert found.verdict == PASS and mine == text.evidence(run) >= 6
    assert found.found.startswith(f"{mine} starts at the highest rate that met the SLO; {len(search['probes'])} in all")
    assert f"2 to {mine} starts of each case" in panels.caption(run)


def test_too_few_starts_at_that_rate_are_a_caution(monkeypatch):
    run = reference("capacity")
    search = run.manifest["capacity"]
    rest = [one for one in search["probes"] if one["rate"] != search["low_per_s"]]
    monkeypatch.setitem(run.manifest, "capacity", search | {"probes": rest})
    assert checks.starts(run).verdict == CAUTION


def test_a_rate_at_which_the_clients_are_saturated_is_a_lower_limit_of_the_servers_capacity():
    run = reference("capacity")
    case = run.first(offered_per_s=run.manifest["capacity"]["low_per_s"])
    limited = any("client" in one.roles for one in limit_of(run, case).saturated)
    assert limited == ("the server's capacity is at least this rate" in text.conclusion(run))
