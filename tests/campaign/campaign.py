"""The campaign: a run's files, input, surroundings and processes are damaged at random, and nothing may go unnoticed.

``python tests/campaign/campaign.py`` does all four parts side by side, each for at most so many seconds, prints tries
and failures, and exits with 1 if something failed; ``--write FILE`` keeps the figures as JSON. With the name of a part
it does that one. The same ``--seed`` gives the same tries. Everything stays on this machine: servers listen on the
loopback interface, and only processes that were started here are killed.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

COUNTS = {"mutations": 2000, "inputs": 500, "kills": 200, "surroundings": 60}
WORDS = {
    "mutations": "stored runs altered: bits, lost files, links, pipes, values of the manifest, columns",
    "inputs": "parameters, options and commands that cannot be, servers that answer wrongly or without end",
    "kills": "SIGKILL of a measuring process, server, client, kernel, papermill or served server",
    "surroundings": "full disks, long names, few files and processes, other letters, no folder, another user",
}


def one(part: str, count: int, seed: int, seconds: float) -> tuple[int, list[str]]:
    """Do one part for at most so many seconds, in folders of its own; return how many tries, and what failed."""
    until, done, failures = time.monotonic() + seconds, 0, []
    with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
        for name in ("runs", "figures", "executed"):
            os.environ[f"ROUNDTRIP_{name.upper()}"] = f"{folder}/{name}"
        for what, fault in importlib.import_module(part).tries(count, seed):
            done += 1
            if fault:
                failures.append(f"{what}: {fault}")
                print(f"failed: {part}: {what[:200]}: {fault}", file=sys.stderr, flush=True)
            if time.monotonic() > until:
                break
    return done, failures


def every(counts: dict[str, int], seed: int, seconds: float) -> dict[str, tuple[int, int]]:
    """Do all parts side by side, each in a process of its own; return tries and failures of each."""
    started = {}
    for part, count in counts.items():
        words = [sys.executable, __file__, part, "--tries", str(count), "--seed", str(seed), "--seconds", str(seconds)]
        started[part] = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    found = {}
    for part, process in started.items():
        said, _ = process.communicate()
        tries, failures = map(int, said.split()[-2:]) if process.returncode in (0, 1) and said else (0, 1)
        found[part] = tries, failures
    return found


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("part", required=False, type=click.Choice(list(COUNTS)))
@click.option("--tries", type=int, help="How many; those of the part otherwise.")
@click.option("--seed", default=1, show_default=True, help="Another one gives other tries.")
@click.option("--seconds", default=840.0, show_default=True, help="Each part ends after so many.")
@click.option("--write", metavar="FILE", help="Keep the figures as JSON.")
def main(part: str | None, tries: int | None, seed: int, seconds: float, write: str | None) -> None:
    """Try to break what must hold."""
    if part:
        done, failures = one(part, tries or COUNTS[part], seed, seconds)
        print(done, len(failures))
        sys.exit(bool(failures))
    found = every(COUNTS, seed, seconds)
    for name, (done, failed) in found.items():
        print(f"{name:12} {done:5} of {COUNTS[name]:5} tries  {failed} failures   {WORDS[name]}")
    if write:
        rows = {name: {"what": WORDS[name], "tries": done, "failures": bad} for name, (done, bad) in found.items()}
        Path(write).parent.mkdir(parents=True, exist_ok=True)
        Path(write).write_text(json.dumps({"seed": seed, "parts": rows}, indent=1) + "\n")
    sys.exit(any(failed for _, failed in found.values()))


if __name__ == "__main__":
    main()
