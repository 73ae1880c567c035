"""Arrow IPC streams, by pyarrow: columns instead of rows."""

from typing import Any

import pyarrow as pa

from bench.codecs import Coder, message_types, no_types

REQUIRES = ("pyarrow",)
ROWS = {"record": "records", "items": "items", "numbers": "numbers"}


def coder(kind: str) -> Coder:
    """Return the codec for a kind of message: dictionaries; UsageError for what is no table.

    Columns are built from the rows to be sent, and rows from the columns received: both belong to the codec's work.
    """
    if kind not in ROWS:
        raise no_types("arrow", kind)

    def encode(message: message_types.Message) -> bytes:
        rows = batch(kind, message)
        if kind == "items":  # the factor in the metadata of its schema
            rows = rows.replace_schema_metadata({"m": str(message["m"])})
        return _encode(rows)

    def decode(data: bytes) -> message_types.Message:
        rows = _decode(data)
        return message(kind, rows, int(rows.schema.metadata[b"m"]) if kind == "items" else 0)

    return Coder(encode, decode, answer=message_types.answerer(kind))


def batch(kind: str, message: message_types.Message) -> Any:
    """Return the rows of a message as a record batch, without what it holds beside them."""
    rows = message[ROWS[kind]]
    if kind == "numbers":
        return pa.record_batch([pa.array(rows, pa.float64())], names=["numbers"])
    return pa.RecordBatch.from_pylist(rows)


def message(kind: str, batch: Any, factor: int) -> message_types.Message:
    """Return the message that a record batch holds, with the factor of items."""
    rows = batch.column(0).to_pylist() if kind == "numbers" else batch.to_pylist()
    return {ROWS[kind]: rows, **({"m": factor} if kind == "items" else {})}


def _encode(batch: Any) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    return sink.getvalue().to_pybytes()


def _decode(data: bytes) -> Any:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_next_batch()
