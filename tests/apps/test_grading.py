"""Grading: points from the files of a class, without executing anything; and the labs that the documents plan."""

import csv
import re

import classes
import pytest
from click.testing import CliRunner
from conftest import ROOT

import bench
from bench.apps.classroom import submitting
from bench.apps.teaching import copies, course, grading, labs, questions
from bench.apps.teaching.__main__ import cli
from bench.errors import UsageError

LAB = labs.Lab("A lab", ("latency",), ("latency q1", "latency q2", "latency e1", "latency e2", "latency 4", "file"))


def predicted(content, **changes):
    """Return what a pair hands in: a prediction, a right answer and a wrong one."""
    content["runs"][0]["predictions"] = [
        {"question": "latency q1", "low": 20.0, "high": 80.0, "why": "=two <wake-ups>", "measured": 40.0}
    ]
    return content | {"answers": {"latency e1": 122.8, "latency e2": "no", "other e9": "x"}} | changes


@pytest.fixture
def folder(tmp_path):
    """Return a folder of two pairs' files: the second is a copy of the first under another name and machine id."""
    made = tmp_path / "in"
    made.mkdir()
    for file, name, machine in (("b.json", "Anna", "0000000b"), ("a.json", "Bert", "0000000a")):
        content = predicted(classes.content(machine), name=name)
        content["runs"][0]["digest"] = "d" * 64
        (made / file).write_bytes(submitting.encoded(content))
    (made / "wrong.json").write_text("no submission")
    return made


def test_points_are_counted_for_what_is_handed_in_and_a_copy_is_named_with_its_original(folder):
    rows, refused = grading.table(folder, LAB)
    assert [one.file for one in refused] == ["wrong.json"]
    for row in rows:
        assert (row["points"], row["of"]) == ("3", "5")
        assert [row[item] for item in LAB.counted] == ["1", "0", "1", "0", "1"] and row["latency 4"] == ""
        assert "measured 40, score 0.00" in row["latency q1, handed in"]
        assert row["latency q2, handed in"] == "nothing" and row["latency e2, handed in"] == "no, not right"
        assert "d" * 16 in row["digests"] and "instrument" in row["cautions"]
        assert re.search(r"a\.json and b\.json: .*same run.*(Anna and Bert|Bert and Anna)", row["remarks"])
    assert sorted(row["name"] for row in rows) == ["Anna", "Bert"]


def test_a_pair_whose_runs_no_other_file_holds_has_no_remark(tmp_path):
    rows, _ = grading.table(classes.a_class(tmp_path / "in", [1.0, 1.1]), LAB)
    assert [row["remarks"] for row in rows] == ["", ""]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError, match="empty"):
        grading.table(tmp_path / "empty", LAB)


def test_the_command_prints_each_pair_and_writes_a_table_without_formulas(folder, tmp_path):
    target = tmp_path / "grades.csv"
    done = CliRunner().invoke(cli, ["grade", str(folder), "--lab", "sessions", "-o", str(target)])
    assert done.exit_code == 0 and "Anna: 3 of 14 points" in done.output and "refused: wrong.json" in done.output
    assert f"{labs.LABS['sessions'].maximum} points" in done.output and "latency 4" in done.output
    with target.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {"mystery diagnosis 1", "mystery diagnosis 2"} <= rows[0].keys()
    assert len(rows) == 2 and not any(cell.startswith(grading.FORMULA) for row in rows for cell in row.values())


def test_what_was_predicted_and_answered_is_handed_in_under_the_pairs_name():
    bench.predict("latency q1", 10, 1000, "because I say so")
    bench.check("latency e1", 61.4, hand_in=True)
    made = submitting.submission(["reference/latency"], " Anna &  Bert ")
    assert made.content["name"] == "Anna &  Bert".replace("  ", " ") and made.name.startswith("roundtrip-anna-bert-2")
    (prediction,) = made.content["runs"][0]["predictions"]
    assert prediction["question"] == "latency q1" and 10 < prediction["measured"] < 1000
    assert made.content["answers"] == {"latency e1": 61.4}
    assert "Anna & Bert" in str(made) and "latency e1 61.4" in str(made)


def test_a_stored_run_is_named_as_not_measured_by_the_pair(tmp_path):
    bench.predict("nodelay q1", 10, 1000, "because I say so")
    (tmp_path / "a.json").write_bytes(submitting.submission(["reference/nodelay"], "Anna").data)
    ((row,), _) = grading.table(tmp_path, labs.LABS["class"])
    assert "is a stored run of Roundtrip, not measured by this pair" in row["remarks"]


def test_a_name_longer_than_a_file_may_hold_is_refused_in_words():
    with pytest.raises(UsageError, match="--name has 61 letters"):
        submitting.submission(["reference/nodelay"], "a" * 61)


TEXT = (ROOT / "docs" / "teaching" / "lab.md").read_text("utf-8")
EARNS = re.compile(r"^\| (?:`(\w+)`)? ?\| ((?:\w+ (?:\w+)|file)(?:, \w+ \w+)*) \| (\d+) \|$", re.M)


@pytest.mark.parametrize(("name", "title"), [("class", "One class"), ("sessions", "One lab")])
def test_the_plan_of_a_lab_names_the_points_that_are_counted(name, title):
    lab = labs.LABS[name]
    section = re.search(rf"^## {title}.*?\n(.*?)(?=^## )", TEXT, re.M | re.S)[1]
    rows = EARNS.findall(section)
    named = [item for _, items, _ in rows for item in items.split(", ")]
    assert sorted(named) == sorted(lab.points)
    for _, items, points in rows:
        of_each = [labs.OPEN if labs.BY_A_PERSON.search(item) else labs.CLOSED for item in items.split(", ")]
        assert sum(of_each) == int(points)
    handout = (ROOT / "docs" / "teaching" / "handout.md").read_text("utf-8")
    of_lab = handout.partition(f"## {lab.title}\n")[2].partition("\n## ")[0]
    for text in (section, of_lab):
        assert f"These are {lab.maximum} points" in text
    assert all(f"`{notebook.partition('.')[0]}`" in of_lab for notebook in lab.notebooks)


@pytest.mark.parametrize("lab", labs.LABS.values(), ids=labs.LABS)
def test_what_earns_points_exists(lab):
    known = {*(one.name for one in questions.ALL), *course.NAMES, labs.BOX, labs.FILE, "mystery diagnosis"}
    for file in copies.notebooks():
        known |= {f"{file.stem} {number}" for number in copies.model_answers(file.stem)}
    assert set(lab.points) <= known
