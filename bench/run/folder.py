"""One run's folder: its manifest, its tables, and which starts are complete."""

import fcntl
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench import paths
from bench.errors import DataError
from bench.plan.plan import Plan
from bench.run import schema
from bench.run.files import read_table, write_json, write_table


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
