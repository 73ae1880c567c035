"""Calls of several hosts in one run: which host made each call, and whose calls the quantiles of a case describe."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bench import stats
from bench.plan.case import MOST_CLIENTS, Case
from bench.run.calls import AllCalls
from bench.stats import pooling
from bench.stats.pooling import AGREE, DIFFER, Agreement

LATENCY, POOLED, SLOWEST, ALONE = "latency", "pooled", "slowest", "alone"
ROLES = ("server", "load", LATENCY)
TESTED = (0.5, 0.99)  # quantiles on which hosts have to agree: the first within the margin, no other may differ


@dataclass(frozen=True)
class Merged:
    """How the calls of a case's hosts are merged.

    kind: ``LATENCY``: quantiles are those of the host that measures latency; ``POOLED``: of all hosts that load, which
    agree; ``SLOWEST``: of the slowest of them, because they do not; ``ALONE``: only one host loads. host: whose calls
    are described; "": all. loading: the hosts that load, in the order of the ratios. tested: by quantile.
    """

    kind: str
    host: str
    loading: tuple[str, ...]
    tested: dict[float, Agreement]

    @property
    def verdict(self) -> str:
        """Return whether the hosts that load agree; ``AGREE`` where there is only one."""
        verdicts = [agreement.verdict for agreement in self.tested.values()]
        if DIFFER in verdicts:
            return DIFFER
        if verdicts:
            return verdicts[0]
        return AGREE if len(self.loading) < 2 else pooling.UNKNOWN


def misplaced(hosts: pd.DataFrame) -> str:
    """Return which row of the table of hosts cannot be, in words; "" if all can."""
    least = np.where(hosts["clients"] > 0, 0, -1)  # a host with clients has a first one
    is_placed = hosts["first_client"].fillna(-1).between(least, MOST_CLIENTS)
    fits = hosts["role"].isin(ROLES) & hosts["host"].notna() & hosts["clients"].le(MOST_CLIENTS) & is_placed
    return "" if fits.all() else f"start {hosts['start'][~fits].iloc[0]} has a host whose role or clients cannot be"


def hosts_of(calls: AllCalls, hosts: pd.DataFrame, case_of: Callable[[object], Case]) -> pd.Categorical:
    """Return the name of the host that made each call; missing where the start was of one machine.

    hosts: rows of the table of this name. case_of: the case of a start.
    """
    names = list(dict.fromkeys(hosts["host"]))
    codes = np.full(calls.calls.size, -1, np.int16)
    for start, rows in hosts[hosts["clients"] > 0].groupby("start"):
        case, by_process = case_of(start), _by_process(rows, names)
        process = calls.of_start(start).client // (case.callers * case.outstanding)
        codes[calls.place_of(start)] = by_process[np.minimum(process, len(by_process) - 1)]
    return pd.Categorical.from_codes(codes, names)


def _by_process(rows: pd.DataFrame, names: list[str]) -> "np.ndarray[Any, Any]":
    """Return for each client process of a start the place of its host in ``names``; behind the last one -1."""
    step = int((rows["role"] == "load").sum())
    places = np.full(int(rows["clients"].sum()) + 1, -1, np.int16)
    for row in rows.itertuples():
        numbers = int(row.first_client) + step * np.arange(int(row.clients))
        places[numbers[numbers < len(places) - 1]] = names.index(str(row.host))
    return places


def merged(calls: pd.DataFrame, hosts: pd.DataFrame) -> Merged:
    """Return how the calls of one case are merged.

    calls: those that quantiles describe, with ``start``, ``host``, ``lag_ns`` and ``rtt_ns``; hosts: its rows.
    """
    loading = tuple(sorted(set(hosts.loc[(hosts["role"] == "load") & (hosts["clients"] > 0), "host"])))
    tested = _tested(calls, loading) if len(loading) > 1 else {}
    if len(of_latency := set(hosts.loc[hosts["role"] == "latency", "host"])) == 1:
        return Merged(LATENCY, of_latency.pop(), loading, tested)
    if len(loading) < 2:
        return Merged(ALONE, "", loading, tested)
    if tested and _may_be_pooled(tested):
        return Merged(POOLED, "", loading, tested)
    return Merged(SLOWEST, _slowest(calls, loading, tested), loading, tested)


def _slowest(calls: pd.DataFrame, loading: tuple[str, ...], tested: dict[float, Agreement]) -> str:
    """Return the host with the largest ratio of the first quantile that is not agreed on, else the largest median."""
    for agreement in tested.values():
        if agreement.verdict != AGREE:
            return loading[agreement.slowest]
    medians = (calls["lag_ns"] + calls["rtt_ns"]).groupby(calls["host"].astype(object)).median()
    return str(medians.idxmax()) if len(medians) else ""


def _may_be_pooled(tested: dict[float, Agreement]) -> bool:
    first, *others = tested.values()
    return first.verdict == AGREE and not any(agreement.verdict == DIFFER for agreement in others)


def _tested(calls: pd.DataFrame, loading: tuple[str, ...]) -> dict[float, Agreement]:
    """Return what each quantile says of hosts, where all of them have enough calls for it in every start."""
    times = (calls["lag_ns"] + calls["rtt_ns"]).groupby([calls["start"], calls["host"].astype(object)])
    tested = {}
    for p in TESTED:
        by_host = times.agg(lambda values, p=p: stats.carried(values.to_numpy(), p)).unstack().reindex(columns=loading)
        if len(by_host) and by_host.notna().all(axis=None) and (by_host > 0).all(axis=None):
            tested[p] = pooling.agreement(by_host.to_numpy())
    return tested
