"""Commands in surroundings that lack something: space, names short enough, open files, processes, letters, folders."""

import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import trying
from host_processes import Hosts, intruded

LIST, RUNS, DOCTOR = ["list"], ["runs"], ["doctor"]
SHOW = ["show", "reference/nodelay"]
DRAW = ["run", "nodelay", "-p", "source", "reference"]
MEASURE = ["run", "latency", "-p", "profile", "smoke", "-p", "system", "sockets", "-p", "transport", "ipc"]
SUBMIT = ["submit", "reference/latency", "--yes", "-o", "{folder}/a.json"]
KEEP = ["keep", "reference/nodelay", "{folder}/kept"]
EXPLAIN = ["explain", "docs/overview.png"]
COMPARE = ["compare", "reference/latency", "reference/overview"]
READING = [LIST, RUNS, SHOW, EXPLAIN, COMPARE]


@dataclass(frozen=True)
class Place:
    """One command in one surrounding; ``{folder}`` in words and values is its own folder.

    wanted: "works", "refuses" or "either". as_process: words before the command. full: folders that are full.
    """

    name: str
    words: list[str]
    wanted: str = "either"
    environment: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    full: str = ""
    prepare: Callable[[Path], None] | None = None


def _limited(kind: int, most: int) -> Callable[[], None]:
    return partial(resource.setrlimit, kind, (most, most))


def _shadowing(folder: Path) -> None:
    for name in ("zmq", "numpy", "typing_extensions", "psutil", "click", "json"):
        (folder / f"{name}.py").write_text("raise SystemExit('this is not the library')\n")


def _long(folder: Path) -> None:
    (folder / "tmp" / ("x" * 90)).mkdir()


NOBODY = ("setpriv", "--reuid=54321", "--regid=54321", "--clear-groups")
MAY_READ = ("--inh-caps=-all,+dac_override", "--ambient-caps=+dac_override", "--bounding-set=-all,+dac_override")
FULL = Path("/dev/full")


def all_places() -> list[Place]:
    """Return what is tried."""
    found = [Place("long temporary folder", words, "works", {"TMPDIR": "{folder}/tmp/" + "x" * 90}, prepare=_long)
             for words in (LIST, DRAW, MEASURE)]  # fmt: skip
    found += [Place("no temporary folder", words, environment={"TMPDIR": "/nowhere"}) for words in (LIST, MEASURE)]
    for name in ("EXECUTED", "FIGURES", "RUNS"):
        variable = f"ROUNDTRIP_{name}"
        for words in [MEASURE] if name == "RUNS" else [DRAW]:
            found.append(Place(f"{name} below a file", words, "refuses", {variable: "/etc/passwd/x"}))
            found.append(Place(f"{name} is a file", words, "refuses", {variable: "/etc/passwd"}))
            found.append(Place(f"{name} on a full disk", words, "refuses", {variable: "{folder}/full"}, full="full"))
            found.append(Place(f"{name} that cannot be written", words, "refuses", {variable: "/proc/sys"}))
    found += [Place("temporary files on a full disk", words, environment={"TMPDIR": "{folder}/full"}, full="full")
              for words in (LIST, MEASURE)]  # fmt: skip
    found.append(Place("kept on a full disk", ["keep", "reference/latency", "{folder}/full/x"], "refuses", full="full"))
    found.append(Place("a submission on a full disk", [*SUBMIT[:-1], "{folder}/full/a.json"], "refuses", full="full"))
    found += [Place("full output", words, "refuses", options={"stdout": FULL}) for words in (LIST, SHOW, COMPARE, KEEP)]
    found += [Place("full errors", words, options={"stderr": FULL}) for words in (LIST, ["show", "nosuch"])]
    found += [Place("PYTHONOPTIMIZE=2", words, "works", {"PYTHONOPTIMIZE": "2"}) for words in (LIST, SHOW, DRAW)]
    found += [Place("files called like libraries", words, "works", options={"cwd": "{folder}"}, prepare=_shadowing)
              for words in (LIST, SHOW, MEASURE)]  # fmt: skip
    found += [Place("a removed folder", words, options={"cwd": "{folder}/gone"}, before=("sh", "-c", GONE, "sh"),
                    prepare=lambda folder: (folder / "gone").mkdir()) for words in (LIST, RUNS, SHOW)]  # fmt: skip
    few_files = {"preexec_fn": _limited(resource.RLIMIT_NOFILE, 32)}
    found += [Place("32 open files", words, options=few_files) for words in (LIST, SHOW, COMPARE, DRAW, MEASURE)]
    short = {"preexec_fn": _limited(resource.RLIMIT_FSIZE, 20_000)}
    found += [Place("files of at most 20 kB", words, "refuses", options=short) for words in (KEEP, DRAW)]
    if shutil.which("setpriv") and os.geteuid() == 0:
        eight = {"preexec_fn": _limited(resource.RLIMIT_NPROC, 8)}
        found += [
            Place("8 processes", words, wanted, options=eight, before=(*NOBODY, *MAY_READ))
            for words, wanted in ((LIST, "either"), (SHOW, "either"), (DRAW, "refuses"), (MEASURE, "refuses"))
        ]
    for encoding in ("latin-1", "ascii", "cp1252"):
        found += [Place(f"letters of {encoding}", words, "works", {"PYTHONIOENCODING": encoding})
                  for words in (SHOW, COMPARE)]  # fmt: skip
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    found += [Place("LC_ALL=C", words, "works", plain) for words in (*READING, DRAW, MEASURE)]
    found += [Place("no home", words, "works", {"HOME": "/nowhere"}) for words in (LIST, SHOW)]
    found += [Place("no programs", words, "works", {"PATH": "/nowhere"}) for words in (LIST, SHOW)]
    found += [Place("no input", words, "works", options={"stdin": None}, before=("sh", "-c", 'exec "$@" <&-', "sh"))
              for words in (LIST, SHOW)]  # fmt: skip
    found += [
        Place("no output", words, options={}, before=("sh", "-c", 'exec "$@" >&-', "sh")) for words in (LIST, SHOW)
    ]
    found.append(Place("a folder without submissions", ["run", "classroom", "-p", "folder", "/etc"], "refuses"))
    return found


GONE = 'rmdir "$PWD" && exec "$@"'


def tried(place: Place, folder: Path) -> str:
    """Do one command in its surrounding; return what is wrong with the answer, or nothing."""

    def here(value: Any) -> Any:
        if isinstance(value, Path):
            return value.open("w")
        return value.replace("{folder}", str(folder)) if isinstance(value, str) else value

    known = trying.places(folder)
    if place.prepare:
        place.prepare(folder)
    environment = known | {name: here(value) for name, value in place.environment.items()}
    words = [*place.before, sys.executable, "-m", "bench", *map(here, place.words)]
    with _full(folder / place.full if place.full else None):
        options = {name: here(value) for name, value in place.options.items()}
        answer = trying.asked(words, environment, **options)
    if isinstance(place.options.get("stderr"), Path):
        answer.complaint = "bench: nobody reads this"
    found = trying.fault(answer, place.wanted)
    if found or environment["TMPDIR"] != known["TMPDIR"]:
        return found or trying.left(answer.token, folder / "nothing")
    return trying.left(answer.token, folder / "tmp")


@contextmanager
def _full(folder: Path | None) -> Iterator[None]:
    """Make a folder a disk of a few kilobytes that is full; needs root."""
    if folder is None:
        yield
        return
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", str(folder)], check=True, capture_output=True)
    try:
        with suppress(OSError), (folder / "filling").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def can_mount() -> bool:
    """Return whether disks can be made here."""
    words = ["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]
    return os.geteuid() == 0 and subprocess.run(words, capture_output=True).returncode == 0


def intrusion(folder: str) -> str:
    """Let another user of this machine give orders to a scheduler; return what he says unless he is refused."""
    hosts = Hosts("alpha", variables={"XDG_CONFIG_HOME": folder})
    try:
        said = intruded(hosts.address)
    finally:
        hosts.close()
    return "" if said.count("refused") == 4 and "entered" not in said else said


def tries(count: int, seed: int) -> Iterator[tuple[str, str]]:
    """Do commands in surroundings that lack something; yield each with what was wrong with the answer, or nothing."""
    if os.geteuid() == 0:
        with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
            yield "another user gives orders to a host", intrusion(folder)
    places = [place for place in all_places() if not place.full or can_mount()]
    for place in random.Random(seed).sample(places, min(count, len(places))):
        with tempfile.TemporaryDirectory(prefix="rt-", dir="/tmp") as folder:
            yield f"{place.name}: {' '.join(place.words[:2])}", tried(place, Path(folder))
