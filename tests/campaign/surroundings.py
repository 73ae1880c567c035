"""Commands in surroundings that lack something: space, names short enough, open files, processes, letters, folders."""

import contextlib
import os
import random
import resource
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from trying import BENCH, Command, fault

LIST, SHOW, KEEP = ["list"], ["show", "reference/nodelay"], ["keep", "reference/nodelay", "{folder}/kept"]
DRAW = ["run", "nodelay", "-p", "source", "reference"]
MEASURE = ["run", "latency", "-p", "profile", "smoke", "-p", "system", "sockets", "-p", "transport", "ipc"]
COMPARE = ["compare", "reference/latency", "reference/overview"]
FULL = "{folder}/full"  # a disk without space
Place = tuple[str, list[list[str]], str, dict[str, Any]]  # its name, commands, what is wanted, and how it is made


def limited(kind: int, most: int) -> dict[str, Callable[[], None]]:
    """Return the option of a process that may use so much of something."""
    return {"preexec_fn": partial(resource.setrlimit, kind, (most, most))}


def shell(line: str) -> dict[str, list[str]]:
    """Return what lets a shell prepare a command."""
    return {"before": ["sh", "-c", line, "sh"]}


def all_places() -> list[Place]:
    """Return all surroundings; ``{folder}`` is the one of a try. Made by variables, options, and words before."""
    places: list[Place] = [
        ("long temporary folder", [LIST, DRAW, MEASURE], "works", {"variables": {"TMPDIR": "{folder}/" + "x" * 90}}),
        ("no temporary folder", [LIST, MEASURE], "either", {"variables": {"TMPDIR": "/nowhere"}}),
        ("temporary files on a full disk", [LIST, MEASURE], "either", {"variables": {"TMPDIR": FULL}}),
        ("kept on a full disk", [["keep", "reference/latency", f"{FULL}/x"]], "refuses", {}),
        ("files called like libraries", [LIST, SHOW, MEASURE], "works", {"options": {"cwd": "{folder}/shadowing"}}),
        ("a removed folder", [LIST, SHOW], "works", shell('cd "$(mktemp -d)" && rmdir "$PWD" && exec "$@"')),
        ("32 open files", [LIST, COMPARE, DRAW, MEASURE], "either", {"options": limited(resource.RLIMIT_NOFILE, 32)}),
        ("files of at most 20 kB", [KEEP, DRAW], "refuses", {"options": limited(resource.RLIMIT_FSIZE, 20_000)}),
        ("LC_ALL=C", [LIST, SHOW, COMPARE, DRAW, MEASURE], "works",
         {"variables": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}}),
        ("letters of ascii", [SHOW, COMPARE], "works", {"variables": {"PYTHONIOENCODING": "ascii"}}),
        ("PYTHONOPTIMIZE=2", [LIST, SHOW, DRAW], "works", {"variables": {"PYTHONOPTIMIZE": "2"}}),
        ("no home", [LIST, SHOW], "works", {"variables": {"HOME": "/nowhere"}}),
        ("no programs", [LIST, SHOW], "works", {"variables": {"PATH": "/nowhere"}}),
        ("no input", [LIST, SHOW], "works", shell('exec "$@" <&-')),
        ("no output", [LIST, SHOW], "either", shell('exec "$@" >&-')),
        ("full output", [LIST, SHOW, KEEP], "refuses", {"options": {"stdout": "/dev/full"}}),
    ]  # fmt: skip
    for name, words in (("EXECUTED", DRAW), ("FIGURES", DRAW), ("RUNS", MEASURE)):
        for path in ("/etc/passwd/x", "/etc/passwd", "/proc/sys", FULL):
            places.append((f"{name} in {path}", [words], "refuses", {"variables": {f"ROUNDTRIP_{name}": path}}))
    return places


def tried(words: list[str], wanted: str, how: dict[str, Any], folder: Path) -> str:
    """Do one command in its surroundings; return what is wrong with the answer, or nothing."""

    def here(value: Any) -> Any:
        return value.replace("{folder}", str(folder)) if isinstance(value, str) else value

    (folder / "shadowing").mkdir()
    (folder / ("x" * 90)).mkdir()
    for name in ("zmq", "numpy", "psutil", "click", "json"):
        (folder / "shadowing" / f"{name}.py").write_text("raise SystemExit('this is not the library')\n")
    variables = {name: here(value) for name, value in how.get("variables", {}).items()}
    options = {name: here(value) for name, value in how.get("options", {}).items()}
    with contextlib.ExitStack() as around:
        if FULL in str((words, how)):
            around.enter_context(full(folder / "full"))
        if "stdout" in options:
            options["stdout"] = around.enter_context(Path(options["stdout"]).open("w"))
        command = Command([*how.get("before", []), *BENCH, *map(here, words)], folder, variables, **options)
        mistake = fault(*command.answer(), wanted)
        return mistake or ("" if "TMPDIR" in variables else command.left())


@contextlib.contextmanager
def full(folder: Path) -> Iterator[None]:
    """Make a folder a disk of a few kilobytes that is full; needs root."""
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)], check=True, capture_output=True)
    try:
        with contextlib.suppress(OSError), (folder / "filling").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def can_mount() -> bool:
    """Return whether disks can be made here."""
    words = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return os.geteuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0


def tries(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Do commands in surroundings that lack something; yield each with what was wrong with the answer, or nothing."""
    each = [(name, words, wanted, how) for name, commands, wanted, how in all_places() for words in commands]
    each = [one for one in each if FULL not in str(one) or can_mount()]
    for name, words, wanted, how in random.Random(seed).sample(each, min(count, len(each))):
        with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
            yield f"{name}: {' '.join(words[:2])}", tried(words, wanted, how, Path(folder))
