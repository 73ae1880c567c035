"""The CPUs that a case can use, as resources: the roles that share them, the demand per call, the utilization."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bench.run.frames import ROLES, Run, once_per_run
from bench.stats import Array
from bench.text import listed, percent_beside

WORDS = {"client": "clients", "server": "server", "router": "router", "controller": "controller"}
FULL = 0.9  # utilization above which a resource is saturated
CROWDED = 0.95  # utilization of a machine's CPUs by all processes from which on none is idle
MOST_OTHERS = 0.1  # of a CPU that other processes may use
LEAST_S = 0.2  # of windows in which the time of all processes is known: the machine's clock ticks at 10 ms


@dataclass(frozen=True)
class Resource:
    """Some CPUs and the roles on them.

    demand_us: CPU time per call there, one value for each start. busy: utilization, median over the starts.
    is_thread: not CPUs but a process that runs one thread at a time, whatever CPUs it has.
    """

    name: str
    roles: tuple[str, ...]
    cpus: int
    demand_us: Array
    busy: float
    is_thread: bool = False

    @property
    def percent(self) -> str:
        """The utilization in per cent; near the limit ``FULL`` the decimals show on which side of it."""
        return percent_beside(self.busy, FULL)


def cpus_used(run: Run, case: int, roles: Sequence[str] = ROLES) -> "pd.Series[float]":
    """Return how many CPUs some roles used together in each start; NaN where the CPU time of none is known."""
    percent: pd.Series[float] = run.starts_of(case)[[f"{role}_cpu_percent" for role in roles]].sum(axis=1, min_count=1)
    return percent / 100


@once_per_run
def resources(run: Run, case: int) -> list[Resource]:
    """Return the resources of a case; roles whose CPU time is not known are left out."""
    starts = run.ledger_of(case)
    if case in run.merged:
        return _of_hosts(run, case, starts)
    places: dict[str | None, list[str]] = {}
    for role in ROLES:
        if starts[f"{role}_cpu_us_per_call"].notna().all():
            places.setdefault(_place(starts, role), []).append(role)
    everywhere = int(run.manifest["machine"]["cpus_allowed"])
    groups = [_resource(starts, roles, len(cpus.split(",")) if cpus else everywhere) for cpus, roles in places.items()]
    server_cpus = next(
        (len(cpus.split(",")) if cpus else everywhere for cpus, roles in places.items() if "server" in roles), 1
    )
    return [*groups, *_threads(run, case, starts, server_cpus)]


def _of_hosts(run: Run, case: int, starts: pd.DataFrame) -> list[Resource]:
    """Return the CPUs of the hosts that load, as utilized as the busiest of them, and those of the server's host."""
    rows = run.hosts[run.hosts["start"].isin(starts.index)]
    loading, serving = rows[rows["clients"] > 0], rows[rows["role"] == "server"]
    groups = []
    if len(loading) and starts["client_cpu_us_per_call"].notna().all():
        shares = run.shares(loading, starts["window_s"]).groupby(loading["host"]).median()
        cpus = [min(_cpus(run, row.host), row.clients) for row in loading.drop_duplicates("host").itertuples()]
        name = f"the clients' CPU on host {shares.idxmax()}" if len(shares) > 1 else "the clients' CPU"
        demand = starts["client_cpu_us_per_call"].to_numpy()
        groups = [Resource(_plural(name, sum(cpus)), ("client",), sum(cpus), demand, float(shares.max()))]
    roles = [role for role in ROLES[1:] if starts[f"{role}_cpu_us_per_call"].notna().all()]
    if serving.empty or "server" not in roles:
        return groups
    cpus_there = _cpus(run, serving["host"].iloc[0])
    groups.append(_resource(starts, roles, cpus_there))
    return [*groups, *_threads(run, case, starts, cpus_there)]


def _cpus(run: Run, host: str) -> int:
    return int(run.machine_of(host)["cpus_allowed"])


def _place(starts: pd.DataFrame, role: str) -> str | None:
    """Return the CPUs of a role as the ledger writes them, or None where it could use any."""
    column = "router_cpus" if role == "controller" else f"{role}_cpus"
    cpus = starts[column].iloc[0]
    return cpus if isinstance(cpus, str) else None


def _resource(starts: pd.DataFrame, roles: list[str], cpus: int) -> Resource:
    demand = sum(starts[f"{role}_cpu_us_per_call"] for role in roles)
    percent = sum(starts[f"{role}_cpu_percent"] for role in roles)
    shown = [WORDS[role] for role in roles if role != "controller"] or ["controller"]
    name = f"the CPUs that {listed(shown)} share" if len(shown) > 1 else f"the {_possessive(shown[0])} CPU"
    return Resource(_plural(name, cpus), tuple(roles), cpus, demand.to_numpy(), float(np.median(percent)) / 100 / cpus)


def _possessive(word: str) -> str:
    return f"{word}'" if word.endswith("s") else f"{word}'s"


def _plural(name: str, cpus: int) -> str:
    name = name.replace("CPUs", "CPU")
    return name.replace("CPU", "CPUs") if cpus > 1 else name


def _threads(run: Run, case: int, starts: pd.DataFrame, cpus: int) -> list[Resource]:
    """Return the server's processes as a resource where that is less than its CPUs: Python runs one thread of each.

    None of a service of the user's, of a native server, or of one that used more: it has other processes or threads.
    """
    factors, demand = run.case(case), starts["server_cpu_us_per_call"]
    workers, percent = int(factors.options.get("workers", 1)), starts["server_cpu_percent"]
    is_service = factors.system in run.manifest.get("services", ())
    if cpus <= workers or is_service or factors.options.get("server") == "c" or percent.max() > 105 * workers:
        return []
    name = "the server's thread" if workers == 1 else f"the server's {workers} workers"
    busy = float(np.median(percent)) / 100 / workers
    return [Resource(name, ("server",), workers, demand.to_numpy(), busy, is_thread=True)]


def full(resources: list[Resource]) -> list[Resource]:
    """Return the resources that are saturated."""
    return [resource for resource in resources if resource.busy > FULL]


def crowded(run: Run, case: int) -> float | None:
    """Return the utilization of the machine's CPUs by all processes, where others left none idle; median over starts.

    None where a CPU was idle, where the case's own processes saturate a resource or others used at most a tenth of a
    CPU, and where that is not known. What the calls of a crowded case waited for is not known: for a CPU, perhaps.
    """
    used = [(use.median(), cpus) for use, cpus in _use_of_machines(run, case)]
    busy = max((use["busy"] / cpus for use, cpus in used if use["others"] > MOST_OTHERS), default=0.0)
    return min(float(busy), 1.0) if busy >= CROWDED and not full(resources(run, case)) else None


def is_use_known(run: Run, case: int) -> bool:
    """Return whether the CPU time of all processes is known, of each machine of a case: whether others crowded it."""
    return all(len(use) for use, _ in _use_of_machines(run, case))


@once_per_run
def _use_of_machines(run: Run, case: int) -> list[tuple[pd.DataFrame, int]]:
    """Return of each machine of a case what all processes used (``used_by_all``), and how many CPUs it has."""
    starts, machine = run.ledger_of(case), run.manifest["machine"]
    machines = [(starts, machine)]
    if case in run.merged:
        rows = run.hosts[run.hosts["start"].isin(starts.index)].groupby("host")
        machines = [(starts_of_host(run, of_host), run.machine_of(str(host))) for host, of_host in rows]
    return [(used_by_all(ledger), cpus_of(record)) for ledger, record in machines]


def cpus_of(machine: Mapping[str, Any]) -> int:
    """Return how many CPUs a machine has, over all of which the kernel counts steal; else those that are allowed."""
    return int(machine.get("cpus") or machine["cpus_allowed"])


def starts_of_host(run: Run, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the starts of one host, from its rows of ``run.hosts``, with what a ledger says of a machine."""
    starts = rows.groupby("start").agg(
        {"machine_busy_ns": "first", "steal_ns": "first", "throttled_ns": "first", "cpu_ns": "sum"}
    )
    return starts.assign(
        case=run.ledger["case"].reindex(starts.index),
        metered_ns=1e9 * run.ledger["window_s"].reindex(starts.index),
        other_cpu_ns=starts["machine_busy_ns"] - starts["cpu_ns"],
    )


def used_by_all(starts: pd.DataFrame) -> pd.DataFrame:
    """Return how many CPUs of a machine all processes used (``busy``), and those of no role (``others``); one row each.

    starts: ``case``, ``metered_ns``, ``machine_busy_ns`` and ``other_cpu_ns`` of each. A start metered for longer than
    ``LEAST_S`` has a row. The shorter windows of a case, as those in slices are, have one together; where they are too
    short even so, or the machine's CPU time was not recorded, there is none.
    """
    known = starts.dropna(subset=["machine_busy_ns", "other_cpu_ns"])
    alone = np.where(known["metered_ns"] > 1e9 * LEAST_S, known.index, -1)
    sums = known.groupby([known["case"], alone])[["metered_ns", "machine_busy_ns", "other_cpu_ns"]].sum()
    sums = sums[sums["metered_ns"] > 1e9 * LEAST_S]
    used = sums[["machine_busy_ns", "other_cpu_ns"]].div(sums["metered_ns"], axis=0)
    return used.clip(lower=0).set_axis(["busy", "others"], axis=1)


GROWN = 1.1  # twice the callers make more than this times the calls per second, or they add none


def stuck(run: Run) -> list[int]:
    """Return the closed loops in which at least twice as many callers as in another hardly made more calls a second."""
    closed = run.find(load="closed", is_short=False)
    rate, under_way = run.cases["rate_per_s"], {case: run.case(case).under_way for case in closed}
    return [
        many
        for many in closed
        if any(
            _alike(run, few, many) and under_way[many] >= 2 * under_way[few] and rate[many] < GROWN * rate[few]
            for few in closed
        )
    ]


def _alike(run: Run, few: int, many: int) -> bool:
    """Return whether two cases differ in nothing but how many call."""
    first, second = (vars(run.case(case)) | {"clients": 0, "callers": 0, "outstanding": 0} for case in (few, many))
    return first == second


def total_cpu(cases: pd.DataFrame) -> "pd.Series[float]":
    """Return the CPU time per call over all roles, in us."""
    return cases[[f"{role}_cpu_us_per_call" for role in ROLES]].sum(axis=1)
