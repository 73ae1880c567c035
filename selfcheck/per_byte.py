"""The regression of costs per byte upon a server that takes a known time for each byte."""

import statistics
from typing import Any

import numpy as np

from bench.analysis.encryption import fit
from bench.measurement.start import measure
from bench.measurement.validation.oracle_options import oracle_server
from bench.measurement.validation.support import checked
from bench.plan.case import Case

SIZES = (64, 4_000, 16_000, 64_000)
MEAN_US, NS_PER_BYTE = 50, 20.0
CALLS = 101
WINDOW_S = 5.0  # the plan ends it earlier


def per_byte(blocks: int) -> None:
    """Print which delay per byte the regression of tls.ipynb finds, as a ratio to the known one."""
    ratios = [_slope(block) / NS_PER_BYTE for block in range(max(2, blocks))]
    low, middle, high = statistics.quantiles(ratios, n=4)
    print(f"{'known delay per byte, found / known':38} {middle:.3f} [{low:.3f}, {high:.3f}] (wanted 0.95 to 1.05)")


def _slope(seed: int) -> float:
    plain, delayed = (_medians_us(delay, seed) for delay in (0.0, NS_PER_BYTE))
    return fit(np.array(SIZES, float), delayed - plain, plain)[1]


def _medians_us(delay: float, seed: int) -> Any:
    """Return the median RTT of each payload, over one connection each, in us."""
    options = {"mean_us": MEAN_US, "ns_per_byte": delay, "server": oracle_server()}
    planned = tuple((CALLS, size) for size in SIZES)
    case = Case("oracle", "tcp", SIZES[0], options, load="reconnect", sessions=planned)
    return np.array([row["median_ns"] / 1e3 for row in measure(checked(case), WINDOW_S, seed).tables["sessions"]])
