"""The table of a submitted run: one row for each start, numbers only, so that reading it takes no more than they need.

It holds the numbers of the ledger (``bench/schema.py``) and what the calls of each start come to. The calls themselves
stay at home: they are most of a run's bytes, and a comparison repeats over starts.
"""

import io
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench import comparing, schema, stats
from bench.classroom.zips import RefusedError
from bench.results import Run, column
from bench.units import quantity

MOST_ROWS = 4000
MOST_GROUPS = 8
QUANTILES = tuple(column(p) for p in stats.QUANTILES)
TOLD = (*QUANTILES, "rate_per_s", "cpu_us_per_call")  # what the calls come to: us, 1/s, us
LEDGER = tuple(f.name for f in schema.LEDGER if pa.types.is_integer(f.type) or pa.types.is_floating(f.type))


def of(run: Run) -> pa.Table:
    """Return the table of a run: the ledger's numbers, quantiles (us), rate (1/s) and CPU of a call (us)."""
    ledger = schema.conform(run.folder.read("ledger"), "ledger").select(LEDGER)
    known = run.starts.assign(cpu_us_per_call=np.nan)
    for case, rows in run.starts.groupby("case"):
        known.loc[rows.index, "cpu_us_per_call"] = comparing.values(run, int(str(case)), "cpu_us_per_call").to_numpy()
    told = known.loc[ledger["start"].to_pylist(), list(TOLD)].astype(float)
    for name in TOLD:
        ledger = ledger.append_column(name, pa.array(told[name].where(told[name] > 0), from_pandas=True))
    return ledger.replace_schema_metadata(schema.LEDGER.metadata)


def written(table: pa.Table) -> bytes:
    """Return a table as it lies in a zip: uncompressed, because the zip compresses and bounds it."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="none", use_dictionary=False, write_statistics=False)
    return buffer.getvalue()


def read(data: bytes, cases: int) -> pd.DataFrame:
    """Return a table that a stranger wrote, one row for each start; RefusedError says what cannot be."""
    table = _bounded(data)
    if wrong := schema.problem(table, "ledger"):
        raise RefusedError(f"its starts.parquet cannot be used: {wrong}")
    if any(table.schema.field(name).type != pa.float64() for name in TOLD):
        raise RefusedError("its starts.parquet has columns of other types than a submission's")
    frame = pd.DataFrame({name: table[name].to_numpy() for name in table.schema.names})
    if wrong := _insane(frame, cases):
        raise RefusedError(f"its starts.parquet cannot be true: {wrong}")
    return frame


def _bounded(data: bytes) -> pa.Table:
    """Return the columns that are known, once the file's own description promises few rows of plain numbers.

    Nothing that the file says for pandas or Arrow is followed: only Parquet's own types count.
    """
    limits = {"thrift_string_size_limit": 1_000_000, "thrift_container_size_limit": 100_000}
    file = pq.ParquetFile(pa.BufferReader(data), **limits)
    about = file.metadata
    if not 0 < about.num_rows <= MOST_ROWS or not 0 < about.num_row_groups <= MOST_GROUPS:
        raise RefusedError(f"its starts.parquet has {about.num_rows:,} rows; 1 to {MOST_ROWS:,} are read")
    found = {about.schema.column(i).path: about.schema.column(i) for i in range(about.num_columns)}
    if len(found) < about.num_columns or set(found) != {*LEDGER, *TOLD}:
        raise RefusedError("its starts.parquet has other columns than a submission's")
    if any(one.physical_type not in ("INT32", "INT64", "DOUBLE") or one.max_repetition_level for one in found.values()):
        raise RefusedError("its starts.parquet has columns that are no plain numbers")
    groups = [about.row_group(i) for i in range(about.num_row_groups)]
    if any(group.column(i).compression != "UNCOMPRESSED" for group in groups for i in range(about.num_columns)):
        raise RefusedError("its starts.parquet is compressed once more inside the zip")
    return file.read(use_threads=False, use_pandas_metadata=False)


def _insane(frame: pd.DataFrame, cases: int) -> str:
    """Return what no measurement of this program can have found, or nothing."""
    numbers = frame[[*TOLD, "window_s"]]
    p = [frame[name] for name in QUANTILES]
    falling = [(low > high).any() for low, high in itertools.pairwise(p)]
    found = {
        "a number is infinite": bool(np.isinf(frame.to_numpy(float)).any()),
        "a number that has to be above zero is not": bool((numbers <= 0).any(axis=None)),
        "a start is told twice": bool(frame["start"].duplicated().any()),
        f"a start belongs to none of the {cases} cases": bool((frame["case"] >= cases).any()),
        "a case has two starts in a block": bool(frame[["case", "block"]].duplicated().any()),
        "a higher quantile is below a lower one": any(falling),
        "a median is longer than its window": bool((p[0] > frame["window_s"] * 1e6).any()),
        "requests failed or were lost": bool((frame["errors"].fillna(0) > 0).any()),
    }
    return next((text for text, wrong in found.items() if wrong), "")


def left_out(run: Run) -> str:
    """Return in words what of a run's tables a submission does not hold."""
    rows = {name: len(run.folder.read(name)) for name in schema.TABLES if name != "ledger"}
    size = sum(file.stat().st_size for name in rows for file in run.folder.files(name))
    told = ", ".join(f"{name} ({count:,} rows)" for name, count in rows.items() if count)
    return f"{told}: {quantity(size, 'B')}" if told else "nothing"
