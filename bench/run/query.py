"""Questions across runs, answered by DuckDB from the Parquet files where they lie."""

import sys
from typing import Any

import duckdb
import pandas as pd

from bench.errors import DataError, UsageError
from bench.run import schema, stored
from bench.run.files import read_table
from bench.run.folder import Folder


def runs() -> pd.DataFrame:
    """Return one row for each of your runs: id, when, notebook, profile, starts done and planned, machine."""
    rows = [_row(folder) for folder in stored.all_runs()]
    return pd.DataFrame([row for row in rows if row], columns=list(_COLUMNS)).set_index("run")


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
    """Return a run's row; None, with a word on stderr, for a folder that cannot be read."""
    try:
        manifest, plan, done = folder.manifest(), folder.plan(), folder.done()
    except (DataError, KeyError, TypeError) as reason:
        print(f"left out {folder.id}: {reason}", file=sys.stderr)
        return None
    planned = plan.starts * len(plan.cases)
    machine = manifest["machine"]["machine_id"]
    values = (plan.notebook, plan.profile, len(plan.cases), len(done), planned, manifest["finished"], machine)
    return dict(zip(_COLUMNS, (folder.id, manifest["created"], *values), strict=True))


def query(sql: str) -> pd.DataFrame:
    """Answer an SQL question about all runs; each table has a column ``run``.

    Tables: ``ledger``, ``samples``, ``marks``, ``load`` as ``bench/run/schema.py`` defines them, e.g.
    ``select run, system, transport, sum(calls) from ledger group by all``.
    """
    connection = duckdb.connect()
    for name in schema.TABLES:
        connection.execute(_view(name))
    try:
        return connection.sql(sql).df()
    except duckdb.Error as reason:
        raise UsageError(f"the question was not understood: {str(reason).splitlines()[0]}") from reason


def _view(name: str) -> str:
    """Return the statement that makes one table of all runs' files, those that can be read."""
    files = [str(file) for folder in stored.all_runs() for file in folder.files(name) if _is_readable(file, name)]
    if not files:
        columns = ", ".join(f"null as {field.name}" for field in schema.TABLES[name])
        return f"create view {name} as select null as run, {columns} where false"
    listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
    run = "regexp_extract(filename, '([^/]+)/[^/]+/[^/]+$', 1) as run"
    return (
        f"create view {name} as select {run}, * exclude (filename) "
        f"from read_parquet([{listed}], union_by_name=true, filename=true)"
    )


def _is_readable(file: Any, name: str) -> bool:
    try:
        read_table(file, name)
    except DataError as reason:
        print(f"left out: {reason}", file=sys.stderr)
        return False
    return True
