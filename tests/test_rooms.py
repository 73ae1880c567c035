"""The house keeps its plan: rooms on floors, arrows that point down, and nothing heavy where it does not belong."""

import ast
import functools
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import ROOT

BENCH = ROOT / "bench"

GROUND = {
    "__init__",
    "errors",
    "paths",
    "contract",
    "credentials",
    "text",
    "channel",
    "process",
    "environments",
    "installer",
    "programs",
    "replies",
}
FLOORS = (  # a room sees those on the floors below it, and itself
    {"ground", "stats", "messages"},
    {"codecs"},
    {"systems"},
    {"child"},
    {"plan"},
    {"run"},
    {"measurement", "analysis"},
    {"experiments"},
    {"apps"},
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
DOORS = {"bench", "bench.__main__"}  # they lead to what is used from outside, whatever floor it is on


def modules() -> dict[str, Path]:
    """Return every file of the package by its dotted name."""
    found = {}
    for file in sorted(BENCH.rglob("*.py")):
        parts = file.relative_to(ROOT).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


MODULES = modules()


def room(module: str) -> str:
    """Return the room of a module: a folder of ``bench``, or the ground."""
    parts = module.split(".")
    return "ground" if len(parts) == 1 or parts[1] in GROUND else parts[1]


def imported(file: Path) -> set[str]:
    """Return the modules of this package that a file imports, wherever in it, types apart."""
    tree = ast.parse(file.read_text("utf-8"))
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return {name for name in names if name in MODULES and name != "bench"}


@functools.cache
def arrows() -> dict[str, set[str]]:
    """Return what each module imports; read when a test asks, not whenever tests are collected."""
    return {module: imported(file) for module, file in MODULES.items()}


def reached(module: str) -> set[str]:
    """Return all modules that a module imports, directly or by what it imports; packages bring their ``__init__``."""
    found: set[str] = set()
    open_ends = [module]
    while open_ends:
        parts = open_ends.pop().split(".")
        packages = {".".join(parts[:end]) for end in range(2, len(parts) + 1)}
        more = {one for name in packages for one in {name, *arrows().get(name, ())}} - found
        found |= more
        open_ends += more
    return found - {module}


def upward(arrows: dict[str, set[str]]) -> list[str]:
    """Return the arrows that climb, or that join two rooms of one floor."""
    return [
        f"{module} -> {other}"
        for module, others in arrows.items()
        if module not in DOORS
        for other in others
        if (room(module) != room(other) and FLOOR[room(other)] >= FLOOR[room(module)] > 0)
        or (room(module) == "ground" and room(other) != "ground")
        or (room(module) == "stats" and room(other) != "stats")
    ]


def test_every_file_is_in_a_room_of_the_plan():
    assert {room(module) for module in MODULES} - DOORS <= FLOOR.keys() | {"__main__"}


def test_arrows_point_down_whatever_lies_between():
    assert upward({module: reached(module) for module in MODULES}) == []


def test_an_arrow_turned_round_is_found():
    turned = arrows() | {
        "bench.stats.quantiles": {"bench.run.frames"},
        "bench.analysis.checks": {"bench.measurement.runner"},
    }
    assert sorted(upward(turned)) == [
        "bench.analysis.checks -> bench.measurement.runner",
        "bench.stats.quantiles -> bench.run.frames",
    ]


def light() -> list[str]:
    """Return what a reader of numbers imports: cases, runs, analysis, and what each notebook finds and says."""
    parts = [name for name in MODULES if name.split(".")[-1] in {"findings", "text"} and room(name) == "experiments"]
    return [
        name for name in MODULES if room(name) in {"stats", "run", "analysis"} or name.startswith("bench.plan.")
    ] + parts


def test_numbers_are_read_without_a_picture_a_system_or_a_process():
    heavy = {"matplotlib", "seaborn", "IPython", "papermill", "zmq", "grpc", "aiohttp", "autobahn", "google"}
    code = f"""
        import importlib, sys, threading, subprocess
        subprocess.Popen = None  # nothing is started
        for name in {light()}:
            importlib.import_module(name)
            print(name, sorted({heavy} & set(sys.modules)), [n for n in sys.modules if n.startswith("bench.systems.")])
        print(threading.active_count())
    """
    finished = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    *lines, threads = finished.stdout.splitlines()
    assert [line for line in lines if not line.endswith(" [] []")] == [] and threads == "1"


@pytest.mark.parametrize("module", ["bench.plan.case", "bench.plan.plan"])
def test_a_case_is_plain_data(module):
    code = f"import sys, {module}; print([name for name in sys.modules if name.startswith('bench.systems')])"
    finished = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert finished.stdout == "[]\n"
