"""Panels of server workers behind one port: throughput, resources, RTT, and the distribution of connections."""

import json

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    Look,
    band,
    beside,
    cpu_bars,
    distribution_axes,
    distribution_line,
    hold,
    linear_axis,
    log_axis,
    look,
    name_rows,
    near,
    nothing,
    off_axis,
    reach,
    small,
    ticks_at,
)
from bench.experiments.scaleup.findings import cpus, engine, of_bytes, served
from bench.experiments.sentences import UNKNOWN, limit_of
from bench.run.frames import Run, number_of, numbered
from bench.stats import scalability
from bench.text import counted, quantity

TITLE = "How does throughput scale with the number of server workers?"


def look_of(run: Run) -> dict[int, Look]:
    """Return colour and marker of each size."""
    return {int(size): look(place) for place, size in enumerate(sorted(of_bytes(run)["payload_bytes"].unique()))}


def rates(run: Run, axes: Axes) -> None:
    """Draw requests per second against workers for each payload; dotted: linear scaling from one worker."""
    rows, found = of_bytes(run), look_of(run)
    for size, mine in rows.groupby("payload_bytes"):
        colour, marker = found[int(str(size))]
        axes.plot(mine["workers"], mine["rate_per_s"], marker=marker, ms=6, lw=1.8, color=colour, label=f"{size:,} B")
        band(axes, mine, "workers", "rate_per_s", colour)
        axes.plot(mine["workers"], mine["rate_per_s"].iloc[0] * mine["workers"], ":", lw=1, color=colour)
    counts = sorted(rows["workers"].unique())
    axes.axvline(cpus(run), color=GREY, ls="--", lw=1)
    axes.set(xscale="log", yscale="log")
    axes.plot([], [], color=GREY, ls="--", lw=1, label=counted(cpus(run), "CPU"))
    hold(axes, rows["rate_per_s"], rows["rate_per_s_low"], rows["rate_per_s_high"], quantity)
    ticks_at(axes.xaxis, counts)
    linear_axis(axes.xaxis)
    log_axis(axes.yaxis, quantity)
    _fitted(run, axes, rows)
    limit = _limit(run, number_of(rows["rate_per_s"].idxmax()))
    axes.set_xlabel(f"worker processes; dotted: linear scaling from one worker\nlimit at the highest rate: {limit}")
    axes.set_ylabel("requests/s; band: range over starts")
    axes.legend(fontsize=9)
    axes.set_title(f"Throughput by workers ({engine(run)})")


def _limit(run: Run, case: int) -> str:
    found = limit_of(run, case)
    return UNKNOWN if found.capacity == UNKNOWN else found.names


def _fitted(run: Run, axes: Axes, rows: pd.DataFrame) -> None:
    """Draw Amdahl's law and the USL as fitted to the smallest payload, or say why neither is fitted."""
    mine = rows[rows["payload_bytes"] == rows["payload_bytes"].min()]
    workers, measured = mine["workers"].to_numpy(), mine["rate_per_s"].to_numpy()
    if reason := scalability.why_not(workers, cpus(run)):
        axes.plot([], [], " ", label=f"Amdahl's law and USL not fitted:\n{reason}")
        return
    grid = np.geomspace(1, workers.max(), 100)
    for amdahl, line in ((True, "-."), (False, "--")):
        found = scalability.fit(workers, measured, amdahl)
        name = "Amdahl" if amdahl else "USL"
        label = f"{name}: serial {found.contention:.1%}{f', pairs {found.coherence:.2%}' if not amdahl else ''}"
        axes.plot(grid, found.rates(grid), line, color="black", lw=1.2, label=label)


def resources(run: Run, axes: Axes) -> None:
    """Draw requests per second of each resource, with one worker and with the most, and the goodput in bytes."""
    rows = served(run)
    names: list[str] = []
    most = rows["workers"].max()
    rates = {case: run.starts_of(case)["rate_per_s"] for case in rows.index[rows["workers"].isin((1, most))]}
    within = reach(rates.values())
    for y, ((resource, size), mine) in enumerate(rows.groupby(["resource", "payload_bytes"], sort=False)):
        off = ""
        for case, row in numbered(mine[mine["workers"].isin((1, most))]):
            each = rates[case][rates[case].between(*within)]
            face, colour = "white" if row["workers"] == 1 else None, look(0).colour
            axes.plot(each, [y] * len(each), "o", ms=6, mec=colour, mfc=face or colour, mew=1.3, alpha=0.8)
            off += off_axis(axes, y, rates[case], colour, quantity, within)
        shown = mine[mine["workers"].isin((1, most))]
        best = float(shown["rate_per_s"].max())
        name = f"{size:,} B" if resource == "bytes" else str(resource)
        text = f"{quantity(best)}/s" + (f" = {quantity(best * size, 'B')}/s" if resource == "bytes" else "")
        beside(axes, y, text + off)
        names.append(name)
    axes.plot([], [], "o", ms=6, mec=look(0).colour, mfc="white", mew=1.3, label="1 worker")
    axes.plot([], [], "o", ms=6, color=look(0).colour, label=f"{most} workers")
    near(axes, quantity)
    name_rows(axes, names, small(len(names)))
    axes.set_xlabel("requests per second, each start; right: the larger median")
    axes.legend(fontsize=9)
    axes.set_title(f"Throughput by resource: 1 and {most} workers")


def percentiles(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT for each payload with the most workers."""
    rows, found = of_bytes(run), look_of(run)
    for case, row in numbered(rows[rows["workers"] == rows["workers"].max()]):
        colour, marker = found[int(row["payload_bytes"])]
        distribution_line(run, axes, case, colour, "-", marker, f"{row['payload_bytes']:,} B")
    distribution_axes(axes)
    axes.set_title(f"Distribution of the RTT, {rows['workers'].max()} workers")


def shares(run: Run, axes: Axes) -> None:
    """Draw the requests of each worker in each start, as a multiple of an even share."""
    rows, place = of_bytes(run), 0
    ticks = []
    for count in sorted(set(rows["workers"]) - {1}):
        for case, row in numbered(rows[rows["workers"] == count]):
            counts = run.ledger_of(case)["server_worker_calls"].dropna()
            for calls in map(json.loads, counts):
                even = sum(calls) / len(calls) or 1
                colour, marker = look_of(run)[int(row["payload_bytes"])]
                axes.plot([place] * len(calls), np.array(calls) / even, marker, ms=4, alpha=0.5, mew=0, color=colour)
            place += 1
        ticks.append((place - len(rows[rows["workers"] == count]) / 2 - 0.5, f"{count} workers"))
    if not ticks:
        return nothing(axes, "one worker only")
    for size, (colour, marker) in look_of(run).items():
        axes.plot([], [], marker, color=colour, label=f"{size:,} B")
    axes.legend(fontsize=9)
    axes.axhline(1, color="black", lw=1)
    axes.set_xticks(*zip(*ticks, strict=True))
    axes.set_ylim(-0.04 * axes.get_ylim()[1])  # so that the marker of a worker without requests is whole
    axes.xaxis.grid(False)
    axes.set_xlabel("number of workers; a column per payload")
    axes.set_ylabel("requests of a worker / even share")
    axes.set_title("Distribution of requests over workers, each start")
    return None


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time per request by role, with one worker and with the most."""
    rows = served(run)
    rows = rows[rows["workers"].isin([1, rows["workers"].max()])]
    cpu_bars(run, axes, rows)
    of = [f"{row['payload_bytes']:,} B" if row["resource"] == "bytes" else row["resource"] for _, row in numbered(rows)]
    names = [f"{name}, {workers}" for name, workers in zip(of, rows["workers"], strict=True)]
    name_rows(axes, names, fontsize=9)
    axes.set_ylabel("resource, workers")
    axes.legend()
    axes.set_title("CPU time per request, by role")


PANELS = (rates, resources, percentiles, shares)
