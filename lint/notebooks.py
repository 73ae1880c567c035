"""Each notebook asks one question, has a few parameters that papermill reads, and what belongs to it.

``docs/adding-a-notebook.md`` lists the same in the order in which it is made.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import yaml

from lint.tree import Finding, Tree, cells, is_notebook, pieces

PARAMETER = re.compile(r"(?P<name>\w+): \w+ = [^=]+  # (?P<comment>.+)")  # two "=", or a "|", and papermill skips it
INTRODUCED = {"starts": "repetitions with fresh processes", "engine": "load generator"}  # parameter: in its comment
CARD = ("You will be able to", "You need", "Minutes", "Remember")
HEADINGS = ("## Why not ", "## Exercises", "## What this figure does not show")
MOST_PARAMETERS = 8  # in the cell; docs/using.md lists the others
POOLING = {"classroom", "referees"}  # no plan and no run of their own
PLACE = "TODO"  # of lint/template.ipynb, where the author writes
GUIDE = "as docs/adding-a-notebook.md says"
ANSWER = re.compile(r"^answer = .*$", re.M)
CHECK = re.compile(r'^bench\.check\("([^"]+)", answer\)$', re.M)
JUDGES = "bench/apps/teaching/course.yaml"
JUDGED = {"mystery"}  # its boxes have a judge of their own
MODEL_ANSWERS = "docs/teaching/model-answers.md"
NUMBERED = re.compile(r"^(\d+)\. ", re.M)
LEAST_EXERCISES = 3  # open ones


def parameters(text: str) -> dict[str, str]:
    """Return the parameters of a notebook and their comments."""
    sources = [cell["source"] for cell in cells(text) if "parameters" in cell["metadata"].get("tags", [])]
    return {match["name"]: match["comment"] for source in sources for match in PARAMETER.finditer(source)}


def check(tree: Tree) -> Iterator[Finding]:
    """Yield what a notebook lacks, and what it should not hold."""
    for name, text in tree.items():
        if is_notebook(name):
            yield from _head(name, text)
            yield from _parameters(name, text)
            yield from _companions(tree, name)
            yield from _self_tests(tree, name)
            yield from _open_exercises(tree, name)
            yield from _other_parameters(tree, name)
        elif name.startswith("bench/experiments/") and re.search(r"^TITLE = ", text, re.M):
            notebook = f"notebooks/{PurePosixPath(name).stem}.ipynb"
            if notebook not in tree:
                yield Finding(name, 1, f"{notebook} is missing; add it, {GUIDE}")


def _head(name: str, text: str) -> Iterator[Finding]:
    first, *_ = pieces(name, text)
    prose = "\n".join(piece.text for piece in pieces(name, text, "markdown"))
    if not re.match(r"# .+\?(\n|$)", first.text):
        yield first.finding(0, "the title is no question; write # and the question that the notebook asks")
    if places := sum(piece.text.count(PLACE) for piece in pieces(name, text)):
        yield Finding(name, 1, f"{places} times {PLACE}; write what belongs there")
    for row in CARD:
        if f"\n| {row} | " not in first.text:
            yield first.finding(0, f"the card has no row {row!r}; write | {row} | ... |")
    for heading in HEADINGS:
        if f"\n{heading}" not in f"\n{prose}":
            yield Finding(name, 1, f"no heading {heading!r}; write one")


def _parameters(name: str, text: str) -> Iterator[Finding]:
    tagged = ["parameters" in cell["metadata"].get("tags", []) for cell in cells(text)]
    if sum(tagged) != 1:
        yield Finding(name, 1, f"{sum(tagged)} cells are tagged parameters; tag one")
        return
    piece = list(pieces(name, text))[tagged.index(True)]
    if len(lines := piece.text.splitlines()) > MOST_PARAMETERS:
        yield piece.finding(0, f"{len(lines)} parameters; show {MOST_PARAMETERS}, and list the others in docs/using.md")
    for number, line in enumerate(lines):
        match = PARAMETER.fullmatch(line)
        if not match:
            yield piece.finding(number, f"papermill does not read {line!r}; write name: type = literal  # comment")
        elif (words := INTRODUCED.get(match["name"], "")) not in match["comment"]:
            yield piece.finding(number, f"{match['name']} is a word of this project; write {words!r} into its comment")


def _companions(tree: Tree, name: str) -> Iterator[Finding]:
    stem = PurePosixPath(name).stem
    needed = (f"bench/experiments/{stem}.py", f"data/reference/{stem}/manifest.json")
    for path in needed if stem not in POOLING else ():
        if path not in tree:
            yield Finding(name, 1, f"{path} is missing; add it, {GUIDE}")
    if f'"{stem}"' not in tree.get("docs/gallery.py", ""):
        yield Finding(name, 1, f"it has no place in the gallery; add {stem!r} to a group of GROUPS in docs/gallery.py")
    if not any(path.startswith(f"papermill_params/{stem}.") for path in tree):
        yield Finding(name, 1, f"no scenario; add papermill_params/{stem}.<scenario>.yaml")
    for other in sorted(set(re.findall(r"`(\w+\.ipynb)`", cells(tree[name])[0]["source"]))):
        if f"notebooks/{other}" not in tree:
            yield Finding(name, 1, f"its card names {other}, which does not exist; name a notebook of the course")


def _self_tests(tree: Tree, name: str) -> Iterator[Finding]:
    """Yield what is wrong with the cells from which students' copies are made (``bench/apps/teaching/copies.py``)."""
    stem = PurePosixPath(name).stem
    tagged = [number for number, cell in enumerate(cells(tree[name])) if "answer" in cell["metadata"].get("tags", [])]
    if not tagged:
        yield Finding(name, 1, f"no cell is tagged answer; add an exercise that checks itself, {GUIDE}")
    judged = _mapping(tree, JUDGES)
    for number in tagged:
        piece = list(pieces(name, tree[name]))[number]
        exercises = CHECK.findall(piece.text)
        if len(exercises) != 1 or len(ANSWER.findall(piece.text)) != 1:
            yield piece.finding(
                0, f'a cell tagged answer has one line answer = ..., and one line bench.check("{stem} e1", answer)'
            )
        yield from (
            piece.finding(0, f"{exercise!r} has no judge; add it to {JUDGES}")
            for exercise in exercises
            if exercise not in judged and stem not in JUDGED
        )


def _open_exercises(tree: Tree, name: str) -> Iterator[Finding]:
    stem = PurePosixPath(name).stem
    prose = "\n".join(piece.text for piece in pieces(name, tree[name], "markdown"))
    asked = NUMBERED.findall(_section(prose, "Exercises"))
    answered = NUMBERED.findall(_section(tree.get(MODEL_ANSWERS, ""), stem))
    if len(asked) < LEAST_EXERCISES:
        yield Finding(name, 1, f"{len(asked)} numbered exercises below ## Exercises; write {LEAST_EXERCISES} or more")
    for number in asked:
        if number not in answered:
            yield Finding(name, 1, f"exercise {number} has no answer in {MODEL_ANSWERS}; write it below ## {stem}")
    for number in answered:
        if number not in asked:
            yield Finding(MODEL_ANSWERS, 1, f"{stem} has no exercise {number}; take its answer out")


def _other_parameters(tree: Tree, name: str) -> Iterator[Finding]:
    """Yield the experiment's own parameters that neither the notebook's cell nor the table of docs/using.md has."""
    stem = PurePosixPath(name).stem
    known = parameters(tree[name]).keys() | listed_parameters(tree, stem)
    for own in own_parameters(tree.get(f"bench/experiments/{stem}.py", "")):
        if own not in known:
            yield Finding(name, 1, f"the parameter {own} is not shown; add it to the cell, or to docs/using.md")


def own_parameters(experiment: str) -> list[str]:
    """Return the parameters of an experiment's sweep: those of its function whose first parameter is ``amount``."""
    functions = [node for node in ast.parse(experiment).body if isinstance(node, ast.FunctionDef)]
    names = [[argument.arg for argument in function.args.args] for function in functions]
    return [name for first, *own in filter(None, names) if first == "amount" for name in own]


def listed_parameters(tree: Tree, stem: str) -> set[str]:
    """Return the parameters of a notebook that the table of docs/using.md lists: those that its cell does not show."""
    rows = re.findall(r"^\| `(\w+)` \|.*\| ([\w, ]+) \|$", tree.get("docs/using.md", ""), re.M)
    return {name for name, notebooks in rows if notebooks == "all" or stem in notebooks.split(", ")}


def _section(text: str, heading: str) -> str:
    """Return the text below a heading of the second level, up to the next one."""
    return f"\n{text}".partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def _mapping(tree: Tree, name: str) -> dict[str, Any]:
    return yaml.safe_load(tree.get(name, "")) or {}
