"""Occasions made by hand, for tests of what follows from several."""

import math

import numpy as np

from bench.analysis.occasions import CPU_RATIO, RTT_RATIO, Estimate, Machine, Measured, Occasion

HERE = Machine("1", "AMD", 2, "Linux", "6")


def occasion(number, ratios, error=0.01, machine=HERE, hours=24, dirty=False):
    """Return an occasion with the ln of ratios to raw sockets: by system, or by (system, transport, placement)."""
    named = {name if isinstance(name, tuple) else (name, "ipc", "split"): ln for name, ln in ratios.items()}
    rows = [
        Measured({"system": "sockets", "transport": transport, "placement": placement}, p50_us=10.0)
        for transport, placement in dict.fromkeys(name[1:] for name in named)
    ]
    for (system, transport, placement), ln in named.items():
        case = {"system": system, "transport": transport, "placement": placement}
        estimates = {RTT_RATIO: Estimate(ln, error, 20), CPU_RATIO: Estimate(ln / 2, error, 20)}
        rows.append(Measured(case, f"sockets {transport} {placement}", estimates, 20.0, 30.0, 5e4))
    day, hour = divmod(number * hours, 24)
    utc = f"2026-11-{1 + day:02d}T{hour:02d}:00:00+00:00"
    name = f"202611{number:02d}T000000.000Z-overview-00000000"
    return Occasion(name, utc, 8.0, machine, "abc", dirty, "9/9", rows)


def drawn(seed, occasions, truths, tau, error=0.01):
    """Return occasions of systems whose ln ratio varies by tau between them, beside the error within each."""
    chance = np.random.default_rng(seed)
    spread = math.hypot(tau, error)
    return [
        occasion(number, {name: ln + spread * chance.normal() for name, ln in truths.items()}, error)
        for number in range(occasions)
    ]
