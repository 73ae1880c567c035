"""A call divided into the work of its codec and everything else."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from bench import message_types, stats
from bench.grammar.contrast import P50, Ratio, ratio
from bench.run.frames import Run, once
from bench.stats import Spread
from bench.validation.message_support import codec_of

CLIENT = ("request_encode_ns", "reply_decode_ns")  # what the client's codec does in a call
SERVER = ("request_decode_ns", "reply_encode_ns")
LITTLE, DOMINANT = 0.1, 0.5  # shares of the call


class Split(NamedTuple):
    """The median RTT of a case in us; the codec's work in it on each side, as timed alone; the share of both."""

    rtt: Spread
    client: Spread
    server: Spread
    share: Spread

    @property
    def rest_us(self) -> float:
        """What is neither side's codec: library, kernel, transport, waiting; at least 0."""
        return max(0.0, self.rtt.middle - self.client.middle - self.server.middle)


@once
def parts(run: Run, case: int) -> pd.DataFrame:
    """Return rtt, client, server (us) and share of each start of a case; opaque bytes have a codec of 0."""
    rows = run.starts_of(case)
    sides = {name: rows[list(columns)].sum(axis=1) / 1e3 for name, columns in (("client", CLIENT), ("server", SERVER))}
    times_us = pd.DataFrame({"rtt": rows[P50], **sides})
    return times_us.assign(share=(times_us["client"] + times_us["server"]) / times_us["rtt"])


@once
def split(run: Run, case: int) -> Split:
    """Return how a case's call is divided, over its starts."""
    rows = parts(run, case)
    return Split(*(stats.across_starts(rows[name]) for name in Split._fields))


def is_message(run: Run, case: int) -> bool:
    """Return whether a case carries structured messages."""
    return run.case(case).message != message_types.BYTES


@once
def carrier(run: Run) -> str:
    """Return the system that was measured with several codecs, or with several sizes; the first one else."""
    with_message = [case for case in run.numbers if is_message(run, case)]
    counts = pd.Series([run.case(case).system for case in with_message]).value_counts()
    return str(counts.index[0]) if len(counts) else ""


@once
def middle(run: Run) -> int:
    """Return the size at which all systems were measured: the carrier's middle one."""
    sizes = sorted({run.case(case).payload_bytes for case in run.numbers if is_message(run, case)})
    return sizes[len(sizes) // 2] if sizes else 0


def codec(run: Run, case: int) -> str:
    """Return the name of a case's codec; "own codec" of a system that has one of its own."""
    name = codec_of(run.case(case))
    return "own codec" if name == "own" else name


@once
def by_system(run: Run) -> list[tuple[int | None, int]]:
    """Return the pairs (opaque bytes, message) of each system at the middle size, the fastest message first."""
    pairs: dict[str, tuple[int | None, int]] = {}
    for case in at_middle(run):
        name = run.case(case).system
        pairs.setdefault(name, (run.first(system=name, message=message_types.BYTES), case))
    return sorted(pairs.values(), key=lambda pair: split(run, pair[1]).rtt.middle)


@once
def at_middle(run: Run) -> list[int]:
    """Return the cases of messages at the middle size, in the plan's order."""
    return [case for case in run.numbers if is_message(run, case) and run.case(case).payload_bytes == middle(run)]


@once
def by_codec(run: Run) -> list[int]:
    """Return the carrier's cases at the middle size, one for each codec, the fastest first."""
    cases = [case for case in at_middle(run) if run.case(case).system == carrier(run)]
    return sorted(cases, key=lambda case: split(run, case).rtt.middle)


@once
def sweeps(run: Run) -> dict[str, list[int]]:
    """Return the carrier's cases of each codec by size, the smallest first."""
    cases_of: dict[str, list[int]] = {}
    for case in run.numbers:
        if is_message(run, case) and run.case(case).system == carrier(run):
            cases_of.setdefault(codec(run, case), []).append(case)
    return {name: sorted(cases, key=lambda case: run.case(case).payload_bytes) for name, cases in cases_of.items()}


def encoded_bytes(run: Run, case: int) -> tuple[float, float]:
    """Return the mean size of an encoded request and reply, in bytes; NaN for opaque bytes."""
    rows = run.starts_of(case)
    return float(rows["encoded_request_bytes"].median()), float(rows["encoded_reply_bytes"].median())


def of_message(run: Run, base: int | None, case: int) -> Ratio | None:
    """Return the median RTT with the message over the one with opaque bytes of the same system; None without one."""
    return None if base is None else ratio(run, base, case, P50)


def crossing_bytes(run: Run, cases: list[int], level: float) -> float:
    """Return the payload at which the codec's share of the call crosses a level, on straight lines over log(size).

    NaN if the share is on one side of the level at all sizes.
    """
    sizes = np.log([run.case(case).payload_bytes for case in cases])
    shares = np.array([split(run, case).share.middle for case in cases])
    for left in range(len(cases) - 1):
        low, high = shares[left], shares[left + 1]
        if (low - level) * (high - level) <= 0 and low != high:
            part = (level - low) / (high - low)
            return float(np.exp(sizes[left] + part * (sizes[left + 1] - sizes[left])))
    return float("nan")


def ratios(run: Run) -> list[Ratio]:
    """Return the median RTT with the message over the one with opaque bytes, and of each codec over the fastest."""
    over_bytes = [compared for base, case in by_system(run) if (compared := of_message(run, base, case)) is not None]
    cases = by_codec(run)
    return over_bytes + [ratio(run, cases[0], case, P50) for case in cases[1:]]
