"""The lecturer's pack: minutes that add up, exercises and headings that there are, a condition for every caution."""

import json
import re

import pytest
import yaml
from conftest import ROOT
from drawings import RUNS
from handmade import reference

from bench.analysis import checks
from bench.apps.teaching import copies, questions, slides
from bench.apps.teaching.course import EXERCISES

PACK = ROOT / "docs" / "teaching"


def text(name):
    return (PACK / name).read_text("utf-8")


@pytest.mark.parametrize(("name", "heading"), [("lecture.md", "## Lecture"), ("lab.md", "### Session")])
def test_each_half_takes_90_minutes_with_slack_and_rest(name, heading):
    halves = re.findall(rf"^{heading} \d.*?\n(.*?)(?=^#|\Z)", text(name), re.M | re.S)
    assert len(halves) == 2
    for half in halves:
        rows = re.findall(r"^\| (\d+) \| (?:(\d+|-) \| )?(.*?) \|", half, re.M)
        assert sum(int(minutes) for minutes, *_ in rows) == 90
        assert sum(int(short) for _, short, _ in rows if short.isdigit()) == (45 if name == "lecture.md" else 0)
        assert all(short != "-" for _, short, what in rows if what.startswith("slack"))
        assert any(what.startswith("slack") for *_, what in rows)
    assert "**Break:" in halves[0] or all("| pause |" in half for half in halves)


def exercises():
    """Return the names of all exercises with their points."""
    known = {one.name: copies.POINTS["check"] for one in EXERCISES}
    known |= {f"mystery {letter}": copies.POINTS["check"] for letter in "ABCDEF"}
    for notebook in copies.notebooks():
        numbers = copies.open_exercises(json.loads(notebook.read_text("utf-8")))
        known |= {f"{notebook.stem} {number}": copies.POINTS["open"] for number in numbers}
    return known


def test_goals_name_exercises_that_there_are_and_their_points():
    known = exercises()
    rows = re.findall(r"^\| (?:G\d+ \| [^|]+|`\w+`) \| ([^|]+) \| (\d+) \|$", text("goals.md"), re.M)
    assert len(rows) == 15
    for named, points in rows:
        assert sum(known[name] for name in named.split(", ")) == int(points), named
    lab = sum(int(points) for _, points in rows[10:])
    assert f"Beside these {lab} points" in text("goals.md")


def test_speaker_notes_follow_the_slides():
    notes = re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text("speaker-notes.md"), re.M | re.S)
    named = {name for name, _ in notes}
    assert named == set(re.findall(r"slides of `(\w+)`", text("lecture.md"))) | {"nodelay", "latency"}
    for name, note in notes:
        cells = slides.slide(json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8")))["cells"]
        shown = [copies.source(cell) for cell in cells if cell["metadata"]["slideshow"]["slide_type"] == "slide"]
        headings = [first.lstrip("# ") for first in (cell.splitlines()[0] for cell in shown) if first.startswith("#")]
        at = [headings.index(said.removesuffix(".")) for said in re.findall(r"^- \*\*(.*?)\*\*", note, re.M)]
        assert at and at == sorted(at)


def accepted():
    """Return whether the class goes on at a caution of each check."""
    rows = re.findall(r"^\| `(\w+)` \| (go on|stop) \| .{10,} \|$", text("cautions.md"), re.M)
    return {name: what == "go on" for name, what in rows}


def test_every_check_of_the_trust_card_has_a_row():
    every = (*checks.ALL, *checks.OF_HOSTS, checks.turns, checks.order)
    assert sorted(accepted()) == sorted(one.__name__ for one in every)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_the_class_goes_on_with_every_caution_of_a_default_run(name):
    shown = [one.name for one in checks.check(reference(name)) if one.verdict == "CAUTION"]
    assert [check for check in shown if not accepted()[check]] == []


def test_every_question_has_a_range_and_its_reason():
    ranges = yaml.safe_load(text("expectations.yaml"))
    assert sorted(ranges) == sorted(one.name for one in questions.ALL)
    assert all(0 < one["low"] < one["high"] and len(one["why"]) > 20 for one in ranges.values())


@pytest.mark.parametrize("name", [file.name for file in (PACK / "projects").glob("*.md")])
def test_the_points_of_a_project_add_up(name):
    page = text(f"projects/{name}")
    points = re.findall(r"^\| (\d+) \| ", page.partition("## Hand in")[2], re.M)
    assert points and f"({sum(map(int, points))} points)" in page


def test_a_wheel_has_the_documents_for_students_only(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT / "requirements"))
    import build_backend

    packed = {str(file) for file in build_backend._laboratory() if file.suffix == ".md" and "teaching" in file.parts}
    assert packed == {f"docs/{file}" for file in copies.documents() if file.parts[0] == "teaching"}
