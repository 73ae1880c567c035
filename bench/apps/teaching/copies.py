"""Notebooks for a class: copies without the answers, and with the metadata by which nbgrader grades them.

A cell tagged ``answer`` has one line that begins with ``answer = ``. In a student's copy that line is open, and a
locked cell behind it asserts the check, worth a point; for nbgrader's own ``generate_assignment`` the line stands
between its markers instead. Each open exercise gets a cell of text for its answer, which a person grades; for nbgrader
the model answer stands there between the markers. The fields are those of nbgrader's cell metadata, schema version 3.
"""

import copy
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import nbformat

from bench.apps import scenarios
from bench.errors import DataError, UsageError
from bench.plan import paths
from bench.run.files import writing

TAG = "answer"
POINTS = {"open": 4, "check": 1}
LINE = re.compile(r"^answer = .*$", re.MULTILINE)
OPEN = "answer = None  # your answer"
REQUIRED = 'predictions: str = "required"  # nothing is measured before the questions are answered'
CHECK = re.compile(r'^bench\.check\("([^"]+)", answer\)$', re.MULTILINE)
NUMBERED = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
HEADING = "## Exercises"
SOLUTION = "### BEGIN SOLUTION\n{}\n### END SOLUTION"
PLACEHOLDER = "*Your answer.*"
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}

Notebook = dict[str, Any]


def notebooks() -> list[Path]:
    """Return the source notebooks."""
    return list(scenarios.notebooks().values())


def source(cell: dict[str, Any]) -> str:
    """Return a cell's text."""
    return "".join(cell["source"])


def tagged(cell: dict[str, Any], tag: str) -> bool:
    """Return whether a cell has a tag."""
    return tag in cell["metadata"].get("tags", [])


def exercises(document: Notebook) -> str:
    """Return the text below a notebook's heading *Exercises*, up to the next heading."""
    texts = (source(cell).partition(f"{HEADING}\n")[2] for cell in document["cells"])
    return "".join(texts).partition("\n## ")[0]


def open_exercises(document: Notebook) -> dict[int, str]:
    """Return the text of each open exercise of a notebook by its number."""
    return {int(number): text for number, text in NUMBERED.findall(exercises(document))}


def model_answers(notebook: str) -> dict[int, str]:
    """Return the model answer to each open exercise of a notebook; none where the document is missing."""
    file = paths.home() / "docs" / "teaching" / ANSWERS
    text = file.read_text("utf-8") if file.is_file() else ""
    section = text.partition(f"\n## {notebook}\n")[2].partition("\n## ")[0]
    return {int(number): answer for number, answer in NUMBERED.findall(section)}


def student(document: Notebook) -> Notebook:
    """Return a student's copy: no answers, a locked check behind each; nothing is measured before it is predicted."""
    made = _derived(document, lambda text: LINE.sub(OPEN, text), lambda number: PLACEHOLDER)
    asks = any("bench.predict(" in source(cell) for cell in made["cells"])
    for cell in made["cells"]:
        if asks and tagged(cell, "parameters"):
            cell["source"] = f"{source(cell)}\n{REQUIRED}"
    return made


def assignment(document: Notebook, answers: Mapping[int, str]) -> Notebook:
    """Return a source for nbgrader: the answers between its markers, which ``generate_assignment`` takes out.

    answers: the model answer to each open exercise by its number.
    """
    return _derived(
        document,
        lambda text: LINE.sub(SOLUTION.format(r"\g<0>"), text),
        lambda number: SOLUTION.format(answers.get(number, PLACEHOLDER)),
    )


def _derived(document: Notebook, change: Callable[[str], str], answer: Callable[[int], str]) -> Notebook:
    made = copy.deepcopy(document)
    made["metadata"] |= KERNEL
    cells = []
    for cell in made["cells"]:
        cells += _cells(cell, change)
        if f"{HEADING}\n" in source(cell):
            cells += [_open(number, answer(number)) for number in open_exercises(document)]
    made["cells"] = cells
    return made


def _open(number: int, answer: str) -> dict[str, Any]:
    """Return the cell for the answer to an open exercise: written by a student, graded by a person."""
    points = POINTS["open"]
    return nbformat.v4.new_markdown_cell(
        f"**Answer to exercise {number}** ({points} points)\n\n{answer}",
        id=f"open-{number}-answer",
        metadata=_graded(f"open-{number}", solution=True, points=points, kind="markdown"),
    )


def _cells(cell: dict[str, Any], change: Callable[[str], str]) -> list[dict[str, Any]]:
    """Return a cell as it is, or the open answer and its locked check."""
    if not tagged(cell, TAG):
        return [cell]
    (name,) = CHECK.findall(source(cell))
    text, identity = change(source(cell)), re.sub(r"[^a-z0-9]+", "-", name.lower())
    check = nbformat.v4.new_code_cell(
        f'assert bench.check("{name}", answer), "not answered, or not right yet: the cell above has a hint"',
        id=f"{cell['id']}-test",
        metadata=_graded(f"{identity}-test", points=POINTS["check"]),
    )
    return [cell | {"source": text, "metadata": _graded(identity, solution=True)}, check]


def _refuse_unreadable(document: Notebook, name: str) -> None:
    """Raise DataError for a cell tagged ``answer`` from which no copy can be made."""
    for number, cell in enumerate(document["cells"], 1):
        lines = [LINE.findall(source(cell)), CHECK.findall(source(cell))]
        if tagged(cell, TAG) and [*map(len, lines)] != [1, 1]:
            raise DataError(
                f"{name}, cell {number}: a cell tagged answer has one line answer = ... and one line "
                f'bench.check("{Path(name).stem} e1", answer)'
            )


def _graded(identity: str, solution: bool = False, points: int | None = None, kind: str = "code") -> dict[str, Any]:
    """Return nbgrader's metadata: a solution to be written, one that is worth points too, or a locked test."""
    fields: dict[str, Any] = {"schema_version": 3, "grade_id": identity, "solution": solution, "task": False}
    fields |= {"grade": points is not None, "locked": not solution, "cell_type": kind}
    return {"nbgrader": fields | ({} if points is None else {"points": points})}


ANSWERS = "model-answers.md"
FOR_STUDENTS = ("handout.md", "help.md", "projects/*.md")  # of the lecturer's pack
PLACES = ("student", "nbgrader/source/roundtrip")
NOT_FOR_STUDENTS = ("anatomy.md", "choosing.md", "gallery.md", "results.md")  # what runs found
RESULTS = re.compile(  # made blocks, pictures, and lines that a command printed
    r"<!-- generated: (?!end)[^>]*-->.*?<!-- generated: end -->|^!\[[^\]]*\]\([^)]*\)$|^[^\n]*\(95 % CI \d[^\n]*$",
    re.S | re.M,
)
LINK = re.compile(r"(?<!!)\[([^\]\[]+)\]\(([^)#\s:]+)(#[^)]*)?\)")  # to a file: its words, path and anchor
README = "# Roundtrip\n\nBegin with the [handout](docs/teaching/handout.md).\n"
LEFT_OUT = "*The results of the reference runs are left out of this copy: measure your own.*"


def documents() -> list[Path]:
    """Return the documents that students get, relative to the folder ``docs``: the lecturer's are not among them."""
    folder = paths.home() / "docs"
    files = [file for file in folder.glob("*.md") if file.name not in NOT_FOR_STUDENTS]
    files += (file for name in FOR_STUDENTS for file in (folder / "teaching").glob(name))
    return sorted(file.relative_to(folder) for file in files)


def write(folder: Path) -> list[Path]:
    """Write students' copies into ``folder``/student, sources for nbgrader into ``folder``/nbgrader; return them.

    The documents that notebooks link to are copied beside them, without the tables and pictures of the reference runs:
    they would answer the questions that students predict. A link to what is not copied becomes plain text. UsageError
    if a copy that is there has been changed: it may hold a student's answers. DataError for a cell tagged ``answer``
    that has not one line with the answer and one with its check.
    """
    copies = [_places(Path(subfolder).name) for subfolder in PLACES]
    sources = {notebook: _linked(nbformat.read(notebook, 4), notebook.name, copies[0]) for notebook in notebooks()}
    for notebook, document in sources.items():
        _refuse_unreadable(document, notebook.name)
    copied = {folder / PLACES[0] / notebook.name: student(document) for notebook, document in sources.items()}
    if changed := [file for file, copy_of in copied.items() if file.exists() and _read(file) != copy_of]:
        raise UsageError(
            f"{changed[0]} is not as it was written: it may hold answers; move {folder / PLACES[0]} away, and ask again"
        )
    home = paths.home()
    texts = {Path("docs", name): (home / "docs" / name).read_text("utf-8") for name in documents()}
    texts = {name: RESULTS.sub(LEFT_OUT, text) for name, text in texts.items()} | {Path("README.md"): README}
    for name, text in texts.items():
        for subfolder, places in zip(PLACES, copies, strict=True):
            target = (folder / subfolder).parent / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(linked(text, name, places), "utf-8")
    graded = {
        folder / PLACES[1] / notebook.name: assignment(document, model_answers(notebook.stem))
        for notebook, document in sources.items()
    }
    return [_write(target, document) for target, document in (copied | graded).items()]


def _places(copies: str) -> dict[Path, Path]:
    """Return where each document and notebook that students get lies in a checkout, and its copy beside the others."""
    same = [Path("README.md"), *(Path("docs", name) for name in documents())]
    return {place: place for place in same} | {
        Path("notebooks", notebook.name): Path(copies, notebook.name) for notebook in notebooks()
    }


def linked(text: str, document: Path, places: Mapping[Path, Path]) -> str:
    """Return a text whose links lead to other copies only; of a link that does not, its words stay.

    document: where the text lies in a checkout. places: of each document in a checkout, that of its copy.
    """

    def link(match: re.Match[str]) -> str:
        target = places.get(Path(os.path.normpath(document.parent / match[2])))
        if target is None:
            return match[1]
        return f"[{match[1]}]({os.path.relpath(target, places[document].parent)}{match[3] or ''})"

    return LINK.sub(link, text)


def _linked(document: Notebook, name: str, places: Mapping[Path, Path]) -> Notebook:
    """Return a notebook whose text links to copies only: they lie beside each other, and beside ``docs``."""
    cells = [
        cell | {"source": linked(source(cell), Path("notebooks", name), places)}
        if cell["cell_type"] == "markdown"
        else cell
        for cell in document["cells"]
    ]
    return document | {"cells": cells}


def _read(file: Path) -> Notebook | None:
    """Return a notebook that is there; None if it is none."""
    try:
        return dict(nbformat.read(file, 4))
    except (OSError, ValueError):
        return None


def _write(target: Path, document: Notebook) -> Path:
    with writing(target, "the argument FOLDER") as temporary:
        target.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(nbformat.from_dict(document), temporary)
    return target
