"""Whatever this program's own runs hold, a class accepts: plans of all notebooks and scenarios, options, messages."""

import ast
import json
import typing
from dataclasses import fields, replace

import papermill
import pytest
import yaml
from conftest import ROOT, planned
from handmade import handmade

from bench import systems
from bench.apps.classroom import manifests, reading, submitting
from bench.experiments import registry
from bench.plan.case import Case
from bench.validation import cases

SCHEMA = manifests.VALIDATOR.evolve(schema=manifests.SCHEMA["properties"]["plan"])
NOTEBOOKS = sorted(file.stem for file in (ROOT / "notebooks").glob("[a-z]*.ipynb") if file.stem != "classroom")
SCENARIOS = [file for file in sorted((ROOT / "papermill_params").iterdir()) if not file.stem.startswith("classroom")]
PROFILES = ("smoke", "class", "full")
OTHERS = ("source", "resume", "budget_s", "predictions")  # parameters of a notebook that no plan takes


def refusals(plan):
    """Return which values of a plan a class would refuse, as JSON holds them."""
    told = json.loads(json.dumps(manifests.planned(plan)))
    return [(*error.absolute_path, error.instance) for error in SCHEMA.iter_errors(told)]


@pytest.fixture(autouse=True)
def everything_installed():
    with cases.all_present():
        yield


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_the_plans_of_a_notebook_are_accepted_in_each_profile_and_with_a_budget(notebook):
    cell = papermill.inspect_notebook(str(ROOT / "notebooks" / f"{notebook}.ipynb"))
    usual = {name: ast.literal_eval(one["default"]) for name, one in cell.items() if name not in OTHERS}
    for profile in PROFILES:
        plan = planned(notebook, **usual | {"profile": profile})
        assert refusals(plan) == []
        for words in ("pilot", "budget 12 s", "budget 0.5 s", "budget 86400 s"):
            assert refusals(replace(plan, profile=words)) == []


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_the_plan_of_a_scenario_is_accepted(file):
    plan = planned(file.stem.partition(".")[0], **yaml.safe_load(file.read_text("utf-8")))
    assert refusals(plan) == []


def test_an_option_of_a_system_of_ones_own_may_be_nothing_or_negative():
    case = replace(CASE, options={"limit": None, "priority": -1})
    assert refusals(replace(registry.plan("latency", system="sockets"), cases=(case,))) == []


def values(kind, usual):
    """Return the values of an option to try: all of a choice, both of a flag, some numbers."""
    if typing.get_origin(kind) is typing.Literal:
        return typing.get_args(kind)
    return {bool: (False, True), int: (0, 1, 10**9), float: (0.0, 0.5, 1e9)}.get(kind, (usual,))


def test_every_option_of_every_system_is_accepted():
    tried = 0
    for name in (each for each in systems.names() if not systems.missing(each)):
        for one in fields(options := systems.load(name).Options):
            for value in {one.default, *values(typing.get_type_hints(options)[one.name], one.default)}:
                plan = registry.plan("latency", system="sockets", transport="ipc")
                case = replace(plan.cases[0], system=name, options={one.name: value})
                assert refusals(replace(plan, cases=(case,))) == [], (name, one.name, value)
                tried += 1
    assert tried > 100


CASE = Case("sockets", "ipc")
UNUSUAL = {
    "budget": {},
    "message": {"message": "items", "options": {"codec": "msgpack"}},
    "own message": {"message": "my file (1) é.json", "content": '{"name": "Ada"}', "payload_bytes": 15},
    "tls": {"transport": "tcp", "options": {"tls": True}},
    "outstanding": {"system": "grpc_aio", "outstanding": 8, "large_bytes": 10**6, "p99_bytes": 10**5},
    "connections": {"calls_per_connection": 1},
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_a_run_is_handed_in_and_read_with_its_values(name):
    run = handmade([replace(CASE, **UNUSUAL[name])], [50], starts=2, calls=200)
    plan = replace(run.plan, profile="budget 12 s")
    run.folder.update(plan=plan.as_dict(), machine=run.manifest["machine"] | {"machine_id": "0" * 8})
    (found,) = reading.read(submitting.submission([run.id]).data)
    (case,) = found.plan.cases
    assert found.plan.profile == "budget 12 s"
    for field, value in UNUSUAL[name].items():
        if field not in ("content", "message"):
            read = getattr(case, field)
            assert (read | value if field == "options" else value) == read


def test_the_name_and_the_text_of_a_user_s_own_message_are_not_handed_in_and_its_likeness_is():
    known, first, second = [], '{"secret": 1}', '{"secret": 2}'
    for name, content in (("mine.json", first), ("other.json", first), ("mine.json", second)):
        case = replace(CASE, message=name, content=content)
        (told,) = manifests.planned(replace(registry.plan("latency", system="sockets"), cases=(case,)))["cases"]
        assert name not in json.dumps(told) and "secret" not in json.dumps(told)
        known.append(told["message"])
    assert known[0] == known[1] != known[2]
