"""What a run of several hosts says of each of them: whose calls its quantiles describe, and why."""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis.resources import MOST_OTHERS, cpus_of, starts_of_host, used_by_all
from bench.analysis.trust_card import CAUTION, NOTHING, PASS, Check
from bench.run import reply_stream_times
from bench.run.frames import Run, column, number_of
from bench.run.merging import ALONE, LATENCY, POOLED, Merged
from bench.stats.intervals import Interval
from bench.stats.pooling import AGREE, DIFFER, MARGIN
from bench.text import counted, listed

CLIENTS = ("load", "latency")
HEADLINE = 0.99  # the quantile of times that are no round trips
MOST_STEAL = 0.01  # of the CPU time
STALL_S, STALL_PAUSES = 0.5, 20  # no reply for so long, and so many times the mean pause between replies
MOST_COLLECTIONS = 0.5  # of the calls above a quantile: that fewer are collections moves it little


@dataclass(frozen=True)
class Calling:
    """One host that makes calls in a case: its role, its most clients, its calls after the warm-up.

    quantiles: of its times in us, median and range over starts. ratios: its quantiles over those of the others that
    load. is_described: whether the quantiles of the case are, also, of its calls.
    """

    case: int
    host: str
    role: str
    clients: int
    n: int
    quantiles: dict[float, stats.Spread]
    ratios: dict[float, Interval]
    is_described: bool


def described(run: Run, case: int) -> str:
    """Return whose calls the quantiles of a case describe, in words; "" for a case of one machine."""
    merged = run.merged.get(case)
    if merged is None:
        return ""
    if merged.kind == LATENCY:
        return f"host {merged.host} alone, which measures latency"
    if merged.kind == ALONE:
        return f"host {listed(merged.loading)}" if merged.loading else "no host"
    if merged.kind == POOLED:
        return f"hosts {listed(merged.loading)}, pooled"
    return f"host {merged.host}, the slowest: {why_not(merged)}"


def why_not(merged: Merged) -> str:
    """Return why calls of hosts are not pooled: the first quantile that they do not agree on, as a ratio."""
    for p, agreement in merged.tested.items():
        if agreement.verdict != AGREE:
            name, ratio = merged.loading[agreement.slowest], ratio_words(agreement.ratios[agreement.slowest])
            others = "the others" if len(merged.loading) > 2 else "the other"
            finding = "they differ" if agreement.verdict == DIFFER else "not known to agree"
            return f"p{100 * p:g} of {name} is {ratio} that of {others}: {finding}"
    return "too few calls to compare them"


def ratio_words(ratio: Interval) -> str:
    """Return a ratio with its interval: "1.31x [1.24, 1.40]"."""
    ends = "(no 95 % CI below six starts)" if math.isnan(ratio.low) else f"[{ratio.low:.2f}, {ratio.high:.2f}]"
    return f"{ratio.middle:.2f}x {ends}"


def hosts(run: Run) -> Check:
    """Of several hosts: those that load agree on the quantiles, so that their calls may be pooled; else CAUTION.

    Where another host measures latency the quantiles are that one's, whether the others agree or not.
    """
    shown = {case: merged for case, merged in run.merged.items() if run.case(case).system != "loopback"}
    apart = {case: merged for case, merged in shown.items() if merged.verdict != AGREE and merged.kind != LATENCY}
    if apart:
        case = next((case for case, merged in apart.items() if merged.verdict == DIFFER), min(apart))
        others = f" and {len(apart) - 1} other case{'s' * (len(apart) > 2)}" if len(apart) > 1 else ""
        finding = f"not pooled in {run.labels[case]}{others}: quantiles are those of {described(run, case)}"
        advice = (
            "look at the quantiles of each host; a host farther away, or with less CPU left, measures something else"
        )
        if apart[case].verdict != DIFFER:
            advice = f"use more starts: hosts are pooled once their intervals are within {MARGIN:.0%}"
        return Check("hosts", CAUTION, finding, advice)
    kinds = list(dict.fromkeys(merged.kind for merged in shown.values()))
    words = {
        LATENCY: "the host that measures latency reports all quantiles",
        POOLED: f"hosts that load agree within {MARGIN:.0%} on the median, and are pooled",
        ALONE: "one host loads",
    }
    finding = listed(words[kind] for kind in kinds if kind in words) or "no case of several hosts"
    return Check("hosts", PASS if POOLED in kinds else NOTHING, finding)


def stalls(run: Run) -> Check:
    """Of several hosts: replies came to each of them throughout; CAUTION where one got none although calls were made.

    A server whose options let it stop, as the oracle's may, is no surprise.
    """
    longest: tuple[float, int, str] = (0.0, 0, "")
    replied_ns = run.samples["t_send_ns"] + run.samples["rtt_ns"]
    ends_ns = replied_ns.groupby(run.samples["start"]).max()
    for (start, host), calls in run.samples.groupby(["start", run.samples["host"].astype(object)]):
        if run.case(int(run.ledger.loc[start, "case"])).options.get("freeze_ms"):
            continue
        replies = np.sort(replied_ns[calls.index].to_numpy())
        pauses_s = np.diff(replies, prepend=0, append=ends_ns[start]) / 1e9
        if pauses_s.max() > max(STALL_S, STALL_PAUSES * pauses_s.mean()):
            longest = max(longest, (float(pauses_s.max()), int(start), str(host)))
    if run.samples.empty:
        return Check("stalls", NOTHING, "no calls in this run")
    seconds, start, host = longest
    if not seconds:
        return Check("stalls", PASS, f"no host waited {STALL_S:g} s for a reply")
    finding = f"host {host} got no reply for {seconds:.1f} s in start {start}"
    return Check(
        "stalls", CAUTION, finding, "a host, the network or the server paused: find the cause, then measure again"
    )


def disturbances(starts: pd.DataFrame, cpus: int) -> list[str]:
    """Return what disturbed the starts of a machine: steal, other processes, a CPU limit.

    starts: ``steal_ns`` and ``throttled_ns`` of each, and what ``used_by_all`` reads.
    """
    disturbed = []
    if (steal := (starts["steal_ns"] / starts["metered_ns"] / cpus).quantile(0.9)) > MOST_STEAL:
        disturbed.append(f"other guests took {steal:.1%} or more of the CPU time in a tenth of the starts (steal)")
    if (others := used_by_all(starts)["others"].median()) > MOST_OTHERS:
        disturbed.append(f"other processes used {others:.0%} of a CPU")
    if (throttled_s := starts["throttled_ns"].sum() / 1e9) > 0:
        disturbed.append(f"the control group's CPU limit throttled tasks for {throttled_s:.2f} s")
    return disturbed


def disturbances_of_hosts(run: Run) -> list[str]:
    """Return what disturbed which host."""
    disturbed = []
    for host, rows in run.hosts.groupby("host", sort=False):
        of_host = disturbances(starts_of_host(run, rows), cpus_of(run.machine_of(str(host))))
        disturbed += [f"host {host}: {words}" for words in of_host]
    return disturbed


def collected(run: Run) -> dict[str, int]:
    """Return how many garbage collections the clients of each host made, where they were too many for their calls."""
    rows = run.hosts[run.hosts["clients"] > 0]
    if rows.empty:
        return {}
    calls = run.samples.groupby(["start", run.samples["host"].astype(object)]).size()
    made = rows.groupby(["start", "host"])["gc_collections"].sum()
    cases = run.ledger["case"].reindex(made.index.get_level_values("start"))
    limits = [MOST_COLLECTIONS * (1 - highest(run, number_of(case))) for case in cases]
    over = made[made > limits * calls.reindex(made.index, fill_value=0)]
    return {str(host): int(count) for host, count in over.groupby("host").sum().items() if count}


def highest(run: Run, case: int) -> float:
    """Return the highest quantile that is printed of a case: the highest that every start has enough calls for.

    Of reply streams that of their gaps.
    """
    row = run.cases.loc[case]
    if run.case(case).load == reply_stream_times.LOAD:
        medians = {
            p: run.over_starts(case, reply_stream_times.column("gap", p)).middle for p in reply_stream_times.QUANTILES
        }
        return max((p for p, median in medians.items() if not math.isnan(median)), default=0.5)
    instead = HEADLINE if row["n"] >= stats.needed_samples(HEADLINE) else 0.5
    return max((p for p in stats.QUANTILES if not math.isnan(row[column(p)])), default=instead)


def moved_by_collections(run: Run, starts: pd.DataFrame) -> tuple[int, float, float] | None:
    """Return a case of which garbage collections of the clients can move a printed quantile, or None.

    Each collection makes one call longer. They can move a quantile if they are more than half as many as the calls
    above it. With the case: collections per call and the quantile. starts: rows of ``Run.ledger``.
    """
    made = starts[starts["calls"] > 0]
    share = (made["gc_collections"] / made["calls"]).groupby(made["case"]).median().dropna()
    if share.empty:
        return None
    above = pd.Series({case: 1 - highest(run, number_of(case)) for case in share.index}, dtype=float)
    worst = (share / above).idxmax()
    if not share[worst] > MOST_COLLECTIONS * above[worst]:
        return None
    return number_of(worst), float(share[worst]), 1 - float(above[worst])


def busiest(run: Run, case: int) -> tuple[str, float]:
    """Return which host's clients used most of its CPUs in a case, and the share, median over starts."""
    rows = run.hosts[(run.hosts["clients"] > 0) & run.hosts["start"].isin(run.ledger_of(case).index)]
    shares = run.shares(rows, run.ledger["window_s"]).groupby(rows["host"]).median()
    return str(shares.idxmax()), float(shares.max())


def each(run: Run) -> list[Calling]:
    """Return each host that makes calls, case by case."""
    hosts = []
    for case in run.merged:
        rows = run.hosts[run.hosts["start"].isin(run.ledger_of(case).index) & (run.hosts["clients"] > 0)]
        calls = run.samples_of(case, warm=True)
        hosts += [_calling(run, case, of_host, calls) for _, of_host in rows.groupby("host", sort=False)]
    return hosts


def _calling(run: Run, case: int, rows: pd.DataFrame, calls: pd.DataFrame) -> Calling:
    merged, name = run.merged[case], str(rows["host"].iloc[0])
    calls = calls[calls["host"] == name]
    by_start = ((calls["rtt_ns"] + calls["lag_ns"]) / 1e3).groupby(calls["start"])
    times = [values.to_numpy() for _, values in by_start]
    quantiles = {p: [stats.carried(values, p) for values in times] for p in stats.QUANTILES[:3]}
    index = merged.loading.index(name) if name in merged.loading else None
    return Calling(
        case,
        name,
        str(rows["role"].iloc[0]),
        int(rows["clients"].max()),
        len(calls),
        {p: stats.across_starts(values if not np.isnan(values).any() else []) for p, values in quantiles.items()},
        {} if index is None else {p: tested.ratios[index] for p, tested in merged.tested.items()},
        merged.kind in (POOLED, ALONE) or name == merged.host,
    )


def machines(run: Run) -> str:
    """Return the hosts of a run by role, with their CPUs, in words; "" for a run of one machine."""
    rows = run.hosts.drop_duplicates(["host", "role"])
    words = []
    for role in ("server", *CLIENTS):
        names = [f"{name} ({_cpus(run, name)})" for name in dict.fromkeys(rows.loc[rows["role"] == role, "host"])]
        words += [f"{role} {listed(names)}"] if names else []
    return "; ".join(words)


def _cpus(run: Run, host: str) -> str:
    count = int(run.machine_of(host)["cpus_allowed"])
    return f"{count} CPU{'s' * (count > 1)}"


def headline(run: Run) -> str:
    """Return whose calls the quantiles of a run describe, one sentence for all cases; "" for a run of one machine."""
    counts = Counter(described(run, case) for case in run.merged if run.case(case).system != "loopback")
    if not counts:
        return ""
    if len(counts) == 1:
        return f"Quantiles: of {next(iter(counts))}."
    parts = [f"{words} ({counted(count, 'case')})" for words, count in sorted(counts.items())]
    return f"Quantiles: of {'; of '.join(parts)}."
