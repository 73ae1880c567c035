"""What a run of several hosts says of each of them: whose calls its quantiles describe, and why."""

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bench import stats
from bench.analysis.trust_card import CAUTION, PASS, Check
from bench.run.frames import Run, number_of
from bench.run.merging import ALONE, LATENCY, POOLED, Merged
from bench.run.sketched_starts import Times
from bench.stats import Array
from bench.stats.intervals import Interval
from bench.stats.pooling import AGREE, DIFFER, MARGIN
from bench.text import listed

CLIENTS = ("load", "latency")
MOST_STEAL, MOST_OTHERS = 0.01, 0.1  # of the CPU time, and of a CPU


@dataclass(frozen=True)
class Trouble:
    """What disturbed a host, in words; ``name``: the host."""

    name: str
    words: str


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
    quantiles: dict[float, tuple[float, float, float]]
    ratios: dict[float, Interval]
    is_described: bool


def described(run: Run, case: int) -> str:
    """Return whose calls the quantiles of a case describe, in words; "" for a case of one machine."""
    one = run.merged.get(case)
    if one is None:
        return ""
    if one.kind == LATENCY:
        return f"host {one.host} alone, which measures latency"
    if one.kind == ALONE:
        return f"host {listed(one.loading)}" if one.loading else "no host"
    if one.kind == POOLED:
        return f"hosts {listed(one.loading)}, pooled"
    return f"host {one.host}, the slowest: {why_not(one)}"


def why_not(one: Merged) -> str:
    """Return why calls of hosts are not pooled: the first quantile that they do not agree on, as a ratio."""
    for p, found in one.tested.items():
        if found.verdict != AGREE:
            name, ratio = one.loading[found.slowest], ratio_words(found.ratios[found.slowest])
            others = "the others" if len(one.loading) > 2 else "the other"
            said = "they differ" if found.verdict == DIFFER else "not known to agree"
            return f"p{100 * p:g} of {name} is {ratio} that of {others}: {said}"
    return "too few calls to compare them"


def ratio_words(ratio: Interval) -> str:
    """Return a ratio with its interval: "1.31x [1.24, 1.40]"."""
    ends = f"[{ratio.low:.2f}, {ratio.high:.2f}]" if ratio.low == ratio.low else "(no 95 % CI below six starts)"
    return f"{ratio.middle:.2f}x {ends}"


def agreement(run: Run) -> Check:
    """Return the outcome of the check ``hosts``: CAUTION where hosts that load are not shown to agree.

    Where another host measures latency the quantiles are that one's, whether the others agree or not.
    """
    shown = {case: one for case, one in run.merged.items() if run.case(case).system != "loopback"}
    apart = {case: one for case, one in shown.items() if one.verdict != AGREE and one.kind != LATENCY}
    if apart:
        case = next((case for case, one in apart.items() if one.verdict == DIFFER), min(apart))
        others = f" and {len(apart) - 1} other case{'s' * (len(apart) > 2)}" if len(apart) > 1 else ""
        found = f"not pooled in {run.labels[case]}{others}: quantiles are those of {described(run, case)}"
        advice = (
            "look at the quantiles of each host; a host farther away, or with less CPU left, measures something else"
        )
        if apart[case].verdict != DIFFER:
            advice = f"use more starts: hosts are pooled once their intervals are within {MARGIN:.0%}"
        return Check("hosts", CAUTION, found, advice)
    kinds = list(dict.fromkeys(one.kind for one in shown.values()))
    words = {
        LATENCY: "the host that measures latency reports all quantiles",
        POOLED: f"hosts that load agree within {MARGIN:.0%} on the median, and are pooled",
        ALONE: "one host loads",
    }
    found = listed(words[kind] for kind in kinds if kind in words) or "no case of several hosts"
    return Check("hosts", PASS, found)


def troubles(run: Run) -> list[Trouble]:
    """Return what disturbed which host: steal, other processes, a CPU limit; the bounds of the check ``machine``."""
    rows = run.hosts.assign(room=run.hosts["start"].map(run.ledger["window_s"]) * 1e9)
    found = []
    for name, mine in rows.groupby("host", sort=False):
        host = str(name)
        every = mine.groupby("start").agg({"machine_busy_ns": "first", "steal_ns": "first", "throttled_ns": "first",
                                           "room": "first", "cpu_ns": "sum"})  # fmt: skip
        room, cpus = every["room"], int(run.machine_of(host)["cpus_allowed"])
        if (steal := (every["steal_ns"] / room / cpus).median()) > MOST_STEAL:
            found.append(Trouble(host, f"other guests took {steal:.1%} of the CPU time (steal)"))
        others = ((every["machine_busy_ns"] - every["cpu_ns"]) / room).where(room > 2e8).median()
        if others > MOST_OTHERS:
            found.append(Trouble(host, f"other processes used {others:.0%} of a CPU"))
        if (throttled := every["throttled_ns"].sum() / 1e9) > 0:
            found.append(Trouble(host, f"the control group's CPU limit throttled tasks for {throttled:.2f} s"))
    return found


def collected(run: Run) -> dict[str, int]:
    """Return how many garbage collections the clients of each host made, where they were too many for their calls."""
    rows = run.hosts[run.hosts["clients"] > 0]
    if rows.empty:
        return {}
    calls = run.samples.groupby(["start", run.samples["host"].astype(object)]).size()
    for start in run.kept_starts:
        for host in run.sketched.hosts(start):
            calls.loc[(start, host)] = run.sketched.calls(start, host)
    made = rows.groupby(["start", "host"])["gc_collections"].sum()
    over = made[made > 0.001 * calls.reindex(made.index, fill_value=0)]
    return {str(host): int(count) for host, count in over.groupby("host").sum().items() if count}


def busiest(run: Run, case: int) -> tuple[str, float]:
    """Return which host's clients used most of its CPUs in a case, and the share, median over starts."""
    mine = run.hosts[(run.hosts["clients"] > 0) & run.hosts["start"].isin(run.ledger_of(case).index)]
    shares = run.shares(mine, run.ledger["window_s"]).groupby(mine["host"]).median()
    return str(shares.idxmax()), float(shares.max())


def each(run: Run) -> list[Calling]:
    """Return each host that makes calls, case by case."""
    found = []
    for case in run.merged:
        rows = run.hosts[run.hosts["start"].isin(run.ledger_of(case).index) & (run.hosts["clients"] > 0)]
        calls = run.samples_of(case, warm=True)
        found += [_calling(run, case, mine, calls) for _, mine in rows.groupby("host", sort=False)]
    return found


def _calling(run: Run, case: int, rows: pd.DataFrame, calls: pd.DataFrame) -> Calling:
    one, name = run.merged[case], str(rows["host"].iloc[0])
    calls = calls[calls["host"] == name]
    by_start = ((calls["rtt_ns"] + calls["lag_ns"]) / 1e3).groupby(calls["start"])
    times: dict[int, Times | Array] = {number_of(start): values.to_numpy() for start, values in by_start}
    kept = [start for start in times if start in run.kept_starts and run.sketched.has(start, name)]
    times |= {start: run.sketched.times(start, "response", name) for start in kept}
    quantiles = {p: [_carried(values, p) for values in times.values()] for p in stats.QUANTILES[:3]}
    place = one.loading.index(name) if name in one.loading else None
    return Calling(
        case,
        name,
        str(rows["role"].iloc[0]),
        int(rows["clients"].max()),
        sum(map(len, times.values())),
        {
            p: stats.across_starts(values) if not np.isnan(values).any() else (math.nan,) * 3
            for p, values in quantiles.items()
        },
        {} if place is None else {p: tested.ratios[place] for p, tested in one.tested.items()},
        one.kind in (POOLED, ALONE) or name == one.host,
    )


def _carried(times: "Times | Array", p: float) -> float:
    return times.carried(p) if isinstance(times, Times) else stats.carried(times, p)


def kept(run: Run) -> Check:
    """Return the outcome of the check ``sketches``: of which hosts quantiles are sketches', and where all samples are.

    It is a PASS: the bound is far below what starts differ by.
    """
    rows = run.sketches.drop_duplicates(["start", "process"])
    folders = {str(host): _folders(mine["path"]) for host, mine in rows.groupby("host", sort=False)}
    held = run.sketches[["calls", "sampled"]].sum()
    bound, starts = float(run.sketches["accuracy"].max()), rows["start"].nunique()
    where = "; ".join(f"{host}: {listed(each)}" for host, each in folders.items())
    found = (
        f"quantiles of host{'s' * (len(folders) > 1)} {listed(folders)} are those of sketches, within "
        f"{100 * bound:.2g} % of the value, in {starts} of {len(run.ledger)} starts; counts, rates and means are "
        f"exact; figures draw a random sample of {held['sampled']:,} of these {held['calls']:,} calls; all samples "
        f"are on their hosts: {where}"
    )
    return Check("sketches", PASS, found)


def _folders(paths: "pd.Series[str]") -> list[str]:
    """Return the folders of some files, each once."""
    return list(dict.fromkeys(str(path).rpartition("/")[0] for path in paths))


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
    found = pd.Series({case: described(run, case) for case in run.merged if run.case(case).system != "loopback"})
    if found.empty:
        return ""
    groups = {str(words): [number_of(case) for case in cases] for words, cases in found.groupby(found).groups.items()}
    if len(groups) == 1:
        return f"Quantiles: of {next(iter(groups))}."
    parts = [f"{words} ({len(cases)} case{'s' * (len(cases) > 1)})" for words, cases in groups.items()]
    return f"Quantiles: of {'; of '.join(parts)}."
