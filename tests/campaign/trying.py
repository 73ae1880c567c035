"""What all parts of the campaign share: commands as processes, how they are judged, and what they left behind."""

import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conftest import ROOT

TAG = "ROUNDTRIP_CAMPAIGN"  # in the environment of all that is started here, so that it is found again
LONGEST_SENTENCE = 1500


@dataclass
class Answer:
    """How a command ended; seconds: how long it took."""

    status: int | None
    out: str
    complaint: str
    seconds: float
    token: str


def places(folder: Path) -> dict[str, str]:
    """Return an environment that keeps runs, figures, notebooks and temporary files in a folder."""
    names = {
        "ROUNDTRIP_RUNS": "runs",
        "ROUNDTRIP_FIGURES": "figures",
        "ROUNDTRIP_EXECUTED": "executed",
        "TMPDIR": "tmp",
    }
    (folder / "tmp").mkdir(exist_ok=True, parents=True)
    return {variable: str(folder / name) for variable, name in names.items()}


def started(
    words: Sequence[str], environment: Mapping[str, str], **options: Any
) -> tuple["subprocess.Popen[str]", str]:
    """Start a command with a token in its environment, by which all that it starts is found; return both."""
    token = secrets.token_hex(8)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
    process = subprocess.Popen(
        words,
        env={**os.environ, **environment, TAG: token},
        text=True,
        errors="replace",
        start_new_session=True,
        **{"cwd": ROOT, **pipes, **options},
    )
    return process, token


def asked(words: Sequence[str], environment: Mapping[str, str], patience_s: float = 120, **options: Any) -> Answer:
    """Run a command; return how it ended, with the status None if it had to be ended."""
    began = time.monotonic()
    process, token = started(words, environment, **options)
    try:
        out, complaint = process.communicate(timeout=patience_s)
        status: int | None = process.returncode
    except subprocess.TimeoutExpired:
        end(token)
        out, complaint = process.communicate()
        status = None
    return Answer(status, out or "", complaint or "", time.monotonic() - began, token)


def bench(*words: str) -> list[str]:
    """Return the words of a command of ``python -m bench``."""
    return [sys.executable, "-m", "bench", *words]


def tagged(token: str) -> list[int]:
    """Return the processes that carry a token in their environment and still run."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            mine = f"{TAG}={token}".encode() in (folder / "environ").read_bytes().split(b"\0")
            state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if mine and state != "Z":
            found.append(int(folder.name))
    return found


def end(token: str) -> None:
    """Kill the processes that carry a token: those that this script has started, by their number."""
    for pid in tagged(token):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue


def gone(token: str, patience_s: float = 25) -> list[int]:
    """Wait until no process of a command is left; return those that are after some patience."""
    until = time.monotonic() + patience_s
    while (pids := tagged(token)) and time.monotonic() < until:
        time.sleep(0.05)
    return pids


def left(token: str, temporary: Path, patience_s: float = 25) -> str:
    """Return what a command has left running, or in its folder of temporary files, after some patience; or nothing."""
    if pids := gone(token, patience_s):
        end(token)
        return f"left {len(pids)} processes running"
    files = sorted(str(file.relative_to(temporary)) for file in temporary.rglob("*"))
    return f"left {', '.join(files[:3])}" if files else ""


def fault(answer: Answer, wanted: str = "either") -> str:
    """Return what is wrong with an answer, or nothing.

    wanted: "works", "refuses" (in one sentence), or "either".
    """
    lines = answer.complaint.splitlines()
    if answer.status is None:
        return "it did not end"
    if "Traceback" in answer.out + answer.complaint or "unforeseen" in answer.complaint:
        return f"a traceback or an error that is not foreseen: {answer.complaint[-300:]!r}"
    if answer.status < 0 or answer.status > 3:
        return f"it ended with status {answer.status}: {answer.complaint[-300:]!r}"
    if answer.status and (len(lines) != 1 or not lines[0].startswith("bench: ") or len(lines[0]) > LONGEST_SENTENCE):
        return f"not one sentence: {answer.complaint[-300:]!r}"
    if wanted == "works" and answer.status:
        return f"it was refused: {answer.complaint[-300:]!r}"
    if wanted == "refuses" and not answer.status:
        return "it was not refused"
    return ""
