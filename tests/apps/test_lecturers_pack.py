"""The lecturer's pack: a row for every caution, and the class goes on with those of default runs."""

import re

import pytest
from conftest import ROOT
from drawings import RUNS
from handmade import reference

from bench.analysis import checks
from bench.apps.teaching import copies


def accepted():
    """Return whether the class goes on at a caution of each check."""
    text = (ROOT / "docs" / "teaching" / "help.md").read_text("utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (go on|stop) \| .{10,} \|$", text, re.M)
    return {name: what == "go on" for name, what in rows}


def test_every_check_of_the_trust_card_has_a_row():
    every = (*checks.ALL, *checks.OF_HOSTS, checks.turns, checks.order)
    assert sorted(accepted()) == sorted(one.__name__ for one in every)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_the_class_goes_on_with_every_caution_of_a_default_run(name):
    shown = [one.name for one in checks.check(reference(name)) if one.verdict == "CAUTION"]
    assert [check for check in shown if not accepted()[check]] == []


def test_a_wheel_has_the_documents_for_students_only(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT / "requirements"))
    import build_backend

    packed = {str(file) for file in build_backend._laboratory() if file.suffix == ".md" and "teaching" in file.parts}
    assert packed == {f"docs/{file}" for file in copies.documents() if file.parts[0] == "teaching"}
