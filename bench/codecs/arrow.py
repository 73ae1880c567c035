"""Arrow IPC streams, by pyarrow: columns instead of rows."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bench import message_types
from bench.codecs import Coder, no_types

REQUIRES = ("pyarrow",)
ROWS = {"record": "records", "items": "items", "numbers": "numbers"}


def coder(kind: str) -> Coder:
    """Return the codec for a kind of message: a record batch; UsageError for what is no table."""
    if kind not in ROWS:
        raise no_types("arrow", kind)
    if kind == "items":
        return Coder(_encode, _decode, _with_factor, _answer)
    return Coder(_encode, _decode, lambda message: batch(kind, message))


def batch(kind: str, message: message_types.Message) -> Any:
    """Return the rows of a message as a record batch, without what it holds beside them."""
    rows = message[ROWS[kind]]
    if kind == "numbers":
        return pa.record_batch([pa.array(rows, pa.float64())], names=["numbers"])
    return pa.RecordBatch.from_pylist(rows)


def totalled(items: Any, factor: int) -> Any:
    """Return the record batch of the message ``items`` with its totals."""
    return items.append_column("total", pc.multiply(pc.multiply(items["price"], items["quantity"]), factor))


def _with_factor(message: message_types.Message) -> Any:
    """Return the batch of items, the factor in the metadata of its schema."""
    return batch("items", message).replace_schema_metadata({"m": str(message["m"])})


def _answer(items: Any) -> Any:
    return totalled(items, int(items.schema.metadata[b"m"]))


def _encode(batch: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _decode(data: bytes) -> Any:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()
