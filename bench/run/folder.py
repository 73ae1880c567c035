"""One run's folder: its manifest, its tables, and which starts are complete."""

import fcntl
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.errors import DataError
from bench.plan import documents, paths
from bench.plan.plan import Plan
from bench.run import manifest as manifests
from bench.run import schema
from bench.run.files import as_table, descriptor_of, read_bytes, table_bytes, unreadable, write_bytes, write_json
from bench.text import harmless, quoted

KEPT = "all"  # the stem of the files of a kept run, which has one for each table
SIGNED = 2  # the first version of a run whose manifest holds digests
_STEM = re.compile(r"[0-9]{5,}")  # of the files of one start


class Folder:
    """One run's folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def id(self) -> str:
        """The run's name."""
        return self.path.name

    def manifest(self) -> dict[str, Any]:
        """Return the manifest; DataError if it was altered, or any table since the run was finished."""
        content = self.stored_manifest()
        stored = content.get("data_digest")
        if (stored or (content["finished"] and content["version"] >= SIGNED)) and stored != self.data_digest():
            for table in schema.TABLES:  # a damaged file is named
                for _ in self.parts(table, self.done()):
                    pass
            raise _altered(f"the data of {paths.shown(self.path)}: a table")
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
        if (version >= SIGNED or "digest" in content) and content.get("digest") != manifests.signature(content):
            raise _altered(paths.shown(self.path / "manifest.json"))
        return content

    def _look_at_folders(self) -> None:
        """Refuse a folder of this run that is none, above all a link: what it leads to is not this run's."""
        for name in schema.TABLES:
            folder = self.path / name
            with suppress(FileNotFoundError):
                if not stat.S_ISDIR(folder.lstat().st_mode):
                    raise DataError(
                        f"{paths.shown(folder)} is a link or a file, where a run has a folder; "
                        "copy the run from its source again, or move it away"
                    )

    def plan(self) -> Plan:
        """Return the plan that the run follows."""
        return Plan.from_dict(self.stored_manifest()["plan"])

    def files(self, table: str) -> list[Path]:
        """Return a table's files in order: those named after a start, or the only one of a kept run."""
        files = sorted((self.path / table).glob("*.parquet"))
        kept = [file for file in files if file.stem == KEPT]
        return kept or [file for file in files if _STEM.fullmatch(file.stem)]

    def files_of(self, table: str, starts: set[int]) -> list[Path]:
        """Return those of a table's files that hold rows of these starts; of a kept run the only one."""
        return [file for file in self.files(table) if file.stem == KEPT or int(file.stem) in starts]

    def read(self, table: str, starts: set[int] | None = None) -> pa.Table:
        """Return one whole table; only complete starts count, or of them those given."""
        done = self.done() if starts is None else starts
        parts = list(self.parts(table, done))
        return _in_order(pa.concat_tables(parts) if parts else schema.TABLES[table].empty_table(), done)

    def parts(self, table: str, starts: set[int]) -> Iterator[pa.Table]:
        """Yield one table file by file, with the rows of these complete starts alone."""
        for file in self.files_of(table, starts):
            rows = self.read_file(file, table)
            yield _in_order(rows, starts) if file.stem == KEPT else rows

    def read_file(self, file: Path, table: str) -> pa.Table:
        """Return one file of a table; DataError if it cannot be read, is damaged, or holds another start's rows."""
        try:
            rows = as_table(read_bytes(file), table)
            if wrong := schema.implausible(rows, table):
                raise ValueError(wrong)
            starts = rows["start"].unique().to_pylist()
            if file.stem.isdecimal() and set(starts) - {int(file.stem)}:
                raise ValueError("it holds rows of another start")
            if table == "ledger" and len(starts) < len(rows):
                raise ValueError("it holds a start twice")
        except (OSError, ValueError) as reason:
            raise unreadable(file, _in_words(reason)) from reason
        return rows

    def done(self) -> set[int]:
        """Return the numbers of the starts that are complete: those in the ledger, which is written last."""
        files = self.files("ledger")
        if files and files[0].stem == KEPT:
            return set(self.read_file(files[0], "ledger")["start"].to_pylist())
        return {int(file.stem) for file in files}

    def append(self, start: int, tables: Mapping[str, pa.Table]) -> None:
        """Write one start's tables, one file for each that has rows."""
        self._write(f"{start:05d}", tables)

    def write_all(self, tables: Mapping[str, pa.Table]) -> None:
        """Write the tables of a whole run, one file for each that has rows."""
        self._write(KEPT, tables)

    def _write(self, stem: str, tables: Mapping[str, pa.Table]) -> None:
        """Write files in place of those of an earlier try, whose ledger is removed first; the new one is written last.

        So an interrupted write leaves no ledger; with it a start is complete, even if nothing was due in it.
        """
        self._look_at_folders()
        for name in ("ledger", *schema.TABLES):
            file = self.path / name / f"{stem}.parquet"
            try:
                file.unlink(missing_ok=True)
            except OSError as reason:
                raise unreadable(file, _in_words(reason)) from reason
        for name in sorted(tables, key=lambda name: name == "ledger"):
            if len(tables[name]) or name == "ledger":
                (self.path / name).mkdir(exist_ok=True)
                write_bytes(self.path / name / f"{stem}.parquet", table_bytes(tables[name]))

    def update(self, **fields: Any) -> None:
        """Change fields of the manifest; ``finished`` sets the digest of all data, or takes it away."""
        manifest = self.stored_manifest() | fields
        if "finished" in fields:
            manifest["data_digest"] = self.data_digest() if fields["finished"] else ""
        self.write_manifest(manifest)

    def write_manifest(self, manifest: Mapping[str, Any]) -> None:
        """Write the manifest with the digest of its other fields."""
        write_json(self.path / "manifest.json", {**manifest, "digest": manifests.signature(manifest)})

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
                if self.stored_manifest()["finished"]:  # a start of it was moved away: it is measured again
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

    def data_digest(self) -> str:
        """Return the SHA-256 of all data: of a list of files by start, each line as ``sha256sum`` prints it.

        Older versions kept the list of each start in a file of its own, which is not needed to verify their runs.
        """
        lists: dict[str, str] = {}
        for name, content in self._contents():
            stem = Path(name).stem
            lists[stem] = lists.get(stem, f"{stem}.sha256") + f"{hashlib.sha256(content).hexdigest()}  {name}\n"
        return hashlib.sha256("".join(lists[stem] for stem in sorted(lists)).encode()).hexdigest()

    def data_hash(self) -> str:
        """Return a hash of all tables' content files, which names exactly this data."""
        digest = hashlib.sha256()
        for name, content in self._contents():
            digest.update(name.encode() + content)
        return digest.hexdigest()[:16]

    def _contents(self) -> Iterator[tuple[str, bytes]]:
        """Yield the name and the bytes of each table's files, in order."""
        for table in sorted(schema.TABLES):
            for file in self.files(table):
                try:
                    yield f"{table}/{file.name}", read_bytes(file)
                except OSError as reason:
                    raise unreadable(file, _in_words(reason)) from reason


def _altered(what: str) -> DataError:
    """Return the error for what differs from what was written."""
    return DataError(
        f"{what} was altered since it was written: its SHA-256 is another one; "
        "copy the run from its source again, or measure it anew"
    )


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
