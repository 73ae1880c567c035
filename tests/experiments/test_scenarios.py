"""Named scenarios: each can be planned as it stands."""

from dataclasses import replace

import msgspec
import pytest
import yaml
from conftest import ROOT, planned

from bench.grammar.experiment import exists
from bench.measurement.validation.cases import all_present
from bench.measurement.validation.estimate import expected_s
from bench.run import manifest

FOLDER = ROOT / "papermill_params"
SCENARIOS = sorted(FOLDER.iterdir())


@pytest.mark.parametrize("file", [one for one in SCENARIOS if exists(one.stem.partition(".")[0])], ids=lambda f: f.stem)
def test_a_scenario_can_be_planned_and_its_plan_stored(file, own_systems):
    with all_present():  # nothing is built for a plan
        plan = planned(file.stem.partition(".")[0], **yaml.safe_load(file.read_text("utf-8")))
    assert plan.cases and expected_s(plan) > 0
    is_long = any(word in file.stem for word in ("night", "48", "ping_pong"))  # as long as they are defined to be
    assert is_long or expected_s(plan) < 600  # a person waits for the others
    msgspec.convert(replace(plan, profile="budget 12 s").as_dict(), manifest.PLAN)


def test_each_origin_has_a_scenario_of_its_own():
    from bench.experiments.published import ORIGINS

    assert {f"origins.{name}" for name in ORIGINS} <= {file.stem for file in SCENARIOS}
