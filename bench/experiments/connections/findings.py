"""Renewed connections, calls under way on one connection, and large calls beside small ones."""

from dataclasses import dataclass

import pandas as pd

from bench.analysis.resources import total_cpu
from bench.experiments.claims import above
from bench.grammar.contrast import P50, RATE, Ratio, across, ratio
from bench.run.frames import Run, numbered, once

MOST_DIFFERENT = 0.1  # share by which the numbers of large calls may differ, if small calls beside them are compared


@once
def churn(run: Run) -> pd.DataFrame:
    """Return the cases of systems whose connections are renewed: fewest calls first, persistent connections last."""
    rows = run.round_trips()
    systems = rows.loc[rows["calls_per_connection"] > 0, "system"].unique()
    plain = (rows["under_way"] == 1) & (rows["large_bytes"] == 0) & rows["system"].isin(systems)
    cases = rows[plain].copy()
    cases["order"] = cases["calls_per_connection"].where(cases["calls_per_connection"] > 0, float("inf"))
    return cases.sort_values("order", kind="stable")


@once
def depth(run: Run) -> pd.DataFrame:
    """Return the cases of systems that were measured at several depths, the smallest number under way first."""
    rows = run.round_trips()
    rows = rows[(rows["calls_per_connection"] == 0) & (rows["large_bytes"] == 0)]
    systems = rows.loc[rows["outstanding"] > 1, "system"].unique()
    cases = rows[rows["system"].isin(systems)]
    deepest = cases.groupby("system")["callers"].transform("max")
    return cases[cases["callers"] == deepest].sort_values("outstanding", kind="stable")


def levels(run: Run) -> list[int]:
    """Return the numbers of calls per connection that were measured, 0 (persistent) last."""
    return [int(calls) for calls in churn(run)["calls_per_connection"].drop_duplicates()]


def time_per_call_us(run: Run, case: int) -> "pd.Series[float]":
    """Return the mean time per call of one caller in each start, opening and closing of connections included, in us."""
    return 1e6 / run.starts_of(case)[RATE]


def cpu_per_call_us(run: Run, case: int) -> "pd.Series[float]":
    """Return the CPU time per call of all roles in each start, in us."""
    return total_cpu(run.starts_of(case))


@dataclass(frozen=True)
class Beside:
    """The small calls of one system: numbers of the cases; None where one was not measured."""

    system: str
    alone: int | None
    same: int
    own: int | None


def beside(run: Run) -> list[Beside]:
    """Return the systems whose small calls were measured beside large ones."""
    systems = []
    for case in run.find():
        of = run.case(case)
        if of.large_bytes and of.outstanding > 1:
            alike = {"system": of.system, "transport": of.transport, "payload_bytes": of.payload_bytes}
            alone = run.first(**alike, under_way=1, calls_per_connection=0, large_bytes=0)
            systems.append(
                Beside(of.system, alone, case, run.first(**alike, large_bytes=of.large_bytes, outstanding=1))
            )
    return systems


def persistence(run: Run, system: str) -> Ratio | None:
    """Return how many times the calls per second of the most renewed connections a persistent connection makes."""
    return next((by_system[system] for by_system in persistent_over(run).values() if system in by_system), None)


@once
def persistent_over(run: Run) -> dict[int, dict[str, Ratio]]:
    """Return the calls per second of a persistent connection over those of a renewed one.

    By the number of calls after which it is renewed, the fewest first, and by system.
    """
    found: dict[int, dict[str, Ratio]] = {calls: {} for calls in levels(run) if calls}
    for system, cases in churn(run).groupby("system", sort=False):
        places = {int(row["calls_per_connection"]): case for case, row in numbered(cases)}
        if (persistent := places.pop(0, None)) is not None:
            for calls, case in places.items():
                found[calls][str(system)] = ratio(run, case, persistent, RATE)
    return found


def deepening(run: Run, system: str, name: str = RATE) -> Ratio | None:
    """Return how many times the quantity of the fewest calls under way the most of them have."""
    return across(run, depth(run).query("system == @system"), name)


def blocking(run: Run, one: Beside) -> Ratio | None:
    """Return the median RTT of small calls on the large call's connection over that on their own.

    None where one was not measured, or no large call was answered on the shared connection: it then compares nothing.
    """
    return ratio(run, one.own, one.same, P50) if one.own is not None and large_calls(run, one.same) else None


def difference(run: Run, one: Beside) -> float:
    """Return by which share the larger number of large calls, of the shared connection and of another, is larger."""
    few, many = sorted(large_calls(run, case) for case in (one.same, one.own) if case is not None)
    return many / few - 1 if few else float("inf")


def blocks(run: Run, one: Beside) -> bool | None:
    """Return whether small calls take longer on the large call's connection than on their own.

    None where the run does not decide, or where the numbers of large calls differ by more than ``MOST_DIFFERENT``.
    """
    ratio = blocking(run, one)
    return above(ratio) if ratio is not None and difference(run, one) <= MOST_DIFFERENT else None


def large_calls(run: Run, case: int) -> int:
    """Return how many large calls were answered after the warm-up, in all starts of a case together."""
    return int(run.samples_of(case, warm=True)["large"].sum())


def ratios(run: Run) -> list[Ratio]:
    """Return the ratios that the notebook reports: persistence, depth and head-of-line blocking of each system."""
    deep = depth(run)["system"].drop_duplicates()
    reported: list[Ratio | None] = [one for by_system in persistent_over(run).values() for one in by_system.values()]
    reported += [deepening(run, name, quantity) for name in deep for quantity in (RATE, P50)]
    reported += [blocking(run, small_calls) for small_calls in beside(run)]
    return [ratio for ratio in reported if ratio is not None]
