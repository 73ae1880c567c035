"""Values of each start, from the frames of a run: warm-up, use of CPUs, rates, pacing of open loads.

One rule for the warm-up: quantiles and means of a start describe the calls that were sent after the cut, its rate the
time since the first of them. The CPU time since the cut is divided by the calls that were answered since then: it pays
for those that were under way.
Where that cannot be, the CPU time is that of the whole window, and ``cpu_from_ns`` says so: see ``warm_use``.
In slices the CPU time also counts the first calls of each slice, which all else leaves out.
"""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from bench import stats
from bench.contract import PACING
from bench.plan import slicing
from bench.plan.arrivals import steps_of
from bench.plan.case import Case
from bench.run.calls import AllCalls, Array, Calls
from bench.stats import steady_state

ROLES = ("client", "server", "router", "controller")
BUSY = 0.8  # share of its CPUs above which a group of clients may be the limit
REPORTED = {  # columns of a start, in us and per second: the names in the report of a load generator
    "p50_rtt_us": "rtt_p50",
    "p90_rtt_us": "rtt_p90",
    "p99_rtt_us": "rtt_p99",
    "mean_rtt_us": "rtt_mean",
    "rate_per_s": "rate",
}


def settlings(calls: AllCalls) -> dict[int, steady_state.Settling]:
    """Return how each start settled; index: start."""
    return {start: steady_state.settle(of_start.rtt_ns) for start, of_start in calls.by_start()}


def warm_up_ns(
    ledger: pd.DataFrame,
    cases: "pd.Series[Case]",
    cuts_ns: dict[int, int],
    settled: dict[int, steady_state.Settling],
) -> "pd.Series[int]":
    """Return the warm-up of each start: a fixed part of the window, or as long as was detected if that is more.

    cases: the case of each start. cuts_ns: when the first steady call of each start was sent. Short windows have a
    warm-up of their own.
    """
    is_short = cases.map(lambda case: case.is_short).astype(bool)
    limits = cases.map(lambda case: case.max_calls * case.is_short)
    lengths_ns = ledger.groupby(limits)["window_s"].transform("min").map(stats.warm_up_ns)
    lengths_ns[~is_short] = lengths_ns[~is_short].clip(lower=_detected_ns(ledger[~is_short], cuts_ns, settled))
    return lengths_ns


def _detected_ns(starts: pd.DataFrame, cuts_ns: dict[int, int], settled: dict[int, steady_state.Settling]) -> int:
    """Return when the last case has reached its level, at most half a window after *go*: one cut for all starts.

    A case begins more slowly, or faster, if at least half of its starts do so; a step in one of several starts is
    attributed to the machine, and where the rate changes inside the window each is the plan's. An open load that is
    faster at first fills a queue: that is overload, and no warm-up.
    """
    latest_ns = 0
    for _, rows in starts[~starts["arrivals"].fillna("").map(steps_of).astype(bool)].groupby("case"):
        is_closed = (rows["load"] == "closed").all()
        for label in (steady_state.WARM_UP, *([steady_state.SLOW_DOWN] if is_closed else [])):
            changing = [start for start in rows.index if start in settled and settled[start].label == label]
            if len(changing) >= max(len(rows) / 2, min(2, len(rows))):
                latest_ns = max([latest_ns, *(cuts_ns[start] for start in changing)])
    return min(latest_ns, int(starts["window_s"].min() * 0.5e9)) if len(starts) else 0


def paced_rate(calls: Calls, from_ns: float, until_ns: float) -> float:
    """Return the requests per second of a load with a schedule that were answered in a part of the window."""
    is_inside = (calls.received_ns >= from_ns) & (calls.received_ns < until_ns)
    return float(np.count_nonzero(is_inside) / ((until_ns - from_ns) / 1e9))


def is_warm(t_send_ns: Array, warm_up_ns: float) -> Array:
    """Return which calls of a start were sent after its warm-up; of one without any the last call."""
    warm = t_send_ns >= warm_up_ns
    if len(warm) and not warm.any():  # a start of one slow call has no other
        warm[-1] = True
    return warm


def warm_marks(marks: pd.DataFrame, warm_up_ns: "pd.Series[int]") -> pd.DataFrame:
    """Return the marks of one-way streams after the warm-up, all those of an end that has fewer than two."""
    warm = marks["t_ns"] >= warm_up_ns.reindex(marks["start"]).to_numpy()
    return marks[warm | (warm.groupby([marks["start"], marks["role"]]).transform("sum") < 2)]


def warm_use(
    ledger: pd.DataFrame, load: pd.DataFrame, calls: AllCalls, marks: pd.DataFrame, slices: pd.DataFrame
) -> pd.DataFrame:
    """Return ``calls``, ``{role}_cpu_ns``, ``window_ns`` and ``cpu_from_ns``: what each start used for how many calls.

    cpu_from_ns: from when, the end of the warm-up; 0: of the whole window, where the CPU clocks were not read in
    between (older runs, short windows, a server inside the client) or no calls are stored from which those after the
    warm-up can be counted. Of a start in slices: of all slices after the warm-up, with the first calls of each.
    """
    names = [f"{role}_cpu_ns" for role in ROLES]
    used = ledger[["calls", *names]].astype(float).assign(window_ns=ledger["window_s"] * 1e9)
    after = used - _used_before(ledger, load).assign(window_ns=ledger["warm_up_ns"])
    answered = {
        start: np.count_nonzero(of_start.received_ns >= ledger.at[start, "warm_up_ns"])
        for start, of_start in calls.by_start()
    }
    after["calls"] = pd.Series(answered, dtype=float)
    for start, rows in marks[marks["role"] == "server"].groupby("start"):
        before = np.interp(ledger.loc[start, "warm_up_ns"], rows["t_ns"], rows["messages"])
        after.loc[start, "calls"] = rows["messages"].iloc[-1] - before
    is_known = (after.notna() | used.isna()).all(axis=1) & (after["calls"] > 0)
    result = pd.concat([after[is_known], used[~is_known]]).sort_index()
    result["cpu_from_ns"] = ledger["warm_up_ns"].where(is_known, 0)
    if len(rounds := slices[slices["round"] > slicing.WARM_UP]):
        of_rounds = rounds.rename(columns={"length_ns": "window_ns"}).groupby("start")
        of_rounds = of_rounds[["calls", "window_ns", *names]].sum(min_count=1).join(ledger["warm_up_ns"])
        of_rounds = of_rounds.rename(columns={"warm_up_ns": "cpu_from_ns"})
        result.loc[of_rounds.index, of_rounds.columns] = of_rounds
    return result


def _used_before(ledger: pd.DataFrame, load: pd.DataFrame) -> pd.DataFrame:
    """Return the CPU time of each role in the warm-up of each start, in ns; NaN where it was not read in the window.

    Between two readings of a host's clock it grows evenly; before the first, from zero at *go*.
    """
    clock = ["start", "role", "host"]
    rows = load[(load["t_ns"] > 0) & load["role"].isin(ROLES)].sort_values("t_ns").fillna({"host": ""})
    until_ns, window_ns = (rows["start"].map(column) for column in (ledger["warm_up_ns"], ledger["window_s"] * 1e9))
    rows = rows.assign(until_ns=until_ns, is_read=(rows["t_ns"] < window_ns) & rows["cpu_ns"].notna())
    of_clocks = rows.groupby(clock)[["until_ns", "is_read"]].max()
    readings, is_before = rows.set_index(clock)[["t_ns", "cpu_ns"]], (rows["t_ns"] <= until_ns).to_numpy()
    low = readings[is_before].groupby(level=clock).last().reindex(of_clocks.index, fill_value=0)
    high = readings[~is_before].groupby(level=clock).first().reindex(of_clocks.index)
    share = (of_clocks["until_ns"] - low["t_ns"]) / (high["t_ns"] - low["t_ns"])
    used = low["cpu_ns"] + ((high["cpu_ns"] - low["cpu_ns"]) * share).fillna(0)
    of_roles = used.where(of_clocks["is_read"]).groupby(level=["start", "role"]).sum(skipna=False).unstack("role")
    return of_roles.reindex(index=ledger.index, columns=ROLES).add_suffix("_cpu_ns")


def add_use_of_cpus(ledger: pd.DataFrame, used: pd.DataFrame, cpus_allowed: int, reports: pd.DataFrame) -> None:
    """Add CPU time per call (us), utilization (%), the clients' share of their CPUs, and context switches per call.

    used: see ``warm_use``. cpus_allowed: CPUs that a role can use that is not pinned. reports: what the clients
    reported. Spinning until a request is due is in none of them: it ends when there is work, and limits no rate.
    """
    ledger["cpu_from_ns"] = used["cpu_from_ns"]
    pacing_us = reports[reports["name"] == PACING].groupby("start")["value"].sum()
    # Nothing is per call where none was.
    calls, of_all = (rows["calls"].where(rows["calls"] > 0) for rows in (used, ledger))
    spun_ns = 1e3 * pacing_us.reindex(ledger.index, fill_value=0) * (calls / of_all).fillna(1)
    for role in ROLES:
        cpu_ns = used[f"{role}_cpu_ns"] - (spun_ns if role == "client" else 0)
        ledger[f"{role}_cpu_us_per_call"] = cpu_ns / calls / 1e3
        ledger[f"{role}_cpu_percent"] = 100 * cpu_ns / used["window_ns"]
    ledger["cpu_us_per_call"] = cpu_us_per_call(ledger)
    pinned = ledger["client_cpus"].map(lambda cpus: len(cpus.split(",")) if isinstance(cpus, str) else cpus_allowed)
    usable = pinned.clip(upper=ledger["clients"])  # a process runs one thread at a time
    ledger["client_cpu_share"] = ledger["client_cpu_percent"] / 100 / usable
    ledger["client_sleeps_per_call"] = ledger["voluntary_switches"] / of_all
    ledger["server_sleeps_per_call"] = ledger["server_voluntary_switches"] / of_all
    ledger["opened_per_call"] = ledger["tcp_connections"] / of_all
    of_roles = ledger[[f"{role}_cpu_ns" for role in ROLES]].sum(axis=1)
    ledger["other_cpu_ns"] = ledger["machine_busy_ns"] - of_roles  # or a little below 0: that clock ticks at 10 ms


def cpu_us_per_call(rows: pd.DataFrame) -> "pd.Series[float]":
    """Return the CPU time per call of all roles in us, by row; NaN where the client's or the server's is not known."""
    ends = rows[["client_cpu_us_per_call", "server_cpu_us_per_call"]].sum(axis=1, skipna=False)
    return ends + rows[["router_cpu_us_per_call", "controller_cpu_us_per_call"]].sum(axis=1)


def client_share(cases: pd.DataFrame, rates: Iterable[float]) -> float:
    """Return the largest share of their CPUs that the clients used at some offered rates; NaN if none was measured."""
    return float(cases.loc[cases["offered_per_s"].isin([*rates]), "client_cpu_share"].max())


def quantiles_us(calls: Calls) -> list[float]:
    """Return ``stats.QUANTILES`` of the RTT and of the response time of a start's calls in us.

    A quantile above the median is NaN where there are too few calls to carry it.
    """
    rtt = [stats.carried(calls.rtt_ns / 1e3, p) for p in stats.QUANTILES]
    return rtt + ([stats.carried(calls.response_ns / 1e3, p) for p in stats.QUANTILES] if calls.lag_ns.any() else rtt)


def was_waiting(calls: Calls) -> Array:
    """Return for each request of an open load whether its connection still waited for a reply when it was due."""
    order = np.argsort(calls.client, kind="stable")
    received, client = calls.received_ns[order], calls.client[order]
    before = np.zeros_like(received)
    before[1:] = np.where(client[1:] == client[:-1], received[:-1], 0)
    waiting = np.empty(calls.size, bool)
    waiting[order] = before > (calls.t_send_ns - calls.lag_ns)[order]
    return waiting


def call_rate(calls: Calls, from_ns: int = 0) -> float:
    """Return calls per second of a start while all of its callers ran; see ``stats.closed_rate``.

    calls: all of the start. from_ns: when the first one was sent after the warm-up.
    """
    return stats.closed_rate(calls.t_send_ns, calls.received_ns, calls.client, from_ns)


def stream_rates(marks: pd.DataFrame, role: str) -> dict[int, float]:
    """Return messages per second at one end of the one-way stream of each start."""
    rows = marks[marks["role"] == role].groupby("start")
    return {
        start: stats.stream_rate(of_start["t_ns"].to_numpy(), of_start["messages"].to_numpy())
        for start, of_start in rows
    }


def fill_in_reported(starts: pd.DataFrame, reports: pd.DataFrame) -> None:
    """Put what was reported into the starts that have no samples; what was not reported stays NaN."""
    of_starts = reports[reports["name"].isin(REPORTED.values())]
    reported = of_starts.pivot(index="start", columns="name", values="value").reindex(starts.index)
    for column, name in REPORTED.items():
        if name in reported:
            starts[column] = starts[column].fillna(reported[name])
