"""Panels of server workers behind one port: throughput, resources, RTT, and the distribution of connections."""

import json

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    Look,
    cpu_bars,
    distribution_of,
    draw_cdfs,
    draw_line,
    log_axis,
    look,
    name_rows,
    say_why_empty,
    ticks_at,
    write_beside,
)
from bench.experiments.scaleup.findings import cpus, engine, of_bytes, served
from bench.experiments.sentences import UNKNOWN, limit_of
from bench.run.frames import Run, number_of, numbered
from bench.stats import scalability
from bench.text import counted, in_bytes, quantity

TITLE = "How does throughput scale with the number of server workers?"


def look_of(run: Run) -> dict[int, Look]:
    """Return colour and marker of each size."""
    return {int(size): look(place) for place, size in enumerate(sorted(of_bytes(run)["payload_bytes"].unique()))}


def rates(run: Run, axes: Axes) -> None:
    """Draw requests per second against workers for each payload, with models of the smallest one."""
    rows = of_bytes(run)
    for size, cases in rows.groupby("payload_bytes"):
        drawn = look_of(run)[int(str(size))]
        draw_line(run, axes, cases, "workers", "rate_per_s", drawn, f"{size:,} B")
    axes.axvline(cpus(run), color=GREY, ls="--", lw=1, label=counted(cpus(run), "CPU"))
    unfitted = _fitted(run, axes, rows)
    axes.set_xscale("log")
    ticks_at(axes.xaxis, sorted(rows["workers"].unique()))
    log_axis(axes.yaxis, quantity)
    limit = _limit(run, number_of(rows["rate_per_s"].idxmax()))
    axes.set_xlabel(f"worker processes\nlimit at the highest rate: {limit}{unfitted}")
    axes.set_ylabel("requests/s; band: range over starts")
    axes.set_title(f"Throughput by workers ({engine(run)})")


def _limit(run: Run, case: int) -> str:
    limit = limit_of(run, case)
    return UNKNOWN if limit.capacity == UNKNOWN else limit.names


def _fitted(run: Run, axes: Axes, rows: pd.DataFrame) -> str:
    """Draw Amdahl's law and the USL as fitted to the smallest payload; or linear scaling, and return the reason."""
    cases = rows[rows["payload_bytes"] == rows["payload_bytes"].min()]
    workers, measured = cases["workers"].to_numpy(), cases["rate_per_s"].to_numpy()
    if reason := scalability.why_not(workers, cpus(run)):
        size = f"{rows['payload_bytes'].min():,} B"
        axes.plot(workers, measured[0] * workers, ":", color="black", lw=1.2, label=f"linear scaling, {size}")
        return f"\nAmdahl's law and USL not fitted: {reason}"
    grid = np.geomspace(1, workers.max(), 100)
    for is_amdahl, line in ((True, "-."), (False, "--")):
        fit = scalability.fit(workers, measured, is_amdahl)
        pairs = "" if is_amdahl else f", pairs {fit.coherence:.2%}"
        label = f"{'Amdahl' if is_amdahl else 'USL'}: serial {fit.contention:.1%}{pairs}"
        axes.plot(grid, fit.rates(grid), line, color="black", lw=1.2, label=label)
    return ""


def resources(run: Run, axes: Axes) -> None:
    """Draw requests per second of each resource, with one worker and with the most, and the goodput in bytes."""
    rows, most, colour = _ends(run), served(run)["workers"].max(), look(0).colour
    names: list[str] = []
    for y, ((resource, size), cases) in enumerate(rows.groupby(["resource", "payload_bytes"], sort=False)):
        for case, row in numbered(cases):
            rates, is_one = run.starts_of(case)["rate_per_s"], row["workers"] == 1
            at, face = y + (-0.16 if is_one else 0.16), "white" if is_one else colour
            axes.plot(rates, [at] * len(rates), "o", ms=6, color=colour, mfc=face, mew=1.3, alpha=0.8,
                      label=counted(row["workers"], "worker"))  # fmt: skip
        best = run.over_starts(number_of(cases["rate_per_s"].idxmax()), "rate_per_s")
        goodput = f" = {best.times(size).values(in_bytes)}/s" if resource == "bytes" else ""
        write_beside(axes, y, f"{best.values(quantity)}/s{goodput}")
        names.append(f"{size:,} B" if resource == "bytes" else str(resource))
    log_axis(axes.xaxis, quantity)
    name_rows(axes, names)
    axes.set_xlabel("requests per second, each start; right: the larger median")
    axes.set_title(f"Throughput by resource: 1 and {most} workers")


def _ends(run: Run) -> pd.DataFrame:
    """Return the cases with one worker and with the most."""
    rows = served(run)
    return rows[rows["workers"].isin((1, rows["workers"].max()))]


def percentiles(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT for each payload with the most workers."""
    rows = of_bytes(run)
    draw_cdfs(axes, [
        distribution_of(run, case, look_of(run)[int(row["payload_bytes"])], "-", f"{row['payload_bytes']:,} B")
        for case, row in numbered(rows[rows["workers"] == rows["workers"].max()])
    ])  # fmt: skip
    axes.set_title(f"Distribution of the RTT, {rows['workers'].max()} workers")


def shares(run: Run, axes: Axes) -> None:
    """Draw the requests of each worker in each start, as a multiple of an even share."""
    rows = of_bytes(run)
    rows, names = rows[rows["workers"] > 1].sort_values("workers", kind="stable"), []
    if rows.empty:
        return say_why_empty(axes, "one worker only")
    for place, (case, row) in enumerate(numbered(rows)):
        colour, marker = look_of(run)[int(row["payload_bytes"])]
        for calls in map(json.loads, run.ledger_of(case)["server_worker_calls"].dropna()):
            even = sum(calls) / len(calls) or 1
            axes.plot([place] * len(calls), np.array(calls) / even, marker, ms=4, alpha=0.5, mew=0, color=colour)
        names.append(row["workers"])
    for size, (colour, marker) in look_of(run).items():
        axes.plot([], [], marker, color=colour, label=f"{size:,} B")
    axes.axhline(1, color="black", lw=1)
    middles = {count: np.mean([place for place, of in enumerate(names) if of == count]) for count in names}
    axes.set_xticks(list(middles.values()), [counted(count, "worker") for count in middles])
    for edge in np.flatnonzero(np.diff(names)):
        axes.axvline(edge + 0.5, color="#bbbbbb", lw=0.8)
    axes.xaxis.grid(False)
    axes.set_xlabel("number of workers; a column for each payload")
    axes.set_ylabel("requests of a worker / even share")
    axes.set_title("Distribution of requests over workers, each start")


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time per request by role, with one worker and with the most."""
    rows = _ends(run)
    cpu_bars(run, axes, rows)
    of = [f"{row['payload_bytes']:,} B" if row["resource"] == "bytes" else row["resource"] for _, row in numbered(rows)]
    name_rows(axes, [f"{name}, {workers}" for name, workers in zip(of, rows["workers"], strict=True)])
    axes.set_ylabel("resource, workers")
    axes.set_title("CPU time per request, by role")


PANELS = (rates, resources, percentiles, shares)
