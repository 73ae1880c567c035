"""Whoever reads numbers imports nothing heavy: no drawing library, no system, no process."""

import subprocess
import sys
import textwrap

from conftest import ROOT

BENCH = ROOT / "bench"


def light() -> list[str]:
    """Return what a reader of numbers imports: cases, runs, and what they show."""
    files = [file for room in ("stats", "plan", "run", "analysis") for file in (BENCH / room).rglob("*.py")]
    return sorted(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for file in files)


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
