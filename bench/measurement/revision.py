"""The revision of this package by its content: conductor and hosts have to run the same one."""

import hashlib
import os
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

from bench import paths, systems

_PACKAGE = Path(__file__).parents[1]
_LENGTH = 12  # hexadecimal digits


def content() -> str:
    """Return a hash of the package's files and of those of the user's own systems, 12 hexadecimal digits."""
    return of_folders([_PACKAGE, *map(Path, systems.OWN)])


def of_folders(folders: Iterable[Path]) -> str:
    """Return a hash of all files in folders by their relative paths.

    Byte-code does not count, nor does what only a wheel has in the package.
    """
    digest = hashlib.blake2b()
    for folder in folders:
        for file in sorted(folder.rglob("*")):
            parts = file.relative_to(folder).parts
            if file.is_relative_to(paths.INSTALLED) or file.suffix in (".pyc", ".pyo"):
                continue
            if any(part.startswith(".") for part in parts) or not file.is_file():
                continue
            for text in (os.fsencode("/".join(parts)), file.read_bytes()):
                digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()[:_LENGTH]


def python() -> str:
    """Return the interpreter's name and version."""
    return f"{sys.implementation.name} {platform.python_version()}"
