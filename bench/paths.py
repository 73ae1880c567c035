"""Paths of the laboratory, independent of the working directory."""

import os
import tempfile
from pathlib import Path

from bench.errors import UsageError

LONGEST_TEMPORARY = 60  # bytes; a Unix socket's whole path holds at most 103


def home() -> Path:
    """Return the laboratory's folder: ``ROUNDTRIP_HOME``, else the checkout around here, else the current one."""
    if chosen := os.environ.get("ROUNDTRIP_HOME"):
        return Path(chosen)
    try:
        here = Path.cwd()
    except OSError as reason:
        raise UsageError("the current folder does not exist any more: change to another one") from reason
    for folder in (here, *here.parents, Path(__file__).parent.parent):
        if (folder / "papermill_params").is_dir():
            return folder
    return here


def runs() -> Path:
    """Return the folder of your runs (``ROUNDTRIP_RUNS`` names another)."""
    return Path(os.environ.get("ROUNDTRIP_RUNS") or home() / "data" / "runs")


def samples() -> Path:
    """Return the folder where this machine, as a host, keeps samples (``ROUNDTRIP_SAMPLES`` names another)."""
    return Path(os.environ.get("ROUNDTRIP_SAMPLES") or home() / "data" / "samples")


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


FIGURE_NAME = "ROUNDTRIP_FIGURE_NAME"  # NOTEBOOK or NOTEBOOK.SCENARIO, of the notebook that a kernel executes


def figure_name(notebook: str) -> str:
    """Return the name of the files of a notebook's figure: the notebook's, or that of the scenario that is run."""
    name = os.environ.get(FIGURE_NAME, notebook)
    return name if name.startswith(f"{notebook}.") else notebook


def for_sockets() -> str:
    """Return the folder of temporary files, or /tmp where its name is too long for a Unix socket's path."""
    folder = tempfile.gettempdir()
    return folder if len(os.fsencode(folder)) <= LONGEST_TEMPORARY else "/tmp"


def shown(path: Path) -> str:
    """Return a path as users read it best: relative to where they are, if it is inside the laboratory."""
    inside = Path(os.path.realpath(path)).is_relative_to(os.path.realpath(home()))  # a loop of links is no error here
    return os.path.relpath(path) if inside else str(path)
