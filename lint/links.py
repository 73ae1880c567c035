"""Links lead to files and headings that exist, as do files that contributors are sent to; a table has equal rows."""

import posixpath
import re
from collections.abc import Iterator

from lint.tree import Finding, Piece, Tree, is_document, is_notebook, line_of, pieces, prose

LINK = re.compile(r"\]\(([^)#\s]*)(?:#([^)\s]*))?\)")
TABLE = re.compile(r"^(?:\|.*(?:\n|\Z))+", re.M)
SITE = "docs/site/"  # its pages are read from the root, beside those that the site makes
MADE_BY_THE_SITE = {"notebooks.md", "api.md"}
SENDING = "CONTRIBUTING.md"


def slug(heading: str) -> str:
    """Return a heading's anchor as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """Return the anchors of a document."""
    return {slug(heading) for heading in re.findall(r"^#+ (.+)$", text, re.M)}


def check(tree: Tree) -> Iterator[Finding]:
    """Yield each link that leads nowhere, each row of another length, each file that a contributor would not find."""
    paths = {"."} | {path for name in tree for path in _upwards(name)}
    for name, text in tree.items():
        if is_document(name) or is_notebook(name):
            for piece in pieces(name, text, "markdown"):
                hand = prose(piece.text)
                for link in LINK.finditer(hand):
                    if wrong := _wrong(tree, paths, name, link[1], link[2]):
                        yield piece.finding(line_of(hand, link.start()), wrong)
                for table in TABLE.finditer(piece.text):
                    yield from _rows(piece, line_of(piece.text, table.start()), table[0])
    for path in re.finditer(r"`(\w+/[^`\s<*]*)`", tree.get(SENDING, "")):
        if path[1].split("/")[0] in paths and path[1].rstrip("/") not in paths:
            line = line_of(tree[SENDING], path.start()) + 1
            yield Finding(SENDING, line, f"{path[1]} does not exist; name the file that does this today")


def _upwards(name: str) -> Iterator[str]:
    """Yield a file and each folder that it is in."""
    while name:
        yield name
        name = posixpath.dirname(name)


def _wrong(tree: Tree, paths: set[str], name: str, target: str, anchor: str | None) -> str | None:
    """Return what is wrong with a link of a file."""
    if "://" in target or target.startswith("mailto:") or (name.startswith(SITE) and target in MADE_BY_THE_SITE):
        return None
    folder = "" if name.startswith(SITE) else posixpath.dirname(name)
    path = posixpath.normpath(posixpath.join(folder, target)) if target else name
    if path not in paths:
        return f"{target} does not exist; link to a file of this checkout"
    if anchor is not None and is_document(path) and anchor not in anchors(tree[path]):
        return f"{path} has no heading for #{anchor}; link to one that it has"
    return None


def _rows(piece: Piece, first: int, table: str) -> Iterator[Finding]:
    """Yield each row of a table that has not as many cells as its head."""
    rows = [len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()]
    for number, bars in enumerate(rows):
        if bars != rows[0]:
            yield piece.finding(
                first + number, f"a row of {bars - 1} cells under a head of {rows[0] - 1}; write {rows[0] - 1}"
            )
