"""The table of a submitted run: one row for each start, numbers only, so that reading it is safe and fast.

It holds the numbers of the ledger (``bench/run/schema.py``) and summary numbers of each start's calls. The calls
themselves are not submitted: they are most of a run's bytes, and a comparison repeats over starts.
"""

import io
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from bench import stats
from bench.analysis import comparison
from bench.apps.classroom.survival import survives
from bench.apps.classroom.zips import RefusedError
from bench.run import schema
from bench.run.frames import Run, column, number_of

MOST_ROWS, MOST_GROUPS = 2000, 8
LEAST, MOST = 1e-3, 1e9  # of reported numbers: from a nanosecond, in us, to a thousand million calls per second
QUANTILES = tuple(column(p) for p in stats.QUANTILES)
REPORTED = (*QUANTILES, "rate_per_s", "cpu_us_per_call")  # summary of the calls: us, 1/s, us
LEDGER = tuple(f.name for f in schema.LEDGER if pa.types.is_integer(f.type) or pa.types.is_floating(f.type))
LIMITS = {"thrift_string_size_limit": 1_000_000, "thrift_container_size_limit": 100_000}


def of(run: Run) -> pa.Table:
    """Return the table of a run: the ledger's numbers, quantiles (us), rate (1/s) and CPU time per call (us)."""
    ledger = schema.conform(run.folder.read("ledger"), "ledger").select(LEDGER)
    known = run.starts.assign(cpu_us_per_call=np.nan)
    for case, rows in run.starts.groupby("case"):
        known.loc[rows.index, "cpu_us_per_call"] = comparison.values(run, number_of(case), "cpu_us_per_call").to_numpy()
    reported = known.loc[ledger["start"].to_pylist(), list(REPORTED)].astype(float)
    for name in REPORTED:
        ledger = ledger.append_column(name, pa.array(reported[name].where(reported[name] > 0), from_pandas=True))
    return ledger.replace_schema_metadata(schema.LEDGER.metadata)


def written(table: pa.Table) -> bytes:
    """Return a table as the zip holds it: uncompressed, because the zip compresses and bounds it."""
    buffer = io.BytesIO()
    pq.write_table(table, buffer, compression="none", use_dictionary=False, write_statistics=False)
    return buffer.getvalue()


def read(data: bytes, cases: int) -> pd.DataFrame:
    """Return a table that a stranger wrote, one row for each start.

    RefusedError, or what ``pyarrow`` raises, says what cannot be.
    """
    table = _bounded(data)
    wrong = schema.problem(table, "ledger")
    if not wrong and any(table.schema.field(name).type != pa.float64() for name in REPORTED):
        wrong = "a number is of another type"
    frame = pd.DataFrame({name: table[name].to_numpy() for name in table.schema.names})
    if wrong := wrong or _insane(frame, cases):
        raise RefusedError(f"its starts.parquet cannot be used: {wrong}")
    return frame


def _bounded(data: bytes) -> pa.Table:
    """Return the table, once the file's own description promises few rows of plain numbers, and nothing compressed.

    Numbers of fixed size cannot unfold, and nothing that the file says for pandas or Arrow is followed.
    """
    file = pq.ParquetFile(pa.BufferReader(data), **LIMITS)
    about = file.metadata
    if not 0 < about.num_rows <= MOST_ROWS or not 0 < about.num_row_groups <= MOST_GROUPS:
        raise RefusedError(f"its starts.parquet has {about.num_rows:,} rows; 1 to {MOST_ROWS:,} are read")
    columns = [about.schema.column(i) for i in range(about.num_columns)]
    if sorted(one.path for one in columns) != sorted((*LEDGER, *REPORTED)):
        raise RefusedError("its starts.parquet has other columns than a submission's")
    if not survives(lambda: _compressions(about)):
        raise RefusedError("its starts.parquet describes its columns in a way that ends the library which reads it")
    compressions = _compressions(about)
    numbers = all(one.physical_type in ("INT32", "INT64", "DOUBLE") for one in columns)
    if not numbers or set(compressions) != {"UNCOMPRESSED"}:
        raise RefusedError("its starts.parquet has columns that are no plain numbers, or are compressed once more")
    return file.read(use_threads=False, use_pandas_metadata=False)


def _compressions(about: pq.FileMetaData) -> list[str]:
    """Return how each column in each group of rows is compressed."""
    groups, columns = range(about.num_row_groups), range(about.num_columns)
    return [about.row_group(group).column(place).compression for group in groups for place in columns]


def _insane(frame: pd.DataFrame, cases: int) -> str:
    """Return what no measurement of this program can have found, or nothing."""
    reported, window_us, p = frame[[*REPORTED]], frame["window_s"] * 1e6, [frame[name] for name in QUANTILES]
    found = {
        "a number is infinite": np.isinf(frame.to_numpy(float)).any(),
        "a number is not above zero, or beyond all measure": ((reported < LEAST) | (reported > MOST)).any(axis=None),
        "a start is there twice": frame["start"].duplicated().any(),
        f"a start belongs to none of the {cases} cases": (frame["case"] >= cases).any(),
        "a case has two starts in a block": frame[["case", "block"]].duplicated().any(),
        "a higher quantile is below a lower one": any((low > high).any() for low, high in itertools.pairwise(p)),
        "a call is longer than its window": any((one > window_us).any() for one in p),
        "requests failed or were lost": (frame["errors"] > 0).any(),
    }
    return next((text for text, wrong in found.items() if wrong), "")
