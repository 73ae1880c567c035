"""``python -m lint``: print what is wrong in the tree and what to write instead; exit status 1 if anything is."""

import sys
from collections.abc import Iterator
from pathlib import Path

from lint import (
    counts,
    docstrings,
    files,
    glossary,
    libraries,
    links,
    names,
    notebooks,
    numbers,
    scenarios,
    tree,
    words,
)

CHECKS = (
    words.check,
    numbers.check,
    links.check,
    glossary.check,
    notebooks.check,
    counts.check,
    scenarios.check,
    libraries.check,
    docstrings.check,
    names.check,
    files.check,
)


def findings(checkout: tree.Tree) -> Iterator[tree.Finding]:
    """Yield what each check finds in a checkout."""
    for check in CHECKS:
        yield from check(checkout)


def main() -> int:
    """Print what is found in the checkout that holds this folder."""
    problems = sorted(findings(tree.read(Path(__file__).parent.parent)))
    print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
