"""Notebooks run unattended: what is said, and what is made when."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import descendants, is_gone, wait_for

from bench import systems
from bench.apps import unattended
from bench.errors import UsageError
from bench.plan import paths
from bench.process import environments


@pytest.fixture
def events(monkeypatch):
    """Return what happens, in order, while notebooks are executed and environments are made in name only."""
    happened = []
    monkeypatch.setattr(systems, "prepare", lambda name: happened.append(f"prepare {name}"))
    monkeypatch.setattr(environments, "ensure", lambda name, tell=None: happened.append(f"make {name}"))

    def execute_one(subject, show):
        happened.append(f"run {subject.name}")
        paths.figures().mkdir(exist_ok=True)
        (paths.figures() / f"{subject.name}.png").touch()
        return subject.notebook

    monkeypatch.setattr(unattended, "_execute_one", execute_one)
    return happened


def execute(events, *names):
    unattended.execute(list(names), not names, {}, lambda line: events.append(f"say {line}"))


def test_the_routers_environment_is_made_after_the_first_figure_and_before_it_is_needed(events):
    execute(events)
    runs = [event for event in events if event.startswith("run ")]
    made = events.index("make crossbar")
    drawn = next(place for place, event in enumerate(events) if shown("latency.png") in event)
    assert runs[0] == "run latency" and drawn < made
    assert not [event for event in events[: events.index("run latency")] if event.startswith(("make ", "prepare "))]
    assert made < min(events.index(f"run {name}") for name in ("overview", "origins", "wamp"))


def shown(name):
    return paths.shown(paths.figures() / name)


def test_of_all_notebooks_each_gets_the_parameters_that_it_has(events, monkeypatch):
    wanted = {"profile": "smoke", "folder": "hand-ins"}
    parameters = {}
    monkeypatch.setattr(
        unattended, "_execute_one", lambda subject, show: parameters.update({subject.name: subject.parameters})
    )
    monkeypatch.setattr(unattended, "concluded", lambda executed, in_one_line: [])
    monkeypatch.setattr(paths, "shown", str)
    unattended.execute([], True, wanted, events.append)
    assert parameters["classroom"] == {"folder": "hand-ins"} and parameters["compare"] == {"profile": "smoke"}
    with pytest.raises(UsageError, match=r"'profil'.*did you mean profile"):
        unattended.execute([], True, {"profil": "smoke"}, events.append)


def executed(folder, **cells):
    """Write a notebook in which each cell showed a text; return its file."""
    made = nbformat.v4.new_notebook()
    for source, text in cells.items():
        cell = nbformat.v4.new_code_cell(source)
        cell.outputs = [nbformat.v4.new_output("display_data", data={"text/markdown": text, "text/plain": "?"})]
        made.cells.append(cell)
    nbformat.write(made, folder / "out.ipynb")
    return folder / "out.ipynb"


def test_a_notebook_ends_with_what_it_concludes(tmp_path):
    lines = [f"- **line {number}**" for number in range(20)]
    cells = {
        "bench.answer(run, 'cost')": "**Contradicted**\n\nOne is `2` times the [other](x.md) [1, 3].",
        "bench.tell(run, 'more')": "not this",
        "bench.tell(run)": "\n\n".join(lines),
    }
    file = executed(tmp_path, **cells)
    assert unattended.concluded(file, in_one_line=True) == ["One is 2 times the other [1, 3]."]
    (*first, last) = unattended.concluded(file, in_one_line=False)
    assert first == [f"- line {number}" for number in range(unattended.MOST_LINES)] and "notebook" in last
    assert unattended.concluded(executed(tmp_path, **{"bench.show(run)": "a"}), in_one_line=False) == []
    pooled = executed(
        tmp_path, **{'classroom.tell(room, "heterogeneity")': "not this", "classroom.tell(room)": "- all"}
    )
    assert unattended.concluded(pooled, in_one_line=False) == ["- all"]


KERNEL = """
import os, subprocess, sys, time
from bench.apps import unattended
from bench.errors import UsageError
with unattended._private_temporary() as folder:
    kernel = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)", f"{folder}/connection.json"])
    print(kernel.pid, folder, flush=True)
    time.sleep(60)
"""


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="where processes are is not known here")
def test_a_kernel_ends_with_a_process_that_is_killed():
    with subprocess.Popen([sys.executable, "-c", KERNEL], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        kernel, folder = process.stdout.readline().decode().split()
        helpers = set(descendants(process.pid)) - {int(kernel)}
        process.kill()
    assert wait_for(lambda: is_gone(int(kernel)) and all(map(is_gone, helpers)) and not Path(folder).exists())
