"""The systems by their round trip, each compared with raw sockets, and what a second client adds."""

from typing import Any

import pandas as pd

from bench import systems
from bench.analysis import stationarity
from bench.analysis.checks import level_changes
from bench.contract import GROUPS
from bench.errors import BenchError
from bench.grammar.contrast import RATE, Ratio, ratio
from bench.run.frames import Run, column, number_of, numbered, once
from bench.run.start_values import cpu_us_per_call
from bench.validation.cases import MADE_UP

FLOOR, NATIVE = "sockets", "sockets_c"  # the baseline; the one by system calls alone, from C++
NO_RPC = (FLOOR, NATIVE, "pipes", *MADE_UP)  # streams of bytes as the operating system has them, and the laboratory's

P50 = column(0.5)


@once
def ranked(run: Run) -> pd.DataFrame:
    """Return the systems' cases with one client, placed as one client is by default; the shortest round trip first."""
    cases = run.cases[(run.cases["system"] != "loopback") & (run.cases["clients"] == 1)]
    return cases.dropna(subset=P50).groupby("system", sort=False).head(1).sort_values(P50)


WORDS = {"direct": "direct", "http": "HTTP", "broker": "brokered", "native": "native"}
OTHERS = "others"
GROUP_WORDS = (*(WORDS[name] for name in GROUPS if name in WORDS), OTHERS)  # in the order of their rows


def group_of(run: Run, case: int) -> str:
    """Return the words for the group that the file of a case's system names.

    Where that file is not here, "brokered" if the CPU time of a router was measured, else "others".
    """
    try:
        return WORDS.get(systems.group(run.case(case).system), OTHERS)
    except BenchError:
        has_router = run.starts_of(case)["router_cpu_us_per_call"].notna().any()
        return WORDS["broker"] if has_router else OTHERS


@once
def grouped(run: Run) -> pd.DataFrame:
    """Return the rows of ``ranked`` by group, each with its ``group``; the groups as ``bench.contract`` lists them."""
    rows = ranked(run)
    rows = rows.assign(group=[group_of(run, number_of(case)) for case in rows.index])
    place = rows["group"].map(GROUP_WORDS.index)
    return rows.assign(place=place).sort_values(["place", P50]).drop(columns="place")


def baseline_of(run: Run, case: int) -> int | None:
    """Return raw sockets' case with the transport, placement and clients of a case, or None if it was not measured."""
    of = run.case(case)
    return run.first(system=FLOOR, transport=of.transport, placement=of.placement, clients=of.clients)


def over_sockets(run: Run, case: int) -> Ratio | None:
    """Return a case's median RTT over raw sockets' with the same transport, or None where that was not measured."""
    base = baseline_of(run, case)
    return None if base is None else ratio(run, base, case, P50)


def extremes(run: Run) -> list[Ratio]:
    """Return the smallest and the largest ``over_sockets`` of the RPC systems: two, one, or none."""
    cases = [number_of(case) for case in ranked(run).index if run.case(number_of(case)).system not in NO_RPC]
    found = sorted(filter(None, (over_sockets(run, case) for case in cases)), key=lambda ratio: ratio.value)
    return [found[0], found[-1]] if len(found) > 1 else found


@once
def unsteady(run: Run) -> list[int]:
    """Return the cases most of whose starts did not reach steady state, as the check ``settled`` finds them."""
    return stationarity.unsteady(level_changes(run))


def cpu_share(run: Run) -> "pd.Series[float]":
    """Return the CPU time per call of all roles divided by the mean RTT, for each of ``ranked``; index: case.

    NaN where the CPU time of the client or of the server is not known.
    """
    rows = ranked(run)
    return cpu_us_per_call(rows) / rows["mean_rtt_us"]


def native_baseline(run: Run) -> Ratio | None:
    """Return the rate of the native baseline over the one in Python: one client, a CPU each side; None without both."""
    cases = [run.first(system=name, placement="split", clients=1) for name in (FLOOR, NATIVE)]
    if cases[0] is None or cases[1] is None or run.case(cases[0]).transport != run.case(cases[1]).transport:
        return None
    return ratio(run, cases[0], cases[1], RATE)


@once
def rates(run: Run) -> pd.DataFrame:
    """Return calls per second with one client and with two under one placement, and their ranges; index: system.

    ``gain`` is how many times one client's calls per second two clients make, ``ratio`` the same with its interval.
    """
    rows: dict[str, dict[str, Any]] = {}
    for case, two in numbered(run.cases_with(clients=2)):
        of = run.case(case)
        alone = run.first(system=of.system, transport=of.transport, placement=of.placement, clients=1)
        if alone is None:
            continue
        single, gain = run.cases.loc[alone], ratio(run, alone, case, RATE)
        row: dict[str, Any] = {"placement": of.placement, "gain": gain.value, "ratio": gain}
        for name, values in (("one", single), ("two", two)):
            row |= {f"{name}{end}": values[f"rate_per_s{end}"] for end in ("", "_low", "_high")}
        rows[of.system] = row
    columns = (
        "placement",
        "gain",
        "ratio",
        *(f"{name}{end}" for name in ("one", "two") for end in ("", "_low", "_high")),
    )
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).dropna()


def ratios(run: Run) -> list[Ratio]:
    """Return each system's round trip compared with raw sockets, then the gain of a second client."""
    subjects = [number_of(case) for case in ranked(run).index]
    compared = [over_sockets(run, case) for case in subjects if run.case(case).system != FLOOR]
    return [*(rtt_ratio for rtt_ratio in compared if rtt_ratio), *rates(run)["ratio"]]
