"""A name is a noun: a bare preposition or participle does not say what it holds."""

import ast
from collections.abc import Iterator

from lint.tree import Finding, Tree

BARE = {"of", "by", "where", "found", "said", "given"}
ROOMS = ("bench/", "certify/", "docs/", "lint/", "selfcheck/", "tests/")


def bound(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Yield the line and the name of each variable, argument, function and class; fields of a record are its words."""
    fields = {id(node.target) for node in ast.walk(module) if isinstance(node, ast.AnnAssign)}
    for node in ast.walk(module):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in fields:
            yield node.lineno, node.id
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def check(tree: Tree) -> Iterator[Finding]:
    """Yield each such name that is no noun."""
    for name, text in tree.items():
        if name.startswith(ROOMS) and name.endswith(".py"):
            for line, bare in bound(ast.parse(text)):
                if bare in BARE:
                    yield Finding(name, line, f"{bare} does not say what it holds: choose the noun of the field")
