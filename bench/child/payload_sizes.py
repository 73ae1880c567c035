"""Payloads of one size, or of sizes drawn from a log-normal distribution through a median and a p99."""

import math

from bench.child import timed_loops
from bench.process.spec import ClientSpec

DRAWN = 1000  # sizes; they are rotated through
MOST_DRAWN = 4_000_000  # bytes of one payload: what all stacks carry without further options


def payloads(spec: ClientSpec) -> list[bytes]:
    """Return the payloads that a client rotates through."""
    if not spec.case.p99_bytes:
        return timed_loops.make_payloads(spec.case.payload_bytes, spec.seed)
    import random

    source = random.Random(spec.seed)
    sizes = log_normal(spec.case.payload_bytes, spec.case.p99_bytes)
    source.shuffle(sizes)
    return [source.randbytes(size) for size in sizes]


def log_normal(median: int, p99: int) -> list[int]:
    """Return ``DRAWN`` sizes in bytes, ascending: equidistant quantiles of a log-normal distribution, 1 B at least."""
    from statistics import NormalDist

    normal = NormalDist()
    spread = math.log(p99 / median) / normal.inv_cdf(0.99)
    levels = ((index + 0.5) / DRAWN for index in range(DRAWN))
    return [min(MOST_DRAWN, max(1, round(median * math.exp(spread * normal.inv_cdf(level))))) for level in levels]
