"""Panels of a routed call: warm-up, median RTT, the effect of each factor, CPU time."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.drawing.axes import GREY, SYSTEM_COLOURS, RangeRow, linear_axis, name_rows, nothing, range_rows, time_axis
from bench.experiments import published
from bench.experiments.latency.figure import cpu_per_call, medians
from bench.experiments.wamp import findings
from bench.run.frames import Run
from bench.text import duration

__all__ = ["PANELS", "TITLE", "batches", "cpu_per_call", "effects", "medians"]

TITLE = "What does a router add to a call, and which factor matters most?"

BATCH = 20  # calls averaged, as the origin averages "N calls", again and again
REPLICAS = ((SYSTEM_COLOURS[0], "o"), (SYSTEM_COLOURS[3], "s"))


def batches(run: Run, axes: Axes) -> None:
    """Draw the mean RTT of each batch of calls from the first on, for every start; and the origin's batches."""
    shown = published.wamp_replicas(run)
    if not shown:
        return nothing(axes, "neither of the origin's two combinations is in this run")
    most = 0
    for (colour, marker), (name, case) in zip(REPLICAS, shown.items(), strict=False):
        for _, rows in run.samples_of(case).groupby("start"):
            means = _means(rows["rtt_ns"].to_numpy())
            axes.plot(np.arange(1, len(means) + 1), means, color=colour, marker=marker, ms=2.5, lw=1, alpha=0.55)
            most = max(most, len(means))
        axes.plot([], [], color=colour, marker=marker, ms=4, lw=2, label=name.replace(" ", " + "))
        theirs = 1e3 * np.array(published.WAMP[name]["batches_ms"])
        axes.plot(np.arange(1, len(theirs) + 1), theirs, "x:", color=colour, ms=7, lw=1)
    axes.plot([], [], "x:", color=GREY, label="origin's log, 2016 (its own batches)")
    for name in (name for name in published.WAMP if name not in shown):
        axes.plot([], [], " ", label=f"{name.replace(' ', ' + ')}: not measured")
    axes.set_yscale("log")
    time_axis(axes.yaxis)
    axes.set_xlim(0, most + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"batch of {BATCH} calls, from the first call of a start on")
    axes.set_ylabel("mean RTT of a batch")
    axes.legend(fontsize=9)
    axes.set_title("Warm-up: each start, batch by batch")
    return None


def _means(rtt_ns: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return the mean of each whole batch in us."""
    whole = len(rtt_ns) // BATCH
    return rtt_ns[: whole * BATCH].reshape(whole, BATCH).mean(axis=1) / 1e3


def effects(run: Run, axes: Axes) -> None:
    """Draw the effect of each factor on the median RTT, one factor at a time, for each block."""
    found = findings.effects(run)
    if not found:
        return nothing(axes, "one factor at a time needs two levels of it,\nand six starts without a gap")
    colour = {True: SYSTEM_COLOURS[0], False: GREY}
    rows = [RangeRow(one.us, colour[one.is_certain], f"  (× {one.ratio:.2f})") for one in found]
    range_rows(axes, rows, _signed, is_log=False)
    axes.axvline(0, color="black", lw=1)
    low, high = axes.dataLim.intervalx
    room = 0.05 * (max(high, 0) - min(low, 0))
    axes.set_xlim(min(low, 0) - room, max(high, 0) + room)
    linear_axis(axes.xaxis)
    name_rows(axes, [f"{e.factor}:\n{e.level} instead\nof {e.against}" for e in found], 9.5)
    axes.set_xlabel("added to the median RTT [µs], each block; grey: not distinguishable from 0")
    axes.set_title("Effect of one factor, averaged over the others")
    return None


def _signed(us: float) -> str:
    return f"{'+' if us > 0 else '−'}{duration(abs(us))}"


PANELS = (batches, medians, effects, cpu_per_call)
