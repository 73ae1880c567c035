"""SQL queries across runs, answered by DuckDB directly from the Parquet files."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd

from bench.errors import DataError, UsageError
from bench.plan.plan import Plan
from bench.run import schema, stored
from bench.run.folder import Folder


def runs() -> pd.DataFrame:
    """Return one row for each of your runs: id, when, notebook, profile, starts done and planned, machine."""
    rows = [row for folder in stored.all_runs() if (row := _row(folder))]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).set_index("run")


_COLUMNS = (
    "run",
    "created",
    "notebook",
    "profile",
    "cases",
    "starts_done",
    "starts_planned",
    "finished",
    "machine_id",
)


def _row(folder: Folder) -> dict[str, Any] | None:
    """Return a run's row; None, with a warning on stderr, for a folder that cannot be read."""
    try:
        manifest, done = folder.stored_manifest(), folder.done()
    except DataError as reason:
        print(f"left out {folder.id}: {reason}", file=sys.stderr)
        return None
    plan, machine = Plan.from_dict(manifest["plan"]), manifest["machine"]["machine_id"]
    values = (plan.notebook, plan.profile, len(plan.cases), len(done), plan.all_starts, manifest["finished"], machine)
    return dict(zip(_COLUMNS, (folder.id, manifest["created"], *values), strict=True))


def query(sql: str) -> pd.DataFrame:
    """Answer an SQL question about all runs; each table has a column ``run``.

    Tables: the twelve of ``bench/run/schema.py``, such as ``ledger`` and ``samples``, e.g.
    ``select run, system, transport, sum(calls) from ledger group by all``.

    The tables hold the complete starts. A run that was altered, or of which a file is missing, is left out as a whole,
    with a warning on stderr.
    """
    connection = duckdb.connect()
    try:
        names = [name for name in schema.TABLES if name in sql.lower()]
        whole = list(_whole_runs(names))
        for name in names:
            _add_view(connection, name, [str(file) for run in whole for file in run[name]])
        connection.execute(sql)
        return connection.df()
    except duckdb.Error as reason:
        raise UsageError(f"the SQL query failed: {str(reason).splitlines()[0]}") from reason


def _whole_runs(names: Sequence[str]) -> Iterator[dict[str, list[Path]]]:
    """Yield the files of each run by table, those of its complete starts; say once which runs are left out, and why."""
    for folder in stored.all_runs():
        try:
            folder.manifest()
            files = {name: folder.files_of(name, folder.done()) for name in names}
            for name in names:
                for file in files[name]:
                    folder.read_file(file, name)
        except DataError as reason:
            print(f"left out {folder.id}: {reason}", file=sys.stderr)
        else:
            yield files


def _add_view(connection: duckdb.DuckDBPyConnection, name: str, files: list[str]) -> None:
    """Add one table of these files."""
    if not files:
        columns = ", ".join(f"null as {field.name}" for field in schema.TABLES[name])
        connection.execute(f"create view {name} as select null as run, {columns} where false")
        return
    quoted = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    run = "regexp_extract(filename, '([^/]+)/[^/]+/[^/]+$', 1) as run"
    connection.execute(
        f"create view {name} as select {run}, * exclude (filename) "
        f"from read_parquet([{quoted}], union_by_name=true, filename=true)"
    )
