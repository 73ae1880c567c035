"""Notebooks run by papermill, as a user types it, and what they show."""

import subprocess
import sys

import nbformat
from conftest import ROOT

PAPERMILL = [sys.executable, "-m", "papermill"]


def papermill(*words, cwd=ROOT / "notebooks"):
    return subprocess.run([*PAPERMILL, *words], cwd=cwd, capture_output=True, text=True, timeout=110)


def outputs(file):
    """Return everything that an executed notebook shows, as text."""
    shown = []
    for cell in nbformat.read(file, 4).cells:
        for output in cell.get("outputs", []):
            shown.append(output.get("text", ""))
            shown += [str(value) for kind, value in output.get("data", {}).items() if kind.startswith("text/")]
            assert output["output_type"] != "error"
    return "\n".join(shown)
