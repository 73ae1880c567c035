"""What is said of a search for a capacity: its starts where it decides, and whose limit the rate is."""

from handmade import reference

from bench.analysis import checks
from bench.analysis.trust_card import CAUTION, PASS
from bench.experiments import panels
from bench.experiments.capacity import text


def test_a_search_is_judged_by_the_starts_at_the_rate_that_it_states():
    run = reference("capacity")
    search = run.manifest["capacity"]
    mine = [one["rate"] for one in search["probes"]].count(search["low_per_s"])
    found = checks.starts(run)
    assert found.verdict == PASS and mine == text.evidence(run) >= 6
    assert found.found.startswith(f"{mine} starts ") and f" {len(search['probes'])} " in found.found
    assert f"2 to {mine} starts " in panels.caption(run)


def test_too_few_starts_at_that_rate_are_a_caution(monkeypatch):
    run = reference("capacity")
    search = run.manifest["capacity"]
    rest = [one for one in search["probes"] if one["rate"] != search["low_per_s"]]
    monkeypatch.setitem(run.manifest, "capacity", search | {"probes": rest})
    assert checks.starts(run).verdict == CAUTION
