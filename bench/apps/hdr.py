"""HdrHistogram logs: the counts of times in ns, in the V2 encoding, which the HdrHistogram libraries and tools read.

The format is defined by the Java library, https://github.com/HdrHistogram/HdrHistogram: buckets by V2 of its encoding,
lines by version 1.3 of its log. Written here: the library for Python (0.10.8) has no wheel for Linux on ARM, and make
would need a compiler there.
"""

import base64
import itertools
import struct
import zlib
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

import numpy as np

from bench.stats import Array

DIGITS = 3  # significant decimal digits that a bucket keeps: its width is below a thousandth of its values
HALF_BITS = 10  # half as many buckets of equal width as a power of two needs for these digits: 1024 of 2048
HIGHEST_NS = 3_600_000_000_000  # one hour: what readers make room for, unless a value is higher
ENCODING, COMPRESSED = 0x1C849313, 0x1C849314  # V2, counts as variable-length integers
NS_PER_MS = 1e6  # the line's column Interval_Max is in ms, by the libraries' default


class Interval(NamedTuple):
    """One line of a log: when it began, how long it was, and the times in it."""

    begin: datetime
    length_s: float
    values_ns: Array


def log(intervals: Iterable[Interval], about: str) -> str:
    """Return a log of intervals, in the order of time; ``about`` is one line that says what was timed."""
    ordered = sorted(intervals, key=lambda interval: interval.begin)
    began = ordered[0].begin.astimezone(UTC)
    lines = ["#[Histogram log format version 1.3]", f"#[{about}]"]
    lines += [f"#[StartTime: {began.timestamp():.3f} (seconds since epoch), {began.isoformat()}]"]
    lines += ['"StartTimestamp","Interval_Length","Interval_Max","Interval_Compressed_Histogram"']
    for interval in ordered:
        since_s, most_ms = (interval.begin - began).total_seconds(), interval.values_ns.max() / NS_PER_MS
        lines += [f"{since_s:.3f},{interval.length_s:.3f},{most_ms:.6f},{encoded(interval.values_ns)}"]
    return "\n".join([*lines, ""])


def encoded(values_ns: Array) -> str:
    """Return the histogram of times in ns, compressed and in base64."""
    counts = np.bincount(_buckets(values_ns))
    content = b"".join(map(_variable_length, _without_zeros(counts.tolist())))
    highest = max(HIGHEST_NS, int(values_ns.max()))
    payload = zlib.compress(struct.pack(">IIIIQQd", ENCODING, len(content), 0, DIGITS, 1, highest, 1.0) + content)
    return base64.b64encode(struct.pack(">II", COMPRESSED, len(payload)) + payload).decode()


def _buckets(values_ns: Array) -> Array:
    """Return the number of each value's bucket: 2048 of width 1, then 1024 of each doubled width."""
    values = np.asarray(values_ns, np.int64)
    doublings = np.maximum(np.frexp(values.astype(float))[1] - (HALF_BITS + 1), 0)
    return (doublings << HALF_BITS) + (values >> doublings)


def _without_zeros(counts: list[int]) -> Iterator[int]:
    """Yield counts, and for zeros in a row how many they are, as a negative number."""
    for is_zero, group in itertools.groupby(counts, lambda count: count == 0):
        row = list(group)
        yield from [-len(row)] if is_zero else row


def _variable_length(value: int) -> bytes:
    """Return a number of either sign (ZigZag) in groups of seven bits, the lowest first (LEB128)."""
    rest = value << 1 if value >= 0 else -(value << 1) - 1
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*encoded, rest])
