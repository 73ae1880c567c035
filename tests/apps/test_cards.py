"""The card at the head of each notebook: its shape, and its minutes against the plan and the words."""

import re
import subprocess

import nbformat
import pytest
from conftest import ROOT

from bench.apps.teaching import questions
from bench.apps.teaching.course import EXERCISES
from bench.experiments import registry
from bench.plan import placement
from bench.plan.estimate import expected_s

NOTEBOOKS = sorted(file for file in (ROOT / "notebooks").glob("*.ipynb") if not file.stem.startswith("out"))
ROWS = ("You will be able to", "You need", "Minutes", "Remember")
WORDS_PER_MINUTE = 120  # of a text that one thinks about; half of what a novel is read at
LOOK_MINUTES = 0.5  # at a panel, a table or a card


def cells(notebook):
    return nbformat.read(notebook, 4).cells


def card(notebook):
    """Return the rows of a notebook's card, by their names."""
    lines = cells(notebook)[0].source.splitlines()
    table = [line.strip("| ").split(" | ") for line in lines if line.startswith("| ") and line != "| | |"]
    return dict(table)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_the_card_has_its_shape(notebook):
    first, second, *_ = cells(notebook)
    assert "parameters" in second.metadata["tags"]
    title, blank, *rest = first.source.splitlines()
    assert re.fullmatch(r"# .+\?", title) and blank == ""
    assert "The picture" in first.source and rest[-len(ROWS) - 2 : -len(ROWS)] == ["| | |", "|---|---|"]
    told = card(notebook)
    assert tuple(told) == ROWS
    goals = told["You will be able to"].split(" · ")
    assert len(goals) == 3 and all(re.match(r"\*\*[a-z]+\*\* \w", goal) for goal in goals)
    assert re.fullmatch(r"\d+ to read, \d+ to measure( \(.+\))?", told["Minutes"])
    assert re.fullmatch(r"\*[^*.]+\*", told["Remember"])


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_what_a_card_asks_for_is_there_and_comes_before(notebook):
    needed = re.findall(r"`(\w+)\.ipynb`", card(notebook)["You need"])
    assert needed or "nothing" in card(notebook)["You need"]
    for name in needed:
        assert notebook.name not in card(ROOT / "notebooks" / f"{name}.ipynb")["You need"]


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_minutes_to_read_are_those_of_the_words(notebook):
    prose = " ".join(cell.source for cell in cells(notebook) if cell.cell_type == "markdown")
    code = " ".join(cell.source for cell in cells(notebook) if cell.cell_type == "code")
    looks = sum(
        max(1, call.count('"') // 2)
        for call in re.findall(r"bench\.(?:show|save|table|trust|tell|lines)\([^)]*\)", code)
    )
    minutes = len(re.findall(r"[^\W\d_]+", prose)) / WORDS_PER_MINUTE + LOOK_MINUTES * looks
    told = int(card(notebook)["Minutes"].split()[0])
    assert abs(told - minutes) <= 1.5, f"{minutes:.1f} minutes"


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_minutes_to_measure_are_those_of_the_plan(notebook):
    if notebook.stem == "placement" and placement.why_not():
        pytest.skip("one CPU: nothing is measured")
    if not (ROOT / "bench" / "experiments" / notebook.stem).exists():  # it looks at what others measured
        assert "0 to measure" in card(notebook)["Minutes"]
        return
    minutes = expected_s(registry.plan(notebook.stem)) / 60
    told = int(re.search(r"(\d+) to measure", card(notebook)["Minutes"])[1])
    assert abs(told - max(1, minutes)) <= 0.75, f"{minutes:.1f} minutes"  # which depend on what is installed


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda file: file.stem)
def test_every_notebook_has_an_exercise_that_is_checked(notebook):
    tagged = [cell.source for cell in cells(notebook) if "answer" in cell.metadata.get("tags", [])]
    asked = [re.search(r'^bench\.check\("([^"]+)", answer\)$', source, re.M)[1] for source in tagged]
    known = [one.name for one in EXERCISES if one.name.startswith(notebook.stem)]
    assert asked and asked == (known or [f"mystery {letter}" for letter in "ABCDEF"])
    for source in tagged:
        assert len(re.findall(r"^answer = .+$", source, re.M)) == 1


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
    measured = code.index(f'bench.require("{notebook}", predictions)\nrun = bench.measure(')
    for one in questions.of(notebook):
        assert code.index(f'bench.predict("{one.name}", low=None, high=None, why="")') < measured
    assert measured < code.index("bench.score(run)")
    assert 'predictions: str = "off"' in sources[1]


@pytest.mark.parametrize("notebook", [*dict.fromkeys(one.notebook for one in questions.ALL)])
def test_each_question_is_the_last_line_of_its_cell_so_that_it_is_shown(notebook):
    sources = [
        cell.source for cell in cells(ROOT / "notebooks" / f"{notebook}.ipynb") if "bench.predict(" in cell.source
    ]
    assert len(sources) == len(questions.of(notebook))
    assert all(source.splitlines()[-1].startswith("bench.predict(") for source in sources)


def test_the_notebooks_that_predict_are_those_with_questions():
    asking = subprocess.run(
        ["git", "grep", "-l", "bench.predict", "notebooks"], cwd=ROOT, capture_output=True, text=True
    )
    assert {line.split("/")[1][:-6] for line in asking.stdout.split()} == {one.notebook for one in questions.ALL}
