"""What all parts of the campaign share: commands as processes, what is wrong with an answer, what was left behind."""

import contextlib
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from conftest import ROOT

TAG = "ROUNDTRIP_CAMPAIGN"  # in the environment of all that is started here, so that it is found again
LONGEST_SENTENCE = 1500
BENCH = [sys.executable, "-m", "bench"]


class Command:
    """A command as a process whose runs, figures and temporary files are in a folder, and all that it starts."""

    def __init__(self, words: Sequence[str], folder: Path, environment: dict[str, str] | None = None, **options: Any):
        self.token = secrets.token_hex(8)
        (folder / "tmp").mkdir(exist_ok=True)
        known = {f"ROUNDTRIP_{name}": str(folder / name.lower()) for name in ("RUNS", "FIGURES", "EXECUTED")}
        known |= {"TMPDIR": str(folder / "tmp"), TAG: self.token} | (environment or {})
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL, "cwd": ROOT}
        how = pipes | {"text": True, "errors": "replace", "start_new_session": True, "env": os.environ | known}
        self.process = subprocess.Popen(words, **how | options)
        self._temporary = Path(known["TMPDIR"])

    def answer(self, patience_s: float = 120) -> tuple[int | None, str, str]:
        """Return status, output and complaint; the status is None if it had to be ended."""
        try:
            outputs = self.process.communicate(timeout=patience_s)
            return self.process.returncode, outputs[0] or "", outputs[1] or ""
        except subprocess.TimeoutExpired:
            self.end()
            self.process.communicate()
            return None, "", ""

    def processes(self, word: str = "") -> list[int]:
        """Return which of its processes run and have a word in their command line."""
        pids = []
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                is_mine = f"{TAG}={self.token}".encode() in (folder / "environ").read_bytes().split(b"\0")
                line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                if is_mine and word in line and (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                    pids.append(int(folder.name))
        return pids

    def end(self) -> None:
        """Kill its processes, by their numbers."""
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def left(self, patience_s: float = 25) -> str:
        """Return what it has left running, or in its folder of temporary files, after some patience; or nothing."""
        until = time.monotonic() + patience_s
        while (pids := self.processes()) and time.monotonic() < until:
            time.sleep(0.05)
        files = [str(file.relative_to(self._temporary)) for file in self._temporary.rglob("*")]
        self.end()
        return f"left processes {pids}" if pids else f"left {files[:3]}" if files else ""


def fault(status: int | None, out: str, complaint: str, wanted: str = "either") -> str:
    """Return what is wrong with the answer of a command that should work, refuse in one sentence, or either."""
    if status is None:
        return "it did not end"
    if "Traceback" in out + complaint or "unforeseen" in complaint or not 0 <= status <= 3:
        return f"status {status}, not foreseen: {complaint[-300:]!r}"
    if status and not (complaint.startswith("bench: ") and complaint.strip().count("\n") == 0):
        return f"not one sentence: {complaint[-300:]!r}"
    if len(complaint) > LONGEST_SENTENCE or (wanted != "either" and (wanted == "works") != (status == 0)):
        return f"status {status}, where it {wanted}: {complaint[-300:]!r}"
    return ""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in whatever lasts longer."""

    def late(*_: object) -> None:
        raise TimeoutError(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
