"""Results as tables of text: for notebooks, terminals, and the application in the browser."""

import itertools
from collections.abc import Callable

import pandas as pd

from bench import stats
from bench.analysis import overload, quantiles
from bench.analysis import per_host as machines
from bench.analysis.comparison import compare_cases
from bench.analysis.prediction import capacity_at, predict
from bench.analysis.trust_card import Check
from bench.experiments.calibration import findings as calibration
from bench.experiments.case_ratios import Ratio, load_of
from bench.experiments.clients import findings as clients
from bench.experiments.connections import findings as connections
from bench.experiments.fanin import findings as fanin
from bench.experiments.latency import findings as latency
from bench.experiments.marginal import findings as marginal
from bench.experiments.messages import findings as carried
from bench.experiments.network import findings as network
from bench.experiments.origins import findings as origins
from bench.experiments.overview import findings as overview
from bench.experiments.placement import findings as placement
from bench.experiments.published import WAMP_PROCESSES, wamp_replicas
from bench.experiments.retries import findings as storms
from bench.experiments.sentences import UNKNOWN, factor, limit_of
from bench.experiments.streaming import findings as streaming
from bench.experiments.throughput import findings as throughput
from bench.experiments.tls import findings as tls
from bench.experiments.wamp import findings as wamp
from bench.plan.case import MOST_CALLS, Case
from bench.plan.hosts import described, is_far
from bench.plan.retry_policy import RetryPolicy
from bench.run.frames import ROLES, Run, column, number_of, numbered
from bench.run.merging import ROLES as HOST_ROLES
from bench.stats.intervals import Interval
from bench.text import duration, listed, quantity

RATIOS: dict[str, Callable[[Run], list[Ratio]]] = {
    "latency": latency.ratios,
    "throughput": throughput.ratios,
    "clients": clients.ratios,
    "wamp": wamp.ratios,
    "placement": placement.ratios,
    "overview": overview.ratios,
    "messages": carried.ratios,
    "streaming": streaming.ratios,
    "connections": connections.ratios,
    "fanin": fanin.ratios,
    "network": network.ratios,
}


def ratios(run: Run) -> pd.DataFrame:
    """Return one row for each ratio of two cases that the run's notebook reports: its value and its 95 % interval."""
    rows = [
        {
            "case": run.labels[one.other],
            "compared with": run.labels[one.base],
            "quantity": one.quantity,
            "load": load_of(run, one.other),
            "ratio": quantity(one.value),
            "interval": one.range,
            "distinguishable": "yes" if one.is_certain else "no",
        }
        for one in RATIOS[run.plan.notebook](run)
    ]
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def limits(run: Run) -> pd.DataFrame:
    """Return one row for each closed loop of several clients: its rate, the utilization, the limit, the capacity."""
    rows = []
    for case, row in numbered(run.round_trips()):
        if row["clients"] > 1 and not run.case(case).is_short:
            found = limit_of(run, case)
            rows.append(
                {
                    "case": row["label"],
                    "calls/s [range over starts]": _with_range(row, "rate_per_s", quantity),
                    "CPU utilization": found.utilization,
                    "saturated": found.names if found.capacity != UNKNOWN else UNKNOWN,
                    "the server's capacity": found.capacity,
                }
            )
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def predictions(run: Run) -> pd.DataFrame:
    """Return one row for each number of clients: measured calls/s, the predictions from one client, and the limit.

    The limit is what the resource with the least room has time for, with the CPU time per call measured in that case.
    """
    model, rows = predict(run), []
    if model is None:
        return pd.DataFrame()
    for case, row in numbered(clients.grown(run)):
        name, capacity = capacity_at(run, case)
        n = int(row["clients"]) - 1
        rows.append(
            {
                "clients": row["clients"],
                "measured calls/s": _with_range(row, "rate_per_s", quantity),
                "predicted, asymptotic": quantity(model.asymptote[n]),
                "predicted, MVA": quantity(model.rate[n]),
                "measured / MVA": quantity(row["rate_per_s"] / model.rate[n]),
                "limit at the measured CPU time per call": f"{quantity(capacity)} ({name})",
            }
        )
    return pd.DataFrame(rows).set_index("clients")


def plan(run: Run) -> pd.DataFrame:
    """Return one row for each planned case: its factors, apart from those that are the same in all."""
    rows = []
    for number, case in enumerate(run.plan.cases):
        clients = f"{case.clients} x {case.callers}" if case.callers > 1 else f"{case.clients}"
        load = f"{case.load}, {case.offered_per_s:g}/s {case.arrivals}" if case.is_paced else case.load
        load += f", {case.max_calls} calls" if case.max_calls < MOST_CALLS else ""
        load += f", {RetryPolicy.of(case.retry).words}" if case.load == "retry" else ""
        rows.append(
            {
                "system": case.system,
                "transport": case.transport,
                "payload [B]": case.payload_bytes,
                "load": load,
                "clients": clients,
                **_connections(case),
                **_hosts(run, number),
                "engine": case.engine,
                "placement": case.placement,
                "message": case.message,
                "options": ", ".join(f"{name}={value}" for name, value in case.options.items()),
            }
        )
    usual = {"connections": "persistent", "hosts": "this machine"}
    frame = pd.DataFrame(rows).fillna(usual).set_index("system")
    return frame.assign(starts=run.plan.starts, **{"window [s]": f"{run.plan.window_s:g}"})


def _connections(case: Case) -> dict[str, str]:
    """Return how a case uses connections, in words, where that is not the usual way."""
    words = [
        f"renewed after {case.calls_per_connection:,} calls" if case.calls_per_connection else "",
        f"{case.outstanding} calls under way" if case.outstanding > 1 else "",
        f"one of {case.large_bytes:,} B" if case.large_bytes else "",
        f"sizes with p99 {case.p99_bytes:,} B" if case.p99_bytes else "",
    ]
    return {"connections": ", ".join(word for word in words if word)} if any(words) else {}


def _hosts(run: Run, number: int) -> dict[str, str]:
    """Return which hosts measure a case, by role: those of its starts, or those that are asked for before the first."""
    case = run.plan.cases[number]
    if not is_far(case.hosts):
        return {}
    rows = run.hosts[run.hosts["start"].isin(run.ledger.index[run.ledger["case"] == number])]
    by_role = {role: list(dict.fromkeys(rows.loc[rows["role"] == role, "host"])) for role in HOST_ROLES}
    measured = "; ".join(f"{role}: {listed(names)}" for role, names in by_role.items() if names)
    return {"hosts": measured or described(case.hosts).removeprefix("hosts of ")}


def versions(run: Run) -> pd.DataFrame:
    """Return one row for each program and library whose version the run recorded, and the revision that measured."""
    git = run.manifest.get("git", {})
    revision = f"{(git.get('revision') or 'not known')[:12]}{' (with changes)' * bool(git.get('dirty'))}"
    known = {**run.manifest.get("versions", {}), "roundtrip revision": revision}
    return pd.DataFrame({"version": pd.Series(known)}).rename_axis("program or library")


def calls(run: Run) -> pd.DataFrame:
    """Return one row for each closed-loop case: quantiles of the RTT and the rate, or what a load generator reports."""
    rows = []
    for case, row in numbered(run.cases_with(load="closed")):
        entry = {
            "case": row["label"],
            "payload [B]": row["payload_bytes"],
            "starts": row["starts"],
            "n": row["n"],
        }
        entry["median RTT [range over starts]"] = _with_range(row, column(0.5), duration)
        if run.case(case).generator:
            middle = str(quantiles.quantile(run, case, 0.5))
            entry |= {"n": "no samples", "median RTT [range over starts]": middle}
        found = [(p, quantiles.quantile(run, case, p)) for p in stats.QUANTILES]
        entry |= {f"p{100 * p:g}": str(one) for p, one in found[1:]}
        entry["calls/s [range over starts]"] = _with_range(row, "rate_per_s", quantity)
        if order := quantiles.crossed(found):
            entry["note"] = f"the starts disagree{order}"
        if whose := machines.described(run, case):
            entry["quantiles of"] = whose
        rows.append(entry)
    return pd.DataFrame(rows).fillna("").set_index("case") if rows else pd.DataFrame()


def messages(run: Run) -> pd.DataFrame:
    """Return one row for each case of structured messages: RTT, the codec's four times alone, its share, the sizes."""
    rows = []
    for case in (case for case in run.numbers if carried.is_message(run, case)):
        of, found = run.case(case), carried.split(run, case)
        codec = run.starts_of(case).median(numeric_only=True)
        there, back = carried.encoded_bytes(run, case)
        rows.append(
            {
                "case": f"{of.system} {of.transport} {carried.codec(run, case)}",
                "message [B as JSON]": of.payload_bytes,
                "encoded [B]": f"{there:,.0f} + {back:,.0f}",
                "median RTT": duration(found.rtt.middle),
                "client: encode + decode": _sum(codec, carried.CLIENT),
                "server: decode + encode": _sum(codec, carried.SERVER),
                "codec's share [range over starts]": (
                    f"{found.share.middle:.0%} [{found.share.low:.0%}, {found.share.high:.0%}]"
                ),
            }
        )
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def _sum(times: "pd.Series[float]", names: tuple[str, str]) -> str:
    return " + ".join(duration(times[name] / 1e3) for name in names)


def loads(run: Run) -> pd.DataFrame:
    """Return one row for each case of calls: offered and achieved rate, RTT, response time, and send lag."""
    over, rows = overload.overloaded(run), []
    for case, row in numbered(run.cases[run.cases["load"] != "stream"]):
        instead = "overloaded" if case in over else ""
        paced = row["load"] == "open"
        entry = {
            "case": row["label"],
            "load": row["load"],
            "offered/s": f"{row['offered_per_s']:g}" if paced else "closed loop",
            "achieved/s [range over starts]": _with_range(row, "rate_per_s", quantity),
            "sent of scheduled": f"{row['achieved']:.1%}" if paced else "all",
        }
        for p in stats.QUANTILES[:3]:
            entry[f"RTT p{100 * p:g}"] = instead or str(quantiles.quantile(run, case, p))
            late = str(quantiles.quantile(run, case, p, "response")) if paced else "no schedule"
            entry[f"response time p{100 * p:g}"] = instead or late
        if whose := machines.described(run, case):
            entry["quantiles of"] = whose
        entry["send lag p99"] = str(quantiles.quantile(run, case, 0.99, "lag")) if paced else ""
        rows.append(entry)
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def comparisons(run: Run) -> pd.DataFrame:
    """Return one row for each quantity of B over A, and of A over A (the A/A ratio)."""
    rows = [
        {
            "quantity": one.quantity,
            "compared": "A over A" if again else "B over A",
            "ratio [95 % CI]": f"{one.ratio:.2f} [{one.low:.2f}, {one.high:.2f}]"
            if one.low == one.low
            else f"{one.ratio:.2f}",
            "verdict": one.verdict,
            "starts needed to decide": str(one.more_starts or ""),
        }
        for again, case in ((False, 2), (True, 1))
        for one in compare_cases(run, 0, case)
    ]
    return pd.DataFrame(rows).set_index("quantity")


def costs(run: Run) -> pd.DataFrame:
    """Return one row for each closed-loop case: first call, CPU time and context switches per call, memory."""
    rows = [
        {
            "case": row["label"],
            "first call (cold)": duration(row["first_rtt_ns"] / 1e3),
            "client CPU/call": _with_range(row, "client_cpu_us_per_call", duration),
            "server CPU/call": _of_server(row, duration, "server_cpu_us_per_call", ranged=True),
            "client voluntary context switches/call": f"{row['client_sleeps_per_call']:.2f}",
            "server voluntary context switches/call": _of_server(row, "{:.2f}".format, "server_sleeps_per_call"),
            **_of_router(row),
            "client memory": quantity(row["client_rss_bytes"], "B"),
            "server memory": _of_server(row, lambda value: quantity(value, "B"), "server_rss_bytes"),
        }
        for _, row in numbered(run.cases_with(load="closed"))
    ]
    return pd.DataFrame(rows).fillna("no router").set_index("case") if rows else pd.DataFrame()


def processes(run: Run) -> pd.DataFrame:
    """Return CPU load and memory by role in the two cases that repeat the origin, with the values of its monitor."""
    rows = []
    for case in wamp_replicas(run).values():
        row = run.cases.loc[case]
        for role in ROLES:
            if row[f"{role}_cpu_percent"] == row[f"{role}_cpu_percent"]:
                rows.append(
                    {
                        "case": row["label"],
                        "role": role,
                        "CPU load [% of one CPU]": f"{row[f'{role}_cpu_percent']:.1f}",
                        "CPU/call": duration(row[f"{role}_cpu_us_per_call"]),
                        "memory": quantity(row[f"{role}_rss_bytes"], "B"),
                        "origin, 2016": "{} %, {} MB".format(*map(_span, WAMP_PROCESSES[role])),
                    }
                )
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def marginal_costs(run: Run) -> pd.DataFrame:
    """Return the cost per process start, per call and per kilobyte in each case: time, and CPU time by role."""
    rows = []
    for case, kind in itertools.product(run.numbers, marginal.KINDS):
        start, _, byte = marginal.costs(run, case, kind)
        call = marginal.call_us(run, case, kind)
        names = ("per process", "per call", "per kB of payload")
        each = (f"{duration(one.middle)} ({duration(one.low)} to {duration(one.high)})" for one in (start, call, byte))
        what = {"wall": "time", "client": "client CPU", "server": "server CPU"}[kind]
        rows.append({"case": run.labels[case], "quantity": what} | dict(zip(names, each, strict=True)))
    return pd.DataFrame(rows).set_index("case")


def encryption_costs(run: Run) -> pd.DataFrame:
    """Return what encryption adds to a connection, to a call and to a kilobyte: time, and CPU time by role."""
    rows = []
    for pair, kind in itertools.product(tls.pairs(run), tls.KINDS):
        found = tls.added(run, pair.plain, pair.encrypted, kind)
        names = ("per connection: handshake", f"per call of {quantity(tls.sizes(run)[0], 'B')}", "per kB of payload")
        each = dict(zip(names, (_interval(one) for one in found), strict=True))
        what = {"wall": "time", "client": "client CPU", "server": "server CPU"}[kind]
        rows.append({"case": tls.name(run, pair), "protocol": tls.protocol(run, pair), "of": what} | each)
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def _interval(one: Interval) -> str:
    """Return a time with its 95 % interval, which may contain 0."""
    middle, low, high = (f"{'-' * (us < 0)}{duration(abs(us))}" for us in (one.middle, one.low, one.high))
    if one.middle != one.middle:
        return "not known"
    return f"{middle} [{low}, {high}]" if one.low == one.low else f"{middle} (no 95 % CI below six blocks)"


def ranking(run: Run) -> pd.DataFrame:
    """Return one row for each link and payload of the systems compared: rank and ratio to the first of each system."""
    rows = []
    for one in network.conditions(run):
        base, *others = one.cases
        ranks = {name: f"{place}." for place, name in enumerate(network.ranked(run, one), 1)}
        found = dict(zip(others, network.ratios_of(run, one), strict=True))
        words = {base: f"{ranks[base]} {duration(run.cases.loc[one.cases[base], column(0.5)])}"}
        words |= {name: f"{ranks[name]} {each}" for name, each in found.items()}
        rows.append({"link": one.link, "payload": quantity(one.payload_bytes, "B")} | words)
    return pd.DataFrame(rows).set_index("link") if rows else pd.DataFrame()


def published(run: Run) -> pd.DataFrame:
    """Return one row for each published number: theirs, the same here, and the speed-up."""
    rows = []
    for one in origins.replicas(run):
        text = duration if one.unit == "us" else (lambda rate: f"{quantity(rate)}/s".replace(" /s", "/s"))
        theirs = " to ".join(text(value) for value in dict.fromkeys(one.theirs))
        here = f"{text(one.here.middle)} ({text(one.here.low)} to {text(one.here.high)})"
        entry = {"origin": one.origin, "number": one.name, "theirs": theirs, "here": here}
        rows.append(entry | {"speed, here / there": factor(one.ratio)})
    return pd.DataFrame(rows).set_index("origin") if rows else pd.DataFrame()


def _span(ends: tuple[float, float]) -> str:
    return f"{ends[0]:g}" if ends[0] == ends[1] else f"{ends[0]:g} to {ends[1]:g}"


def _of_server(row: "pd.Series[float]", text: Callable[[float], str], name: str, ranged: bool = False) -> str:
    """Return a server's number, or why there is none."""
    if row["system"] == "loopback":
        return "no server"
    if row["target"]:
        return "not known"
    if row[name] != row[name]:
        return "in the client's"
    return _with_range(row, name, text) if ranged else text(row[name])


def _of_router(row: "pd.Series[float]", of: str = "call") -> dict[str, str]:
    """Return the router's column where there is a router."""
    value = row["router_cpu_us_per_call"]
    return {f"router CPU/{of}": _with_range(row, "router_cpu_us_per_call", duration)} if value == value else {}


def _with_range(row: "pd.Series[float]", name: str, text: Callable[[float], str]) -> str:
    return f"{text(row[name])} [{text(row[f'{name}_low'])}, {text(row[f'{name}_high'])}]"


def disturbances(run: Run) -> pd.DataFrame:
    """Return one row for each case: disturbances in its windows, as shares of one CPU (median of its starts)."""
    room, names = run.starts["window_s"] * 1e9, ("steal_ns", "pressure_ns", "throttled_ns", "other_cpu_ns")
    middle = run.starts[[*names]].div(room, axis=0).groupby(run.starts["case"]).median()
    words = ("steal (other guests)", "CPU pressure (some task waited)", "throttled by a CPU limit", "other processes")
    found = pd.DataFrame({word: middle[name].map(_share) for word, name in zip(words, names, strict=True)})
    return found.set_axis(pd.Index([run.labels[number_of(case)] for case in found.index], name="case"))


def _share(value: float) -> str:
    return "not known" if value != value else f"{value:.1%}"


def truths(run: Run) -> pd.DataFrame:
    """Return one row for each quantile of a server with a known distribution: true, measured, and the error."""
    rows = [
        {
            "case": one.label,
            "quantile": f"p{100 * one.p:g} of {'response time' if one.time == 'response' else 'round trip'}",
            "true": duration(one.true),
            "measured": duration(one.measured)
            + (f" [{duration(one.low)}, {duration(one.high)}]" if one.low == one.low else ""),
            "error": f"{one.off:+.1%}",
        }
        for one in calibration.truths(run)
    ]
    return pd.DataFrame(rows).set_index("case")


def retries(run: Run) -> pd.DataFrame:
    """Return one row for each retry policy: attempts, goodput, deadlines met, recovery, and the server's work."""
    rows = [
        {
            "policy": one.name,
            "attempts per request": _of_starts(one.attempts_per_request, "{:.2f}".format),
            "goodput [requests/s]": _of_starts(one.goodput_per_s, "{:.0f}".format),
            "deadline met": _of_starts(one.met, "{:.0%}".format),
            "recovery after the freeze": storms.recovery_words(one),
            "server utilization with the freeze": _of_starts(one.utilization, "{:.0%}".format),
            "served too late": _of_starts(one.wasted, "{:.0%}".format),
        }
        for one in storms.outcomes(run)
    ]
    return pd.DataFrame(rows).set_index("policy") if rows else pd.DataFrame()


def _of_starts(values: "pd.Series[float]", text: Callable[[float], str]) -> str:
    """Return the median over starts, and their range."""
    middle, low, high = (text(value) for value in stats.across_starts(values))
    return f"{middle} [{low} to {high}]"


def streams(run: Run) -> pd.DataFrame:
    """Return one row for each one-way stream: received and sent per second, Mb/s, CPU per message by role."""
    rows = [
        {
            "case": f"{row['system']} {row['transport']}",
            "payload [B]": row["payload_bytes"],
            "starts": row["starts"],
            "received/s [range over starts]": _with_range(row, "rate_per_s", quantity),
            "sent/s": quantity(row["send_rate_per_s"]),
            "Mb/s": f"{row['rate_mbit_per_s']:,.0f}",
            "sender CPU/message": duration(row["client_cpu_us_per_call"]),
            "receiver CPU/message": duration(row["server_cpu_us_per_call"]),
            **_of_router(row, "message"),
        }
        for _, row in numbered(run.cases_with(load="stream"))
    ]
    return pd.DataFrame(rows).fillna("no router").set_index("case") if rows else pd.DataFrame()


def reply_streams(run: Run) -> pd.DataFrame:
    """Return one row for each case of reply streams: first message, gaps, rate, what came late or broke."""
    rows = []
    for case, row in numbered(run.cases_with(load="reply_stream")):
        starts, entry = run.starts_of(case), {"case": row["label"], "starts": row["starts"]}
        entry["time to first message [range over starts]"] = _with_range(row, "p50_first_us", duration)
        entry["median gap"] = duration(row["p50_gap_us"])
        for p in ("p90", "p99"):
            gap = row[f"{p}_gap_us"]
            entry[f"{p} gap"] = duration(gap) if gap == gap else "n/a (too few in a start)"
        entry["messages/s [range over starts]"] = _with_range(row, "rate_per_s", quantity)
        entry["more than a gap late"] = f"{row['overdue']:.1%}" if row["overdue"] == row["overdue"] else "no schedule"
        entry["streams complete, broken"] = f"{starts['streams'].sum():,.0f}, {starts['errors'].sum():,.0f}"
        rows.append(entry)
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def hosts(run: Run) -> pd.DataFrame:
    """Return one row for each case and host that made calls: its role, quantiles, and its ratios to the others.

    The times are round trips, or response times of an open load. Nothing for a run of one machine.
    """
    rows = []
    for one in machines.each(run):
        entry = {"case": run.labels[one.case], "host": one.host, "role": one.role, "clients": one.clients, "n": one.n}
        entry |= {f"p{100 * p:g} [range over starts]": _of_host(*ends) for p, ends in one.quantiles.items()}
        ratios = [f"p{100 * p:g} {machines.ratio_words(ratio)}" for p, ratio in one.ratios.items()]
        entry |= {"ratio to other hosts that load": ", ".join(ratios), "described": "yes" if one.is_described else "no"}
        rows.append(entry)
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def _of_host(middle: float, low: float, high: float) -> str:
    return f"{duration(middle)} [{duration(low)}, {duration(high)}]" if middle == middle else "n/a (too few in a start)"


def results(run: Run) -> list[pd.DataFrame]:
    """Return the tables of a run's results that have rows: calls, open loads, hosts, costs, streams."""
    paced = loads(run) if (run.cases["load"] == "open").any() else pd.DataFrame()
    found = (calls(run), paced, hosts(run), costs(run), streams(run), reply_streams(run))
    return [frame for frame in found if len(frame)]


def card(outcomes: list[Check]) -> pd.DataFrame:
    """Return one row for each check."""
    rows = [{"check": c.name, "verdict": c.verdict, "finding": c.found, "advice": c.advice} for c in outcomes]
    return pd.DataFrame(rows).set_index("check")
