"""What is derived for a class: copies without answers, nbgrader's metadata, slides."""

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import nbformat
import pytest
from conftest import ROOT

from bench.apps.teaching import copies, mystery, slides
from bench.errors import DataError, UsageError
from lint.links import anchors

NBGRADER_V3 = {  # the fields that nbgrader documents for the metadata of a cell, version 3
    "type": "object",
    "required": ["schema_version", "grade", "locked", "solution"],
    "additionalProperties": False,
    "properties": {
        "schema_version": {"const": 3},
        **{name: {"type": "boolean"} for name in ("grade", "locked", "solution", "task")},
        "grade_id": {"type": "string", "pattern": "^[a-zA-Z0-9_\\-]+$"},
        "points": {"type": "number", "minimum": 0},
        "checksum": {"type": "string", "minLength": 32, "maxLength": 32},
        "cell_type": {"enum": ["raw", "code", "markdown"]},
    },
}

OF_NBGRADER = jsonschema.Draft202012Validator(NBGRADER_V3)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("build")
    copies.write(folder)
    return folder


def graded(file):
    """Return the cells of a notebook that nbgrader knows, by their ids."""
    document = nbformat.read(file, 4)
    nbformat.validate(document)
    graded_cells = [cell for cell in document.cells if "nbgrader" in cell.metadata]
    for cell in graded_cells:
        OF_NBGRADER.validate(cell.metadata["nbgrader"])
        assert ("points" in cell.metadata["nbgrader"]) == cell.metadata["nbgrader"]["grade"]
        assert cell.metadata["nbgrader"]["cell_type"] == cell.cell_type
    known = {cell.metadata["nbgrader"]["grade_id"]: cell for cell in graded_cells}
    assert len(known) == len(graded_cells)
    return known


@pytest.mark.parametrize("notebook", copies.notebooks(), ids=lambda file: file.stem)
def test_a_students_copy_has_no_answer_and_a_locked_check_for_each(notebook, written):
    known = graded(written / "student" / notebook.name)
    document = nbformat.read(notebook, 4)
    source = [cell for cell in document.cells if "answer" in cell.metadata.get("tags", [])]
    written_by_hand = [name for name in known if name.startswith("open-")]
    assert len(known) - len(written_by_hand) == 2 * len(source) > 0
    assert len(written_by_hand) == len(copies.open_exercises(document)) >= 3
    for name, cell in known.items():
        told = cell.metadata["nbgrader"]
        if name in written_by_hand:
            assert told["grade"] and told["solution"] and not told["locked"] and told["points"] == 4
            assert cell.cell_type == "markdown" and cell.source.endswith(copies.PLACEHOLDER)
        elif name.endswith("-test"):
            assert told["grade"] and told["locked"] and not told["solution"] and told["points"] == 1
            assert cell.source.startswith("assert bench.check(")
        else:
            assert told["solution"] and not told["locked"] and not told["grade"]
            assert re.findall(r"^answer = .*$", cell.source, re.M) == [copies.OPEN]
    text = (written / "student" / notebook.name).read_text("utf-8")
    answers = [re.search(r"^answer = (.*)$", cell.source, re.M)[1] for cell in source]
    assert [answer for answer in answers if answer in text and not answer.startswith("None")] == []
    assert '"answer"' not in text


@pytest.mark.parametrize("notebook", copies.notebooks(), ids=lambda file: file.stem)
def test_nbgraders_source_keeps_the_answers_between_its_markers(notebook, written):
    for name, cell in graded(written / "nbgrader" / "source" / "roundtrip" / notebook.name).items():
        inside = re.findall(r"^### BEGIN SOLUTION\n(.+)\n### END SOLUTION$", cell.source, re.M)
        assert len(inside) == (not name.endswith("-test"))
        assert all(text.startswith("answer = ") == (cell.cell_type == "code") for text in inside)
        assert copies.PLACEHOLDER not in inside


def test_a_copy_requires_predictions_where_its_notebook_asks_for_some():
    for name, lines in (("latency", 1), ("noise", 0)):
        document = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8"))
        text = "\n".join(map(copies.source, copies.student(document)["cells"]))
        assert text.count('predictions: str = "required"') == lines and 'predictions: str = "off' not in text


def test_the_rest_of_a_copy_is_the_notebook(written):
    for notebook in copies.notebooks():
        ours, theirs = (nbformat.read(file, 4).cells for file in (notebook, written / "student" / notebook.name))
        kept = [cell for cell in theirs if "nbgrader" not in cell.metadata]
        for cell in kept:
            cell.source = cell.source.removesuffix(f"\n{copies.REQUIRED}")
        for cell in ours:
            cell.source = copies.linked(cell.source, Path("notebooks", notebook.name), copies._places("student"))
        assert kept == [cell for cell in ours if "answer" not in cell.metadata.get("tags", [])]


def test_copies_are_made_again_unless_one_was_changed(tmp_path):
    copies.write(tmp_path)
    copies.write(tmp_path)
    changed = tmp_path / "student" / "nodelay.ipynb"
    written = changed.read_text("utf-8").replace("# your answer", "# because")
    changed.write_text(written, "utf-8")
    with pytest.raises(UsageError, match=f"{changed} .*answers"):
        copies.write(tmp_path)
    assert changed.read_text("utf-8") == written


@pytest.mark.parametrize("wrong", ["ratio = 2\nbench.check('mine e1', ratio)", "answer = 2"])
def test_an_answer_that_cannot_be_taken_out_is_refused_with_notebook_and_rule(tmp_path, monkeypatch, wrong):
    cell = nbformat.v4.new_code_cell(wrong, metadata={"tags": ["answer"]})
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "mine.ipynb")
    monkeypatch.setattr(copies, "notebooks", lambda: [tmp_path / "mine.ipynb"])
    with pytest.raises(DataError, match=r"mine\.ipynb, cell 1: .*answer = \.\.\. and .*bench\.check"):
        copies.write(tmp_path / "build")


def test_a_copy_runs_up_to_the_first_open_check_and_says_why(written):
    cells = graded(written / "student" / "latency.ipynb")
    inside: dict = {}
    exec("import bench\n" + cells["latency-e1"].source, inside)
    with pytest.raises(AssertionError):
        exec(cells["latency-e1-test"].source, inside)
    exec("answer = 122.8\n" + cells["latency-e1-test"].source, inside)


def test_slides_begin_at_headings_and_leave_out_what_is_not_for_a_lecture():
    for notebook in copies.notebooks():
        document = json.loads(notebook.read_text("utf-8"))
        made = slides.slide(document)["cells"]
        kinds = [cell["metadata"]["slideshow"]["slide_type"] for cell in made]
        assert kinds[0] == "slide" and kinds[1] == "skip" and set(kinds) == {"slide", "skip", "-"}
        shown = [copies.source(cell) for cell, kind in zip(made, kinds, strict=True) if kind != "skip"]
        left_out = ("bench.measure(", "bench.search(", "bench.check(", "## Exercises")
        assert not any(word in text for text in shown for word in left_out)
        assert any(re.search(r"\.show\(|page\.", text) for text in shown)
        assert sum("bench.show(" in text for text in shown) == sum("bench.show(" in str(c) for c in document["cells"])
        assert "slideshow" not in document["cells"][0]["metadata"]


def test_a_picture_behind_an_answer_has_its_own_slide():
    text, panel = ({"output_type": "display_data", "data": {kind: ""}} for kind in ("text/markdown", "image/png"))
    code = {"cell_type": "code", "id": "a", "metadata": {}, "source": 'bench.answer(run, "rates")'}
    made = slides.slide({"cells": [code | {"outputs": [text, panel]}, code | {"outputs": [panel]}]})["cells"]
    assert [cell["outputs"] for cell in made] == [[text], [panel], [panel]]
    assert [cell["metadata"]["slideshow"]["slide_type"] for cell in made] == ["-", "slide", "-"]


@pytest.mark.slow
def test_slides_need_no_network(tmp_path, monkeypatch):
    executed = tmp_path / "executed" / "noise.ipynb"
    executed.parent.mkdir()
    document = nbformat.read(ROOT / "notebooks" / "noise.ipynb", 4)
    (shown,) = [cell for cell in document.cells if cell.source == 'bench.show(run, "drift")']
    shown.outputs = [nbformat.v4.new_output("stream", text="a panel")]
    nbformat.write(document, executed)
    (page,) = slides.make(["noise"], tmp_path / "slides", print)
    text = re.sub(r"(<script[^>]*>).*?</script>", r"\1", page.read_text("utf-8"), flags=re.S)
    assert "a panel" in text and "bench.measure" not in text
    assert re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)', text) == []
    assert not re.search(r"@import|url\(['\"]?http|from ['\"]http", text) and len(slides.reveal().read_text()) > 100_000


@pytest.mark.slow
def test_the_class_has_its_commands(tmp_path):
    def run(*words):
        return subprocess.run(
            [sys.executable, "-m", "bench.apps.teaching", *words], cwd=ROOT, capture_output=True, text=True
        )

    assert f"{len(copies.notebooks())} notebooks" in run("student", str(tmp_path)).stdout
    faults = [line.partition(": ")[2] for line in run("key").stdout.splitlines()]
    assert sorted(faults) == sorted(mystery.EVIDENCE)
    finished = run("slides", "nosuch", "--folder", str(tmp_path))
    assert finished.returncode == 2 and finished.stderr.startswith("bench: ") and "'nosuch'" in finished.stderr


def texts_of(folder):
    """Yield each text of students' copies with its file."""
    for file in folder.rglob("*.md"):
        yield file, file.read_text("utf-8")
    for file in folder.rglob("*.ipynb"):
        yield from (
            (file, cell["source"]) for cell in nbformat.read(file, 4)["cells"] if cell["cell_type"] == "markdown"
        )


def test_every_link_of_a_copy_leads_to_another_copy_and_none_to_what_runs_found(written):
    links = [(file, match) for file, text in texts_of(written) for match in copies.LINK.finditer(text)]
    targets = [(file, file.parent.joinpath(match[2]).resolve(), match[3]) for file, match in links]
    assert [(file.name, target) for file, target, _ in targets if not target.is_relative_to(written)] == []
    assert [(file.name, target) for file, target, _ in targets if not target.is_file()] == []
    headings = {target: anchors(target.read_text("utf-8")) for _, target, _ in targets if target.suffix == ".md"}
    assert [target for _, target, anchor in targets if anchor and anchor[1:] not in headings[target]] == []
    assert not {"results.md", "choosing.md"} & {file.name for file in written.rglob("*.md")}
