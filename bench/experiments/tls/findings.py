"""What encryption adds to a connection, to a call and to a byte; each block compares a system with itself.

The time from opening a connection to its first reply holds the handshake, whenever a library makes it: what encryption
adds to it, without what it adds to one call, is the handshake. What it adds to a call is taken at the smallest payload.
What it adds to a byte is the slope c of b + c s, fitted to what it adds to calls of s bytes, which travel there and
back; each point weighs as its share of the unencrypted call's time.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis import comparison
from bench.analysis.comparison import effect, ratio_of
from bench.run.frames import Run, column, once
from bench.stats import Array, intervals
from bench.stats.intervals import Interval

KINDS = ("wall", "client", "server")  # time; CPU time of the client; of the server, with the router's
P50 = column(0.5)


class Pair(NamedTuple):
    """The cases of one system and transport: not encrypted, encrypted, with resumed sessions (None: not offered)."""

    plain: int
    encrypted: int
    resumed: int | None


class Added(NamedTuple):
    """What encryption adds to each connection (us), to a call of the smallest payload (us), to each byte (ns)."""

    handshake: Interval
    call: Interval
    byte: Interval


@once
def pairs(run: Run) -> list[Pair]:
    """Return the cases to compare, in the plan's order; a system of which not all was measured is left out."""
    compared = []
    for plain in run.find(tls=False, load="reconnect"):
        of = run.case(plain)
        encrypted = run.find(system=of.system, transport=of.transport, tls=True, load="reconnect")
        again = [case for case in encrypted if run.case(case).options.get("tls_session") == "resumed"]
        first = [case for case in encrypted if case not in again]
        if first:
            compared.append(Pair(plain, first[0], again[0] if again else None))
    return compared


def name(run: Run, pair: Pair) -> str:
    """Return the name of a pair: system and transport."""
    of = run.case(pair.plain)
    return f"{of.system} {of.transport}"


def protocol(run: Run, pair: Pair) -> str:
    """Return what a pair is encrypted with: TLS or CURVE."""
    return "CURVE" if run.case(pair.encrypted).options.get("curve") else "TLS"


def sizes(run: Run) -> list[int]:
    """Return the payloads of the calls on open connections, in bytes, the smallest first."""
    of_sessions = run.sessions.loc[run.sessions["calls"] > 1, "payload_bytes"]
    return sorted({*map(int, of_sessions), *(run.case(case).payload_bytes for case in run.find(load="closed"))})


def calling(run: Run, case: int, payload_bytes: int) -> int | None:
    """Return the case that makes calls of a payload on an open connection as a case of connections does.

    None of a run in which the connections themselves make many calls.
    """
    of = run.case(case)
    return run.first(system=of.system, transport=of.transport, tls=of.tls, load="closed", payload_bytes=payload_bytes)


@once
def connect_us(run: Run, case: int, kind: str = "wall") -> "pd.Series[float]":
    """Return the median cost of a connection with one call of the smallest payload, in us; index: block.

    ``wall``: from opening it to the first reply. CPU times include its end.
    """
    rows = _rows(run, case)
    rows = rows[rows["calls"] == 1]
    return _spent(rows, kind, rows["answered_ns"] - rows["begin_ns"]).groupby(rows["block"]).median() / 1e3


@once
def call_us(run: Run, case: int, payload_bytes: int, kind: str = "wall") -> "pd.Series[float]":
    """Return what one call of a payload costs on a connection that is open, in us; index: block.

    ``wall``: the median RTT. CPU times: per call; of connections that make many calls what one used beyond one with a
    single call, by its further calls.
    """
    if (there := calling(run, case, payload_bytes)) is not None:
        if kind == "wall":
            return comparison.values(run, there, P50)
        cost = comparison.values(run, there, f"{kind}_cpu_us_per_call")
        return cost if kind == "client" else cost + comparison.values(run, there, "router_cpu_us_per_call").fillna(0)
    rows = _rows(run, case)
    rows = rows[(rows["calls"] > 1) & (rows["payload_bytes"] == payload_bytes)]
    if kind == "wall":
        cost = rows["median_ns"] / 1e3
    else:
        first = rows["block"].map(connect_us(run, case, kind))
        cost = (_spent(rows, kind, rows["median_ns"]) / 1e3 - first) / (rows["calls"] - 1)
    return cost.groupby(rows["block"]).median()


def _rows(run: Run, case: int) -> pd.DataFrame:
    rows = run.sessions_of(case)
    return rows.assign(block=run.ledger["block"].reindex(rows["start"]).to_numpy())


def _spent(rows: pd.DataFrame, kind: str, wall: "pd.Series[float]") -> "pd.Series[float]":
    """Return what each connection used of a kind, in ns."""
    if kind == "server":
        return rows["server_cpu_ns"] + rows["router_cpu_ns"].fillna(0)
    return rows["client_cpu_ns"] if kind == "client" else wall


def fit(payload_bytes: Array, added_us: Array, plain_us: Array) -> tuple[float, float]:
    """Return b (us) and c (ns) of added = b + c s by least squares of the differences relative to the plain times."""
    columns = np.stack([np.ones(len(payload_bytes)), payload_bytes], axis=1) / np.reshape(plain_us, (-1, 1))
    b, c = np.linalg.lstsq(columns, np.asarray(added_us) / plain_us, rcond=None)[0]
    return float(b), float(c) * 1e3


@once
def added_us(run: Run, plain: int, other: int, payload_bytes: int, kind: str = "wall") -> "pd.Series[float]":
    """Return what a case adds to a call of a payload in each block, in us; index: block.

    The RTT of cases in slices: the ratio of neighbouring slices less 1, times the level without it.
    """
    before = call_us(run, plain, payload_bytes, kind)
    base, there = (calling(run, case, payload_bytes) for case in (plain, other))
    if kind == "wall" and base is not None and there is not None:
        return before * np.expm1(comparison.ratios(run, base, there, P50))
    return call_us(run, other, payload_bytes, kind) - before


@once
def slopes(run: Run, plain: int, other: int, kind: str = "wall") -> "pd.Series[float]":
    """Return what a case adds to a byte in each block, in ns; index: block."""
    payloads = sizes(run)
    before = pd.concat({size: call_us(run, plain, size, kind) for size in payloads}, axis=1)
    more = pd.concat({size: added_us(run, plain, other, size, kind) for size in payloads}, axis=1)
    both = before.dropna().index.intersection(more.dropna().index)
    bytes_ = np.array(payloads, float)
    more_us, plain_us = more.loc[both].to_numpy(), np.maximum(before.loc[both].to_numpy(), 1e-3)
    per_byte = [fit(bytes_, *block)[1] for block in zip(more_us, plain_us, strict=True)]
    return pd.Series(per_byte, index=both, dtype=float)


@once
def added(run: Run, plain: int, other: int, kind: str = "wall") -> Added:
    """Return what a case adds to an unencrypted one: the median over the blocks, with its 95 % interval."""
    smallest, byte = sizes(run)[0], slopes(run, plain, other, kind)
    connection = connect_us(run, other, kind) - connect_us(run, plain, kind)
    call = added_us(run, plain, other, smallest, kind)
    return Added(*(intervals.paired_shift(costs.dropna()) for costs in (connection - call, call, byte)))


def connect_ratio(run: Run, pair: Pair) -> Interval:
    """Return how many times as long the first reply over a new connection takes with encryption."""
    return ratio_of(connect_us(run, pair.plain), connect_us(run, pair.encrypted))


def call_ratio(run: Run, pair: Pair, payload_bytes: int) -> Interval:
    """Return how many times as long a call on an open connection takes with encryption."""
    return _ratio(run, pair, payload_bytes, P50, call_us)


def resumed_ratio(run: Run, pair: Pair) -> Interval | None:
    """Return the time to the first reply with a resumed session over that with a new one; None without such a case."""
    if pair.resumed is None:
        return None
    return ratio_of(connect_us(run, pair.encrypted), connect_us(run, pair.resumed))


def median(values: "pd.Series[float]") -> float:
    """Return the median over the blocks."""
    return stats.across_starts(values).middle


@once
def cpu_us(run: Run, case: int, payload_bytes: int) -> "pd.Series[float]":
    """Return the CPU time per call on an open connection, all roles together, in us; index: block."""
    return call_us(run, case, payload_bytes, "client") + call_us(run, case, payload_bytes, "server")


def computed(run: Run, pair: Pair, payload_bytes: int) -> Interval:
    """Return the CPU time that encryption adds to a call, of all roles, over the time that it adds to the RTT.

    Of the blocks in which both are added; 1: the added time is computation.
    """
    wall, client, server = (added_us(run, pair.plain, pair.encrypted, payload_bytes, kind) for kind in KINDS)
    return ratio_of(wall, client + server)


def cpu_ratio(run: Run, pair: Pair, payload_bytes: int) -> Interval:
    """Return how many times as much CPU time a call on an open connection costs with encryption."""
    return _ratio(run, pair, payload_bytes, "cpu_us_per_call", cpu_us)


def _ratio(
    run: Run, pair: Pair, payload_bytes: int, name: str, cost: Callable[[Run, int, int], "pd.Series[float]"]
) -> Interval:
    """Return the ratio of a quantity of calls, encrypted over not; ``cost``: of connections that make many calls."""
    base, there = (calling(run, case, payload_bytes) for case in (pair.plain, pair.encrypted))
    if base is None or there is None:
        return ratio_of(*(cost(run, case, payload_bytes) for case in (pair.plain, pair.encrypted)))
    return effect(run, base, there, name)
