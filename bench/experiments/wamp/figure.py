"""Panels that take the price of a routed call apart."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.experiments import published
from bench.experiments.axes import GREY, RangeRow, linear_axis, name_rows, nothing, range_rows, time_axis
from bench.experiments.latency.figure import cpu_per_call, medians
from bench.experiments.wamp import findings
from bench.run.frames import Run
from bench.text import duration

__all__ = ["PANELS", "TITLE", "batches", "cpu_per_call", "effects", "medians"]

TITLE = "What does a router cost, and which part of it?"

BATCH = 20  # calls averaged, as the origin averages "N calls", again and again
REPLICA_COLOURS = ("#0173b2", "#d55e00")


def batches(run: Run, axes: Axes) -> None:
    """Draw the mean of each batch of calls from the first on, for every start; and the origin's batches."""
    shown = published.wamp_replicas(run)
    if not shown:
        return nothing(axes, "neither of the origin's two combinations is in this run")
    most = 0
    for colour, (name, case) in zip(REPLICA_COLOURS, shown.items(), strict=False):
        for _, rows in run.samples_of(case).groupby("start"):
            means = _means(rows["rtt_ns"].to_numpy())
            axes.plot(np.arange(1, len(means) + 1), means, color=colour, lw=1, alpha=0.55)
            most = max(most, len(means))
        axes.plot([], [], color=colour, lw=2, label=name.replace(" ", " + "))
        theirs = 1e3 * np.array(published.WAMP[name]["batches_ms"])
        axes.plot(np.arange(1, len(theirs) + 1), theirs, "x:", color=colour, ms=7, lw=1)
    axes.plot([], [], "x:", color=GREY, label="the origin's log, 2016 (its own batches)")
    axes.set_yscale("log")
    low, high = axes.dataLim.intervaly
    axes.set_ylim(low / 1.25, high * 2.6)
    time_axis(axes.yaxis)
    axes.set_xlim(0, most + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"batch of {BATCH} calls, from the first call of a start on")
    axes.set_ylabel("mean RTT of a batch")
    axes.legend(loc="upper right")
    axes.set_title("Warm-up, as the origin logs it: each line a start")
    return None


def _means(rtt_ns: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return the mean of each whole batch in us."""
    whole = len(rtt_ns) // BATCH
    return rtt_ns[: whole * BATCH].reshape(whole, BATCH).mean(axis=1) / 1e3


def effects(run: Run, axes: Axes) -> None:
    """Draw what each factor adds to a round trip, one at a time, block by block."""
    found = findings.effects(run)
    if not found:
        return nothing(axes, "one factor at a time needs two levels of it,\nand six starts without a gap")
    colour = {True: "#0173b2", False: GREY}
    rows = (RangeRow(one.us, colour[one.low > 0 or one.high < 0], f"  (× {one.ratio:.2f})") for one in found)
    range_rows(axes, rows, _signed)
    axes.axvline(0, color="black", lw=1)
    low, high = axes.dataLim.intervalx
    axes.set_xlim(min(low, 0) - 0.06 * (high - low), high + 0.52 * (high - min(low, 0)))
    linear_axis(axes.xaxis)
    name_rows(axes, [f"{e.factor}:\n{e.level} for {e.against}" for e in found])
    axes.set_xlabel("added to the median RTT [µs]: each block of starts, range and middle")
    axes.set_title("One factor at a time, over all levels of the others")
    return None


def _signed(us: float) -> str:
    return f"{'+' if us > 0 else '−'}{duration(abs(us))}"


PANELS = (batches, medians, effects, cpu_per_call)
