"""Results in words and columns: for notebooks, terminals, and beside the tools of others."""

from collections.abc import Callable

import pandas as pd

from bench import overload, quantiles, stats
from bench.checks import Check
from bench.comparing import compare_cases
from bench.origins import GRPC_LAB, WAMP, WAMP_PROCESSES
from bench.results import ROLES, Run, column
from bench.units import duration, quantity


def calls(run: Run) -> pd.DataFrame:
    """Return one row for each closed-loop case: quantiles of the RTT, and the rate."""
    cases = run.cases[run.cases["load"] == "closed"]
    rows = []
    for case, row in cases.iterrows():
        entry = {
            "case": row["label"],
            "payload [B]": row["payload_bytes"],
            "starts": row["starts"],
            "n": row["n"],
        }
        entry["median RTT (over starts)"] = _with_range(row, column(0.5), duration)
        entry |= {f"p{100 * p:g}": str(quantiles.quantile(run, int(str(case)), p)) for p in stats.QUANTILES[1:]}
        entry["calls/s"] = _with_range(row, "rate_per_s", quantity)
        rows.append(entry)
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def loads(run: Run) -> pd.DataFrame:
    """Return one row for each case of calls: what was offered and done, service and response times, pacing."""
    over, rows = overload.overloaded(run), []
    for case, row in run.cases[run.cases["load"] != "stream"].iterrows():
        told = "overloaded" if case in over else ""
        paced = row["load"] == "open"
        entry = {
            "case": row["label"],
            "load": row["load"],
            "offered/s": f"{row['offered_per_s']:g}" if paced else "as it comes",
            "done/s": _with_range(row, "rate_per_s", quantity),
            "sent": f"{row['achieved']:.1%}" if paced else "all",
        }
        for p in stats.QUANTILES[:3]:
            entry[f"service p{100 * p:g}"] = told or str(quantiles.quantile(run, int(str(case)), p))
            late = str(quantiles.quantile(run, int(str(case)), p, "response")) if paced else "not asked"
            entry[f"response p{100 * p:g}"] = told or late
        entry["late by (p99)"] = str(quantiles.quantile(run, int(str(case)), 0.99, "lag")) if paced else ""
        rows.append(entry)
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def comparisons(run: Run) -> pd.DataFrame:
    """Return one row for each quantity of B against A, and of A against itself."""
    rows = [
        {
            "quantity": one.quantity,
            "compared": "A with itself" if again else "B with A",
            "ratio": f"{one.ratio:.3f} [{one.low:.3f}, {one.high:.3f}]" if one.low == one.low else f"{one.ratio:.3f}",
            "verdict": one.verdict,
            "starts that would decide": str(one.more_starts or ""),
        }
        for again, case in ((False, 2), (True, 1))
        for one in compare_cases(run, 0, case)
    ]
    return pd.DataFrame(rows).set_index("quantity")


def costs(run: Run) -> pd.DataFrame:
    """Return one row for each closed-loop case: the cold first call, CPU and sleeps per call, and memory."""
    rows = [
        {
            "case": row["label"],
            "first call (cold)": duration(row["first_rtt_ns"] / 1e3),
            "client CPU/call": _with_range(row, "client_cpu_us_per_call", duration),
            "server CPU/call": _of_server(row, duration, "server_cpu_us_per_call", ranged=True),
            "client sleeps/call": f"{row['client_sleeps_per_call']:.2f}",
            "server sleeps/call": _of_server(row, "{:.2f}".format, "server_sleeps_per_call"),
            **_of_router(row),
            "client memory": quantity(row["client_rss_bytes"], "B"),
            "server memory": _of_server(row, lambda value: quantity(value, "B"), "server_rss_bytes"),
        }
        for _, row in run.cases[run.cases["load"] == "closed"].iterrows()
    ]
    return pd.DataFrame(rows).fillna("no router").set_index("case") if rows else pd.DataFrame()


def processes(run: Run) -> pd.DataFrame:
    """Return CPU load and memory by role in the two cases that repeat the origin, beside what its monitor showed."""
    rows = []
    for case, row in run.cases[run.cases["system"] == "wamp_crossbar"].iterrows():
        for role in ROLES if _in_origin(run, int(str(case))) in WAMP else ():
            if row[f"{role}_cpu_percent"] == row[f"{role}_cpu_percent"]:
                rows.append(
                    {
                        "case": row["label"],
                        "role": role,
                        "CPU load [% of one CPU]": f"{row[f'{role}_cpu_percent']:.1f}",
                        "CPU/call": duration(row[f"{role}_cpu_us_per_call"]),
                        "memory": quantity(row[f"{role}_rss_bytes"], "B"),
                        "the origin, 2016": "{} %, {} MB".format(*map(_span, WAMP_PROCESSES[role])),
                    }
                )
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


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


def _of_router(row: "pd.Series[float]") -> dict[str, str]:
    """Return the router's column where there is a router."""
    value = row["router_cpu_us_per_call"]
    return {"router CPU/call": _with_range(row, "router_cpu_us_per_call", duration)} if value == value else {}


def _with_range(row: "pd.Series[float]", name: str, text: Callable[[float], str]) -> str:
    return f"{text(row[name])} [{text(row[f'{name}_low'])}, {text(row[f'{name}_high'])}]"


def disturbances(run: Run) -> pd.DataFrame:
    """Return one row for each case: what else went on in its windows, as shares of one CPU (median of its starts)."""
    room, names = run.starts["window_s"] * 1e9, ("steal_ns", "pressure_ns", "throttled_ns", "other_cpu_ns")
    middle = run.starts[[*names]].div(room, axis=0).groupby(run.starts["case"]).median()
    words = ("stolen by other guests", "some task waited for a CPU", "held back by a limit", "used by others")
    found = pd.DataFrame({word: middle[name].map(_share) for word, name in zip(words, names, strict=True)})
    return found.set_axis(pd.Index([run.labels[int(case)] for case in found.index], name="case"))


def _share(value: float) -> str:
    return "not known" if value != value else f"{value:.1%}"


def streams(run: Run) -> pd.DataFrame:
    """Return one row for each one-way stream: received and sent per second, Mb/s, CPU per message."""
    cases = run.cases[run.cases["load"] == "stream"]
    rows = [
        {
            "case": f"{row['system']} {row['transport']}",
            "payload [B]": row["payload_bytes"],
            "starts": row["starts"],
            "received/s": _with_range(row, "rate_per_s", quantity),
            "sent/s": quantity(row["send_rate_per_s"]),
            "Mb/s": f"{row['rate_mbit_per_s']:,.0f}",
            "sender CPU/message": duration(row["client_cpu_us_per_call"]),
            "receiver CPU/message": duration(row["server_cpu_us_per_call"]),
        }
        for _, row in cases.iterrows()
    ]
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def results(run: Run) -> list[pd.DataFrame]:
    """Return the tables of a run's results that have rows: calls, what they cost, one-way streams."""
    return [frame for frame in (calls(run), costs(run), streams(run)) if len(frame)]


def card(outcomes: list[Check]) -> pd.DataFrame:
    """Return one row for each check."""
    rows = [{"check": c.name, "verdict": c.verdict, "found": c.found, "try": c.advice} for c in outcomes]
    return pd.DataFrame(rows).set_index("check")


def lab_lines(run: Run) -> str:
    """Return the class lab's three numbers as it prints them, and beside each what the lab itself found.

    All calls count, and rates of clients are added up, as there; the rates are medians over the starts.
    """
    bursts = run.cases[[run.plan.cases[case].is_short for case in run.cases.index]]
    cold = run.ledger.loc[run.ledger["clients"] == 1, "first_rtt_ns"].median() / 1e6
    lines = [f"one call, cold: {cold:.2f} ms   (the lab: {GRPC_LAB['one_call_ms']} ms)"]
    for case, row in bursts.iterrows():
        rates = _client_rates(run, int(str(case)))
        found = " + ".join(f"{rate:,.2f}" for rate in rates)
        total = f" = {sum(rates):,.2f}" if len(rates) > 1 else ""
        theirs = GRPC_LAB["calls_per_s"].get(row["clients"], ())
        lab = f"{' + '.join(f'{rate:,.2f}' for rate in theirs)}{f' = {sum(theirs):,.2f}' if len(theirs) > 1 else ''}"
        calls = run.plan.cases[int(str(case))].max_calls // row["clients"]
        lines.append(
            f"{calls} calls in a loop, {row['clients']} client(s): {found}{total} msg/s   (the lab: {lab} msg/s)"
        )
    return "\n".join(lines)


def _client_rates(run: Run, case: int) -> list[float]:
    """Return each client's calls per second from its first call to its last reply, the median over the starts."""
    rows = run.samples[run.samples["case"] == case]
    spans = rows.assign(end=rows["t_send_ns"] + rows["rtt_ns"]).groupby(["start", "client"])
    rates = spans.size() / (spans["end"].max() - spans["t_send_ns"].min()) * 1e9
    return [float(rate) for rate in rates.groupby("client").median()]


def _in_origin(run: Run, case: int) -> str:
    """Return a routed case as its origin would name it: transport, framing, serializer."""
    of = run.plan.cases[case]
    return " ".join([of.transport, *map(str, of.options.values())])


def wamp_lines(run: Run) -> str:
    """Return the origin's two combinations as its README states them, and what the origin found."""
    lines = []
    for case, row in run.cases[run.cases["system"] == "wamp_crossbar"].iterrows():
        name = _in_origin(run, int(str(case)))
        if name in WAMP:
            low, high = WAMP[name]["settled_ms"]
            now = run.samples.loc[run.samples["case"] == case, "rtt_ns"].mean() / 1e6
            text = f"{name.replace(' ', ' + ')}: {now:.2f} ms on average over {row['starts']} starts"
            lines.append(f"{text}   (the origin: {low} to {high} ms once it was warm)")
    return "\n".join(lines)


def zeromq_lines(run: Run) -> str:
    """Return each case as the ZeroMQ project's own tools print it, with the RTT beside their RTT/2.

    Those tools call half a round trip "average latency". All calls count here, the warm-up too, as there.
    """
    blocks = []
    for case, row in run.cases[run.cases["load"] == "closed"].iterrows():
        starts = run.ledger[run.ledger["case"] == case]
        rtt_us = run.samples.loc[run.samples["case"] == case, "rtt_ns"].mean() / 1e3
        lines = [
            f"{row['label']} (all {len(starts)} starts together)",
            f"message size: {row['payload_bytes']} [B]",
            f"roundtrip count: {starts['calls'].sum()}",
            f"elapsed time: {starts['window_s'].sum():.3f} [s]",
            f"average RTT: {rtt_us:.3f} [us]",
            f"average latency: {rtt_us / 2:.3f} [us]   <- RTT/2",
        ]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)
