"""A run as one JSON document: what it holds is what the frames of the run hold."""

import json
import math

import pytest
from handmade import reference

from bench.analysis.comparison import QUANTITIES
from bench.apps import numbers, service_page
from bench.plan.case import Case
from bench.run.frames import P50
from bench.stats import Spread


@pytest.mark.parametrize("notebook", ["latency", "compare", "openload", "capacity"])
def test_a_run_is_one_json_document(notebook):
    run = reference(notebook)
    made = json.loads(json.dumps(numbers.document(run), allow_nan=False))
    assert made["run"] == run.id and made["machine"] == run.manifest["machine"]
    assert [case["label"] for case in made["cases"]] == [run.labels[number] for number in run.numbers]
    for case in made["cases"]:
        assert Case.from_dict(case["factors"]).factor("system") == run.case(case["case"]).system
        for name, spread in case["numbers"].items():
            assert spread["median"] == run.cases.loc[case["case"], name] and spread["low"] <= spread["high"]
        has_response = any("_response_" in name for name in case["numbers"])
        assert has_response <= (case["factors"]["load"] == "open")
    assert all(ratio["low"] <= ratio["ratio"] <= ratio["high"] for ratio in made["ratios"])
    assert {check["verdict"] for check in made["checks"]} <= {"PASS", "CAUTION", "N/A"}
    assert ("capacity" in made) == (notebook == "capacity")


def test_the_ratios_are_those_of_the_notebook_or_of_each_case_over_the_first():
    ratios = numbers.ratios(reference("compare"))
    assert {(ratio["compared_with"], ratio["case"]) for ratio in ratios} == {(0, 1), (0, 2)}
    assert {ratio["quantity"] for ratio in ratios} == QUANTITIES.keys()
    run = reference("latency")
    assert {run.case(ratio["compared_with"]).system for ratio in numbers.ratios(run)} == {"sockets"}


def test_what_is_not_known_is_left_out_and_two_levels_are_shown():
    assert numbers.spread(Spread(math.nan, math.nan, math.nan)) is None
    assert numbers.spread(Spread(2.0, 1.0, 3.0, (1.5, 2.5)))["levels"] == [1.5, 2.5]
    loopback = reference("latency").first(system="loopback")
    assert "server_cpu_us_per_call" not in numbers.values(reference("latency"), loopback)


def test_the_page_of_a_service_and_show_have_the_same_numbers():
    latency, capacity = reference("latency"), reference("capacity")
    headline = service_page.headline(latency, capacity)
    case = latency.first(system=headline["service"])
    assert headline["round_trip"] == numbers.document(latency)["cases"][case]["numbers"]
    assert headline["round_trip"][P50]["median"] == latency.cases.loc[case, P50]
    assert 0 < headline["capacity"]["met_at_per_s"] < headline["capacity"]["violated_at_per_s"]
    assert capacity.case(headline["capacity"]["case"]).offered_per_s == headline["capacity"]["met_at_per_s"]


def test_show_prints_the_document(command):
    printed = json.loads(command("show", "reference/latency", "--json").stdout)
    assert printed == json.loads(json.dumps(numbers.document(reference("latency"))))
