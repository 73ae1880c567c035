"""A method of a system or of a load has a docstring, unless the contract or a base class says what it does."""

import ast
from collections.abc import Iterator

from lint.tree import Finding, Tree, syntax

CONTRACT, ROOMS = "bench/contract.py", ("bench/systems/", "bench/child/")


def classes(source: str) -> Iterator[ast.ClassDef]:
    """Yield the classes of a module."""
    yield from (node for node in syntax(source) if isinstance(node, ast.ClassDef))


def methods(of_class: ast.ClassDef) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    """Return the public methods of a class by their names."""
    functions = (node for node in of_class.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return {function.name: function for function in functions if not function.name.startswith("_")}


def attributes(of_class: ast.ClassDef) -> set[str]:
    """Return the names that a class annotates; its docstring says what they are."""
    return {node.target.id for node in of_class.body if isinstance(node, ast.AnnAssign) and hasattr(node.target, "id")}


def bases(of_class: ast.ClassDef) -> set[str]:
    """Return the names of the classes that a class extends."""
    return {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in of_class.bases}


def check(tree: Tree) -> Iterator[Finding]:
    """Yield each public method without a docstring that says more than its name."""
    described = {name for each in classes(tree.get(CONTRACT, "")) for name in methods(each).keys() | attributes(each)}
    modules = {name: text for name, text in tree.items() if name.startswith(ROOMS) and name.endswith(".py")}
    known: dict[str, list[ast.ClassDef]] = {}
    for text in modules.values():
        for each in classes(text):
            known.setdefault(each.name, []).append(each)

    def inherited(names: set[str], seen: frozenset[str] = frozenset()) -> set[str]:
        above = [each for name in names - seen for each in known.get(name, [])]
        own = {name for each in above for name, method in methods(each).items() if ast.get_docstring(method)}
        return own.union(*(inherited(bases(each), seen | names) for each in above)) if above else own

    for file, text in modules.items():
        for each in (each for each in classes(text) if not each.name.startswith("_")):
            bare = {name: method for name, method in methods(each).items() if not ast.get_docstring(method)}
            for name in bare.keys() - described - inherited(bases(each)):
                what = f"{each.name}.{name} has no docstring, nor has the contract or a base class: say what it does"
                yield Finding(file, bare[name].lineno, what)
