"""One run's folder: its manifest, its tables, and which starts are complete."""

import fcntl
import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench import documents, paths
from bench.errors import DataError
from bench.plan.plan import Plan
from bench.run import integrity, schema
from bench.run import manifest as manifests
from bench.run.files import as_table, read_bytes, table_bytes, unreadable, write_bytes, write_json
from bench.text import harmless


class Folder:
    """One run's folder.

    Files that differ from what was written are refused; with ``is_verified`` false they are read, and named in
    ``altered``.
    """

    def __init__(self, path: Path, is_verified: bool = True) -> None:
        self.path = path
        self.is_verified = is_verified
        self.altered: list[str] = []
        self._known: dict[str, dict[str, str]] = {}

    @property
    def id(self) -> str:
        """The run's name."""
        return self.path.name

    def manifest(self) -> dict[str, Any]:
        """Return the manifest; DataError if there is none, or it is damaged or was altered."""
        try:
            content = documents.from_json(read_bytes(self.path / "manifest.json"))
            if not isinstance(content, dict) or not isinstance(content.get("plan"), dict):
                raise ValueError("it holds no plan")
            version = content.get("version", 0)
            if not isinstance(version, int) or isinstance(version, bool):
                raise ValueError("its version is no number")
        except (OSError, ValueError, RecursionError) as reason:
            raise DataError(
                f"{paths.shown(self.path)} is not a run: its manifest.json is missing or damaged "
                f"({_in_words(reason)}); move the folder away"
            ) from reason
        if version > schema.VERSION:
            raise DataError(f"run {self.id} was written by a newer Roundtrip; update this one")
        if wrong := manifests.problem(content):
            raise DataError(
                f"{paths.shown(self.path / 'manifest.json')} cannot be used: {harmless(wrong)}; take the run from "
                "where it came from again, or move the folder away"
            )
        if version >= integrity.SINCE and content.get("digest") != integrity.of_manifest(content):
            self._differs("manifest.json")
        if "data_digest" in content and content["data_digest"] != self._data_digest():
            self._differs(integrity.FOLDER)
        return content

    def _data_digest(self) -> str:
        try:
            return integrity.of_folder(self.path)
        except OSError as reason:
            raise unreadable(self.path / integrity.FOLDER, _in_words(reason)) from reason

    def _differs(self, name: str, how: str = "was altered since it was written: its SHA-256 is another one") -> None:
        """Refuse a file that differs from what was written, or keep its name."""
        if name not in self.altered:
            self.altered.append(name)
        if self.is_verified:
            raise DataError(
                f"{paths.shown(self.path / name)} {how}; take the run from where it came from again, measure it anew, "
                f"or look at it all the same: python -m bench show {self.id} --unverified"
            )

    def plan(self) -> Plan:
        """Return the plan that the run follows."""
        return Plan.from_dict(self.manifest()["plan"])

    def files(self, table: str) -> list[Path]:
        """Return a table's files in order."""
        return sorted((self.path / table).glob("*.parquet"))

    def read(self, table: str, starts: set[int] | None = None) -> pa.Table:
        """Return one whole table; only complete starts count, or of them those given."""
        done = self.done() if starts is None else starts
        self._look_for_all(table, done)
        parts = [self.read_file(file, table) for file in self.files(table)]
        return _in_order(pa.concat_tables(parts) if parts else schema.TABLES[table].empty_table(), done)

    def read_file(self, file: Path, table: str) -> pa.Table:
        """Return one file of a table; DataError if it cannot be read, was altered, or holds another start's rows."""
        name, digests = f"{table}/{file.name}", self._digests(file.stem)
        try:
            content = read_bytes(file)
            is_altered = digests is not None and digests.get(name) != integrity.digest(content)
            rows = as_table(content, table)
            if wrong := schema.implausible(rows, table):
                raise ValueError(wrong)
            starts = rows["start"].unique().to_pylist()
            if file.stem.isdecimal() and set(starts) - {int(file.stem)}:
                raise ValueError("it holds rows of another start")
            if table == "ledger" and len(starts) < len(rows):
                raise ValueError("it holds a start twice")
        except (OSError, ValueError) as reason:
            raise unreadable(file, _in_words(reason)) from reason
        if is_altered:
            self._differs(name)
        return rows

    def look_at_all(self) -> list[str]:
        """Read every file, and return the names of those that differ from what was written."""
        self.manifest()
        for table in schema.TABLES:
            self.read(table)
        return self.altered

    def _digests(self, stem: str) -> dict[str, str] | None:
        """Return the digests of one start's files; None for a run that was written before there were any."""
        if self._version < integrity.SINCE:
            return None
        if stem not in self._known:
            self._known[stem] = self._read_digests(stem)
        return self._known[stem]

    def _read_digests(self, stem: str) -> dict[str, str]:
        file = self.path / integrity.FOLDER / f"{stem}.sha256"
        try:
            return integrity.read(read_bytes(file).decode())
        except FileNotFoundError:
            return {}  # an incomplete start's, or lost: then no file of it is the one that was written
        except (OSError, ValueError) as reason:
            raise unreadable(file, _in_words(reason)) from reason

    @cached_property
    def _version(self) -> int:
        return int(self.manifest().get("version", 0))

    def _look_for_all(self, table: str, done: set[int]) -> None:
        """Refuse a run in which a file of a complete start is missing."""
        there = {f"{table}/{file.name}" for file in self.files(table)}
        stems = (
            ["all"] if (self.path / "ledger" / "all.parquet").exists() else [f"{start:05d}" for start in sorted(done)]
        )
        for stem in stems:
            if f"{table}/{stem}.parquet" in (self._digests(stem) or {}) and f"{table}/{stem}.parquet" not in there:
                self._differs(f"{table}/{stem}.parquet", "is missing")

    def done(self) -> set[int]:
        """Return the numbers of the starts that are complete: in the ledger, with calls or marks; all if it is kept."""
        ledger = {file.stem: file for file in self.files("ledger")}
        if "all" in ledger:
            return set(self.read_file(ledger["all"], "ledger")["start"].to_pylist())
        measured = {file.stem for table in ("samples", "marks") for file in self.files(table)}
        return {int(stem) for stem in measured.intersection(ledger) if stem.isdecimal()}

    def append(self, start: int, tables: dict[str, pa.Table]) -> None:
        """Write one start's tables, the ledger last: with it the start is complete, even if nothing was due in it."""
        needed = {"ledger"} | ({"samples"} if not len(tables.get("marks", ())) else set())
        self._write(f"{start:05d}", {name: rows for name, rows in tables.items() if len(rows) or name in needed})

    def write_all(self, tables: Mapping[str, pa.Table]) -> None:
        """Write the tables of a whole run, one file for each that has rows."""
        self._write("all", {name: rows for name, rows in tables.items() if len(rows)})

    def _write(self, stem: str, tables: Mapping[str, pa.Table]) -> None:
        """Write files and before them their digests; the ledger comes last."""
        content = {name: table_bytes(table) for name, table in tables.items()}
        digests = {f"{name}/{stem}.parquet": integrity.digest(data) for name, data in content.items()}
        self._known.pop(stem, None)
        (self.path / integrity.FOLDER).mkdir(exist_ok=True)
        write_bytes(self.path / integrity.FOLDER / f"{stem}.sha256", integrity.written(digests).encode())
        for name in sorted(content, key=lambda name: name == "ledger"):
            (self.path / name).mkdir(exist_ok=True)
            write_bytes(self.path / name / f"{stem}.parquet", content[name])

    def update(self, **fields: Any) -> None:
        """Change fields of the manifest; with ``finished`` it keeps the digest of all data too."""
        manifest = self.manifest() | fields
        manifest.pop("data_digest", None)
        if manifest.get("finished") and manifest.get("version", 0) >= integrity.SINCE:
            manifest["data_digest"] = integrity.of_folder(self.path)
        self.write_manifest(manifest)

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest with its digest."""
        write_json(self.path / "manifest.json", integrity.signed(manifest))

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
                if self.manifest().get("finished"):  # a start of it was moved away: it is measured again
                    self.update(finished=False)
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


def _in_order(table: pa.Table, starts: set[int]) -> pa.Table:
    """Return the rows of some starts by the number of the start, and else in the order in which they are."""
    numbers = table["start"].to_numpy()
    is_asked = np.isin(numbers, list(starts))
    rows = table if is_asked.all() else table.filter(pa.array(is_asked))
    return rows if (np.diff(numbers[is_asked]) >= 0).all() else rows.sort_by("start")


def _in_words(reason: Exception) -> str:
    """Return why a file cannot be used, without its path, which is said already."""
    if isinstance(reason, OSError) and reason.strerror:
        return reason.strerror
    return "it is nested too deeply" if isinstance(reason, RecursionError) else str(reason)
