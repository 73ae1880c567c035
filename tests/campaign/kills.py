"""SIGKILL at random moments: of a measuring process, its server or client, a kernel, papermill, a served server.

Nothing may be left: no process, no socket, no folder. No start that was stored may be lost, and the run is resumable.
"""

import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from conftest import ROOT
from trying import BENCH, Command

from bench.run.folder import Folder
from bench.run.frames import Run

SYSTEMS = {"sockets": "ipc", "zeromq": "ipc", "http_stdlib": "tcp", "xmlrpc_stdlib": "tcp"}
MEASURING = (
    "import sys; from bench.grammar.experiment import experiment; from bench.measurement import runner; "
    "from bench.run import stored; "
    "plan = experiment('latency').plan(system=sys.argv[1], transport=sys.argv[2], starts=3, window_s=0.15); "
    "print(runner.run(plan, stored.unfinished(plan)).id)"
)
NOTEBOOK = ["-p", "profile", "smoke", "-p", "system", "sockets", "-p", "transport", "ipc"]
ROLES = {  # what is killed: how many times as often, and a word of its command line
    "run": (6, "experiment('latency').plan"),
    "server": (6, "bench.child.server"),
    "client": (6, "bench.child.client"),
    "served": (5, "bench serve"),
    "served server": (4, "bench.child.server"),
    "bench run": (1, "bench run"),
    "papermill": (1, "papermill"),
    "kernel": (1, "ipykernel_launcher"),
}


def command(role: str, folder: Path, system: str) -> list[str]:
    """Return what is started for a role."""
    if role.startswith("served"):
        return [*BENCH, "serve", "sockets", f"ipc://{folder}/tmp/served.sock"]
    if role in ("bench run", "kernel"):
        return [*BENCH, "run", "latency", *NOTEBOOK]
    if role == "papermill":
        words = [sys.executable, "-m", "papermill", "--no-progress-bar", str(ROOT / "notebooks" / "latency.ipynb")]
        return [*words, str(folder / "out.ipynb"), *NOTEBOOK]
    return [sys.executable, "-c", MEASURING, system, SYSTEMS[system]]


def stored(folder: Path) -> dict[str, set[int]]:
    """Return which starts of each run are complete, and make sure that they can be read."""
    runs = [Folder(path.parent) for path in sorted((folder / "runs").glob("*/manifest.json"))]
    known = {run.path.name: run.done() for run in runs}
    assert all(len(Run(run).ledger) == len(known[run.path.name]) for run in runs if known[run.path.name])
    return known


def tried(role: str, system: str, delay_s: float, folder: Path) -> str:
    """Start something, kill a process of it after a while, and return what is wrong afterwards, or nothing."""
    started = Command(command(role, folder, system), folder)
    until = time.monotonic() + 60
    while not started.processes(ROLES[role][1]) and started.process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(delay_s)
    before = stored(folder)
    for pid in started.processes(ROLES[role][1])[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    status, _, complaint = started.answer(90)
    if status is None or (role == "kernel" and status and complaint.strip().count("\n")):
        return f"it did not end in one sentence: {complaint[-300:]!r}"
    if role == "papermill":  # it leaves its kernel's connection file, made before a line of ours runs
        until = time.monotonic() + 25
        while started.processes() and time.monotonic() < until:
            time.sleep(0.05)
        for file in (folder / "tmp").glob("tmp*.json"):
            file.unlink()
    if fault := started.left():
        return fault
    after = stored(folder)
    if lost := [name for name, done in before.items() if not done <= after.get(name, set())]:
        return f"starts of {lost} are lost"
    if role not in ("run", "server", "client") or not after:
        return ""
    run = Folder(folder / "runs" / max(after))
    is_new = run.manifest()["finished"]
    status, out, complaint = Command(command("run", folder, system), folder).answer()
    is_resumed = status == 0 and run.manifest()["finished"] and (is_new or out.strip() == run.id)
    return "" if is_resumed else f"it cannot be resumed: {complaint[-300:]!r}"


def tries(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Kill processes; yield each try with what was wrong afterwards, or nothing."""
    chance = random.Random(seed)
    roles = [role for role, (weight, _) in ROLES.items() for _ in range(weight)]
    for _ in range(count):
        role, system = chance.choice(roles), chance.choice(list(SYSTEMS))
        delay_s = chance.random() * (4.0 if role in ("bench run", "papermill", "kernel") else 1.0)
        with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
            yield f"{role} of {system} after {delay_s:.2f} s", tried(role, system, delay_s, Path(folder))
