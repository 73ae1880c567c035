"""Panels of a routed call: warm-up, median RTT, the effect of each factor, CPU time."""

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench.drawing.axes import GREY, SYSTEM_COLOURS, RangeRow, log_axis, name_rows, range_rows, say_why_empty
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
        return say_why_empty(axes, "neither of the origin's two combinations is in this run")
    most = 0
    for (colour, marker), (name, case) in zip(REPLICAS, shown.items(), strict=False):
        for _, calls in run.calls_of(case):
            means = _means(calls.rtt_ns)
            axes.plot(np.arange(1, len(means) + 1), means, color=colour, marker=marker, ms=2.5, lw=1, alpha=0.55)
            most = max(most, len(means))
        axes.plot([], [], color=colour, marker=marker, ms=4, lw=2, label=name.replace(" ", " + "))
        theirs = 1e3 * np.array(published.WAMP[name]["batches_ms"])
        axes.plot(np.arange(1, len(theirs) + 1), theirs, "x:", color=colour, ms=7, lw=1)
    axes.plot([], [], "x:", color=GREY, label="origin's log, 2016 (its own batches)")
    log_axis(axes.yaxis)
    axes.set_xlim(0, most + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"batch of {BATCH} calls, from the first call of a start on")
    axes.set_ylabel("mean RTT of a batch")
    axes.set_title("Warm-up: each start, batch by batch")


def _means(rtt_ns: "np.ndarray[tuple[int], np.dtype[np.int64]]") -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """Return the mean of each whole batch in us."""
    count = len(rtt_ns) // BATCH
    return rtt_ns[: count * BATCH].reshape(count, BATCH).mean(axis=1) / 1e3


def effects(run: Run, axes: Axes) -> None:
    """Draw the effect of each factor on the median RTT, one factor at a time, for each block."""
    effects_of = findings.effects(run)
    if not effects_of:
        return say_why_empty(axes, "one factor at a time needs two levels of it,\nand six starts without a gap")
    colour = {True: SYSTEM_COLOURS[0], False: GREY}
    rows = [
        RangeRow(of.us, colour[of.is_certain], f"  (× {of.ratio:.2f})", words=_signed(of.middle), line=of.middle)
        for of in effects_of
    ]
    range_rows(axes, rows)
    axes.axvline(0, color="black", lw=1)
    name_rows(axes, [f"{effect.factor}:\n{effect.level} instead\nof {effect.against}" for effect in effects_of])
    axes.set_xlabel("added to the median RTT [µs], each block; line: estimate; grey: not distinguishable from 0")
    axes.set_title("Effect of one factor, averaged over the others")


def _signed(us: float) -> str:
    return f"{'+' if us > 0 else '−'}{duration(abs(us))}"


PANELS = (batches, medians, effects, cpu_per_call)
