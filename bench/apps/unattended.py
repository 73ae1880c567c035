"""Notebooks run unattended by papermill, with progress lines, an estimate, and the paths of the results."""

import ast
import contextlib
import errno
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench import systems
from bench.apps import growing, repeat, scenarios
from bench.apps.scenarios import Chosen
from bench.errors import BenchError, DataError, UsageError
from bench.grammar.experiment import OF_A_RUN, exists, experiment, refuse_unknown
from bench.measurement import routers
from bench.measurement.validation import cases, plan_time
from bench.plan import paths
from bench.plan.parameters import literal, positive
from bench.plan.plan import Plan
from bench.process.pipes import is_found
from bench.process.private_folders import private_folder
from bench.run import stored
from bench.run.files import make_folder
from bench.text import counted, listed, unmarked

PRIVATE = "roundtrip-notebook-"  # begins the name of a folder that a notebook's kernel has for itself
REST_S = 8.0  # time of a notebook in addition to measuring: kernel, imports, figures
TRUSTS = re.compile(r"^bench\.trust\(run\)$")
CONCLUDES = re.compile(
    r"bench\.(answer\(|tell\(run\))|classroom\.tell\(room\)"
)  # of a cell: it shows what the notebook concludes
MOST_LINES = 8  # of a conclusion that is printed


def execute(
    names: list[str], every: bool, parameters: dict[str, str], say: Callable[[str], None], is_agreed: bool = False
) -> None:
    """Execute notebooks, or scenarios of them, into ``data/executed``; raise BenchError at the first that fails.

    ``parameters`` override those of a scenario; of every notebook those that it has. A plan of more than an hour has
    to be agreed to. ``say`` gets, of a notebook that will draw a stored run, first that and why; a line when it begins,
    those of its conclusion when it ends (one, of several notebooks), and one for each file.
    """
    paths.make_absolute()
    parameters = {name: systems.adopted(value) for name, value in parameters.items()}  # kernels have another folder
    subjects = _chosen(names, every)
    of_each = _shares(subjects, parameters) if every else [parameters] * len(subjects)
    subjects = [
        replace(subject, parameters=subject.parameters | own) for subject, own in zip(subjects, of_each, strict=True)
    ]
    subjects = [replace(subject, parameters=_checked(subject.parameters)) for subject in subjects]
    if is_agreed:
        os.environ[plan_time.AGREED] = "1"  # the kernels see it
    for number, subject in enumerate(subjects, 1):
        name, is_drawn = subject.name, _say_what_is_drawn(subject, say)
        if number == 1:
            say(f"{counted(len(subjects), 'notebook')}: {', '.join(subject.name for subject in subjects)}")
            say(f"About {sum(expected_s(subject.notebook, subject.parameters) for subject in subjects):.0f} s in all")
        seconds = _prepare(subject.notebook, subject.parameters, say)
        say(f"{name} ({number} of {len(subjects)}): about {seconds:.0f} s")
        began = time.monotonic()
        with growing.terminal_or(say) as show:
            target = _execute_one(subject, show)
        for line in concluded(target, in_one_line=len(subjects) > 1):
            say(f"{name}{' (a stored run)' * is_drawn}: {line}" if len(subjects) > 1 else line)
        say(f"{name}: took {time.monotonic() - began:.0f} s; executed notebook {paths.shown(target)}")
        for figure in sorted(file for file in paths.figures().glob(f"{name}.*") if file.stem == name):
            say(f"{name}: figure {paths.shown(figure)}")


def _say_what_is_drawn(subject: Chosen, say: Callable[[str], None]) -> bool:
    """Say of a notebook that measures nothing here why not, and which stored run it draws; return whether it does."""
    name, values = subject.name, _values(subject.notebook, subject.parameters)
    if not (why := _why_drawn(subject.notebook, values)):
        return False
    say(f"{name}: nothing is measured here: {why}")
    is_reference = values["source"] in ("measure", "reference")
    folder = stored.reference(name) if is_reference else stored.find(values["source"])
    manifest = folder.stored_manifest()
    other = " (the scenario has none of its own)" if is_reference and folder.path.name != name else ""
    model = manifest["machine"].get("cpu_model") or "a processor of unknown model"
    origin = f"of {manifest['created'][:10]}, {model}"
    text = f"{name}: what follows is the stored run {paths.shown(folder.path)}{other}, {origin}"
    asked = {key: value for key, value in subject.parameters.items() if key not in OF_A_RUN}
    unlike = asked.keys() - (manifest.get("parameters") or {}).keys() | repeat.others(folder, asked).keys()
    say(f"{text}; not used: {listed(sorted(unlike))}" if unlike else text)
    return True


def concluded(executed: Path, in_one_line: bool) -> list[str]:
    """Return what an executed notebook concludes, the first lines, and its trust card in one; or the answer alone.

    Nothing of a notebook that shows neither (explore).
    """
    cells = json.loads(executed.read_text("utf-8"))["cells"]
    shown = [
        [line for line in unmarked(text).splitlines() if line] for text in _shown(cells, CONCLUDES, "text/markdown")
    ]
    if not shown:
        return []
    if in_one_line:
        return shown[0][-1:]  # what the run contradicts is above the answer
    lines = shown[-1]
    more = ["... the other lines are in the notebook"] * (len(lines) > MOST_LINES)
    return [*lines[:MOST_LINES], *more, *_shown(cells, TRUSTS, "text/plain")]


def _shown(cells: list[dict[str, Any]], which: re.Pattern[str], kind: str) -> list[str]:
    """Return what those cells of an executed notebook show whose code matches, in one kind of text."""
    return [
        "".join(output["data"][kind])
        for cell in cells
        if which.search("".join(cell["source"]))
        for output in cell.get("outputs", ())
        if kind in output.get("data", {})
    ]


def _checked(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as the kernel needs them, which has another folder: a run's path is absolute.

    BenchError, before a kernel is started, for no such run, or a folder that cannot be written.
    """
    source = parameters.get("source", "measure")
    if source not in ("measure", "reference"):
        path = stored.find(source).path
        parameters = parameters | ({"source": str(path.resolve())} if path == Path(source) else {})
    make_folder(paths.executed(), "ROUNDTRIP_EXECUTED")
    make_folder(paths.figures(), "ROUNDTRIP_FIGURES")
    if source == "measure":
        make_folder(paths.runs(), "ROUNDTRIP_RUNS")
    return parameters


def _chosen(names: list[str], every: bool) -> list[Chosen]:
    there = scenarios.notebooks()
    if every:
        first = ["latency"] if "latency" in there else []
        return [scenarios.chosen(name) for name in dict.fromkeys([*first, *there])]
    if not names:
        raise UsageError(f"name a notebook, or --all: there are {', '.join(there)} ({scenarios.WHERE})")
    return [scenarios.chosen(name) for name in names]


def _shares(subjects: list[Chosen], parameters: dict[str, str]) -> list[dict[str, str]]:
    """Return which of some parameters each notebook has; UsageError for one that none has."""
    known = [_parameters(subject.notebook) for subject in subjects]
    refuse_unknown("every", parameters, {name for names in known for name in names})
    return [{name: value for name, value in parameters.items() if name in names} for names in known]


def _parameters(notebook: Path) -> Iterable[str]:
    """Return the names of a notebook's parameters, also of those that its cell does not show."""
    import papermill

    return experiment(notebook.stem).parameters if exists(notebook.stem) else papermill.inspect_notebook(str(notebook))


def expected_s(notebook: Path, parameters: dict[str, Any]) -> float:
    """Return how long a notebook will take, in seconds, if all systems are present; nothing is made.

    UsageError names a parameter that the notebook does not have, or a value that it cannot use.
    """
    with cases.all_present():
        return _seconds(*_planned(notebook, parameters))


def _prepare(notebook: Path, parameters: dict[str, Any], say: Callable[[str], None]) -> float:
    """Make what the systems of a notebook lack; return how long the notebook will take, in seconds.

    This is done just before the notebook begins, so that the figures before it need not wait for it; and at no other
    time, because what is made beside a measurement takes CPU time from it.
    """
    plan, budget_s = _planned(notebook, parameters)
    routers.make_environments(plan.cases if plan else (), say)
    return _seconds(plan, budget_s)


def _planned(notebook: Path, parameters: dict[str, Any]) -> tuple[Plan | None, object]:
    """Return what a notebook will measure, None if it measures nothing, and its parameter ``budget_s``."""
    values = _values(notebook, parameters)
    if not exists(notebook.stem) or _why_drawn(notebook, values):
        return None, None
    for name in ("source", "resume", "predictions"):
        values.pop(name, None)
    budget_s = literal(values.pop("budget_s", None))
    return experiment(notebook.stem).plan(**values), budget_s


def _values(notebook: Path, parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the source, the parameters in a notebook's cell, and those given; UsageError for an unknown one."""
    import papermill

    cell = papermill.inspect_notebook(str(notebook))
    refuse_unknown(notebook.stem, parameters, _parameters(notebook))
    shown = {name: ast.literal_eval(entry["default"]) for name, entry in cell.items()}
    return {"source": "measure"} | shown | parameters


def _why_drawn(notebook: Path, values: dict[str, Any]) -> str:
    """Return why a notebook with these parameters draws a stored run and measures nothing; "" if it measures."""
    if not exists(notebook.stem):  # it looks at what others measured
        return ""
    if values["source"] != "measure":
        return f"source is {values['source']}"
    return experiment(notebook.stem).why_not(**values) or ""


def _seconds(plan: Plan | None, budget_s: object) -> float:
    """Return how long a notebook takes, in seconds: its budget or its plan's windows and starts, and the rest."""
    if plan is None:
        return REST_S
    if budget_s is not None:
        return positive(budget_s, "budget_s", 86_400, whole=False) + REST_S
    plan_time.refuse_too_long(plan)
    return plan_time.expected_s(plan) + REST_S


@contextlib.contextmanager
def _quiet_kernel() -> Iterator[None]:
    """Keep what a kernel says when it is ended early off the terminal; what a notebook shows is in the notebook."""
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "w") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)


@contextlib.contextmanager
def _variables(**values: str) -> Iterator[None]:
    """Set environment variables, which kernels then see, unless they are set already."""
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


def _of_kernels(name: str) -> dict[str, str]:
    """Return the variables of a kernel that executes a notebook.

    The name of its figure's files; IPython's folder, which each kernel of a user whose home cannot be written would
    make and leave; and that no file of the laboratory's folder is taken for a library of the same name.
    """
    from IPython.paths import get_ipython_dir

    variables = {paths.FIGURE_NAME: name, "IPYTHONDIR": get_ipython_dir()}
    return variables | ({"PYTHONSAFEPATH": "1"} if is_found() else {})


@contextlib.contextmanager
def _private_temporary() -> Iterator[str]:
    """Yield a folder for sockets, where libraries put their temporary files too: with it, whatever they left goes."""
    with private_folder(PRIVATE, paths.for_sockets()) as folder, _removed_at_the_end(folder):
        before, tempfile.tempdir = tempfile.tempdir, folder
        try:
            yield folder
        finally:
            tempfile.tempdir = before


# Kernels that use the folder, which their command line names, are ended with it: by themselves they would notice after
# a second or more, and one that is just starting would make the folder anew. Without /proc they are given the time.
REMOVING = r"""
read -r _ && exit
quiet=0
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24; do
  kernels=$(echo "$1/" | grep -lsF -f - /proc/[0-9]*/cmdline | tr -cd '0-9\n')
  [ -n "$kernels" ] && kill -9 $kernels 2>/dev/null
  [ -z "$kernels" ] && [ -d /proc/self ] && ! [ -e "$1" ] && quiet=$((quiet + 1))
  rm -rf -- "$1"
  [ $quiet -ge 2 ] && exit
  sleep 0.3
done
"""


@contextlib.contextmanager
def _removed_at_the_end(folder: str) -> Iterator[None]:
    """Let a folder go even if this process is killed: a shell waits for the end of its input, and removes it then."""
    words = ["/bin/sh", "-c", REMOVING, "sh", folder]
    with contextlib.ExitStack() as ends:
        with contextlib.suppress(OSError):  # where no process can be started, the kernel will say so
            null, pipe = subprocess.DEVNULL, subprocess.PIPE
            waiting = subprocess.Popen(words, stdin=pipe, stdout=null, stderr=null, process_group=0)
            ends.enter_context(waiting)
            ends.callback(waiting.communicate, b"the folder is removed by whoever made it\n")
        yield


def _execute_one(subject: Chosen, show: Callable[[str], None]) -> Path:
    """Execute one notebook by papermill; its own error, without the traceback, becomes the BenchError.

    ``show`` gets a line each time when more is measured.
    """
    import papermill
    from traitlets.config import Config

    name = f"{subject.name}.ipynb"
    target = paths.executed() / name
    try:
        with (
            warnings.catch_warnings(action="ignore"),
            _quiet_kernel(),
            _private_temporary() as sockets,
            growing.received(sockets, show) as pipe,
            _variables(**_of_kernels(subject.name), **pipe),
        ):
            papermill.execute_notebook(
                str(subject.notebook),
                str(target),
                subject.parameters,
                cwd=str(paths.workplace()),
                progress_bar=False,
                # no port, no word about an open one, and no socket that a notebook run beside this one would take too
                config=Config(KernelManager={"transport": "ipc", "ip": f"{sockets}/kernel"}),
            )
    except papermill.PapermillExecutionError as error:
        raise BenchError(f"{name}: {error.ename}: {error.evalue}; see {paths.shown(target)}") from error
    except RuntimeError as reason:  # of the kernel, which papermill quotes
        raise BenchError(
            f"{name}: {reason}; if the kernel ended, allow it more open files (ulimit -n), processes "
            "(ulimit -u) or memory"
        ) from reason
    except OSError as reason:
        if reason.errno in (errno.EMFILE, errno.ENFILE):
            raise
        raise DataError(
            f"cannot execute {name} into {paths.shown(target)}: {reason.strerror or reason}; free some "
            "space, or name another folder in ROUNDTRIP_EXECUTED (temporary files: TMPDIR)"
        ) from reason
    return target
