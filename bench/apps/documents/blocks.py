"""Generated blocks of a Markdown document: found between two markers, filled, and left out."""

import re
from collections.abc import Callable, Mapping

from bench.errors import DataError

BLOCK = re.compile(r"(<!-- generated: (?P<name>[\w-]+) \(make \w+\) -->)(?P<text>.*?)(<!-- generated: end -->)", re.S)


def names(text: str) -> list[str]:
    """Return the names of a document's blocks, in their order."""
    return [block["name"] for block in BLOCK.finditer(text)]


def filled(text: str, makers: Mapping[str, Callable[[], str]]) -> str:
    """Return a document with the blocks that have a maker written anew; others stay as they are.

    DataError where a maker's block is missing, or a marker has no other end.
    """
    if text.count("<!-- generated: ") != 2 * len(names(text)):
        raise DataError(
            "a generated block lacks its first or its last marker: <!-- generated: NAME (make expected) -->"
        )
    if missing := sorted(set(makers) - set(names(text))):
        raise DataError(f"the document has no place for {missing[0]}: <!-- generated: {missing[0]} (make expected) -->")
    return BLOCK.sub(
        lambda block: f"{block[1]}\n\n{makers[block['name']]()}\n\n{block[4]}" if block["name"] in makers else block[0],
        text,
    )


def outside(text: str) -> str:
    """Return what of a document is written by hand."""
    return BLOCK.sub("", text)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Return a Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
