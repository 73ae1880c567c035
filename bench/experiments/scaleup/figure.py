"""Panels of more and more workers behind one port: rates, resources, times, and how connections were shared out."""

import itertools
import json
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.experiments.axes import (
    COLOURS,
    GREY,
    band,
    cpu_bars,
    distribution_axes,
    distribution_line,
    linear_axis,
    log_axis,
    log_room,
    name_rows,
    nothing,
    ticks_at,
)
from bench.experiments.scaleup.findings import cpus, engine, of_bytes, served
from bench.run.frames import Run, numbered
from bench.stats import scalability
from bench.text import quantity

TITLE = "How far do more workers carry?"


def colour_of(run: Run) -> dict[int, Any]:
    """Return a colour for each size."""
    sizes = sorted(of_bytes(run)["payload_bytes"].unique())
    return dict(zip(sizes, itertools.cycle(COLOURS), strict=False))


def rates(run: Run, axes: Axes) -> None:
    """Draw requests per second against workers for each size, and what as many times one worker would be."""
    rows, colours = of_bytes(run), colour_of(run)
    for size, mine in rows.groupby("payload_bytes"):
        colour = colours[int(str(size))]
        axes.plot(mine["workers"], mine["rate_per_s"], "o-", ms=6, lw=1.8, color=colour, label=f"{size:,} B")
        band(axes, mine, "workers", "rate_per_s", colour)
        axes.plot(mine["workers"], mine["rate_per_s"].iloc[0] * mine["workers"], ":", lw=1, color=colour)
    counts = sorted(rows["workers"].unique())
    axes.axvline(cpus(run), color=GREY, ls="--", lw=1)
    axes.set(xscale="log", yscale="log")
    axes.text(cpus(run), 0.94, f" {cpus(run)} CPUs", color=GREY, transform=axes.get_xaxis_transform())
    ticks_at(axes.xaxis, counts)
    linear_axis(axes.xaxis)
    log_axis(axes.yaxis, quantity)
    _fitted(run, axes, rows)
    axes.set_xlabel("worker processes; dotted: as many times one worker")
    axes.set_ylabel("requests per second")
    axes.legend(loc="upper left", fontsize=9.5)
    axes.set_title(f"Requests per second by workers ({engine(run)})")


def _fitted(run: Run, axes: Axes, rows: pd.DataFrame) -> None:
    """Draw the law that fits the smallest size, or say why none is fitted."""
    mine = rows[rows["payload_bytes"] == rows["payload_bytes"].min()]
    workers, measured = mine["workers"].to_numpy(), mine["rate_per_s"].to_numpy()
    if reason := scalability.why_not(workers, cpus(run)):
        words, at = f"no law fitted: {reason} ", axes.transAxes
        axes.text(0.99, 0.02, words, ha="right", color=GREY, fontsize=8.5, transform=at)
        return
    grid = np.geomspace(1, workers.max(), 100)
    for amdahl, line in ((True, "-."), (False, "--")):
        found = scalability.fit(workers, measured, amdahl)
        name = "Amdahl" if amdahl else "USL"
        label = f"{name}: serial {found.contention:.1%}{f', pairs {found.coherence:.2%}' if not amdahl else ''}"
        axes.plot(grid, found.rates(grid), line, color="black", lw=1.2, label=label)


def resources(run: Run, axes: Axes) -> None:
    """Draw requests per second of each resource with one worker and with the most, and the bytes that makes."""
    rows = served(run)
    names: list[str] = []
    most = rows["workers"].max()
    for y, ((resource, size), mine) in enumerate(rows.groupby(["resource", "payload_bytes"], sort=False)):
        for count, face in ((1, "white"), (most, None)):
            each = run.starts.loc[run.starts["case"].isin(mine.index[mine["workers"] == count]), "rate_per_s"]
            axes.plot(each, [y] * len(each), "o", ms=6, mec="#0173b2", mfc=face or "#0173b2", mew=1.3, alpha=0.8)
        shown = mine[mine["workers"].isin((1, most))]
        best = float(shown["rate_per_s"].max())
        name = f"{size:,} B" if resource == "bytes" else str(resource)
        text = f"{quantity(best)}/s" + (f" = {quantity(best * size, 'B')}/s" if resource == "bytes" else "")
        right = float(shown["rate_per_s_high"].max())
        axes.annotate(text, (right, y), (10, 0), textcoords="offset points", va="center")
        names.append(name)
    axes.plot([], [], "o", ms=6, mec="#0173b2", mfc="white", mew=1.3, label="1 worker: each start")
    axes.plot([], [], "o", ms=6, color="#0173b2", label=f"{most} workers")
    log_room(axes, 1.3, 0.5, 1.5, quantity)
    name_rows(axes, names)
    axes.set_xlabel("requests per second")
    axes.legend(loc="lower right", fontsize=9.5)
    axes.set_title("By resource: one worker, and the most")


def percentiles(run: Run, axes: Axes) -> None:
    """Draw the distribution of round trips for each size with the most workers."""
    rows, colours = of_bytes(run), colour_of(run)
    for case, row in numbered(rows[rows["workers"] == rows["workers"].max()]):
        colour = colours[int(row["payload_bytes"])]
        distribution_line(run, axes, case, colour, "-", "o", f"{row['payload_bytes']:,} B")
    distribution_axes(axes)
    axes.set_title(f"Times with {rows['workers'].max()} workers")


def shares(run: Run, axes: Axes) -> None:
    """Draw each worker's part of the requests, as a multiple of an even part, for each start."""
    rows, place = of_bytes(run), 0
    ticks = []
    for count in sorted(set(rows["workers"]) - {1}):
        for case, row in numbered(rows[rows["workers"] == count]):
            counts = run.ledger_of(case)["server_worker_calls"].dropna()
            for calls in map(json.loads, counts):
                even = sum(calls) / len(calls) or 1
                axes.plot([place] * len(calls), np.array(calls) / even, "o", ms=4, alpha=0.5, mew=0,
                          color=colour_of(run)[int(row["payload_bytes"])])  # fmt: skip
            place += 1
        ticks.append((place - len(rows[rows["workers"] == count]) / 2 - 0.5, f"{count} workers"))
    if not ticks:
        return nothing(axes, "one worker only")
    axes.axhline(1, color="black", lw=1)
    axes.set_xticks(*zip(*ticks, strict=True))
    axes.set_ylim(0)
    axes.xaxis.grid(False)
    axes.set_ylabel("a worker's requests over an even part")
    axes.set_title("How the kernel shared the connections out: each start")
    return None


def cost(run: Run, axes: Axes) -> None:
    """Draw the CPU time of a request by role, with one worker and with the most."""
    rows = served(run)
    rows = rows[rows["workers"].isin([1, rows["workers"].max()])]
    cpu_bars(run, axes, rows)
    of = [f"{row['payload_bytes']:,} B" if row["resource"] == "bytes" else row["resource"] for _, row in numbered(rows)]
    names = [f"{name}, {workers}" for name, workers in zip(of, rows["workers"], strict=True)]
    name_rows(axes, names, fontsize=9)
    axes.set_ylabel("resource, workers")
    axes.legend(loc="lower right")
    axes.set_title("CPU per request, by role")


PANELS = (rates, resources, percentiles, shares)
