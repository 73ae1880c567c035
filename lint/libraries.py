"""The library of a system or a codec is imported in its file alone; directions between layers are import-linter's."""

import ast
import sys
from collections.abc import Iterator

from lint.tree import Finding, Tree, syntax

ROOMS = ("bench/", "certify/")
OWNERS = ("bench/systems/", "bench/codecs/")
SHARED = {"msgspec", "pyarrow"}  # runs are stored with pyarrow, and their manifests checked by msgspec
NETWORK = {  # of the standard library, and the other layers that need it: for clocks, for hosts, for the front
    "socket": ("bench/child/", "bench/measurement/", "certify/"),
    "xmlrpc": (),
}


def imported(source: str) -> Iterator[tuple[int, str]]:
    """Yield the line and the package of each import of a file, wherever in it."""
    for node in syntax(source):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name.split(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module.split(".")[0]


def check(tree: Tree) -> Iterator[Finding]:
    """Yield each import of a system's or a codec's library in another layer."""
    modules = {
        name: list(imported(text)) for name, text in tree.items() if name.startswith(ROOMS) and name.endswith(".py")
    }
    owned = {top for name, imports in modules.items() if name.startswith(OWNERS) for _, top in imports}
    theirs = owned - set(sys.stdlib_module_names) - SHARED - {"bench", "certify"} | NETWORK.keys()
    for name, imports in modules.items():
        for line, top in imports:
            if top in theirs and not name.startswith((*OWNERS, *NETWORK.get(top, ()))):
                yield Finding(
                    name, line, f"{top} is imported outside bench/systems; ask bench.systems for what it does"
                )
