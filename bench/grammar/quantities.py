"""Quantities: columns of ``Run.starts`` with their words and units, and their values over the starts of a case."""

from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from bench import stats
from bench.analysis.checks import client_limited
from bench.run.frames import P50, Run
from bench.stats import Text
from bench.text import duration, in_bytes, quantity


def two_decimals(value: float, *, like: float | None = None) -> str:
    """Return a number with two decimals, whatever unit another one has."""
    return f"{value:,.2f}"


def signed(us: float, *, like: float | None = None) -> str:
    """Return a difference of times in us in words, with its sign."""
    return f"{'+' if us > 0 else '−'}{duration(abs(us), like=None if like is None else abs(like))}"


def whole(value: float, *, like: float | None = None) -> str:
    """Return a number without decimals."""
    return f"{value:,.0f}"


class Quantity(NamedTuple):
    """A quantity in words, as a table and an axis name it, and how its values are written.

    column: of ``Run.starts``, if it has another name there. values: of each start of a case that has one, from a run
    and the case's number, index: start; None of what is a column.
    """

    words: str
    text: Text
    column: str = ""
    values: "Callable[[Run, int], pd.Series[float]] | None" = None


RATE, CPU = "rate_per_s", "cpu_us_per_call"
MESSAGES = "messages_per_s"  # the rate of a stream
QUANTITIES = {
    P50: Quantity("median RTT", duration),
    "p90_rtt_us": Quantity("p90 RTT", duration),
    "p99_rtt_us": Quantity("p99 RTT", duration),
    "p50_response_us": Quantity("median response time", duration),
    "mean_rtt_us": Quantity("mean RTT", duration),
    RATE: Quantity("calls per second", quantity),
    MESSAGES: Quantity("messages per second", quantity, RATE),
    "send_rate_per_s": Quantity("messages sent per second", quantity),
    "rate_mbit_per_s": Quantity("payload received [Mb/s]", whole),
    CPU: Quantity("CPU time per call", duration),
    "client_cpu_us_per_call": Quantity("client CPU time per call", duration),
    "server_cpu_us_per_call": Quantity("server CPU time per call", duration),
    "router_cpu_us_per_call": Quantity("router CPU time per call", duration),
    "controller_cpu_us_per_call": Quantity("controller CPU time per call", duration),
    "client_cpu_percent": Quantity("CPU utilization of the clients [% of one CPU]", whole),
    "server_cpu_percent": Quantity("CPU utilization of the server [% of one CPU]", whole),
    "router_cpu_percent": Quantity("CPU utilization of the router [% of one CPU]", whole),
    "client_sleeps_per_call": Quantity("voluntary switches of the client per call", two_decimals),
    "server_sleeps_per_call": Quantity("voluntary context switches of the server per call", two_decimals),
    "client_rss_bytes": Quantity("client memory", in_bytes),
    "server_rss_bytes": Quantity("server memory", in_bytes),
    "first_rtt_ns": Quantity("first call, which also connects,", lambda ns, *, like=None: duration(ns / 1e3)),
    "p50_first_us": Quantity("median time to the first reply", duration),
    "p50_gap_us": Quantity("median gap between two messages", duration),
    "p90_gap_us": Quantity("p90 of the gap between two messages", duration),
    "p99_gap_us": Quantity("p99 of the gap between two messages", duration),
    "p90_uneven_us": Quantity("p90 of |gap - planned gap|", duration),
    "overdue": Quantity("share of the messages that come more than a gap late", "{:.1%}".format),
    "achieved": Quantity("share of the scheduled requests that were sent", "{:.1%}".format),
}


def quantity_of(name: str | Quantity) -> Quantity:
    """Return the quantity of a column; the words of one that has none are its name, with underscores as spaces."""
    if isinstance(name, Quantity):
        return name
    return QUANTITIES.get(name) or Quantity(name.replace("_", " "), quantity)


def per_start(run: Run, case: int, name: str | Quantity) -> "pd.Series[float]":
    """Return the value of each start of a case that has one; index: start."""
    measure = quantity_of(name)
    if measure.values is not None:
        return measure.values(run, case).dropna()
    return run.starts_of(case)[measure.column or str(name)].dropna()


def by_block(run: Run, case: int, name: str | Quantity) -> "pd.Series[float]":
    """Return the value of each start of a case that has one; index: block."""
    values = per_start(run, case, name)
    return values.set_axis(run.ledger["block"].reindex(values.index))


def over_starts(run: Run, case: int, name: str | Quantity) -> stats.Spread:
    """Return the median over the starts of a case with their range, and both levels if the starts have two."""
    measure = quantity_of(name)
    if measure.values is not None:
        return stats.across_starts(per_start(run, case, name).to_list())
    return run.over_starts(case, measure.column or str(name))


def at_least(run: Run, case: int, name: str | Quantity) -> str:
    """Return "at least " before a rate that the clients' CPU limits; "" before all else."""
    return "at least " if name == RATE and case in client_limited(run) else ""


def cpu_share(run: Run, case: int) -> str:
    """Return the CPU time per call divided by the mean RTT; above 1 it is also spent outside of it."""
    return quantity(over_starts(run, case, CPU).middle / over_starts(run, case, "mean_rtt_us").middle)


def factor_or_quantity(run: Run, case: int, name: str) -> float:
    """Return a number that a case was planned with, such as ``clients``, or its median of a quantity."""
    factor = run.case(case).factor(name)
    return float(over_starts(run, case, name).middle if factor is None else factor)
