"""Results in words and columns: for notebooks, terminals, and beside the tools of others."""

from collections.abc import Callable

import pandas as pd

from bench import stats
from bench.checks import Check
from bench.figures.axes import duration, quantity
from bench.results import Run, column


def quantile_text(run: Run, case: int, p: float) -> str:
    """Return a quantile over all calls of a case, or why it cannot be given."""
    rtt, needed = run.rtt_us(case), stats.needed_samples(p)
    if len(rtt) < needed:
        return f"n/a (needs {needed:,} samples, has {len(rtt):,})"
    return duration(stats.quantile(rtt, p))


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
        entry |= {f"p{100 * p:g}": quantile_text(run, int(str(case)), p) for p in stats.QUANTILES[1:]}
        entry["calls/s"] = quantity(row["rate_per_s"])
        rows.append(entry)
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def costs(run: Run) -> pd.DataFrame:
    """Return one row for each closed-loop case: the cold first call, CPU and sleeps per call, and memory."""
    rows = [
        {
            "case": row["label"],
            "first call (cold)": duration(row["first_rtt_ns"] / 1e3),
            "client CPU/call": duration(row["client_cpu_us_per_call"]),
            "server CPU/call": _of_server(row, duration, "server_cpu_us_per_call"),
            "client sleeps/call": f"{row['client_sleeps_per_call']:.2f}",
            "server sleeps/call": _of_server(row, "{:.2f}".format, "server_sleeps_per_call"),
            "client memory": quantity(row["client_rss_bytes"], "B"),
            "server memory": _of_server(row, lambda value: quantity(value, "B"), "server_rss_bytes"),
        }
        for _, row in run.cases[run.cases["load"] == "closed"].iterrows()
    ]
    return pd.DataFrame(rows).set_index("case") if rows else pd.DataFrame()


def _of_server(row: "pd.Series[float]", text: Callable[[float], str], name: str) -> str:
    """Return a server's number, or why there is none."""
    if row["system"] == "loopback":
        return "no server"
    if row["target"]:
        return "not known"
    return text(row[name]) if row[name] == row[name] else "in the client's"


def _with_range(row: "pd.Series[float]", name: str, text: Callable[[float], str]) -> str:
    return f"{text(row[name])} [{text(row[f'{name}_low'])}, {text(row[f'{name}_high'])}]"


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


def checks(outcomes: list[Check]) -> pd.DataFrame:
    """Return one row for each check."""
    rows = [{"check": c.name, "verdict": c.verdict, "found": c.found, "try": c.advice} for c in outcomes]
    return pd.DataFrame(rows).set_index("check")


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
