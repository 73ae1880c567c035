"""No file names a package index or a machine, and what is generated stays out of the repository."""

import re
from collections.abc import Iterator

from lint.tree import Finding, Tree, line_of

OF_A_MACHINE = re.compile(r"pypi[.]org|pythonhosted[.]org|conda[.]anaconda[.]org|/root[/]|/home[/]")
GENERATED = re.compile(
    r"figures/(?!README\.md$)|data/(?!README\.md$|reference/|replicated/|referees/)|notebooks/out|.*/__pycache__/"
)


def check(tree: Tree) -> Iterator[Finding]:
    """Yield each address or path of one machine, and each generated file."""
    for name, text in tree.items():
        if GENERATED.match(name):
            yield Finding(name, 1, "a generated file; let git ignore it")
        for match in OF_A_MACHINE.finditer(text):
            yield Finding(name, line_of(text, match.start()) + 1, f"{match[0]} is of one machine; leave it out")
