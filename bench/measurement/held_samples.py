"""Samples of clients on other machines: held there until the window is over, then sent as compressed Parquet."""

from collections.abc import Sequence

import numpy as np

from bench.process.child_process import ChildHandle
from bench.process.spec import Done


def pack(blobs: Sequence[bytes]) -> bytes:
    """Return times, each blob raw int64, as the bytes of a Parquet file with one row for each blob."""
    import pyarrow as pa  # in the function: a host loads Arrow once its first window is over
    import pyarrow.parquet as pq

    counts = [len(blob) // 8 for blob in blobs]
    times = pa.Array.from_buffers(pa.int64(), sum(counts), [None, pa.py_buffer(b"".join(blobs))])
    rows = pa.LargeListArray.from_arrays(pa.array(np.cumsum([0, *counts])), times)
    file = pa.BufferOutputStream()
    encoding = {"times.list.element": "DELTA_BINARY_PACKED"}  # about 4 bytes a call instead of 16
    pq.write_table(pa.table({"times": rows}), file, compression="zstd", use_dictionary=False, column_encoding=encoding)
    return bytes(file.getvalue())


def unpack(content: bytes) -> list[bytes]:
    """Return the blobs that ``pack`` put into a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = pq.read_table(pa.BufferReader(content), use_threads=False)["times"].combine_chunks()
    times, ends = rows.values.to_numpy(), rows.offsets.to_numpy()
    return [part.tobytes() for part in np.split(times, ends[1:-1])]


def fetch(clients: Sequence[ChildHandle], done: Sequence[Done]) -> tuple[Done, ...]:
    """Return the reports of all clients with their samples; hosts that hold samples pack and send them side by side."""
    answers = {at: clients[at].ask_for_samples() for at, report in enumerate(done) if report.is_held}
    return tuple(
        Done(**(vars(report) | {"blobs": unpack(answers[at]()), "is_held": False})) if at in answers else report
        for at, report in enumerate(done)
    )
