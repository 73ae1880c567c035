"""Files of a run: written under a temporary name and renamed, so that what has its name is whole."""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bench import paths
from bench.errors import DataError
from bench.run import schema

_DELTA = dict.fromkeys(("t_send_ns", "lag_ns", "rtt_ns", "t_ns", "messages"), "DELTA_BINARY_PACKED")


def make_folder(folder: Path, variable: str) -> None:
    """Make a folder, unless it is there; DataError names the environment variable that names another."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as reason:
        where = paths.shown(folder)
        raise DataError(f"cannot make {where}: {reason.strerror}; name another folder in {variable}") from reason


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
