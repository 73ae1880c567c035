"""How calls per second, round trip and CPU time change with the number of clients, directly and through brokers."""

import pandas as pd

from bench.analysis.resources import total_cpu
from bench.experiments.case_ratios import P50, RATE, Ratio, across, ratio
from bench.run.frames import Run, number_of, once

ROLES = ("client", "server", "router")


@once
def grown(run: Run) -> pd.DataFrame:
    """Return the cases of all systems, the fewest clients first, with their number in ``connected``."""
    rows = run.round_trips()
    rows = rows[rows["system"] != "loopback"].copy()
    rows["connected"] = (rows["clients"] * rows["callers"]).astype(int)
    return rows.sort_values("connected", kind="stable")


def systems(run: Run) -> list[str]:
    """Return the systems that were measured, in the order of the plan."""
    return list(dict.fromkeys(case.system for case in run.plan.cases if case.system in set(grown(run)["system"])))


def of(run: Run, system: str) -> pd.DataFrame:
    """Return a system's cases, the fewest clients first."""
    rows = grown(run)
    return rows[rows["system"] == system]


def is_brokered(run: Run, system: str) -> bool:
    """Return whether a system's calls go through a router."""
    return bool(of(run, system)["router_cpu_us_per_call"].notna().any())


def direct(run: Run) -> str | None:
    """Return the first system whose calls go to the server directly; None if there is none."""
    return next((name for name in systems(run) if not is_brokered(run, name)), None)


def brokers(run: Run) -> list[str]:
    """Return the systems whose calls go through a broker."""
    return [name for name in systems(run) if is_brokered(run, name)]


def fewest(run: Run, system: str) -> int:
    """Return a system's case with the fewest clients."""
    return number_of(of(run, system).index[0])


def most(run: Run, system: str) -> int:
    """Return a system's case with the most clients."""
    return number_of(of(run, system).index[-1])


def best(run: Run, system: str) -> int:
    """Return a system's case with the highest median rate."""
    return number_of(of(run, system)[RATE].idxmax())


def growth(run: Run, system: str) -> Ratio | None:
    """Return how many times the calls per second of the fewest clients the most make; None of one number of clients."""
    return across(run, of(run, system), RATE)


def peak(run: Run, system: str) -> Ratio | None:
    """Return the calls per second of the most clients divided by the highest rate; None where they are the same."""
    top, last = best(run, system), most(run, system)
    return ratio(run, top, last, RATE) if top != last else None


def delay(run: Run, system: str) -> Ratio | None:
    """Return how many times as long the median RTT is with the most clients as with the fewest."""
    return across(run, of(run, system), P50)


def detour(run: Run, system: str) -> Ratio | None:
    """Return how many times as long a call through a broker takes as a direct one, with the fewest clients."""
    base = direct(run)
    if base is None or not is_brokered(run, system):
        return None
    alike = run.case(fewest(run, base)).under_way == run.case(fewest(run, system)).under_way
    return ratio(run, fewest(run, base), fewest(run, system), P50) if alike else None


def broker_share(run: Run, case: int) -> float:
    """Return the router's share of the CPU time per call, 0 without a router."""
    starts = run.starts_of(case)
    return float((starts["router_cpu_us_per_call"].fillna(0) / total_cpu(starts)).median())


def ratios(run: Run) -> list[Ratio]:
    """Return the ratios that the notebook reports: the detour through each broker, growth and delay of each system."""
    reported = [detour(run, name) for name in brokers(run)]
    reported += [change(run, name) for name in systems(run) for change in (growth, delay, peak)]
    return [multiple for multiple in reported if multiple is not None]
