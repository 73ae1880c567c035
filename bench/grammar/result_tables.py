"""Results as tables of text: for notebooks, terminals, and the application in the browser."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import pandas as pd

from bench import stats, systems
from bench.analysis import overload, per_host, quantiles, request_mix, resources, stationarity
from bench.analysis.checks import level_changes
from bench.analysis.limits import AT_LEAST, EXACTLY, UNKNOWN, limit_of
from bench.analysis.trust_card import Check
from bench.grammar.contrast import load_of
from bench.grammar.experiment import of_run
from bench.grammar.quantities import quantity_of
from bench.grammar.table import as_table, level, with_ends
from bench.plan.case import MOST_CALLS, Case
from bench.plan.hosts import described, is_far
from bench.plan.retry_policy import RetryPolicy
from bench.run import requests
from bench.run.frames import P50, Run, number_of, numbered
from bench.run.merging import ROLES as HOST_ROLES
from bench.stats import Text
from bench.text import counted, duration, listed

Row = dict[str, Any]

TOO_FEW = "n/a (too few in a start)"


def _median(run: Run, case: int, name: str, otherwise: str = "n/a") -> str:
    """Return a quantity of a case without its range; ``otherwise`` if it is not known."""
    spread = run.over_starts(case, name)
    return otherwise if math.isnan(spread.middle) else spread.words(quantity_of(name).text)


def _known(value: float, text: Text, otherwise: str) -> str:
    return otherwise if math.isnan(value) else text(value)


@as_table("case")
def ratios(run: Run) -> Iterator[Row]:
    """Return one row for each ratio of two cases that the run's notebook reports: its value and its 95 % interval."""
    for ratio in of_run(run).ratios(run):
        yield {
            "case": run.labels[ratio.other],
            "compared with": run.labels[ratio.base],
            "quantity": ratio.quantity,
            "load": load_of(run, ratio.other),
            "ratio": ratio.words,
            "interval": ratio.range,
            "distinguishable": "yes" if ratio.is_certain else "no",
        }


@as_table("case")
def limits(run: Run) -> Iterator[Row]:
    """Return one row for each closed loop of several calls at once: the server's capacity, and what limits the rate."""
    for number, row in numbered(run.round_trips()):
        case = run.case(number)
        if case.under_way > 1 and not case.is_short:
            limit = limit_of(run, number)
            rate = level(run, number, "rate_per_s")
            capacities = {EXACTLY: rate, AT_LEAST: f"at least {rate}"}
            yield {
                "case": row["label"],
                "the server's capacity for this load [calls/s, range over starts]": capacities.get(
                    limit.capacity, UNKNOWN
                ),
                "CPU utilization": limit.utilization,
                "saturated": limit.names if limit.capacity in capacities else UNKNOWN,
            }


def _payload(run: Run, case: Case) -> int | str:
    return "its own requests" if has_own_requests(run, case) else case.payload_bytes


def has_own_requests(run: Run, case: Case) -> bool:
    """Return whether a case is of a service of the user's, whose file need not be here: it gets no payload."""
    return case.system in run.manifest.get("services", ()) or systems.has_own_requests(case.system)


@as_table("system", {"connections": "persistent", "hosts": "this machine"})
def plan(run: Run) -> Iterator[Row]:
    """Return one row for each planned case: its factors, starts and window."""
    for number, case in enumerate(run.plan.cases):
        load = f"{case.load}, {case.offered_per_s:g}/s {case.arrivals}" if case.is_paced else case.load
        load += f", {case.max_calls} calls" if case.max_calls < MOST_CALLS else ""
        load += f", {RetryPolicy.from_values(case.retry).words}" if case.load == "retry" else ""
        yield {
            "system": case.system,
            "transport": case.transport,
            "payload [B]": _payload(run, case),
            "load": load,
            "clients": f"{case.clients} x {case.callers}" if case.callers > 1 else f"{case.clients}",
            **_connections(case),
            **_hosts(run, number),
            "engine": case.engine,
            "placement": case.placement,
            "message": case.message,
            "options": ", ".join(f"{name}={value}" for name, value in case.options.items()),
            **(_searched(run, number) if "capacity" in run.manifest else _planned(run, number)),
        }


def _planned(run: Run, number: int) -> Row:
    """Return how often a case is measured, and for how long."""
    in_slices = ", in slices" * (number not in run.plan.apart)
    return {"starts": run.plan.starts, "window [s]": f"{run.plan.window_s:g}{in_slices}"}


def _searched(run: Run, number: int) -> Row:
    """Return how often a search measured a rate, and for how long: it decides both while it measures."""
    windows_s = run.ledger_of(number)["window_s"]
    return {"starts": len(windows_s), "window [s]": f"{windows_s.median():.2g}"}


def _connections(case: Case) -> Row:
    """Return how a case uses connections, in words, if that is not the usual way."""
    words = [
        f"renewed after {counted(case.calls_per_connection, 'call')}" if case.calls_per_connection else "",
        f"{case.outstanding} calls under way" if case.outstanding > 1 else "",
        f"one of {case.large_bytes:,} B" if case.large_bytes else "",
        f"sizes with p99 {case.p99_bytes:,} B" if case.p99_bytes else "",
    ]
    return {"connections": ", ".join(filter(None, words))} if any(words) else {}


def _hosts(run: Run, number: int) -> Row:
    """Return which hosts measure a case, by role: those of its starts, or those that are asked for before the first."""
    case = run.plan.cases[number]
    if not is_far(case.hosts):
        return {}
    rows = run.hosts[run.hosts["start"].isin(run.ledger.index[run.ledger["case"] == number])]
    by_role = {role: rows.loc[rows["role"] == role, "host"].unique() for role in HOST_ROLES}
    measured = "; ".join(f"{role}: {listed(names)}" for role, names in by_role.items() if len(names))
    return {"hosts": measured or described(case.hosts).removeprefix("hosts of ")}


def versions(run: Run) -> pd.DataFrame:
    """Return one row for each program and library whose version the run recorded, and the revision that measured."""
    git = run.manifest.get("git", {})
    revision = f"{(git.get('revision') or 'not known')[:12]}{' (with changes)' * bool(git.get('dirty'))}"
    recorded = {**run.manifest.get("versions", {}), "roundtrip revision": revision}
    return pd.DataFrame({"version": pd.Series(recorded)}).rename_axis("program or library")


@as_table("case")
def calls(run: Run) -> Iterator[Row]:
    """Return one row for each closed-loop case: quantiles of the RTT and the rate, or what a load generator reports."""
    unsteady = stationarity.unsteady(level_changes(run))
    for case, row in numbered(_closed_loops(run)):
        shown = {p: quantiles.quantile(run, case, p) for p in stats.QUANTILES}
        has_samples = not run.case(case).generator
        yield {
            "case": row["label"],
            "payload [B]": _payload(run, run.case(case)),
            "starts": row["starts"],
            "n": row["n"] if has_samples else "no samples",
            "median RTT [range over starts]": level(run, case, P50) if has_samples else str(shown[0.5]),
            **{f"p{100 * p:g}": str(shown[p]) for p in stats.QUANTILES[1:]},
            "calls/s [range over starts]": level(run, case, "rate_per_s"),
            **_note(
                f"the starts disagree{order}" if (order := quantiles.crossed(shown.items())) else "",
                "most starts did not reach steady state" if case in unsteady else "",
                "n and quantiles are of the small calls, calls/s of all" if row["large_bytes"] else "",
            ),
            **_described(run, case),
        }


def _note(*notes: str) -> Row:
    """Return the column of notes on a row, if there are any."""
    return {"note": "; ".join(filter(None, notes))} if any(notes) else {}


def _closed_loops(run: Run) -> pd.DataFrame:
    """Return the rows of ``Run.cases`` of closed loops, each once: what an A/A ratio adds has no row."""
    return run.cases.loc[[case for case in run.find(load="closed") if case not in run.twins]]


def _described(run: Run, case: int) -> Row:
    """Return whose calls the quantiles of a case describe, if several hosts took part."""
    hosts = per_host.described(run, case)
    return {"quantiles of": hosts} if hosts else {}


@as_table("case")
def loads(run: Run) -> Iterator[Row]:
    """Return one row for each case of calls: offered and achieved rate, RTT, response time, and send lag."""
    untold = overload.without_times(run)
    for case, row in numbered(run.cases[run.cases["load"] != "stream"]):
        instead, is_paced = untold.get(case, ""), row["load"] == "open"
        totals = requests.of_starts(run, run.ledger_of(case))
        entry = {
            "case": row["label"],
            "load": row["load"],
            "offered/s": f"{row['offered_per_s']:g}" if is_paced else "closed loop",
            "achieved/s [range over starts]": level(run, case, "rate_per_s"),
            "sent of scheduled": _median(run, case, "achieved") if is_paced else "all",
            "failed of sent": "; ".join(f"{kind} ({count / totals.sent:.1%})" for kind, count in totals.failed.items())
            or "none",
        }
        for p in stats.QUANTILES[:3]:
            response = str(quantiles.quantile(run, case, p, "response")) if is_paced else "no schedule"
            entry[f"RTT p{100 * p:g}"] = instead or str(quantiles.quantile(run, case, p))
            entry[f"response time p{100 * p:g}"] = instead or response
        send_lag = str(quantiles.quantile(run, case, 0.99, "lag")) if is_paced else ""
        yield entry | _described(run, case) | {"send lag p99": send_lag}


@as_table("request")
def requests_of_mix(run: Run) -> Iterator[Row]:
    """Return one row for each request of a service that has several: its calls, its RTT, its share of all RTTs.

    None of a search for a capacity, which has a case for each rate.
    """
    for case in (case for case in run.numbers if case not in run.twins and "capacity" not in run.manifest):
        counts, untold = request_mix.counts(run, case), overload.without_times(run).get(case, "")
        times_us = {name: quantiles.times(run, case, "rtt", name).sum() for name in counts}
        for name, count in counts.items():
            yield {
                "request": name,
                "case": run.labels[case],
                "n": count,
                "share of calls": f"{count / sum(counts.values()):.1%}",
                "share of time": f"{times_us[name] / sum(times_us.values()):.1%}",
                **{
                    f"RTT p{100 * p:g}": untold or str(quantiles.quantile(run, case, p, "rtt", name))
                    for p in stats.QUANTILES[:3]
                },
            }


@as_table("case", "no router")
def costs(run: Run) -> Iterator[Row]:
    """Return one row for each closed-loop case: first call, CPU time and context switches per call, memory."""
    for case, row in numbered(_closed_loops(run)):
        yield {
            "case": row["label"],
            "first call (cold)": _median(run, case, "first_rtt_ns"),
            "client CPU/call": level(run, case, "client_cpu_us_per_call"),
            "server CPU/call": _of_server(run, case, "server_cpu_us_per_call"),
            "client voluntary context switches/call": _median(run, case, "client_sleeps_per_call"),
            "server voluntary context switches/call": _of_server(run, case, "server_sleeps_per_call", _median),
            **_of_router(run, case, "call"),
            "client memory": _median(run, case, "client_rss_bytes"),
            "server memory": _of_server(run, case, "server_rss_bytes", _median),
        }


def _of_server(run: Run, number: int, name: str, words: Callable[[Run, int, str], str] = level) -> str:
    """Return a server's number, or why there is none."""
    case = run.case(number)
    if case.system == "loopback":
        return "no server"
    if case.target:
        return "not known"
    if math.isnan(run.over_starts(number, name).middle):
        return "in the client's"
    return words(run, number, name)


def _of_router(run: Run, case: int, unit: str) -> Row:
    """Return the router's column if there is a router."""
    name = "router_cpu_us_per_call"
    return {} if math.isnan(run.over_starts(case, name).middle) else {f"router CPU/{unit}": level(run, case, name)}


def disturbances(run: Run) -> pd.DataFrame:
    """Return one row for each case: disturbances in its windows, as shares of one CPU (median of its starts).

    If the windows of its starts are too short to show the share of other processes, it is that over all starts.
    """
    columns = {
        "steal_ns": "steal (other guests)",
        "pressure_ns": "CPU pressure (some task waited)",
        "throttled_ns": "throttled by a CPU limit",
    }
    shares = run.starts[[*columns]].div(run.starts["metered_ns"], axis=0).groupby(run.starts["case"]).median()
    shares["others"] = resources.used_by_all(run.ledger)["others"].groupby(level="case").median()
    columns["others"] = "other processes"
    cases = pd.Index([run.labels[number_of(case)] for case in shares.index], name="case")
    return shares.map(_known, text="{:.1%}".format, otherwise="not known").rename(columns=columns).set_axis(cases)


@as_table("case", "no router")
def streams(run: Run) -> Iterator[Row]:
    """Return one row for each one-way stream: received and sent per second, Mb/s, CPU per message by role."""
    for case, row in numbered(run.cases_with(load="stream")):
        yield {
            "case": f"{row['system']} {row['transport']}",
            "payload [B]": row["payload_bytes"],
            "starts": row["starts"],
            "received/s [range over starts]": level(run, case, "rate_per_s"),
            "sent/s": _median(run, case, "send_rate_per_s"),
            "Mb/s": _median(run, case, "rate_mbit_per_s"),
            "sender CPU/message": _median(run, case, "client_cpu_us_per_call"),
            "receiver CPU/message": _median(run, case, "server_cpu_us_per_call"),
            **_of_router(run, case, "message"),
        }


@as_table("case")
def reply_streams(run: Run) -> Iterator[Row]:
    """Return one row for each case of reply streams: first message, gaps, rate, what came late or broke."""
    for case, row in numbered(run.cases_with(load="reply_stream")):
        starts = run.starts_of(case)
        yield {
            "case": row["label"],
            "starts": row["starts"],
            "time to first message [range over starts]": level(run, case, "p50_first_us"),
            "median gap": _median(run, case, "p50_gap_us"),
            **{f"{p} gap": _median(run, case, f"{p}_gap_us", TOO_FEW) for p in ("p90", "p99")},
            "messages/s, all streams at once [range over starts]": "n/a (too short a part of a start)"
            if math.isnan(row["rate_per_s"])
            else level(run, case, "rate_per_s"),
            "more than a gap late": _median(run, case, "overdue", "no schedule"),
            "streams complete, broken": f"{starts['streams'].sum():,.0f}, {starts['errors'].sum():,.0f}",
        }


@as_table("case")
def hosts(run: Run) -> Iterator[Row]:
    """Return one row for each case and host that made calls: its role, quantiles, and its ratios to the others.

    The times are round trips, or response times of an open load. Nothing for a run of one machine.
    """
    for calling in per_host.each(run):
        yield {
            "case": run.labels[calling.case],
            "host": calling.host,
            "role": calling.role,
            "clients": calling.clients,
            "n": calling.n,
            **{
                f"p{100 * p:g} [range over starts]": TOO_FEW if math.isnan(us.middle) else with_ends(us, duration)
                for p, us in calling.quantiles.items()
            },
            "ratio to other hosts that load": ", ".join(
                f"p{100 * p:g} {per_host.ratio_words(ratio)}" for p, ratio in calling.ratios.items()
            ),
            "described": "yes" if calling.is_described else "no",
        }


def results(run: Run) -> list[pd.DataFrame]:
    """Return the tables of a run's results that have rows: calls, open loads, requests, hosts, costs, streams."""
    open_loads = [loads(run)] if (run.cases["load"] == "open").any() else []
    frames = [calls(run), *open_loads, requests_of_mix(run), hosts(run), costs(run), streams(run), reply_streams(run)]
    return [frame for frame in frames if len(frame)]


def card(outcomes: list[Check]) -> pd.DataFrame:
    """Return one row for each check."""
    rows = pd.DataFrame([check.as_dict() for check in outcomes])
    return rows.rename(columns={"name": "check", "found": "finding"}).set_index("check")
