"""What a self-check has around it: a folder for its runs, systems of its own, and busy processes beside it."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from bench import systems


@contextmanager
def temporary_runs() -> Iterator[None]:
    """Let runs be in a folder that is removed."""
    with tempfile.TemporaryDirectory() as folder, patch.dict(os.environ, ROUNDTRIP_RUNS=folder):
        yield


@contextmanager
def own_systems() -> Iterator[None]:
    """Let the systems of ``selfcheck/systems`` be known, here and to children."""
    own = str(Path(__file__).with_name("systems"))
    path = [*systems.__path__, own]
    with patch.dict(os.environ, {systems.FOLDERS: own}), patch.object(systems, "__path__", path):
        yield


@contextmanager
def busy(count: int = 1, cpu: int | None = None) -> Iterator[None]:
    """Keep so many processes busy meanwhile, on one CPU if it is named."""
    pinned = "" if cpu is None else f"import os; os.sched_setaffinity(0, [{cpu}])\n"
    processes = [subprocess.Popen([sys.executable, "-c", f"{pinned}while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
