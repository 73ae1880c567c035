"""The numbers of systems and of notebooks that the documents state are those of the tree."""

import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from lint.tree import Finding, Tree, is_document, is_notebook, line_of, prose

SYSTEMS = re.compile(r"\b(\d+) systems\b")
NOTEBOOKS = re.compile(r"\b(\d+) questions, (\d+) of them with stored answers")
INSTRUMENT = re.compile(r'^GROUP = "instrument"$', re.M)  # no RPC system
PAST = "CHANGELOG.md"  # its numbers are those of a release


def check(tree: Tree) -> Iterator[Finding]:
    """Yield each number that is not what the tree holds."""
    asked = [name for name in tree if is_notebook(name)]
    answered = [name for name in asked if f"data/reference/{PurePosixPath(name).stem}/manifest.json" in tree]
    numbers = {SYSTEMS: (len(systems(tree)),), NOTEBOOKS: (len(asked), len(answered))}
    for name, text in tree.items():
        for pattern, right in numbers.items() if is_document(name) and name != PAST else ():
            for match in pattern.finditer(prose(text)):
                if tuple(map(int, match.groups())) != right:
                    write = " and ".join(map(str, right))
                    yield Finding(name, line_of(prose(text), match.start()) + 1, f"{match[0]!r}: write {write}")


def systems(tree: Tree) -> list[str]:
    """Return the names of the measured systems: the instruments are not among them."""
    files = {PurePosixPath(name): text for name, text in tree.items() if name.startswith("bench/systems/")}
    return [
        path.stem
        for path, text in files.items()
        if path.suffix == ".py" and not path.stem.startswith("_") and not INSTRUMENT.search(text)
    ]
