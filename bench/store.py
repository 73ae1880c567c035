"""Runs on disk: each start is written when it ends, so what was measured survives whatever comes next.

Every file is written under a temporary name and renamed: what has its name is whole.
"""

import fcntl
import hashlib
import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench import paths, schema
from bench.errors import DataError
from bench.plan.plan import Plan

_DELTA = dict.fromkeys(("t_send_ns", "lag_ns", "rtt_ns", "t_ns", "messages"), "DELTA_BINARY_PACKED")


@contextmanager
def writing(target: Path, variable: str = "ROUNDTRIP_RUNS") -> Iterator[Path]:
    """Yield a temporary path beside ``target``; rename it when all went well; explain what did not.

    ``variable`` is the environment variable that names another folder, for the remedy.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(3)}")
    try:
        yield temporary
        temporary.replace(target)
    except OSError as reason:
        raise DataError(
            f"cannot write {paths.shown(target)}: {reason.strerror or reason}; free some space, or name another "
            f"folder in {variable}, then go on with -p resume true: what was measured before is kept"
        ) from reason
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_json(target: Path, content: Any) -> None:
    """Write JSON in one step."""
    with writing(target) as temporary:
        temporary.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", "utf-8")


def write_table(target: Path, table: pa.Table) -> None:
    """Write a Parquet file in one step; increasing times are stored as differences, in few bytes."""
    encoding = {name: code for name, code in _DELTA.items() if name in table.schema.names}
    with writing(target) as temporary:
        pq.write_table(table, temporary, compression="zstd", use_dictionary=False, column_encoding=encoding)


def read_table(file: Path, name: str) -> pa.Table:
    """Read one Parquet file; DataError says why it cannot be used and what to do."""
    try:
        table = pq.ParquetFile(file).read(use_threads=False)  # most files are small
        reason = schema.problem(table, name)
    except (OSError, pa.ArrowException) as error:
        reason = f"it is truncated or not Parquet ({str(error).splitlines()[0]})"
    if reason:
        raise DataError(
            f"cannot read {paths.shown(file)}: {reason}; move it away: the run's other starts then load, "
            "and resume measures this one again"
        )
    return schema.conform(table, name)


class Folder:
    """One run's folder."""

    def __init__(self, path: Path) -> None:
        """Name the folder; nothing is read or written yet."""
        self.path = path

    @property
    def id(self) -> str:
        """The run's name."""
        return self.path.name

    def manifest(self) -> dict[str, Any]:
        """Return the manifest; DataError if there is none or it is damaged."""
        try:
            content = json.loads((self.path / "manifest.json").read_text("utf-8"))
            if not isinstance(content, dict) or "plan" not in content:
                raise ValueError("it holds no plan")
        except (OSError, ValueError) as reason:
            raise DataError(
                f"{paths.shown(self.path)} is not a run: its manifest.json is missing or damaged ({reason}); "
                "move the folder away"
            ) from reason
        if content.get("version", 0) > schema.VERSION:
            raise DataError(f"run {self.id} was written by a newer Roundtrip; update this one")
        return content

    def plan(self) -> Plan:
        """Return the plan that the run follows."""
        return Plan.from_dict(self.manifest()["plan"])

    def files(self, table: str) -> list[Path]:
        """Return a table's files in order."""
        return sorted((self.path / table).glob("*.parquet"))

    def read(self, table: str) -> pa.Table:
        """Return one whole table; only complete starts count."""
        parts = [read_table(file, table) for file in self.files(table)]
        whole = pa.concat_tables(parts) if parts else schema.TABLES[table].empty_table()
        complete = pa.array(sorted(self.done()), pa.int32())
        return whole.filter(pa.compute.is_in(whole["start"], value_set=complete)).sort_by("start")

    def done(self) -> set[int]:
        """Return the numbers of the starts that are complete: in the ledger, with calls or marks; all if it is kept."""
        ledger = {file.stem: file for file in self.files("ledger")}
        if "all" in ledger:
            return set(read_table(ledger["all"], "ledger")["start"].to_pylist())
        measured = {file.stem for table in ("samples", "marks") for file in self.files(table)}
        return {int(stem) for stem in measured.intersection(ledger) if stem.isdecimal()}

    def append(self, start: int, tables: dict[str, pa.Table]) -> None:
        """Write one start's tables, the ledger last: with it the start is complete, even if nothing was due in it."""
        for name in sorted(tables, key=lambda name: name == "ledger"):
            if len(tables[name]) or (name == "samples" and not len(tables["marks"])):
                write_table(self.path / name / f"{start:05d}.parquet", tables[name])

    def update(self, **fields: Any) -> None:
        """Change fields of the manifest."""
        write_json(self.path / "manifest.json", self.manifest() | fields)

    def failed(self, start: int, case: int, error: object) -> None:
        """Keep in the manifest why a start failed."""
        failures = self.manifest().get("failures", [])
        self.update(failures=[*failures, {"start": start, "case": case, "error": str(error)}])

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Hold the folder while measuring into it; DataError if another process does."""
        lock = self.path / "measuring.lock"
        with lock.open("w") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as reason:
                raise DataError(f"run {self.id} is being measured by another process: wait for it") from reason
            try:
                yield
            finally:
                lock.unlink(missing_ok=True)

    def is_being_measured(self) -> bool:
        """Return whether a process is measuring into this folder now."""
        try:
            with (self.path / "measuring.lock").open() as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except OSError:
            return True
        return False

    def data_hash(self) -> str:
        """Return a hash of all tables' content files, which names exactly this data."""
        digest = hashlib.sha256()
        for table in sorted(schema.TABLES):
            for file in self.files(table):
                digest.update(f"{table}/{file.name}".encode() + file.read_bytes())
        return digest.hexdigest()[:16]


def create(plan: Plan, facts: dict[str, Any]) -> Folder:
    """Make a new run's folder under ``data/runs``; its name is not taken by any other notebook."""
    utc = datetime.now(UTC)
    stem = f"{utc:%Y%m%dT%H%M%S}.{utc.microsecond // 1000:03d}Z-{plan.notebook}-{plan.hash8}"
    try:
        path = _claim(paths.runs(), stem)
        for table in schema.TABLES:
            (path / table).mkdir()
    except OSError as reason:
        raise DataError(
            f"cannot make a run's folder in {paths.shown(paths.runs())}: {reason.strerror}; "
            "name another folder in ROUNDTRIP_RUNS"
        ) from reason
    manifest = {"version": schema.VERSION, "created": utc.isoformat(timespec="seconds"), "finished": False}
    write_json(path / "manifest.json", manifest | {"plan": plan.as_dict(), **facts})
    return Folder(path)


def _claim(parent: Path, stem: str) -> Path:
    """Make and return the first free folder ``stem``, ``stem-2``, ..."""
    parent.mkdir(parents=True, exist_ok=True)
    for number in range(1, 1000):
        path = parent / (stem if number == 1 else f"{stem}-{number}")
        try:
            path.mkdir()
        except FileExistsError:
            continue
        return path
    raise DataError(f"a thousand runs are called {stem}: remove some")


def all_runs() -> list[Folder]:
    """Return your runs, the oldest first."""
    return [Folder(file.parent) for file in sorted(paths.runs().glob("*/manifest.json"))]


def find(name: str) -> Folder:
    """Return a run by its id, the beginning or a part of it, a path, "latest", or "reference/NOTEBOOK"."""
    for path in (Path(name), paths.runs() / name, paths.home() / "data" / name):
        if name and (path / "manifest.json").is_file():
            return Folder(path)
    found = [folder for folder in all_runs() if name in ("", "latest") or name in folder.id]
    if not found:
        raise DataError(f"no run {name!r} in {paths.shown(paths.runs())}; `python -m bench runs` lists those there are")
    return found[-1]


def unfinished(plan: Plan) -> Folder | None:
    """Return the latest run of exactly this plan that lacks starts and is not being measured now, or None."""
    planned = plan.starts * len(plan.cases)
    for folder in reversed(all_runs()):
        same = folder.id.split("-")[2:3] == [plan.hash8]
        if same and len(folder.done()) < planned and not folder.is_being_measured():
            return folder
    return None


def keep(folder: Folder, target: Path) -> Folder:
    """Copy a run into a folder that holds nothing else, with one file for each table."""
    if target.exists() and any(target.iterdir()) and not _is_kept(target):
        raise DataError(f"{paths.shown(target)} holds other files: name a folder that does not exist yet")
    if target.resolve() == folder.path.resolve():
        raise DataError(f"{paths.shown(target)} is the run itself: name another folder")
    tables = {name: folder.read(name) for name in schema.TABLES}
    for name, table in tables.items():
        (target / name).mkdir(parents=True, exist_ok=True)
        (target / name / "all.parquet").unlink(missing_ok=True)
        if len(table):
            write_table(target / name / "all.parquet", table)
    write_json(target / "manifest.json", {"id": folder.id} | folder.manifest())
    return Folder(target)


def _is_kept(target: Path) -> bool:
    """Return whether a folder holds what an earlier ``keep`` wrote, and nothing else."""
    kept = {"manifest.json", *(f"{name}/all.parquet" for name in schema.TABLES)}
    return {str(file.relative_to(target)) for file in target.rglob("*") if file.is_file()} <= kept
