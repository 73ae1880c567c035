"""A thousand streams of replies from one client process: how late replies are received after the server sent them."""

import statistics
from typing import Any

from bench import stats
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan import placement
from bench.plan.case import Case

STREAMS, GAP_US, REPLIES = 1000, 200_000, 5
SYSTEMS = (
    ("sockets", "wire"),
    ("sockets", "library"),
    *((name, "library") for name in ("zeromq", "grpc_aio", "http_aiohttp")),
)
WANTED_MS = 0.5
WINDOW_S = 1.0


def reply_streams(blocks: int) -> None:
    """Print for each system the p50 and p99 of the transit: from the server's hands to the client's stamp, in ms."""
    each: dict[tuple[str, str], list[tuple[float, float, float]]] = {pair: [] for pair in SYSTEMS}
    for block in range(blocks):
        for pair in SYSTEMS:
            each[pair].append(_measurement(*pair, block))
    for (name, engine), measurements in each.items():
        half, tail, rate = (statistics.median(values) for values in zip(*measurements, strict=True))
        print(f"{f'{name} tcp, {STREAMS:,} streams, {engine}':38} {half:.2f} ms, p99 {tail:.2f} ms", end=" ")
        print(f"from the server's hands to the stamp (wanted <= {WANTED_MS:g}), {rate:,.0f} messages/s", flush=True)


def _measurement(name: str, engine: str, seed: int) -> tuple[float, float, float]:
    options = {"connections": "shared"} if name.startswith("grpc") else {}
    streamed: dict[str, Any] = {
        "callers": STREAMS,
        "replies": REPLIES,
        "reply_bytes": 50,
        "gap_us": GAP_US,
        "load": "reply_stream",
    }
    streamed["engine"] = engine
    measured = measure(
        checked(Case(name, "tcp", 2000, options, placement.default(parallel=True), **streamed)), WINDOW_S, seed
    )
    transit = measured.tables["replies"]["transit_ns"]
    rate = measured.ledger["calls"] / measured.ledger["window_s"]
    return stats.quantile(transit, 0.5) / 1e6, stats.quantile(transit, 0.99) / 1e6, rate
