"""Each notebook asks one question, has a few parameters that papermill reads, and what belongs to it."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from lint.tree import Finding, Tree, cells, is_notebook, pieces

PARAMETER = re.compile(r"(?P<name>\w+): \w+ = [^=]+  # (?P<comment>.+)")  # two "=", or a "|", and papermill skips it
INTRODUCED = {"starts": "repetitions with fresh processes", "engine": "load generator"}  # parameter: in its comment
CARD = ("You will be able to", "You need", "Minutes", "Remember")
HEADINGS = ("## Why not ", "## Exercises", "## What this figure does not show")
MOST_PARAMETERS = 8  # in the cell; docs/using.md lists the others
POOLING = {"classroom", "referees"}  # no plan and no run of their own


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


def _head(name: str, text: str) -> Iterator[Finding]:
    first, *_ = pieces(name, text)
    prose = "\n".join(piece.text for piece in pieces(name, text, "markdown"))
    if not re.match(r"# .+\?(\n|$)", first.text):
        yield first.finding(0, "the title is no question; write # and the question that the notebook asks")
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
            yield Finding(name, 1, f"{path} is missing; add it, as CONTRIBUTING.md says")
    if not any(path.startswith(f"papermill_params/{stem}.") for path in tree):
        yield Finding(name, 1, f"no scenario; add papermill_params/{stem}.<scenario>.yaml")
    for other in sorted(set(re.findall(r"`(\w+\.ipynb)`", cells(tree[name])[0]["source"]))):
        if f"notebooks/{other}" not in tree:
            yield Finding(name, 1, f"its card names {other}, which does not exist; name a notebook of the course")
