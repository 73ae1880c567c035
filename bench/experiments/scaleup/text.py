"""What the figure of rates against workers says."""

import json
import math

import numpy as np
import pandas as pd

from bench.experiments.claims import judged, with_verdict
from bench.experiments.scaleup.findings import cpus, engine, gain, is_below_twice, of_bytes, server_host, sizes
from bench.experiments.sentences import why_not_more
from bench.run.frames import Run, number_of
from bench.stats import Spread, scalability
from bench.text import counted, in_bytes, quantity


def conclusion(run: Run) -> str:
    """Say what more workers bring, what the limit is, and what this machine cannot show."""
    twice = judged("two workers serve fewer than twice the requests per second of one", is_below_twice(run))
    return with_verdict(twice, _growth(run), _client(run), _machine(run))


def _growth(run: Run) -> str:
    rows = of_bytes(run)
    lines = []
    for size, cases in sizes(run):
        best = cases.loc[cases["rate_per_s"].idxmax()]
        single = cases[cases["workers"] == 1].iloc[0]
        alone, most = (run.over_starts(number_of(row.name), "rate_per_s") for row in (single, best))
        line = f"- **{size:,} B**: one worker serves {alone.words(quantity)} requests/s"
        if more := gain(run, cases, int(best["workers"])):
            line += (
                f". {best['workers']} workers serve the most, {most.words(quantity)} "
                f"({_goodput(most, best)}), {more} as many{more.doubt}"
            )
        else:
            line += f" ({_goodput(alone, single)}), and more workers serve no more"
        lines.append(line)
    smallest = rows[rows["payload_bytes"] == rows["payload_bytes"].min()]
    top = smallest.loc[smallest["rate_per_s"].idxmax()]
    limit = f"At {top['payload_bytes']:,} B and {counted(int(top['workers']), 'worker')}: "
    return "\n".join([*lines, "", limit + why_not_more(run, number_of(top.name))])


def _goodput(rate: Spread, case: "pd.Series[float]") -> str:
    """Return the bytes per second of a rate of requests."""
    return f"{rate.times(case['payload_bytes']).values(in_bytes)} per second"


def _client(run: Run) -> str:
    """Say how much of the CPU time per request was the client's, and whether the client was the limit."""
    rows = of_bytes(run)
    part = rows["client_cpu_us_per_call"] / (rows["client_cpu_us_per_call"] + rows["server_cpu_us_per_call"])
    most = rows["client_cpu_share"].max()
    limit = (
        " **Where that is above 80 %, the client is the limit: the server's capacity is at least the rate shown.**"
        if most > 0.8
        else ""
    )
    where = "runs on another host" if server_host(run) else "runs on the same machine"
    return (
        f"The client ({engine(run)}) {where}: {part.min():.0%} to {part.max():.0%} of the CPU time "
        f"per request is the client's, and its utilization is up to {most:.0%} of one CPU.{limit}"
    )


def shares(run: Run) -> str:
    """Say how unevenly the kernel distributed connections over the workers."""
    rows = of_bytes(run)
    many = run.ledger[run.ledger["case"].isin(rows.index[rows["workers"] > 1])]["server_worker_calls"].dropna()
    worst = [max(calls) / (sum(calls) / len(calls)) for calls in map(json.loads, many) if sum(calls)]
    if not worst:
        return "With one worker there are no connections to distribute."
    return (
        f"The kernel assigns each connection to a worker by a hash. The busiest worker served {np.median(worst):.2f} "
        f"times an equal share of the requests (median of the starts), and {max(worst):.2f} times in the worst start."
    )


def _machine(run: Run) -> str:
    rows = of_bytes(run)
    smallest: pd.DataFrame = rows[rows["payload_bytes"] == rows["payload_bytes"].min()]
    reason = scalability.why_not(smallest["workers"].to_numpy(), cpus(run))
    if reason is None:
        fitted = scalability.fit(smallest["workers"].to_numpy(), smallest["rate_per_s"].to_numpy())
        top = "" if math.isnan(fitted.peak) else f", and the rate is highest at {fitted.peak:.0f} workers"
        law = f"contention {fitted.contention:.1%}, coherency {fitted.coherence:.2%}"
        return f"Fitted universal scalability law: {law}{top}."
    host, count = server_host(run), counted(cpus(run), "CPU")
    can = f"Workers can use {count}, on the host {host}" if host else f"Workers and client share {count}"
    return (
        f"{can}: where there are more workers than CPUs, workers take turns. The universal scalability law is not "
        f"fitted ({reason})."
    )
