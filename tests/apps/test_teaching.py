"""What is derived for a class: copies without answers, labs, slides."""

import json
import re
import subprocess
import sys
from pathlib import Path

import drawings
import nbformat
import pytest
from conftest import ROOT
from lecture import an_executed_notebook
from matplotlib.figure import Figure

from bench.apps.teaching import answers, copies, course, labs, mystery, slides, stall
from bench.errors import DataError, UsageError
from lint.links import anchors


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("build")
    copies.write(folder)
    return folder


@pytest.mark.parametrize("notebook", copies.notebooks(), ids=lambda file: file.stem)
def test_a_students_copy_has_no_answer_and_a_cell_for_each(notebook, written):
    document, copied = (nbformat.read(file, 4) for file in (notebook, written / "student" / notebook.name))
    nbformat.validate(copied)
    by_id = {cell.id: cell for cell in copied.cells}
    checked = [cell for cell in document.cells if "answer" in cell.metadata.get("tags", [])]
    assert checked
    for cell in checked:
        source = by_id[cell.id].source
        assert re.findall(r"^answer = .*$", source, re.M) == [copies.OPEN] and source.endswith("answer, hand_in=True)")
    by_hand = [cell for name, cell in by_id.items() if name.startswith("open-")]
    assert len(by_hand) == len(copies.open_exercises(document)) >= 3
    assert all(cell.source.endswith(copies.PLACEHOLDER) and "(4 points)" in cell.source for cell in by_hand)
    text = (written / "student" / notebook.name).read_text("utf-8")
    answers = [re.search(r"^answer = (.*)$", cell.source, re.M)[1] for cell in checked]
    assert [answer for answer in answers if answer in text and not answer.startswith("None")] == []
    assert '"answer"' not in text


def test_a_lab_has_its_notebooks_with_its_parameters_its_exercises_and_its_part_of_the_handout(tmp_path):
    lab, other = labs.LABS["class"], labs.LABS["sessions"]
    made = copies.write(tmp_path, lab)
    assert sorted(file.name for file in made) == ["nodelay.ipynb", "overview.ipynb"]
    (overview,) = [nbformat.read(file, 4) for file in made if file.stem == "overview"]
    (parameters,) = [cell.source for cell in overview.cells if "parameters" in cell.metadata.get("tags", [])]
    values: dict = {}
    exec(parameters, values)
    assert values["system"] == ["sockets", "zeromq", "http_asgi", "grpc_sync"] and values["predictions"] == "required"
    assert [cell.id for cell in overview.cells if cell.id.startswith("open-")] == ["open-2-answer"]
    text = "\n".join(cell.source for file in made for cell in nbformat.read(file, 4).cells)
    assert re.findall(r'bench.predict\("(.*?)"', text) == ["overview q1", "overview q3", "nodelay q1", "nodelay q2"]
    assert "import bench\n" in text and "| You need | `latency.ipynb`" not in text  # which is not in this lab
    handout = (tmp_path / "docs" / "teaching" / "handout.md").read_text("utf-8")
    assert f"## {lab.title}\n" in handout and other.title not in handout and "## What a good answer" in handout


def test_a_copy_requires_predictions_where_its_notebook_asks_for_some():
    for name, lines in (("latency", 1), ("noise", 0)):
        document = json.loads((ROOT / "notebooks" / f"{name}.ipynb").read_text("utf-8"))
        text = "\n".join(map(copies.source, copies.student(document, {})["cells"]))
        assert text.count('predictions: str = "required"') == lines and 'predictions: str = "off' not in text


PLACES = copies._places([file.name for file in copies.notebooks()])


def test_the_rest_of_a_copy_is_the_notebook(written):
    for notebook in copies.notebooks():
        ours, theirs = (nbformat.read(file, 4).cells for file in (notebook, written / "student" / notebook.name))
        written_to = {cell.id for cell in ours if "answer" in cell.metadata.get("tags", [])}
        kept = [cell for cell in theirs if cell.id not in written_to and not cell.id.startswith("open-")]
        for cell in kept:
            cell.source = cell.source.removesuffix(f"\n{copies.REQUIRED}")
        for cell in ours:
            cell.source = copies.linked(cell.source, Path("notebooks", notebook.name), PLACES)
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


def test_the_last_answer_in_a_copy_is_handed_in_and_one_in_a_notebook_of_the_checkout_is_not(written):
    (cell,) = [
        one for one in nbformat.read(written / "student" / "latency.ipynb", 4).cells if "latency e1" in one.source
    ]
    assert course.check("latency e1", 122.8) and answers.kept(course.NAMES) == {}
    for answer, kept in (("None", {}), ("61.4", {"latency e1": 61.4}), ("2 * printed_us", {"latency e1": 122.8})):
        exec(f"import bench\n{cell.source.replace(copies.OPEN, f'answer = {answer}')}", {})
        assert answers.kept(course.NAMES) == kept


@pytest.mark.parametrize("wrong", ["ratio = 2\nbench.check('mine e1', ratio)", "answer = 2"])
def test_an_answer_that_cannot_be_taken_out_is_refused_with_notebook_and_rule(wrong):
    cell = nbformat.v4.new_code_cell(wrong, metadata={"tags": ["answer"]})
    with pytest.raises(DataError, match=r"mine\.ipynb, cell 1: .*answer = \.\.\. and .*bench\.check"):
        copies._refuse_unreadable(nbformat.v4.new_notebook(cells=[cell]), "mine.ipynb")


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


def test_a_slide_has_one_picture_or_short_table_and_repeats_the_heading():
    made = slides.slide(an_executed_notebook(""))["cells"]
    kinds = [cell["metadata"]["slideshow"]["slide_type"] for cell in made]
    assert kinds == ["slide", "-", "-", "slide", "-", "slide", "-", "slide", "-"]
    assert [cell["source"] for cell in made if cell["id"].startswith("heading")] == ["## Measure"] * 3
    (table,) = [cell["outputs"][0]["data"]["text/html"] for cell in made if "<table" in str(cell.get("outputs"))]
    assert table.count("<td") == slides.MOST_ROWS and f"{18 - slides.MOST_ROWS} more rows" in table


def test_the_diagram_of_the_stall_is_whole_and_its_waits_end_with_the_ack():
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    stall.draw(figure.subplots())
    assert (drawings.clipped(figure), drawings.overlapping(figure), drawings.too_small(figure)) == ([], [], [])
    (sent,) = [sent for sent, *_, what, _ in stall.MESSAGES if what.startswith("ACK")]
    assert [end for _, _, end, _ in stall.WAITS] == [sent + stall.TRAVEL, sent]


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
