"""The runs on disk: made, found, listed, kept."""

import contextlib
import errno
import shutil
import stat
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.errors import BENCH, DataError, reason_of
from bench.plan import paths
from bench.plan.plan import Plan
from bench.run import schema
from bench.run.folder import Folder
from bench.text import quoted

OLD = "digests"  # a folder that runs of version 2 have


def create(plan: Plan, facts: dict[str, Any]) -> Folder:
    """Make a new run's folder under ``data/runs``; its name is not taken by any other notebook."""
    try:
        path, utc = _claim(plan)
        for table in schema.TABLES:
            (path / table).mkdir()
    except OSError as reason:
        raise DataError(
            f"cannot make a run's folder in {paths.shown(paths.runs())}: {reason.strerror}; "
            "name another folder in ROUNDTRIP_RUNS"
        ) from reason
    manifest = {"version": schema.VERSION, "created": utc.isoformat(timespec="seconds"), "finished": False}
    folder = Folder(path)
    folder.write_manifest(manifest | {"plan": plan.as_dict(), **facts})
    return folder


def _claim(plan: Plan) -> tuple[Path, datetime]:
    """Make and return a folder named by this millisecond, or by the next one if it is taken; and when that is."""
    paths.runs().mkdir(parents=True, exist_ok=True)
    for _ in range(1000):  # or the clock stands still
        utc = datetime.now(UTC)
        stamp = f"{utc:%Y%m%dT%H%M%S}.{utc.microsecond // 1000:03d}Z"
        path = paths.runs() / f"{stamp}-{plan.notebook}-{plan.hash8}"
        with contextlib.suppress(FileExistsError):
            path.mkdir()
            return path, utc
    raise FileExistsError(errno.EEXIST, "each name of a run is taken, and the clock stands still")


def all_runs() -> list[Folder]:
    """Return your runs, the oldest first."""
    try:
        return [Folder(file.parent) for file in sorted(paths.runs().glob("*/manifest.json"))]
    except OSError:
        return []


def references() -> list[Folder]:
    """Return the runs that come with the notebooks and their scenarios."""
    return [Folder(file.parent) for file in sorted(paths.reference().glob("*/manifest.json"))]


def find(name: str) -> Folder:
    """Return a run by its id, the beginning or a part of it, a path, "latest", or "reference/NOTEBOOK"."""
    for path in (Path(name), paths.runs() / name, paths.home() / "data" / name):
        with contextlib.suppress(OSError):  # of a name too long, or in a folder that is closed to this user
            if name and (path / "manifest.json").is_file():
                return Folder(path)
    if name.startswith("reference/"):
        kept = ", ".join(folder.path.name for folder in references()) or "none"
        raise DataError(
            f"no run {quoted(name)}: {paths.shown(paths.reference())} holds the reference runs of {kept}; "
            "a checkout of Roundtrip holds all of them: name it in ROUNDTRIP_HOME"
        )
    folders = [folder for folder in all_runs() if name in ("", "latest") or name in folder.id]
    if not folders:
        shown = paths.shown(paths.runs())
        is_file = False
        with contextlib.suppress(OSError, ValueError):  # too long for a name, or with a zero byte
            is_file = Path(name).is_file()
        instead = "if `submit` wrote this file, put it into a folder for classroom.ipynb"
        if name.endswith(".yaml"):
            instead = "to compare a service, name two folders or two revisions that hold this file"
        also = f"; {instead}" if is_file else ""
        raise DataError(f"no run {quoted(name)} in {shown}; `{BENCH} runs` lists those there are{also}")
    return folders[-1]


def reference(name: str) -> Folder:
    """Return the run that comes with a notebook, or with a scenario NOTEBOOK.SCENARIO: its own, else the notebook's."""
    own = paths.reference() / name
    return Folder(own) if (own / "manifest.json").is_file() else find(f"reference/{name.partition('.')[0]}")


def of_plan(plan: Plan) -> list[Folder]:
    """Return your runs of exactly this plan, the oldest first."""
    return [folder for folder in all_runs() if folder.id.split("-")[2:3] == [plan.hash8]]


def unfinished(plan: Plan) -> Folder | None:
    """Return the latest run of exactly this plan that lacks starts and is not being measured now, or None.

    The plan that a run holds has fewer starts where it stopped because it was precise.
    """
    for folder in reversed(of_plan(plan)):
        if len(folder.done()) < folder.plan().all_starts and not folder.is_being_measured():
            return folder
    return None


def keep(folder: Folder, target: Path, although: Sequence[str] = ()) -> Folder:
    """Copy a run into a folder that holds nothing else, with one file for each table.

    although: what the run misses, which its manifest then says.
    """
    try:
        if target.exists() and any(target.iterdir()) and not _is_kept(target):
            raise DataError(f"{paths.shown(target)} holds other files: name a folder that does not exist yet")
        if target.resolve() == folder.path.resolve():
            raise DataError(f"{paths.shown(target)} is the run itself: name another folder")
    except (OSError, ValueError) as reason:  # a name with a zero byte is no name
        raise _unusable(target, reason) from reason
    manifest = {"id": folder.id} | folder.manifest() | {"version": schema.VERSION}
    manifest |= {"kept_although": list(although)} if although else {}
    tables = {name: folder.read(name) for name in schema.TABLES}
    kept = Folder(target)
    try:
        target.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as reason:
        raise _unusable(target, reason) from reason
    kept.write_all(tables)
    shutil.rmtree(target / OLD, ignore_errors=True)
    kept.write_manifest(manifest | {"data_digest": kept.data_digest()})
    return kept


def _unusable(target: Path, reason: Exception) -> DataError:
    """Return the error for a folder in which nothing can be kept."""
    return DataError(f"cannot make or use {quoted(str(target))}: {reason_of(reason)}; name another folder")


def _is_kept(target: Path) -> bool:
    """Return whether a folder holds what an earlier ``keep`` wrote, and nothing else."""
    kept = {"manifest.json", f"{OLD}/all.sha256", *(f"{name}/all.parquet" for name in schema.TABLES)}
    kinds = {file.relative_to(target): stat.S_IFMT(file.lstat().st_mode) for file in target.rglob("*")}
    files = {str(file) for file, kind in kinds.items() if kind == stat.S_IFREG}
    return files <= kept and set(kinds.values()) <= {stat.S_IFREG, stat.S_IFDIR}
