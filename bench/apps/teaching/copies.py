"""Notebooks for a class: copies without the answers, with a cell for each answer in text.

A cell tagged ``answer`` has one line that begins with ``answer = ``: in a student's copy that line is open. Each open
exercise gets a cell of text for its answer, which a person grades.
"""

import copy
import os
import re
from collections.abc import Container, Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat

from bench.apps import scenarios
from bench.apps.teaching import labs
from bench.apps.teaching.labs import Lab
from bench.errors import DataError, UsageError
from bench.plan import paths
from bench.run.files import writing

TAG = "answer"
LINE = re.compile(r"^answer = .*$", re.MULTILINE)
CHECK = re.compile(r'^bench\.check\("([^"]+)", answer\)$', re.MULTILINE)
OPEN = "answer = None  # your answer"
CHECKED, HANDED_IN = "answer)", "answer, hand_in=True)"  # the end of a self-test's call
REQUIRED = 'predictions: str = "required"  # nothing is measured before the questions are answered'
NUMBERED = re.compile(r"^(\d+)\. (.+)$", re.MULTILINE)
HEADING = "## Exercises"
PREDICTED = re.compile(r'^bench\.predict\("([^"]+)".*\)$\n?', re.MULTILINE)
NEEDED = re.compile(r"^\| You need \|.*\n", re.MULTILINE)
IPYNB = re.compile(r"`(\w+)\.ipynb`")
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


def student(document: Notebook, parameters: Mapping[str, object], numbers: Container[int] | None = None) -> Notebook:
    """Return a student's copy: no answers, other parameters; nothing is measured before it is predicted.

    numbers: the open exercises that get a cell for the answer; None: all.
    """
    made = copy.deepcopy(document)
    made["metadata"] |= KERNEL
    asks = any("bench.predict(" in source(cell) for cell in made["cells"])
    cells = []
    for cell in made["cells"]:
        if tagged(cell, "parameters"):
            cell["source"] = "\n".join([_with(source(cell), parameters), *[REQUIRED] * asks])
        if tagged(cell, TAG):
            cell |= {"source": LINE.sub(OPEN, source(cell)).replace(CHECKED, HANDED_IN), "metadata": {}}
        cells.append(cell)
        if f"{HEADING}\n" in source(cell):
            cells += [_open(number) for number in open_exercises(document) if numbers is None or number in numbers]
    made["cells"] = cells
    return made


def _of_lab_alone(document: Notebook, lab: Lab | None) -> Notebook:
    """Return a notebook that asks for a lab's predictions alone, and names no notebook as needed that is not in it."""
    if not lab:
        return document
    there = {name.partition(".")[0] for name in lab.notebooks}
    cells = []
    for cell in document["cells"]:
        text = PREDICTED.sub(lambda line: line[0] if line[1] in lab.counted else "", source(cell))
        text = NEEDED.sub(lambda row: row[0] if {*IPYNB.findall(row[0])} <= there else "", text)
        if text.strip() or not source(cell):
            cells.append(cell | {"source": text.strip("\n")})
    return document | {"cells": cells}


def _with(text: str, parameters: Mapping[str, object]) -> str:
    """Return a cell of parameters with other values; each line keeps its comment."""
    for name, value in parameters.items():
        line = re.compile(rf"^{name}: \w+ = .*?(?=  #)", re.MULTILINE)
        text, lines = line.subn(f"{name}: {type(value).__name__} = {value!r}".replace("'", '"'), text)
        if not lines:
            raise UsageError(f"the cell of parameters has no {name}")
    return text


def _open(number: int) -> Notebook:
    """Return the cell for the answer to an open exercise: written by a student, graded by a person."""
    text = f"**Answer to exercise {number}** ({labs.OPEN} points)\n\n{PLACEHOLDER}"
    return nbformat.v4.new_markdown_cell(text, id=f"open-{number}-answer")


def _refuse_unreadable(document: Notebook, name: str) -> None:
    """Raise DataError for a cell tagged ``answer`` from which no copy can be made."""
    for number, cell in enumerate(document["cells"], 1):
        lines = [LINE.findall(source(cell)), CHECK.findall(source(cell))]
        if tagged(cell, TAG) and [*map(len, lines)] != [1, 1]:
            raise DataError(
                f"{name}, cell {number}: a cell tagged answer has one line answer = ... and one line "
                f'bench.check("{Path(name).stem} e1", answer)'
            )


ANSWERS = "model-answers.md"
FOR_STUDENTS = ("handout.md", "help.md", "projects/*.md")  # of the lecturer's pack
STUDENT = "student"  # the folder of copies
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


def write(folder: Path, lab: Lab | None = None) -> list[Path]:
    """Write students' copies of a lab's notebooks, or of all, into ``folder``/student; return them.

    The documents that notebooks link to are copied beside them, without the tables and pictures of the reference runs:
    they would answer the questions that students predict. A link to what is not copied becomes plain text. UsageError
    if a copy that is there has been changed: it may hold a student's answers. DataError for a cell tagged ``answer``
    that has not one line with the answer and one with its check.
    """
    subjects = [scenarios.chosen(name) for name in (lab.notebooks if lab else scenarios.notebooks())]
    for subject in subjects:
        _refuse_unreadable(nbformat.read(subject.notebook, 4), subject.notebook.name)
    places = _places([subject.notebook.name for subject in subjects])
    copied = {
        folder / STUDENT / subject.notebook.name: student(
            _of_lab_alone(_linked(subject.notebook, places), lab),
            subject.parameters,
            lab.exercises(subject.notebook.stem) if lab else None,
        )
        for subject in subjects
    }
    if changed := [file for file, copy_of in copied.items() if file.exists() and _read(file) != copy_of]:
        raise UsageError(
            f"{changed[0]} is not as it was written: it may hold answers; move {folder / STUDENT} away, and ask again"
        )
    home = paths.home()
    texts = {Path("docs", name): (home / "docs" / name).read_text("utf-8") for name in documents()}
    texts = {name: RESULTS.sub(LEFT_OUT, text) for name, text in texts.items()} | {Path("README.md"): README}
    for name, text in texts.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(linked(_of_lab(text, lab), name, places), "utf-8")
    return [_write(target, document) for target, document in copied.items()]


def _of_lab(text: str, lab: Lab | None) -> str:
    """Return a document without the sections of other labs."""
    for other in labs.LABS.values() if lab else ():
        if other is not lab:
            text = re.sub(rf"^## {re.escape(other.title)}\n.*?(?=^## |\Z)", "", text, flags=re.S | re.M)
    return text


def _places(names: Iterable[str]) -> dict[Path, Path]:
    """Return where each document and notebook that students get is in a checkout, and its copy beside the others."""
    same = [Path("README.md"), *(Path("docs", name) for name in documents())]
    return {place: place for place in same} | {Path("notebooks", name): Path(STUDENT, name) for name in names}


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


def _linked(notebook: Path, places: Mapping[Path, Path]) -> Notebook:
    """Return a notebook whose text links to copies only: they are beside each other, and beside ``docs``."""
    document = nbformat.read(notebook, 4)
    cells = [
        cell | {"source": linked(source(cell), Path("notebooks", notebook.name), places)}
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
