"""What the figure of more and more workers says."""

import json

import numpy as np
import pandas as pd

from bench.experiments.scaleup.findings import cpus, engine, of_bytes
from bench.experiments.words import why_not_more
from bench.run.frames import Run, number_of
from bench.stats import scalability
from bench.text import quantity


def conclusion(run: Run) -> str:
    """Say what more workers bring, what the limit is, and what cannot be shown here."""
    return "\n\n".join((_growth(run), _client(run), _machine(run)))


def _growth(run: Run) -> str:
    rows = of_bytes(run)
    lines = []
    for size, mine in rows.groupby("payload_bytes"):
        best = mine.loc[mine["rate_per_s"].idxmax()]
        one = mine[mine["workers"] == 1].iloc[0]
        lines.append(
            f"- **{size:,} B**: {quantity(one['rate_per_s'])} requests a second by one worker, at most "
            f"{quantity(best['rate_per_s'])} ({quantity(best['rate_per_s'] * best['payload_bytes'], 'B')}/s) by "
            f"{best['workers']}: {best['rate_per_s'] / one['rate_per_s']:.2f} times as many"
        )
    smallest = rows[rows["payload_bytes"] == rows["payload_bytes"].min()]
    return "\n".join([*lines, "", why_not_more(run, number_of(smallest["rate_per_s"].idxmax()))])


def _client(run: Run) -> str:
    """Say how much of the CPU time of a request was the client's."""
    rows = of_bytes(run)
    part = rows["client_cpu_us_per_call"] / (rows["client_cpu_us_per_call"] + rows["server_cpu_us_per_call"])
    most = rows["client_cpu_share"].max()
    limit = " **Where it is above 80 %, the rate tells what this client can ask.**" if most > 0.8 else ""
    return (
        f"The client ({engine(run)}) shares the machine and uses {part.min():.0%} to {part.max():.0%} of a request's "
        f"CPU time; it was busy up to {most:.0%} of a CPU.{limit}"
    )


def shares(run: Run) -> str:
    """Say how unevenly connections were hashed over the workers."""
    rows = of_bytes(run)
    many = run.ledger[run.ledger["case"].isin(rows.index[rows["workers"] > 1])]["server_worker_calls"].dropna()
    worst = [max(calls) / (sum(calls) / len(calls)) for calls in map(json.loads, many) if sum(calls)]
    if not worst:
        return "With one worker there is nothing to share out."
    return (
        f"The kernel gives each connection to a worker by a hash: in the middle the busiest worker got "
        f"{np.median(worst):.2f} times an even part of the requests, in the worst start {max(worst):.2f} times."
    )


def _machine(run: Run) -> str:
    rows = of_bytes(run)
    smallest: pd.DataFrame = rows[rows["payload_bytes"] == rows["payload_bytes"].min()]
    reason = scalability.why_not(smallest["workers"].to_numpy(), cpus(run))
    if reason is None:
        found = scalability.fit(smallest["workers"].to_numpy(), smallest["rate_per_s"].to_numpy())
        top = f"; most would come with {found.peak:.0f} workers" if found.peak == found.peak else ""
        return (
            f"By the universal scalability law {found.contention:.1%} is serial, pairs cost {found.coherence:.2%}{top}."
        )
    return (
        f"What this machine cannot show: with {cpus(run)} CPUs for workers and client together, more workers than CPUs "
        f"only take turns. No law is fitted ({reason})."
    )
