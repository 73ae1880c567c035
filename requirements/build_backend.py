"""Build Roundtrip with flit; the wheel's package also holds what a checkout has beside it: ``bench/laboratory``.

flit packs the package's folder alone, so a wheel is built from a temporary copy with these files inside the package.
"""

import contextlib
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from flit_core import buildapi
from flit_core.buildapi import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build the wheel, and return its name."""
    target = str(Path(wheel_directory).resolve())
    with tempfile.TemporaryDirectory() as copy:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy2(name, copy)
        shutil.copytree("bench", Path(copy, "bench"))
        for file in _laboratory():
            inside = Path(copy, "bench", "laboratory", file)
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, inside)
        with contextlib.chdir(copy):
            return buildapi.build_wheel(target)


def _laboratory() -> list[Path]:
    """Return the files that a source distribution has beside the package: a wheel has the same."""
    sdist = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["flit"]["sdist"]
    excluded = {file for pattern in sdist["exclude"] for file in Path().glob(pattern)}
    found = {file for pattern in sdist["include"] for file in Path().glob(pattern) if file.is_file()}
    return sorted(found - excluded)
