"""The forms for issues are what GitHub accepts, and ask for what a maintainer would have to ask for."""

import re

import pytest
import yaml
from conftest import ROOT

from bench.apps import cli

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
ATTRIBUTES = {
    "markdown": {"value"},
    "input": {"label", "description", "placeholder", "value"},
    "textarea": {"label", "description", "placeholder", "value", "render"},
}


@pytest.mark.parametrize("file", FORMS, ids=lambda file: file.stem)
def test_a_form_asks_what_doctor_prints_and_names_commands_that_exist(file):
    form = yaml.safe_load(file.read_text("utf-8"))
    assert form.keys() == {"name", "description", "labels", "body"}
    asked = [field for field in form["body"] if field["type"] != "markdown"]
    for field in form["body"]:
        assert field["attributes"].keys() <= ATTRIBUTES[field["type"]] and field.keys() <= FIELD
        assert field["type"] == "markdown" or field["attributes"]["label"]
    names = [field["id"] for field in asked]
    assert len(set(names)) == len(names) and all(re.fullmatch(r"[\w-]+", name) for name in names)
    (doctor,) = (field for field in asked if field["id"] == "doctor")
    assert "python -m bench doctor" in doctor["attributes"]["label"] and doctor["validations"]["required"]
    text = file.read_text("utf-8")
    assert set(re.findall(r"-m bench (?:--debug )?(\w+)", text)) <= cli.cli.commands.keys()
    assert all((ROOT / name).is_file() for name in re.findall(r"docs/[\w-]+\.md", text))


FIELD = {"type", "id", "attributes", "validations"}


def test_there_is_a_form_for_each_kind_of_issue():
    assert {file.stem for file in FORMS} == {"wrong-number", "failing-system", "new-system"}
