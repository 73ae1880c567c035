"""Measured numbers are computed from runs, not typed: in the documents that quote them, and in all notebooks."""

import re
from collections.abc import Iterator

from lint.tree import Finding, Tree, blank, is_notebook, line_of, pieces, prose

QUOTING = ("README.md", "docs/choosing.md", "docs/results.md", "docs/trust.md", "docs/using.md", "docs/site/index.md")
MEASURED = re.compile(
    r"""(?<![\w.#-])\d[\d.,\u202f ]*(?:\u00a0|\s)?
    (?:%|(?:[nµumk]?s|min(?:utes?)?|hours?|seconds?|milliseconds?|microseconds?|times|percent)\b
    |(?:k|M)?\s?(?:calls?|requests?|messages?|RPC|msg)?\s?/\s?s\b|(?:calls|requests|messages)\s(?:a|per)\ssecond
    |(?:-fold|x\b))
    |[×]\s?\d""",
    re.X,
)
ALLOWED = {"95 %", "100 %"}  # the level of every interval, and what saturated means
GIVEN = re.compile(r"^\*\*(?:To check here|And this|And here).*|^\d+\. .*", re.M)  # exercises give numbers of their own
KNOWN = {  # of the field, of an origin, and of how figures are drawn
    ("notebooks/latency.ipynb", "90 %"): "a distribution's axis",
    ("notebooks/network.ipynb", "45 times"): "a segment of loopback over one of Ethernet",
}


def check(tree: Tree) -> Iterator[Finding]:
    """Yield each number with a unit that is typed where a number is computed."""
    for name, text in tree.items():
        if name in QUOTING or is_notebook(name):
            for piece in pieces(name, text, "markdown"):
                hand = blank(GIVEN, prose(piece.text)) if is_notebook(name) else prose(piece.text)
                for match in MEASURED.finditer(hand):
                    number = match[0].strip()
                    if number not in ALLOWED and (name, number) not in KNOWN:
                        what = f"{number!r} is typed; let a sentence of the run, or a generated block, say it"
                        yield piece.finding(line_of(hand, match.start()), what)
