"""Revisions by content: of this package, of which conductor and hosts have to run the same one, and of a system."""

import ast
import contextlib
import hashlib
import os
import platform
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from bench import systems
from bench.errors import DataError, SystemFileError
from bench.plan import paths, service_file
from bench.plan.case import Case
from bench.process import sources

_PACKAGE = Path(__file__).parents[1]
_LENGTH = 12  # hexadecimal digits


def content() -> str:
    """Return a hash of the package's files, of the user's own systems and of service files, 12 hexadecimal digits."""
    return of_folders([_PACKAGE, *map(Path, systems.OWN)])


def of_folders(folders: Iterable[Path]) -> str:
    """Return a hash of all files in folders by their relative paths.

    Byte-code does not count, nor does what only a wheel has in the package. DataError if a file cannot be read.
    """
    digest = hashlib.blake2b()
    for folder in folders:
        try:
            for text in _texts(folder):
                digest.update(len(text).to_bytes(8, "little") + text)
        except OSError as reason:
            raise DataError(
                f"cannot read the files of {paths.shown(folder)}: {reason.strerror}; name a folder of systems' files "
                "that nothing else writes into"
            ) from reason
    return digest.hexdigest()[:_LENGTH]


def _texts(folder: Path) -> Iterator[bytes]:
    """Yield the relative path and the content of each file of a folder, or of one file, that counts."""
    for file in sorted(folder.rglob("*")) if folder.is_dir() else [folder]:  # of a service
        parts = file.relative_to(folder).parts
        if file.is_relative_to(paths.INSTALLED) or file.suffix in (".pyc", ".pyo"):
            continue
        if not any(part.startswith(".") for part in parts) and file.is_file():
            yield os.fsencode("/".join(parts))
            yield file.read_bytes()


def of_systems(cases: Iterable[Case]) -> dict[str, str]:
    """Return a hash of the source files of each case's system, by its name; several where it has several sources."""
    hashes: dict[str, dict[str, None]] = {}
    for case in cases:
        folder = (
            sources.source_of(case.source).systems if case.source else str(Path(systems.file_of(case.system)).parent)
        )
        hashes.setdefault(case.system, {})[of_system(case.system, Path(folder))] = None
    return {name: ", ".join(digests) for name, digests in sorted(hashes.items())}


def of_system(name: str, folder: Path) -> str:
    """Return a hash of a system's file in a folder and of the helpers that it uses: modules, programs, headers.

    What it imports from elsewhere has a version, or is not known.
    """
    digest = hashlib.blake2b()
    for file in _used(name, [folder, *map(Path, systems.__path__)]):
        for text in (os.fsencode(file.name), file.read_bytes()):
            digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()[:_LENGTH]


def _used(name: str, folders: Sequence[Path]) -> list[Path]:
    """Return the files of a system: its own, and by way of these what they import or name, by file name."""
    used: dict[str, Path] = {}
    left = [f"{name}{systems.SERVICE}", f"{name}.py"]
    while left:
        wanted = left.pop()
        file = next((folder / wanted for folder in folders if (folder / wanted).is_file()), None)
        if file is None or wanted in used:
            continue
        used[wanted] = file
        if file.suffix == ".py":
            with contextlib.suppress(SyntaxError, ValueError):
                left += _mentioned(ast.parse(file.read_bytes()))
        elif file.suffix == systems.SERVICE:
            left += re.findall(r"(?:\.\./)*[\w-][\w./-]*\.\w{1,8}", file.read_text(errors="replace"))
            with contextlib.suppress(SystemFileError):
                service = service_file.read(str(file))
                protos = {request.grpc.proto for request in service.says.requests if request.grpc} - {""}
                interfaces = [service.interface(proto) for proto in sorted(protos)]
                folders = [*folders, *(Path(root) for _, *roots in interfaces for root in roots)]
                made_of = [*(proto for proto, *_ in interfaces), *service_file.sources_of(service)]
                left += [os.path.relpath(path, file.parent) for path in made_of]
        elif file.suffix == ".proto":
            left += re.findall(r'\bimport\s+(?:\w+\s+)?"(.+?)"', file.read_text(errors="replace"))
    return [used[wanted] for wanted in sorted(used)]


def _mentioned(tree: ast.Module) -> Iterator[str]:
    """Yield the names of files that a module may use: the modules of systems that it imports, and texts like names."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "bench.systems":
            yield from (f"{alias.name}.py" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("bench.systems."):
            yield f"{str(node.module).removeprefix('bench.systems.')}.py"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _FILE.fullmatch(node.value):
            yield node.value


_FILE = re.compile(r"\w[\w-]*\.\w{1,8}")


def python() -> str:
    """Return the interpreter's name and version."""
    return f"{sys.implementation.name} {platform.python_version()}"
