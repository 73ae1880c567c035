"""A call divided into the work of its codec, as it was timed alone, and everything else."""

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from bench.run.frames import P50, Run
from bench.stats import across_starts

CLIENT = ("request_encode_ns", "reply_decode_ns")  # what the client's codec does in a call
SERVER = ("request_decode_ns", "reply_encode_ns")


def codec_us(run: Run, case: int, columns: Sequence[str] = (*CLIENT, *SERVER)) -> "pd.Series[float]":
    """Return what the codec does in a call, in us; 0 of opaque bytes. Index: start."""
    return run.starts_of(case)[list(columns)].sum(axis=1) / 1e3


def share_percent(run: Run, case: int) -> "pd.Series[float]":
    """Return the codec's work on both sides, in % of the median RTT; index: start."""
    return 100 * codec_us(run, case) / run.starts_of(case)[P50]


def rest_us(run: Run, case: int) -> float:
    """Return what is neither side's codec: library, kernel, transport, waiting; medians over starts, at least 0."""
    codec = sum(across_starts(codec_us(run, case, columns)).middle for columns in (CLIENT, SERVER))
    return max(0.0, run.over_starts(case, P50).middle - codec)


def encoded_bytes(run: Run, case: int) -> tuple[float, float]:
    """Return the mean size of an encoded request and reply, in bytes; NaN for opaque bytes."""
    rows = run.starts_of(case)
    return float(rows["encoded_request_bytes"].median()), float(rows["encoded_reply_bytes"].median())


def crossing_bytes(run: Run, cases: Sequence[int], percent: float) -> float:
    """Return the payload at which the codec's share of the call crosses a level, on straight lines over log(size).

    cases: by size, the smallest first. NaN if the share is on one side of the level at all sizes.
    """
    sizes = np.log([run.case(case).payload_bytes for case in cases])
    shares = [across_starts(share_percent(run, case)).middle for case in cases]
    for left, (low, high) in enumerate(itertools.pairwise(shares)):
        if (low - percent) * (high - percent) <= 0 and low != high:
            return float(np.exp(sizes[left] + (percent - low) / (high - low) * (sizes[left + 1] - sizes[left])))
    return math.nan
