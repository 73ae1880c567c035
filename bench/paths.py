"""Paths of the laboratory, independent of the working directory."""

import os
from pathlib import Path


def home() -> Path:
    """Return the laboratory's folder: ``ROUNDTRIP_HOME``, else the checkout around here, else the current one."""
    if chosen := os.environ.get("ROUNDTRIP_HOME"):
        return Path(chosen)
    for folder in (Path.cwd(), *Path.cwd().parents, Path(__file__).parent.parent):
        if (folder / "papermill_params").is_dir():
            return folder
    return Path.cwd()


def runs() -> Path:
    """Return the folder of your runs (``ROUNDTRIP_RUNS`` names another)."""
    return Path(os.environ.get("ROUNDTRIP_RUNS") or home() / "data" / "runs")


def reference() -> Path:
    """Return the folder of the small committed runs."""
    return home() / "data" / "reference"


def executed() -> Path:
    """Return the folder of executed notebooks (``ROUNDTRIP_EXECUTED`` names another)."""
    return Path(os.environ.get("ROUNDTRIP_EXECUTED") or home() / "data" / "executed")


def environments() -> Path:
    """Return the folder of Python environments apart from this one (``ROUNDTRIP_ENVIRONMENTS`` names another)."""
    return Path(os.environ.get("ROUNDTRIP_ENVIRONMENTS") or home() / ".environments")


def notebooks() -> Path:
    """Return the folder of source notebooks."""
    return home() / "notebooks"


def figures() -> Path:
    """Return the folder of figures (``ROUNDTRIP_FIGURES`` names another)."""
    return Path(os.environ.get("ROUNDTRIP_FIGURES") or home() / "figures")


def shown(path: Path) -> str:
    """Return a path as users read it best: relative to where they are, if it is inside the laboratory."""
    inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(home()))  # a loop of links is no error here
    return os.path.relpath(path) if inside else str(path)
