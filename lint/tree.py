"""The tree as all checks see it: the text of each file by its name, in pieces that know where they begin."""

import ast
import functools
import io
import json
import re
import subprocess
import tokenize
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

Tree = dict[str, str]
NOT_TEXT = (".parquet", ".png", ".gif")
MADE = re.compile(r"<!-- (generated|expected): (?!end).*?<!-- \1: end -->", re.S)
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.S)


class Finding(NamedTuple):
    """What is wrong in a file, in which line, and what to write instead."""

    file: str
    line: int
    what: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.what}"


class Piece(NamedTuple):
    """A text that a person reads: a document, a cell, a docstring, a comment or a string."""

    file: str
    line: int
    text: str

    def finding(self, line: int, what: str) -> Finding:
        """Return a finding in a line of this text, counted from 0."""
        return Finding(self.file, self.line + line, what)


def read(root: Path) -> Tree:
    """Return all files that git tracks or would add; of a picture or a table the name only."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(words, cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    files = [name for name in dict.fromkeys(listed) if (root / name).is_file()]
    return {name: "" if name.endswith(NOT_TEXT) else (root / name).read_text("utf-8") for name in files}


def line_of(text: str, position: int) -> int:
    """Return the line of a position in a text, counted from 0."""
    return text.count("\n", 0, position)


def blank(pattern: re.Pattern[str], text: str) -> str:
    """Return a text without what a pattern matches, each line where it was."""
    return pattern.sub(lambda match: "\n" * match[0].count("\n"), text)


def prose(text: str) -> str:
    """Return what of a document is written by hand: no generated blocks, no code."""
    return blank(CODE, blank(MADE, text))


def is_document(name: str) -> bool:
    """Return whether a file is a document in Markdown."""
    return name.endswith(".md")


def is_notebook(name: str) -> bool:
    """Return whether a file is a notebook that people open."""
    return name.startswith("notebooks/") and name.endswith(".ipynb")


@functools.cache
def cells(text: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook, the source of each as one text."""
    return [cell | {"source": "".join(cell["source"])} for cell in json.loads(text)["cells"]]


def pieces(name: str, text: str, kind: str = "") -> Iterator[Piece]:
    """Yield a document as a whole, a notebook by its cells (of one kind), a module by what it says."""
    if is_notebook(name):
        for number, cell in enumerate(cells(text)):
            if kind in ("", cell["cell_type"]):
                yield Piece(f"{name}:cell {number + 1}", 1, cell["source"])
    elif name.endswith(".py"):
        yield from strings(name, text)
    else:
        yield Piece(name, 1, text)


@functools.cache
def syntax(source: str) -> list[ast.AST]:
    """Return all nodes of a module."""
    return list(ast.walk(ast.parse(source)))


def strings(name: str, source: str) -> Iterator[Piece]:
    """Yield each docstring, comment, f-string, and string of more than a word; a field of an f-string is a dash."""
    nodes = syntax(source)
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            fields = (str(part.value) if isinstance(part, ast.Constant) else "-" for part in node.values)
            yield Piece(name, node.lineno, "".join(fields))
        elif isinstance(node, ast.Constant) and id(node) not in parts and re.search(r"\S[\s/]+\S", str(node.value)):
            yield Piece(name, node.lineno, str(node.value))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield Piece(name, token.start[0], token.string)
