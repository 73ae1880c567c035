"""Notebooks run by papermill, as a user types it, and what they show.

``papermill`` starts what a user starts: a process and a kernel. ``papermill_here`` is the same command line in this
process, cells included: for tests of notebooks and not of how they are started, which would wait for imports.
"""

import contextlib
import subprocess
import sys

import nbformat
from conftest import ROOT
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib import pyplot
from papermill.cli import papermill as command_line
from papermill.engines import Engine, papermill_engines

PAPERMILL = [sys.executable, "-m", "papermill"]
HERE = ["--engine", "here", "--no-progress-bar", "--no-request-save-on-cell-execute", "--autosave-cell-every", "0"]


def papermill(*words, cwd=ROOT / "notebooks"):
    """Run papermill as a process that starts a kernel; return the finished process."""
    return subprocess.run([*PAPERMILL, *words], cwd=cwd, capture_output=True, text=True, timeout=110)


def papermill_here(*words):
    """Run papermill's command line in this process, in ``notebooks/``; a cell that fails raises its own error."""
    with contextlib.chdir(ROOT / "notebooks"):
        command_line.main([*words, *HERE], standalone_mode=False)


class _Here(Engine):
    """Executes cells in this process, in a namespace that is empty at the beginning."""

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, **options):
        """Execute all cells of code and keep what they show; raise the error of the first that fails."""
        shell = InteractiveShell.instance()
        shell.displayhook.do_full_cache = False  # with it a reset collects the garbage of the whole process
        shell.reset(new_session=False)
        shell.displayhook.do_full_cache = True
        for index, cell in enumerate(nb_man.nb.cells):
            nb_man.cell_start(cell, index)
            if cell.cell_type == "code":
                with capture_output() as shown:
                    result = shell.run_cell(cell.source)
                pyplot.close("all")  # as a kernel does
                cell.outputs = list(_outputs(shown))
                result.raise_error()
            nb_man.cell_complete(cell, index)


papermill_engines.register("here", _Here)


def _outputs(shown):
    """Yield what a cell showed, as a notebook keeps it."""
    for name in ("stdout", "stderr"):
        if text := getattr(shown, name):
            yield nbformat.v4.new_output("stream", name=name, text=text)
    for one in shown.outputs:
        data = {kind: str(value) for kind, value in one.data.items()}
        yield nbformat.v4.new_output("display_data", data=data, metadata=one.metadata or {})


def outputs(file):
    """Return everything that an executed notebook shows, as text."""
    shown = []
    for cell in nbformat.read(file, 4).cells:
        for output in cell.get("outputs", []):
            shown.append(output.get("text", ""))
            shown += [str(value) for kind, value in output.get("data", {}).items() if kind.startswith("text/")]
            assert output["output_type"] != "error"
    return "\n".join(shown)
