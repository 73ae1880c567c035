"""Systems under test: one file each, found by listing the folder, imported only when used.

More folders can be named in the environment variable ``ROUNDTRIP_SYSTEMS`` (separated as in ``PATH``):
a system of your own needs no change here. ``bench/contract.py`` defines what a file must contain.
Servers and clients import this, and start sooner without pathlib.
"""

import ast
import contextlib
import functools
import glob
import importlib
import os
from typing import Any, cast

from bench.contract import System
from bench.errors import NotInstalledError, UsageError, unknown

__path__ += [folder for folder in os.environ.get("ROUNDTRIP_SYSTEMS", "").split(os.pathsep) if folder]


def _files() -> dict[str, str]:
    """Return each system's file by its name; an earlier folder wins."""
    found: dict[str, str] = {}
    for folder in __path__:
        for file in glob.glob("[a-z]*.py", root_dir=folder):  # noqa: PTH207
            found.setdefault(file.removesuffix(".py"), os.path.join(folder, file))  # noqa: PTH118
    return found


def names() -> list[str]:
    """Return the names of all systems, in alphabetical order, without importing any."""
    return sorted(_files())


def file_of(name: str) -> str:
    """Return a system's file; UsageError, with the nearest name, for an unknown one."""
    try:
        return _files()[name]
    except KeyError:
        raise unknown("system", name, names()) from None


def tree_of(name: str) -> ast.Module:
    """Return the syntax tree of a system's file; parse it again if it has changed."""
    file = file_of(name)
    return _parsed(file, os.stat(file).st_mtime_ns)  # noqa: PTH116


@functools.cache
def _parsed(file: str, changed_ns: int) -> ast.Module:
    with open(file, "rb") as source:  # noqa: PTH123
        return ast.parse(source.read())


def describe(name: str) -> str:
    """Return the first line of the system's docstring, without importing it."""
    text = ast.get_docstring(tree_of(name)) or name
    return text.splitlines()[0]


_NEEDED = object()


def constant(name: str, variable: str, default: Any = _NEEDED) -> Any:
    """Return a literal that the system's file assigns at top level, without importing it."""
    for node in tree_of(name).body:
        if isinstance(node, ast.Assign) and any(ast.unparse(t) == variable for t in node.targets):
            return ast.literal_eval(node.value)
    if default is not _NEEDED:
        return default
    raise UsageError(f"system {name!r} defines no {variable}: bench/contract.py lists what a file must define")


def defines(name: str, function: str) -> bool:
    """Return whether the system's file defines a function at top level, without importing it."""
    return any(isinstance(node, ast.FunctionDef) and node.name == function for node in tree_of(name).body)


def load(name: str) -> System:
    """Import one system; NotInstalledError names the command that installs missing packages."""
    file_of(name)
    try:
        return cast(System, importlib.import_module(f"bench.systems.{name}"))
    except ImportError as missing:
        wanted = " ".join(constant(name, "REQUIRES"))
        raise NotInstalledError(
            f"system {name!r} cannot be imported ({missing}); install it: python -m pip install {wanted}"
        ) from missing


def offering(what: str) -> list[str]:
    """Import all systems; return the names of those whose file defines ``what``."""
    found = []
    for name in names():
        with contextlib.suppress(NotInstalledError):
            found += [name] * hasattr(load(name), what)
    return found


def prepare(name: str) -> None:
    """Run the system's ``prepare``, if it has one; NotInstalledError says why it failed."""
    getattr(load(name), "prepare", lambda: None)()


def environment(name: str) -> str:
    """Return the folder of the Python environment that a system asks for, created if missing; "" if it needs none."""
    wanted = constant(name, "ENVIRONMENT", None)
    if wanted is None:
        return ""
    from bench import environments

    return str(environments.ensure(wanted))
