"""An open load of real minutes: whether the load generator's lateness or memory grows with time.

A straight line is fitted to quantiles of parts of the window: calls that follow each other are correlated, parts of
many seconds hardly. The load is that of ``python -m bench load``: engine wire, uniform arrivals.
"""

import itertools

import numpy as np

from bench import stats
from bench.measurement.start import measure
from bench.measurement.validation.support import checked
from bench.plan.case import Case
from bench.run.start_record import StartRecord
from bench.stats import Array
from selfcheck import growth

RATE, CONNECTIONS, MINUTES = 1000.0, 32, 10.0
PARTS = 20
MINUTE = 60e9  # ns


def long_load(minutes: float = MINUTES) -> None:
    """Make the load, and print a line for each quantity: what it is, and how much it grows per minute."""
    case = Case("sockets", "tcp", 100, placement="free", engine="wire", callers=CONNECTIONS, load="open",
                offered_per_s=RATE)  # fmt: skip
    record = measure(checked(case), 60 * minutes, 1)
    sent = sum(len(times[0]) for times in record.calls)
    print(
        f"open load, {RATE:,.0f} requests/s, {minutes:g} minutes: {sent:,} of {record.ledger['scheduled']:,} answered"
    )
    for name, unit, line in lines(record, minutes):
        slopes = (line.each.low, line.each.middle, line.each.high)
        low, middle, high = (round(each, 6) for each in slopes)  # of a constant, rounding errors are left
        verdict = "does not grow measurably" if low <= 0 <= high else "grows" if low > 0 else "shrinks"
        print(f"{name:24} {line.base:,.4g} {unit}, {middle:+,.3g} {unit} a minute "
              f"(95 % interval {low:+,.3g} to {high:+,.3g}): {verdict}", flush=True)  # fmt: skip


def lines(record: StartRecord, minutes: float) -> list[tuple[str, str, growth.Line]]:
    """Return name, unit and line over time in minutes of: lateness of sending, response times, the client's memory."""
    sent, received, due = (np.concatenate([times[row] for times in record.calls]) for row in range(3))
    at = due / MINUTE
    rows = [row for row in record.tables["load"] if row["role"] == "client" and row["rss_bytes"]]
    read = np.array([row["t_ns"] for row in rows]) / MINUTE
    memory = np.array([row["rss_bytes"] for row in rows]) / 1e6
    return [
        ("lateness, p99", "µs", of_parts(at, (sent - due) / 1e3, minutes, 0.99)),
        ("response time, p50", "µs", of_parts(at, (received - due) / 1e3, minutes, 0.5)),
        ("client's memory", "MB", of_parts(read, memory, minutes, 0.5)),
    ]


def of_parts(at: Array, values: Array, minutes: float, p: float) -> growth.Line:
    """Return the line through a quantile of each part of the window, the first one, a warm-up, left out."""
    edges = np.linspace(0, minutes, PARTS + 1)
    middles, quantiles = [], []
    for begin, end in itertools.pairwise(edges[1:]):
        inside = values[(at >= begin) & (at < end)]
        if len(inside):
            middles.append((begin + end) / 2)
            quantiles.append(stats.quantile(inside, p))
    return growth.line(middles, quantiles)
