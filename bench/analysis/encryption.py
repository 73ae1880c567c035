"""What encryption adds to a connection, to a call and to a byte; each block compares a system with itself.

The time from opening a connection to its first reply holds the handshake, whenever a library makes it: what encryption
adds to it, without what it adds to one call, is the handshake. What it adds to a call is taken at the smallest payload.
What it adds to a byte, which travels there and back, is what it adds to a call of the largest payload less what it adds
to one of the smallest, divided by the difference of the two payloads.
"""

import math
from typing import NamedTuple

import numpy as np
import pandas as pd

from bench.analysis import comparison
from bench.analysis.comparison import ratio_of
from bench.analysis.marginal_costs import KINDS
from bench.run.frames import P50, Run, once_per_run
from bench.stats import intervals
from bench.stats.intervals import Interval


class Pair(NamedTuple):
    """The cases of one system and transport without encryption and with it.

    plain, encrypted: connections of one call. calls: those of calls on an open connection, by payload in bytes.
    """

    plain: int
    encrypted: int
    calls: dict[int, tuple[int, int]]


class Added(NamedTuple):
    """What encryption adds to each connection (us), to a call of the smallest payload (us), to each byte (ns)."""

    handshake: Interval
    call: Interval
    byte: Interval


@once_per_run
def pairs(run: Run) -> list[Pair]:
    """Return the cases to compare, in the plan's order; a system of which not all was measured is left out."""
    compared = []
    for plain in run.find(tls=False, load="reconnect"):
        way = {"system": run.case(plain).system, "transport": run.case(plain).transport}
        new = [case for case in run.find(**way, tls=True, load="reconnect") if not is_resumed(run, case)]
        before, after = (
            {run.case(case).payload_bytes: case for case in run.find(**way, tls=on, load="closed")}
            for on in (False, True)
        )
        calls = {size: (before[size], after[size]) for size in sorted(before.keys() & after.keys())}
        compared += [Pair(plain, new[0], calls)] if new and calls else []
    return compared


def is_resumed(run: Run, case: int) -> bool:
    """Return whether the connections of a case resume a session of TLS."""
    return run.case(case).options.get("tls_session") == "resumed"


def protocol(run: Run, case: int) -> str:
    """Return what a case's system encrypts with: TLS or CURVE."""
    return "CURVE" if "curve" in run.case(case).options else "TLS"


@once_per_run
def connect_us(run: Run, case: int, kind: str = "wall") -> "pd.Series[float]":
    """Return the median cost of a connection with one call of the smallest payload, in us; index: start.

    ``wall``: from opening it to the first reply. CPU times include its end.
    """
    rows = run.sessions_of(case)
    if kind == "server":
        spent_ns = rows["server_cpu_ns"] + rows["router_cpu_ns"].fillna(0)
    else:
        spent_ns = rows["client_cpu_ns"] if kind == "client" else rows["answered_ns"] - rows["begin_ns"]
    return spent_ns.groupby(rows["start"]).median() / 1e3


def call_us(run: Run, case: int, kind: str = "wall") -> "pd.Series[float]":
    """Return the median RTT of a case's calls, or the CPU time of a side per call, in us; index: block.

    The server's is that with the router's.
    """
    if kind == "wall":
        return comparison.values(run, case, P50)
    cost = comparison.values(run, case, f"{kind}_cpu_us_per_call")
    return cost if kind == "client" else cost + comparison.values(run, case, "router_cpu_us_per_call").fillna(0)


@once_per_run
def added_us(run: Run, plain: int, encrypted: int, kind: str = "wall") -> "pd.Series[float]":
    """Return what encryption adds to a call in each block, in us; index: block.

    To the RTT: the ratio of neighbouring slices less 1, times the level without it.
    """
    before = call_us(run, plain, kind)
    if kind == "wall":
        return before * np.expm1(comparison.ratios(run, plain, encrypted, P50))
    return call_us(run, encrypted, kind) - before


def per_byte_ns(run: Run, pair: Pair, kind: str = "wall") -> "pd.Series[float]":
    """Return what encryption adds to a byte in each block, in ns; index: block; NaN where all payloads are equal."""
    smallest, largest = min(pair.calls), max(pair.calls)
    more_us = added_us(run, *pair.calls[largest], kind) - added_us(run, *pair.calls[smallest], kind)
    return 1e3 * more_us / (largest - smallest or np.nan)


def added(run: Run, pair: Pair, kind: str = "wall") -> Added:
    """Return what encryption adds: the Hodges-Lehmann median over the blocks, with its 95 % interval."""
    plain_us, encrypted_us = (connect_us(run, case, kind) for case in (pair.plain, pair.encrypted))
    connection_us = _by_block(run, encrypted_us) - _by_block(run, plain_us)
    call = added_us(run, *pair.calls[min(pair.calls)], kind)
    costs = connection_us - call, call, per_byte_ns(run, pair, kind)
    return Added(*(intervals.paired_shift(cost.dropna()) for cost in costs))


def _by_block(run: Run, values: "pd.Series[float]") -> "pd.Series[float]":
    return values.set_axis(run.ledger["block"].reindex(values.index))


def computed(run: Run, plain: int, encrypted: int) -> Interval:
    """Return the CPU time that encryption adds to a call, of all roles, over the time that it adds to the RTT.

    1: the added time is computation. NaN where a block shows no added time of either: its ratio says nothing.
    """
    wall, client, server = (added_us(run, plain, encrypted, kind) for kind in KINDS)
    if min(wall.min(), (client + server).min()) <= 0:
        return Interval(math.nan)
    return ratio_of(wall, client + server)
