"""Notebooks for a class: copies without the answers, and with the metadata by which nbgrader grades them.

A cell tagged ``answer`` has one line that begins with ``answer = ``. In a student's copy that line is open, and a
locked cell behind it asserts the check, worth a point; for nbgrader's own ``generate_assignment`` the line stands
between its markers instead. The fields are those of nbgrader's cell metadata, schema version 3.
"""

import copy
import json
import re
import shutil
from pathlib import Path
from typing import Any

from bench import paths
from bench.run.files import writing

TAG = "answer"
LINE = re.compile(r"^answer = .*$", re.MULTILINE)
OPEN = "answer = None  # your answer"
REQUIRED = 'predictions: str = "required"  # nothing is measured before the questions are answered'
CHECK = re.compile(r'^bench\.check\("([^"]+)", answer\)$', re.MULTILINE)
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}

Notebook = dict[str, Any]


def notebooks() -> list[Path]:
    """Return the source notebooks; what papermill wrote beside them (``out``) is none."""
    return sorted(file for file in paths.notebooks().glob("[a-z]*.ipynb") if not file.stem.startswith("out"))


def source(cell: dict[str, Any]) -> str:
    """Return a cell's text."""
    return "".join(cell["source"])


def tagged(cell: dict[str, Any], tag: str) -> bool:
    """Return whether a cell has a tag."""
    return tag in cell["metadata"].get("tags", [])


def student(document: Notebook, required: bool = False) -> Notebook:
    """Return a student's copy: no answers, and a locked check behind each; predictions ``required`` if so asked."""
    made = _derived(document, lambda text: LINE.sub(OPEN, text))
    asks = any("bench.predict(" in source(cell) for cell in made["cells"])
    for cell in made["cells"]:
        if required and asks and tagged(cell, "parameters"):
            cell["source"] = [*cell["source"], f"\n{REQUIRED}"]
    return made


def assignment(document: Notebook) -> Notebook:
    """Return a source for nbgrader: the answers between its markers, which ``generate_assignment`` takes out."""
    return _derived(document, lambda text: LINE.sub(r"### BEGIN SOLUTION\n\g<0>\n### END SOLUTION", text))


def _derived(document: Notebook, change: Any) -> Notebook:
    made = copy.deepcopy(document)
    made["metadata"] |= KERNEL
    made["cells"] = [derived for cell in made["cells"] for derived in _cells(cell, change)]
    return made


def _cells(cell: dict[str, Any], change: Any) -> list[dict[str, Any]]:
    """Return a cell as it is, or the open answer and its locked check."""
    if not tagged(cell, TAG):
        return [cell]
    (name,) = CHECK.findall(source(cell))
    text, identity = change(source(cell)), re.sub(r"[^a-z0-9]+", "-", name.lower())
    answer = cell | {"source": text.splitlines(keepends=True), "metadata": _graded(identity, solution=True)}
    check = {
        "cell_type": "code",
        "execution_count": None,
        "id": f"{cell['id']}-test",
        "outputs": [],
        "source": [f'assert bench.check("{name}", answer), "not right yet: the cell above has a hint"'],
        "metadata": _graded(f"{identity}-test", points=1),
    }
    return [answer, check]


def _graded(identity: str, solution: bool = False, points: int | None = None) -> dict[str, Any]:
    """Return nbgrader's metadata of a cell: a solution to be written, or a locked test worth some points."""
    fields: dict[str, Any] = {"schema_version": 3, "grade_id": identity, "solution": solution, "task": False}
    fields |= {"grade": points is not None, "locked": not solution, "cell_type": "code"}
    return {"nbgrader": fields | ({} if points is None else {"points": points})}


ANSWERS = "teaching-answers.md"
PLACES = ("student", "nbgrader/source/roundtrip")


def write(folder: Path, required: bool = False) -> list[Path]:
    """Write students' copies into ``folder``/student, sources for nbgrader into ``folder``/nbgrader; return them.

    The documents that notebooks link to are copied beside them, apart from the model answers.
    """
    written = []
    for place in PLACES:
        documents = (folder / place).parent / "docs"
        documents.mkdir(parents=True, exist_ok=True)
        for document in (paths.home() / "docs").glob("*.md"):
            if document.name != ANSWERS:
                shutil.copy(document, documents)
    for notebook in notebooks():
        document = json.loads(notebook.read_text("utf-8"))
        made = (student(document, required), assignment(document))
        written += [
            _write(folder / place / notebook.name, version) for place, version in zip(PLACES, made, strict=True)
        ]
    return written


def _write(target: Path, document: Notebook) -> Path:
    with writing(target, "the argument FOLDER") as temporary:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return target
