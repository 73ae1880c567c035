"""Documents: blocks made from the reference runs; model answers, and a course in order."""

import json
import re

import drawings
import pytest
from conftest import ROOT, slow_but
from PIL import Image

from bench.analysis import trust_card
from bench.apps.teaching import copies
from bench.errors import DataError
from bench.experiments import overview
from certify import instrument
from docs import forecast_picture, front, ratios_picture, write

DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])


@pytest.mark.parametrize("name", slow_but(write.FROM_RUNS, "README.md"))
def test_what_documents_quote_is_what_the_reference_runs_say(name):
    text = (ROOT / name).read_text("utf-8")
    assert write.filled(text, write.FROM_RUNS[name]) == text, "make expected writes the blocks anew"


@pytest.mark.parametrize(("verdict", "is_marked"), [("PASS", False), ("N/A", False), ("CAUTION", True)])
def test_rates_are_marked_where_the_trust_card_of_their_run_advises_caution(verdict, is_marked, monkeypatch):
    made = [trust_card.Check("rate", verdict, "x"), trust_card.Check("levels", "CAUTION", "y")]
    monkeypatch.setattr(write.checks, "check", lambda run: made)
    caution = write.caution(None)
    assert bool(caution) == is_marked and ("`rate`" in caution) == is_marked and "levels" not in caution


def test_every_block_has_a_maker_and_every_maker_a_block():
    for name in {*write.FROM_RUNS, *write.BY_TESTING}:
        makers = {**write.FROM_RUNS.get(name, {}), **write.BY_TESTING.get(name, {})}
        assert sorted(write.names((ROOT / name).read_text("utf-8"))) == sorted(makers)
    others = [file for file in DOCUMENTS if str(file.relative_to(ROOT)) not in write.FROM_RUNS]
    assert [file.name for file in others if write.names(file.read_text("utf-8"))] == []


@pytest.mark.slow
def test_the_certificate_in_the_document_is_of_todays_properties(monkeypatch):
    text = (ROOT / "docs" / "trust.md").read_text("utf-8")
    printed = re.search(r"generated: certificate.*?```text\n(.*?)```", text, re.S)[1].splitlines()
    today = [(line.tried, line.wanted) for line in instrument.certificate(4)]  # the same lines of any number
    lines = [re.fullmatch(r"pass  (.+?)\s{2,}\S.*?   wanted (.+)", line) for line in printed[:-1]]
    assert [(line[1].strip(), line[2]) for line in lines] == today
    assert printed[-1].startswith(f"passed: {instrument.RUNS} runs")


def test_a_block_is_filled_and_the_rest_is_left():
    text = "a\n<!-- generated: x (make expected) -->old<!-- generated: end -->\nb"
    made = write.filled(text, {"x": lambda: "new"})
    assert made == "a\n<!-- generated: x (make expected) -->\n\nnew\n\n<!-- generated: end -->\nb"
    assert write.filled(made, {"x": lambda: "new"}) == made
    assert write.filled(text, {}) == text
    with pytest.raises(DataError, match="y"):
        write.filled(text, {"y": str})
    with pytest.raises(DataError):
        write.filled(text.replace("<!-- generated: end -->", ""), {})


@pytest.mark.slow
def test_pictures_are_drawn_from_what_the_numbers_are_from():
    published = write.published()
    pictures = {
        write.PICTURE: overview.TITLE,
        write.FRONT_PICTURE: overview.TITLE,
        write.FORECAST_PICTURE: forecast_picture.TITLE,
    }
    for name, title in pictures.items():
        wanted = ratios_picture.provenance(published, title)
        with Image.open(ROOT / name) as picture:
            assert picture.text["Title"] == wanted["Title"]
            assert picture.text["Description"].partition(" ")[0] == wanted["Description"].partition(" ")[0]
    for figure in (
        ratios_picture.draw(published, overview.TITLE),
        front.draw(published, write.reference(write.ANATOMY)),
        forecast_picture.draw(published, ""),
    ):
        assert (drawings.clipped(figure), drawings.overlapping(figure), drawings.too_small(figure)) == ([], [], [])


def _text(file):
    """Return a file's text; a notebook's on one line, as its cells hold it."""
    text = file.read_text("utf-8")
    return json.dumps(json.loads(text), ensure_ascii=False) if file.suffix == ".ipynb" else text


def test_students_copies_hold_no_model_answers(tmp_path):
    text = (ROOT / "docs" / "teaching" / "model-answers.md").read_text("utf-8")
    copies.write(tmp_path)
    made = [file for place in ("student", "docs") for file in (tmp_path / place).rglob("*") if file.is_file()]
    made.append(tmp_path / "README.md")
    assert len(made) > 30 and not [file for file in made if "answers" in file.name]
    answers = re.findall(r"^\d+\. (.{40,})$", text, re.M)
    written = "\n".join(_text(file) for file in made)
    assert len(answers) > 50 and [line for line in answers if line in written] == []
    results = [
        line for name in write.FROM_RUNS for line in _generated((ROOT / name).read_text("utf-8")) if len(line) > 40
    ]
    assert len(results) > 50 and [line for line in results if line in written] == []
    texts = "\n".join(file.read_text("utf-8") for file in made if file.suffix == ".md")
    assert not re.search(r"^!\[|95 % CI \d", texts, re.M)


def _generated(text):
    """Return the lines of a document's generated blocks."""
    return [line for block in write.BLOCK.finditer(text) for line in block["text"].splitlines()]


def test_every_open_exercise_has_a_model_answer():
    for notebook in copies.notebooks():
        asked = copies.open_exercises(json.loads(notebook.read_text("utf-8")))
        assert asked and copies.model_answers(notebook.stem).keys() == asked.keys(), notebook.stem


def prerequisites(name: str) -> list[str]:
    """Return the notebooks that a notebook's card asks for."""
    first = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8"))["cells"][0]
    return re.findall(r"`(\w+)\.ipynb`", re.search(r"^\| You need \|(.*)$", "".join(first["source"]), re.M)[1])


@pytest.mark.parametrize("title", ["One lab", "Four weeks"])
def test_a_course_schedules_the_prerequisites_of_each_notebook_before_it(title):
    text = (ROOT / "docs" / "teaching" / "lab.md").read_text("utf-8")
    section = re.search(rf"^## {title}.*?\n(.*?)(?=^## )", text, re.M | re.S)[1]
    stems = [file.stem for file in copies.notebooks()]
    order = [name for name in dict.fromkeys(re.findall(r"`(\w+)`", section)) if name in stems]
    assert len(order) >= 5
    late = [(name, one) for at, name in enumerate(order) for one in prerequisites(name) if one not in order[:at]]
    assert late == []
