"""Arrow IPC streams, by pyarrow: columns instead of rows."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bench import messages
from bench.codecs import Coder, no_types

REQUIRES = ("pyarrow",)
ROWS = {"record": "records", "items": "items", "numbers": "numbers"}


def coder(kind: str) -> Coder:
    """Return the codec for a kind of message: a record batch; UsageError for what is no table."""
    if kind not in ROWS:
        raise no_types("arrow", kind)
    return Coder(_encode, _decode, lambda message: _batch(kind, message), _total if kind == "items" else messages.same)


def _batch(kind: str, message: messages.Message) -> Any:
    """Return the rows as columns; what a message holds beside its rows goes into the schema's metadata."""
    rows = message[ROWS[kind]]
    if kind == "numbers":
        return pa.record_batch([pa.array(rows, pa.float64())], names=["numbers"])
    batch = pa.RecordBatch.from_pylist(rows)
    return batch.replace_schema_metadata({"m": str(message["m"])}) if kind == "items" else batch


def _encode(batch: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _decode(data: bytes) -> Any:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()


def _total(batch: Any) -> Any:
    factor = int(batch.schema.metadata[b"m"])
    total = pc.multiply(pc.multiply(batch["price"], batch["quantity"]), factor)
    return batch.append_column("total", total)
