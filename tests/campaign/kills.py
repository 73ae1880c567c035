"""SIGKILL at random moments: of a measuring process, its server or client, a kernel, papermill, a served server.

Nothing may be left: no process, no socket, no folder. No start that was stored may be lost, and the run is resumable.
Only processes that this script has started are killed: they carry its token in their environment.
"""

import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import measuring
import trying

from bench.run.folder import Folder
from bench.run.frames import Run

HERE = Path(__file__).parent
ROLES = {  # what is killed: how many times as often, and a word of its command line
    "run": (6, "measuring.py"),
    "server": (6, "bench.child.server"),
    "client": (6, "bench.child.client"),
    "served": (5, "bench serve"),
    "served server": (4, "bench.child.server"),
    "bench run": (1, "bench run"),
    "papermill": (1, "papermill"),
    "kernel": (1, "ipykernel_launcher"),
}
NOTEBOOK = ["latency", "-p", "profile", "smoke", "-p", "system", "sockets", "-p", "transport", "ipc"]


def command(role: str, folder: Path, system: str) -> list[str]:
    """Return what is started for a role."""
    if role.startswith("served"):
        return trying.bench("serve", "sockets", f"ipc://{folder}/tmp/served.sock")
    if role in ("bench run", "kernel"):
        return trying.bench("run", *NOTEBOOK)
    if role == "papermill":
        notebook = HERE.parents[1] / "notebooks" / "latency.ipynb"
        words = [sys.executable, "-m", "papermill", str(notebook), str(folder / "out.ipynb"), *NOTEBOOK[1:]]
        return [*words, "--no-progress-bar"]
    return [sys.executable, str(HERE / "measuring.py"), system]


def victims(token: str, word: str) -> list[int]:
    """Return the processes of a token whose command line has a word."""
    found = []
    for pid in trying.tagged(token):
        with contextlib.suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            found += [pid] * (word in line)
    return found


def stored(folder: Path) -> dict[str, set[int]]:
    """Return which starts of each run are complete, and make sure that they can be read."""
    known = {}
    for path in sorted((folder / "runs").glob("*/manifest.json")):
        run = Folder(path.parent)
        known[run.id] = run.done()
        if known[run.id]:
            assert len(Run(run).ledger) == len(known[run.id])
    return known


def tried(role: str, system: str, delay_s: float, folder: Path) -> str:
    """Start something, kill a process of it after a while, and return what is wrong afterwards, or nothing."""
    environment = trying.places(folder)
    os.environ["ROUNDTRIP_RUNS"] = environment["ROUNDTRIP_RUNS"]
    process, token = trying.started(command(role, folder, system), environment)
    try:
        return _killed(process, token, role, delay_s, folder)
    finally:
        trying.end(token)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=10)


def _killed(process: "subprocess.Popen[str]", token: str, role: str, delay_s: float, folder: Path) -> str:
    word, until = ROLES[role][1], time.monotonic() + 60
    while not (found := victims(token, word)) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(delay_s)
    before = {name: set(done) for name, done in stored(folder).items()}
    for pid in random.Random(delay_s).sample(found, min(1, len(found))):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    try:
        _, complaint = process.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        return "what is left of it did not end"
    if process.returncode > 0 and role == "kernel":
        lines = complaint.splitlines()
        if len(lines) != 1 or "Traceback" in complaint:
            return f"not one sentence: {complaint[-300:]!r}"
    if role == "papermill":  # it leaves its kernel's connection file, made before a line of ours runs
        trying.gone(token)
        for file in (folder / "tmp").glob("tmp*.json"):
            file.unlink()
    if fault := trying.left(token, folder / "tmp"):
        return fault
    after = stored(folder)
    lost = {name for name, done in before.items() if not done <= after.get(name, set())}
    if lost:
        return f"starts of {', '.join(lost)} are lost"
    return _resumed(folder, role)


def _resumed(folder: Path, role: str) -> str:
    """Resume a run that was interrupted; return why that is not possible, or nothing."""
    interrupted = [Folder(path.parent) for path in sorted((folder / "runs").glob("*/manifest.json"))]
    if role not in ("run", "server", "client") or not interrupted or interrupted[-1].manifest()["finished"]:
        return ""
    system = interrupted[-1].plan().cases[0].system
    answer = trying.asked([sys.executable, str(HERE / "measuring.py"), system], trying.places(folder))
    if answer.status != 0 or answer.out.strip() != interrupted[-1].id:
        return f"it cannot be resumed: {answer.complaint[-300:]!r}"
    run = Folder(interrupted[-1].path)
    return (
        "" if len(run.done()) == measuring.plan(system).starts and run.manifest()["finished"] else "starts are missing"
    )


def cases(seed: int) -> Iterator[tuple[str, str, float]]:
    """Yield a role, a system and a delay, for ever."""
    chance = random.Random(seed)
    roles = [role for role, (weight, _) in ROLES.items() for _ in range(weight)]
    while True:
        role = chance.choice(roles)
        longest_s = 4.0 if role in ("bench run", "papermill", "kernel") else 1.0
        yield role, chance.choice(measuring.SYSTEMS), chance.random() * longest_s


def tries(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Kill processes; yield each try with what was wrong afterwards, or nothing."""
    for role, system, delay_s in islice(cases(seed), count):
        with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
            yield f"{role} of {system} after {delay_s:.2f} s", tried(role, system, delay_s, Path(folder))
