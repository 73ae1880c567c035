"""Python environments apart from the laboratory's, for programs that cannot share it: made once, from a lock.

The lock is ``requirements/NAME.txt`` (versions and hashes). An environment counts as made when its mark holds the
lock's hash; what was left half-made, or made from an older lock, is made again.
"""

import contextlib
import fcntl
import functools
import hashlib
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bench.errors import BENCH, NotInstalledError
from bench.plan import paths
from bench.process import installer
from bench.process.installer import Say
from bench.process.pipes import python

say: Say = functools.partial(print, flush=True)
OTHER_LOCKS = ("lab", "uv")  # the laboratory's own environment, and the installer in it


def names() -> list[str]:
    """Return the environments that there are locks for."""
    return sorted(file.stem for file in (paths.home() / "requirements").glob("*.txt") if file.stem not in OTHER_LOCKS)


def ensure(name: str, report: Say = say, anew: bool = False) -> Path:
    """Return the environment's folder; make it if it is not there, with progress lines.

    NotInstalledError says why it cannot be made and what to run.
    """
    folder = paths.environments() / name
    lock = _lock(name)
    if not lock.is_file():
        raise NotInstalledError(
            f"there is no {paths.shown(lock)} to make the environment {name} from: name a checkout in ROUNDTRIP_HOME"
        )
    wanted = _mark_for(lock)
    if not anew and _is_made(folder, wanted):
        return folder
    with exclusive(folder, report):
        if anew or not _is_made(folder, wanted):
            _make(folder, lock, report)
            (folder / "made-from").write_text(wanted, "utf-8")
    return folder


def is_ready(name: str) -> bool:
    """Return whether an environment is there and of today's lock."""
    lock = _lock(name)
    return lock.is_file() and _is_made(paths.environments() / name, _mark_for(lock))


def locked(name: str, package: str) -> str:
    """Return the version of a package in an environment's lock; "" if there is no such lock or package."""
    lock = _lock(name)
    match = re.search(rf"^{re.escape(package)}==([\w.+!-]+)", lock.read_text("utf-8"), re.M) if lock.is_file() else None
    return match[1] if match else ""


def _lock(name: str) -> Path:
    return paths.home() / "requirements" / f"{name}.txt"


def _mark_for(lock: Path) -> str:
    return f"{hashlib.sha256(lock.read_bytes()).hexdigest()} Python {sys.version_info[0]}.{sys.version_info[1]}"


def _is_made(folder: Path, wanted: str) -> bool:
    """Return whether an environment was made to its end, from this lock, and its interpreter still runs from there."""
    try:
        return (folder / "made-from").read_text("utf-8") == wanted and (folder / "bin" / "python").exists()
    except OSError:
        return False


@contextlib.contextmanager
def exclusive(folder: Path, report: Say) -> Iterator[None]:
    """Hold a lock while a folder in that of the environments is made; who comes second waits."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        file = folder.with_suffix(".lock").open("w")
    except OSError as reason:
        shown = paths.shown(folder.parent)
        raise NotInstalledError(
            f"cannot write {shown}: {reason.strerror}; name another folder in ROUNDTRIP_ENVIRONMENTS"
        ) from reason
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            report(f"Another process is making {folder.name}: waiting for it")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(folder: Path, lock: Path, report: Say) -> None:
    """Make a virtual environment and install the lock into it."""
    chosen, began = installer.choose(report), time.monotonic()
    shutil.rmtree(folder, ignore_errors=True)
    total = len(re.findall(r"^[\w.-]+==", lock.read_text("utf-8"), re.M))
    report(f"Making the environment {folder.name} with {chosen} in {paths.shown(folder)}: up to {total} packages, once")
    try:
        installer.run(python("venv", "--without-pip", str(folder)))
        installer.install(chosen, folder / "bin" / "python", [lock])
    except NotInstalledError as reason:
        again = f"{BENCH} prepare {folder.name}"
        without = f", or without uv: {installer.VARIABLE}=pip {again}" if chosen == "uv" else ""
        raise NotInstalledError(
            f"the environment {folder.name} could not be made: {reason}; with a working network run: {again}{without}"
        ) from reason
    report(f"The environment {folder.name} is ready after {time.monotonic() - began:.0f} s")
