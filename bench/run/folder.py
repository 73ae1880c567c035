"""One run's folder: its manifest, its tables, and which starts are complete."""

import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.errors import DataError
from bench.plan import documents, paths
from bench.plan.plan import Plan
from bench.run import integrity, schema
from bench.run import manifest as manifests
from bench.run.files import as_table, descriptor_of, read_bytes, table_bytes, unreadable, write_bytes, write_json
from bench.text import harmless, quoted

KEPT = "all"  # the stem of the files of a kept run, which has one for each table
_STEM = re.compile(r"[0-9]{5,}")  # of the files of one start


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
        self._has_digests: bool | None = None  # not looked yet

    @property
    def id(self) -> str:
        """The run's name."""
        return self.path.name

    def manifest(self) -> dict[str, Any]:
        """Return the manifest; DataError if it or a file of a complete start is missing, damaged or was altered."""
        content = self.stored_manifest()
        self._look_for_all(content)
        return content

    def stored_manifest(self) -> dict[str, Any]:
        """Return the manifest, whatever became of the tables: what is measured again may be missing."""
        try:
            content = documents.from_json(read_bytes(self.path / "manifest.json"))
            if not isinstance(content, dict) or not isinstance(content.get("plan"), dict):
                raise ValueError("it holds no plan")
        except (OSError, ValueError, RecursionError) as reason:
            raise DataError(
                f"{paths.shown(self.path)} is not a run: its manifest.json is missing or damaged "
                f"({_in_words(reason)}); move the folder away"
            ) from reason
        version = content.get("version", "none")
        if type(version) is not int or not 1 <= version <= schema.VERSION:
            raise DataError(
                f"{paths.shown(self.path / 'manifest.json')} has the version {quoted(str(version))}: this Roundtrip "
                f"reads versions 1 to {schema.VERSION}; update it, or copy the run from its source again"
            )
        if wrong := manifests.problem(content):
            raise DataError(
                f"{paths.shown(self.path / 'manifest.json')} cannot be used: {harmless(wrong)}; copy the run from "
                "its source again, or move the folder away"
            )
        self._look_at_folders()
        self._has_digests = self._are_there_digests(content)
        if self._has_digests and content.get("digest") != integrity.of_manifest(content):
            self._differs("manifest.json")
        if "data_digest" in content and content["data_digest"] != self._data_digest():
            self._differs(integrity.FOLDER)
        return content

    def _are_there_digests(self, manifest: Mapping[str, Any]) -> bool:
        """Return whether a run has digests, whatever its version says: one bit makes another version of it."""
        has_any = not manifest.keys().isdisjoint(("digest", "data_digest")) or (self.path / integrity.FOLDER).exists()
        return has_any or manifest["version"] >= integrity.SINCE

    def _look_at_folders(self) -> None:
        """Refuse a folder of this run that is none, above all a link: what it leads to is not this run's."""
        for name in (integrity.FOLDER, *schema.TABLES):
            folder = self.path / name
            with suppress(FileNotFoundError):
                if not stat.S_ISDIR(folder.lstat().st_mode):
                    raise DataError(
                        f"{paths.shown(folder)} is a link or a file, where a run has a folder; "
                        "copy the run from its source again, or move it away"
                    )

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
                f"{paths.shown(self.path / name)} {how}; copy the run from its source again, measure it anew, "
                f"or look at it all the same: python -m bench show {self.id} --unverified"
            )

    def plan(self) -> Plan:
        """Return the plan that the run follows."""
        return Plan.from_dict(self.stored_manifest()["plan"])

    def files(self, table: str) -> list[Path]:
        """Return a table's files in order: those named after a start, or the only one of a kept run."""
        found = [file for file in self._files_of_any_name(table) if file.stem == KEPT or _STEM.fullmatch(file.stem)]
        return [file for file in found if file.stem == KEPT] or found

    def files_of(self, table: str, starts: set[int]) -> list[Path]:
        """Return those of a table's files that hold rows of these starts; of a kept run the only one."""
        return [file for file in self.files(table) if file.stem == KEPT or int(file.stem) in starts]

    def _files_of_any_name(self, table: str) -> list[Path]:
        return sorted((self.path / table).glob("*.parquet"))

    def read(self, table: str, starts: set[int] | None = None) -> pa.Table:
        """Return one whole table; only complete starts count, or of them those given."""
        done = self.done() if starts is None else starts
        parts = list(self.parts(table, done))
        return _in_order(pa.concat_tables(parts) if parts else schema.TABLES[table].empty_table(), done)

    def parts(self, table: str, starts: set[int]) -> Iterator[pa.Table]:
        """Yield one table file by file, with the rows of these complete starts alone."""
        self._look_for({KEPT} if self._is_kept() else {f"{start:05d}" for start in starts}, {table})
        for file in self.files(table):
            rows = self.read_file(file, table)
            if file.stem == KEPT:
                yield _in_order(rows, starts)
            elif int(file.stem) in starts:
                yield rows

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
        done = self.done()
        for table in schema.TABLES:
            for _ in self.parts(table, done):  # one after another: together they can take gigabytes
                pass
        return self.altered

    def _digests(self, stem: str) -> dict[str, str] | None:
        """Return the digests of one start's files; None for a run that was written before there were any."""
        if self._has_digests is None:
            self.stored_manifest()
        if not self._has_digests:
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

    def _look_for_all(self, manifest: Mapping[str, Any]) -> None:
        """Refuse a run that lacks a file, or has one too many.

        Of a finished run every file that a digest names has to be there; of another, those of the starts whose
        ledger is, which is written last.
        """
        stems = {file.stem for file in self.files("ledger")}
        found = self._names()
        if self._has_digests:
            known = {name for stem in {Path(name).stem for name in found} for name in self._digests(stem) or ()}
        else:
            known = {f"{table}/{file.name}" for table in schema.TABLES for file in self.files(table)}
        for name in sorted(found - known):
            self._differs(name, "does not belong to this run: no digest names it")
        if manifest["finished"] or "data_digest" in manifest:
            stems |= {file.stem for file in (self.path / integrity.FOLDER).glob("*.sha256")}
        self._look_for(stems, set(schema.TABLES))

    def _look_for(self, stems: set[str], tables: set[str]) -> None:
        """Refuse a run without a file of these tables that the digests of these starts name."""
        named = {name for stem in stems for name in self._digests(stem) or () if Path(name).parent.name in tables}
        for name in sorted(named - self._names(tables)):
            self._differs(name, "is missing")

    def _names(self, tables: Iterable[str] = schema.TABLES) -> set[str]:
        return {f"{table}/{file.name}" for table in tables for file in self._files_of_any_name(table)}

    def _is_kept(self) -> bool:
        return (self.path / "ledger" / f"{KEPT}.parquet").exists()

    def done(self) -> set[int]:
        """Return the numbers of the starts that are complete; all if the run is kept.

        Such a start is in the ledger, with calls or marks, and has all files that its digests name.
        """
        if self._is_kept():
            return set(self.read_file(self.path / "ledger" / f"{KEPT}.parquet", "ledger")["start"].to_pylist())
        there = self._names()
        measured = {file.stem for table in ("samples", "marks") for file in self.files(table)}
        ledger = {file.stem for file in self.files("ledger")}
        return {int(stem) for stem in measured & ledger if self._is_complete(stem, there)}

    def _is_complete(self, stem: str, there: set[str]) -> bool:
        named = self._digests(stem)
        return named is None or (f"ledger/{stem}.parquet" in named and named.keys() <= there)

    def append(self, start: int, tables: dict[str, pa.Table]) -> None:
        """Write one start's tables, the ledger last: with it the start is complete, even if nothing was due in it."""
        needed = {"ledger"} | ({"samples"} if not len(tables.get("marks", ())) else set())
        self._write(f"{start:05d}", {name: rows for name, rows in tables.items() if len(rows) or name in needed})

    def write_all(self, tables: Mapping[str, pa.Table]) -> None:
        """Write the tables of a whole run, one file for each that has rows."""
        self._write("all", {name: rows for name, rows in tables.items() if len(rows)})

    def _write(self, stem: str, tables: Mapping[str, pa.Table]) -> None:
        """Write files and before them their digests, and remove others of an earlier try; the ledger comes last."""
        content = {name: table_bytes(table) for name, table in tables.items()}
        digests = {f"{name}/{stem}.parquet": integrity.digest(data) for name, data in content.items()}
        self._known.pop(stem, None)
        self._look_at_folders()
        (self.path / integrity.FOLDER).mkdir(exist_ok=True)
        write_bytes(self.path / integrity.FOLDER / f"{stem}.sha256", integrity.written(digests).encode())
        for name in schema.TABLES.keys() - content.keys():
            (self.path / name / f"{stem}.parquet").unlink(missing_ok=True)
        for name in sorted(content, key=lambda name: name == "ledger"):
            (self.path / name).mkdir(exist_ok=True)
            write_bytes(self.path / name / f"{stem}.parquet", content[name])

    def update(self, **fields: Any) -> None:
        """Change fields of the manifest; with ``finished`` it keeps the digest of all data too."""
        manifest = self.stored_manifest() | fields
        manifest.pop("data_digest", None)
        if manifest["finished"] and self._has_digests:
            manifest["data_digest"] = integrity.of_folder(self.path)
        self.write_manifest(manifest)

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest with its digest."""
        write_json(self.path / "manifest.json", integrity.signed(manifest))

    def failed(self, start: int, case: int, error: object) -> None:
        """Keep in the manifest why a start failed."""
        failures = self.stored_manifest().get("failures", [])
        self.update(failures=[*failures, {"start": start, "case": case, "error": str(error)}])

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Hold the folder while measuring into it; DataError if another process does."""
        lock = self.path / "measuring.lock"
        try:
            opened = descriptor_of(lock, os.O_RDWR | os.O_CREAT)
        except OSError as reason:
            raise DataError(
                f"cannot open {paths.shown(lock)}: {_in_words(reason)}; remove it, or measure without -p resume true"
            ) from reason
        with os.fdopen(opened):
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as reason:
                raise DataError(f"run {self.id} is being measured by another process: wait for it") from reason
            try:
                manifest = self.stored_manifest()
                if not self._has_digests:
                    raise DataError(f"run {self.id} is an older Roundtrip's, without digests: measure it anew")
                if manifest["finished"]:  # a start of it was moved away: it is measured again
                    self.update(finished=False)
                yield
            finally:
                lock.unlink(missing_ok=True)

    def is_being_measured(self) -> bool:
        """Return whether a process is measuring into this folder now."""
        try:
            opened = descriptor_of(self.path / "measuring.lock")
        except OSError:
            return False  # nobody can hold it: ``measuring`` says why
        with os.fdopen(opened):
            try:
                fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
        return False

    def data_hash(self) -> str:
        """Return a hash of all tables' content files, which names exactly this data."""
        digest = hashlib.sha256()
        for table in sorted(schema.TABLES):
            for file in self.files(table):
                try:
                    digest.update(f"{table}/{file.name}".encode() + read_bytes(file))
                except OSError as reason:
                    raise unreadable(file, _in_words(reason)) from reason
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
