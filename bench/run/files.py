"""Files of a run: written under a temporary name and renamed, so that what has its name is whole."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench.errors import DataError
from bench.plan import documents, paths
from bench.run import schema

_DELTA = dict.fromkeys(
    ("t_send_ns", "lag_ns", "rtt_ns", "t_ns", "messages", "first_ns", "last_ns", "gap_ns", "pacing_ns", "transit_ns"),
    "DELTA_BINARY_PACKED",
)


FEW = 100  # rows: to compress the columns of a smaller table takes longer than to write and read them as they are


def make_folder(folder: Path, variable: str) -> None:
    """Make a folder, unless it is there; DataError names the environment variable that names another."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        shown = paths.shown(folder)
        raise DataError(f"cannot make {shown}: {reason.strerror}; name another folder in {variable}") from reason


@contextmanager
def writing(target: Path, variable: str = "ROUNDTRIP_RUNS") -> Iterator[Path]:
    """Yield a temporary path beside ``target``; rename it when all went well; explain what did not.

    ``variable`` is the environment variable, or the argument, that names another folder, for the remedy.
    """
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(3)}")
    try:
        yield temporary
        temporary.replace(target)
    except OSError as reason:
        what = f"cannot write {paths.shown(target)}: {reason.strerror or reason}; free some space, or name another"
        resume = ", then resume with -p resume true: completed starts are kept" * variable.startswith("ROUNDTRIP_")
        raise DataError(f"{what} folder in {variable}{resume}") from reason
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def write_json(target: Path, content: Any) -> None:
    """Write JSON in one step."""
    write_bytes(target, (json.dumps(content, indent=1, sort_keys=True) + "\n").encode())


def write_bytes(target: Path, content: bytes, variable: str = "ROUNDTRIP_RUNS") -> None:
    """Write a file in one step; ``variable`` as of ``writing``."""
    with writing(target, variable) as temporary, temporary.open("xb") as file:
        file.write(content)


def table_bytes(table: pa.Table) -> bytes:
    """Return a table as a Parquet file's bytes; increasing times are stored as differences, in few bytes.

    Each page carries its checksum.
    """
    encoding = {name: code for name, code in _DELTA.items() if name in table.schema.names}
    buffer = pa.BufferOutputStream()
    compression = "zstd" if len(table) > FEW else "none"
    pq.write_table(
        table, buffer, compression=compression, use_dictionary=False, column_encoding=encoding, write_page_checksum=True
    )
    return bytes(buffer.getvalue())


def read_bytes(file: Path, max_bytes: int = -1) -> bytes:
    """Return a regular file's bytes, at most so many; OSError for a link, a folder, a pipe or a device."""
    with os.fdopen(descriptor_of(file), "rb") as content:
        return content.read(max_bytes)


def descriptor_of(file: Path, flags: int = os.O_RDONLY) -> int:
    """Open a regular file of a run, without a wait; OSError for a link, a folder, a pipe or a device."""
    return documents.open_regular(file, flags | os.O_NOFOLLOW)


def as_table(content: bytes, name: str) -> pa.Table:
    """Return the table that a Parquet file's bytes hold, whatever its values; ValueError says why it cannot be used."""
    try:
        parquet = pq.ParquetFile(pa.BufferReader(content), page_checksum_verification=True)
        table = parquet.read(use_threads=False)  # most files are small
        reason = schema.misfit(table, name)
    except (OSError, pa.ArrowException) as error:
        raise ValueError(f"it is truncated or not Parquet ({str(error).splitlines()[0]})") from error
    if reason:
        raise ValueError(reason)
    return schema.conform(table, name)


def unreadable(file: Path, reason: object) -> DataError:
    """Return the error for a file of one start."""
    return DataError(
        f"cannot read {paths.shown(file)}: {reason}; copy the run from its source again, or move "
        f"ledger/{file.name} away: -p resume true then measures this start again"
    )
