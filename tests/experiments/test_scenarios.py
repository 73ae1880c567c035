"""Plans: of each scenario as it stands, of each reference run as it was measured; and what cannot be planned."""

from dataclasses import replace

import msgspec
import pytest
import yaml
from conftest import ROOT, planned

from bench import systems
from bench.apps.reference_runs import PARAMETERS, most_bytes, size_of
from bench.errors import UsageError
from bench.experiments.published import ORIGINS
from bench.grammar.experiment import exists, experiment
from bench.measurement.validation.cases import all_present
from bench.measurement.validation.plan_time import expected_s
from bench.process import programs
from bench.run import manifest, stored

SCENARIOS = sorted((ROOT / "papermill_params").iterdir())
OTHERS = ("capacity", "network")  # a search; and a run from before an option of today


@pytest.mark.parametrize("file", [one for one in SCENARIOS if exists(one.stem.partition(".")[0])], ids=lambda f: f.stem)
def test_a_scenario_can_be_planned_and_its_plan_stored(file, own_systems):
    with all_present():  # nothing is built for a plan
        plan = planned(file.stem.partition(".")[0], **yaml.safe_load(file.read_text("utf-8")))
    assert plan.cases and expected_s(plan) > 0
    is_long = any(word in file.stem for word in ("night", "48", "ping_pong"))  # as long as they are defined to be
    assert is_long or expected_s(plan) < 600  # a person waits for the others
    msgspec.convert(replace(plan, profile="budget 12 s").as_dict(), manifest.PLAN)


def test_each_origin_has_a_scenario_of_its_own():
    assert {f"origins.{name}" for name in ORIGINS} <= {file.stem for file in SCENARIOS}


def test_each_reference_run_is_as_small_as_bench_reference_asks():
    sizes = {folder.name: size_of(folder) for folder in (ROOT / "data" / "reference").iterdir()}
    assert sizes and {name: size for name, size in sizes.items() if not 0 < size <= most_bytes(name)} == {}


@pytest.mark.parametrize("name", [name for name in PARAMETERS if name not in OTHERS])
def test_a_reference_run_is_planned_again_as_it_was_measured(name, monkeypatch, own_systems):
    monkeypatch.setattr("bench.plan.placement.allowed", lambda: [0, 1])
    folder = stored.find(f"reference/{name}")
    measured = folder.plan()
    programs.need((), "g++")  # without a compiler the oracle is a program in Python
    for system in {case.system for case in measured.cases}.intersection(systems.names()):
        if missing := systems.missing(system):
            raise missing  # a plan leaves out what is not here
    with all_present():
        plan = planned(name.partition(".")[0], **folder.manifest()["parameters"])
    assert (plan.starts, plan.window_s, plan.slice_s) == (measured.starts, measured.window_s, measured.slice_s)
    assert [case for case in measured.cases if case not in plan.cases] == []
    has_more = len(plan.cases) > len(measured.cases)  # a system came later
    assert has_more or (plan.cases, plan.groups, plan.apart) == (measured.cases, measured.groups, measured.apart)


@pytest.mark.parametrize(
    ("notebook", "parameters", "named"),
    [
        ("anatomy", {"slice_ms": 0}, "slice_ms"),
        ("connections", {"churn": [], "depth": [], "head_of_line": []}, "churn"),
        ("fanin", {"system": "sockets", "options": "{redis: {pipelining: true}}"}, "'redis'"),
        ("languages", {"callers": 1}, "^callers "),
        ("marginal", {"calls": [5, 5]}, "^calls "),
        ("messages", {"message": "bytes"}, "^message bytes "),
        ("network", {"payload_bytes": 1000, "large_bytes": 1000}, "^large_bytes "),
        ("nodelay", {"system": "zeromq"}, "'zeromq'"),
        ("origins", {"origin": "corba"}, "'corba'"),
        ("streaming", {"gap_us": 0}, "^gap_us "),
    ],
)
def test_what_a_notebook_cannot_plan_is_refused_by_its_name(notebook, parameters, named):
    with all_present(), pytest.raises(UsageError, match=named):
        experiment(notebook).plan(**parameters)
