"""Submissions for tests: a real run handed in by simulated machines, whole and forged."""

import functools
import io
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bench.apps.classroom import starts, submitting, zips


@functools.cache
def real(name: str = "latency") -> tuple[str, bytes, bytes]:
    """Return a reference run's id, manifest and table, as they lie in its submission."""
    members = submitting.submission([f"reference/{name}"]).members
    run = min(members).partition("/")[0]
    return run, members[f"{run}/manifest.json"], members[f"{run}/starts.parquet"]


def manifest(name: str = "latency", **changes) -> dict:
    """Return a real manifest with other fields; ``machine_id`` is the machine's."""
    found = json.loads(real(name)[1])
    if "machine_id" in changes:
        found["machine"]["machine_id"] = changes.pop("machine_id")
    return found | changes


def table(name: str = "latency") -> pa.Table:
    """Return a real table of starts."""
    return pq.read_table(io.BytesIO(real(name)[2]))


def changed(columns: dict, of: pa.Table | None = None) -> bytes:
    """Return a real table as it is handed in, with other columns."""
    of = table() if of is None else of
    for name, values in columns.items():
        place = of.schema.names.index(name)
        of = of.set_column(place, of.schema.field(name), pa.array(values, of.schema.field(name).type, from_pandas=True))
    return starts.written(of)


def packed(told: dict | bytes | None = None, rows: bytes | None = None, name: str = "latency") -> bytes:
    """Return a zip of one run with another manifest, or another table."""
    run, first, second = real(name)
    told = json.dumps(told).encode() if isinstance(told, dict) else told
    run = json.loads(told).get("id", run) if told and told.startswith(b"{") and b'"id"' in told else run
    return zips.packed({f"{run}/manifest.json": told or first, f"{run}/starts.parquet": rows or second})


def slower(system: str, factor: float, scale: float = 1.0, noise: float = 0.03, seed: int = 1) -> bytes:
    """Return a real table whose times of a system are multiplied, and all of them by the machine's ``scale``."""
    chance, of, cases = np.random.default_rng(seed), table(), manifest()["plan"]["cases"]
    mine = np.array([cases[case]["system"] == system for case in of["case"].to_pylist()])
    times = scale * np.where(mine, factor, 1.0) * np.exp(noise * chance.normal(size=len(of)))
    columns = {name: of[name].to_numpy() * times for name in (*starts.QUANTILES, "cpu_us_per_call")}
    return changed(columns | {"rate_per_s": of["rate_per_s"].to_numpy() / times})


def a_class(folder: Path, factors: list[float], system: str = "zeromq", **options) -> Path:
    """Fill a folder with one zip for each machine, whose times of a system are multiplied by its factor."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, factor in enumerate(factors):
        told = manifest(machine_id=f"{number:08x}")
        rows = slower(system, factor, scale=1 + number / 3, seed=number, **options)
        (folder / f"student{number:02d}.zip").write_bytes(packed(told, rows))
    return folder
