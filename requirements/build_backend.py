"""Build Roundtrip with flit; the wheel also has ``certify``, and in ``bench/laboratory`` files of the checkout.

flit packs one package's folder, so a wheel is built from a temporary copy with these files inside it.
"""

import contextlib
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import Any

from flit_core import buildapi, common, wheel
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


ALSO = "certify"


class BothPackages(wheel.WheelBuilder):
    """A wheel with the module of pyproject.toml and the package beside it."""

    def copy_module(self) -> None:
        """Copy both."""
        super().copy_module()
        self.module = common.Module(ALSO, self.directory)
        super().copy_module()


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Build the wheel, and return its name."""
    target = str(Path(wheel_directory).resolve())
    with tempfile.TemporaryDirectory() as copy:
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy2(name, copy)
        for package in ("bench", ALSO):
            shutil.copytree(package, Path(copy, package))
        for file in _laboratory():
            inside = Path(copy, "bench", "laboratory", file)
            inside.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, inside)
        with contextlib.chdir(copy):
            wheel.WheelBuilder = BothPackages
            return buildapi.build_wheel(target)


def _laboratory() -> list[Path]:
    """Return the files that a source distribution has beside the package: a wheel has the same."""
    sdist = tomllib.loads(Path("pyproject.toml").read_text("utf-8"))["tool"]["flit"]["sdist"]
    excluded = {file for pattern in sdist["exclude"] for file in Path().glob(pattern)}
    found = {file for pattern in sdist["include"] for file in Path().glob(pattern) if file.is_file()}
    return sorted(file for file in found - excluded if file.parts[0] != ALSO)
