"""A notebook's card promises the minutes of its plan, and its exercises and questions are those of the course."""

import re

import nbformat
import pytest
from conftest import ROOT

from bench.apps.teaching import questions
from bench.apps.teaching.course import EXERCISES
from bench.grammar.experiment import experiment
from bench.measurement.validation.plan_time import expected_s

NOTEBOOKS = sorted(file for file in (ROOT / "notebooks").glob("*.ipynb") if not file.stem.startswith("out"))


def cells(notebook):
    return nbformat.read(notebook, 4).cells


def test_no_plan_takes_longer_than_its_card_says():
    late = {}
    for notebook in NOTEBOOKS:
        (card_minutes,) = re.findall(r"^\| Minutes \|.* (\d+) to measure", cells(notebook)[0].source, re.M)
        is_planned = (ROOT / "bench" / "experiments" / f"{notebook.stem}.py").exists()
        if is_planned and not experiment(notebook.stem).why_not():
            minutes = expected_s(experiment(notebook.stem).plan()) / 60
            if minutes - int(card_minutes) > 0.75:
                late[notebook.stem] = minutes
    assert late == {}


def test_every_notebook_checks_the_exercises_that_have_a_judge():
    checked = [
        name
        for notebook in NOTEBOOKS
        for cell in cells(notebook)
        if "answer" in cell.metadata.get("tags", [])
        for name in re.findall(r'^bench\.check\("([^"]+)", answer\)$', cell.source, re.M)
    ]
    boxes = [f"mystery {letter}" for letter in "ABCDEF"]  # judged by what is in them
    assert sorted(checked) == sorted([*boxes, *(one.name for one in EXERCISES)])
    assert {name.split()[0] for name in checked} == {notebook.stem for notebook in NOTEBOOKS}, "course.yaml"


@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda one: one.name)
def test_the_answers_in_the_notebooks_are_right(exercise):
    inside: dict = {}
    for cell in cells(ROOT / "notebooks" / f"{exercise.name.split()[0]}.ipynb"):
        if "answer" in cell.metadata.get("tags", []):
            source = "import bench\n" + cell.source.replace("bench.check(", "judged = bench.check(")
            exec(source, inside)
            if f'"{exercise.name}"' in cell.source:
                assert inside["judged"], inside["judged"]
                return
    raise AssertionError("no cell checks it")


@pytest.mark.parametrize("notebook", [*dict.fromkeys(one.notebook for one in questions.ALL)])
def test_questions_are_asked_before_and_scored_after_the_measurement(notebook):
    sources = [cell.source for cell in cells(ROOT / "notebooks" / f"{notebook}.ipynb")]
    code = "\n".join(sources)
    measured = code.index(f'run = bench.measure("{notebook}", globals())')
    asked = [f'bench.predict("{one.name}", low=None, high=None, why="")' for one in questions.of_notebook(notebook)]
    assert all(code.index(question) < measured for question in asked) and measured < code.index("bench.score(run)")
    shown = [source.splitlines()[-1] for source in sources if "bench.predict(" in source]
    assert shown == asked  # each is the last line of its cell, whose value is shown
