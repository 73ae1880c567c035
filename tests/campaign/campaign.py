"""The campaign: a run's files, input, surroundings and processes are damaged at random, and nothing may go unnoticed.

Four parts run side by side, each for at most so many seconds; the same seed gives the same tries. Everything stays on
this machine, and only processes that were started here are killed. It ends with 1 if something failed.
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

PARTS = {  # how many tries, and of what
    "mutations": (2000, "stored runs altered: bits, lost files, links, pipes, values of the manifest, columns"),
    "inputs": (500, "parameters, options and commands that cannot be, servers that answer wrongly or without end"),
    "kills": (200, "SIGKILL of a measuring process, server, client, kernel, papermill or served server"),
    "surroundings": (60, "full disks, long names, few files and processes, other letters, no folder"),
}


def one(part: str, seed: int, seconds: float) -> list[int]:
    """Do one part in folders of its own; return how many tries were made, and how many failed."""
    until, done, failed = time.monotonic() + seconds, 0, 0
    with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
        for name in ("runs", "figures", "executed"):
            os.environ[f"ROUNDTRIP_{name.upper()}"] = f"{folder}/{name}"
        for what, fault in importlib.import_module(part).tries(PARTS[part][0], seed):
            done, failed = done + 1, failed + bool(fault)
            if fault:
                print(f"failed: {part}: {what[:200]}: {fault}", file=sys.stderr, flush=True)
            if time.monotonic() > until:
                break
    return [done, failed]


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("part", required=False, type=click.Choice(list(PARTS)))
@click.option("--seed", default=1, show_default=True, help="Another one gives other tries.")
@click.option("--seconds", default=840.0, show_default=True, help="Each part ends after so many.")
@click.option("--write", metavar="FILE", help="Keep the figures as JSON.")
def main(part: str | None, seed: int, seconds: float, write: str | None) -> None:
    """Try to break what must hold."""
    if part:
        return print(*one(part, seed, seconds))
    words = ["--seed", str(seed), "--seconds", str(seconds)]
    started = {
        name: subprocess.Popen([sys.executable, __file__, name, *words], stdout=subprocess.PIPE, text=True)
        for name in PARTS
    }
    rows = {}
    for name, process in started.items():
        tries, failures = map(int, (process.communicate()[0].split() or [0, 1])[-2:])
        rows[name] = {"what": PARTS[name][1], "tries": tries, "failures": failures}
        print(f"{name:12} {tries:5} of {PARTS[name][0]:5} tries  {failures} failures   {PARTS[name][1]}")
    if write:
        Path(write).write_text(json.dumps({"seed": seed, "parts": rows}, indent=1) + "\n")
    return sys.exit(any(row["failures"] for row in rows.values()))


if __name__ == "__main__":
    main()
