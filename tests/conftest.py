"""What all tests share: a place of their own for runs and figures, and systems that only tests need."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from bench import systems
from bench.measurement.routers import Routers
from bench.plan.case import Case

if threading.current_thread() is threading.main_thread():
    # Whoever runs the tests in the background has Ctrl-C ignored, and so would all that is started here.
    signal.signal(signal.SIGINT, signal.default_int_handler)

for name in [name for name in os.environ if name.startswith("PYTHON")]:
    del os.environ[name]  # nothing here may need what a person's shell does not set

HERE = Path(__file__).parent
ROOT = HERE.parent


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """Keep runs, figures and executed notebooks of tests out of the user's folders."""
    monkeypatch.setenv("ROUNDTRIP_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("ROUNDTRIP_FIGURES", str(tmp_path / "figures"))
    monkeypatch.setenv("ROUNDTRIP_EXECUTED", str(tmp_path / "executed"))


@pytest.fixture(autouse=True)
def private_parent(monkeypatch):
    """Return the folder where private directories appear; its name is short enough for socket files."""
    with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
        monkeypatch.setenv("TMPDIR", folder)
        monkeypatch.setattr("tempfile.tempdir", None)
        yield Path(folder)


@pytest.fixture(scope="session")
def routers():
    """Return routers that all tests share, begun before any test has folders of its own."""
    with Routers() as shared:
        shared.of(Case("wamp_crossbar", "ipc"))
        yield shared


@pytest.fixture
def with_systems(monkeypatch):
    """Return a function that adds a folder of systems, for this process and its children."""

    def add(folder: Path = HERE / "extra_systems") -> None:
        monkeypatch.setenv("ROUNDTRIP_SYSTEMS", str(folder))
        monkeypatch.setattr(systems, "__path__", [*systems.__path__, str(folder)])

    return add


@pytest.fixture
def command():
    """Return a function that runs ``python -m bench`` and returns the finished process."""

    def run(*words: str, **options) -> subprocess.CompletedProcess:
        options = {"cwd": ROOT, "timeout": 100} | options
        return subprocess.run([sys.executable, "-m", "bench", *words], capture_output=True, text=True, **options)

    return run


def descendants(pid: int) -> list[int]:
    """Return the process ids of all children of a process, and theirs."""
    import psutil

    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def is_gone(pid: int) -> bool:
    """Return whether no process of this id does anything any more."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def wait_for(condition, seconds: float = 10) -> bool:
    """Return whether a condition came true in time."""
    import time

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())
