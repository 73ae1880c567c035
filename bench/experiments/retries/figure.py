"""Panels of retries around a freeze: attempts and goodput over time, what became of attempts, deadlines met."""

from typing import Any

import numpy as np
from matplotlib.axes import Axes

from bench.drawing.axes import GREY, RangeRow, beside, linear_axis, look, name_rows, nothing, range_rows
from bench.experiments.retries.findings import (
    Outcome,
    attempts,
    freezes_ns,
    outcomes,
    over_time,
    requests,
    utilization,
)
from bench.run.frames import Run
from bench.stats import across_starts
from bench.text import quantity

TITLE = "What do retries do to a server that is late?"

LINES = ("-", "--", "-.", ":")
FATES = {  # what becomes of an attempt: colour and hatch
    "answered in time": ("#2f4858", ""),
    "answered too late": ("#d9a441", "//"),
    "no reply before the end": ("#d9d9d9", ".."),
}


def _over_time(run: Run, axes: Axes, column: str, words: str) -> bool:
    """Draw a rate of each policy over the time since the freeze began; return whether the server froze."""
    known = [one for one in outcomes(run) if freezes_ns(run, one.case).notna().all()]
    if not known:
        nothing(axes, "the server did not freeze in this run: use a longer window")
        return False
    of = run.case(known[0].case)
    axes.axvspan(0, of.options["freeze_ms"] / 1e3, color="#bbbbbb", alpha=0.4, lw=0, zorder=0.5, label="freeze")
    for place, one in enumerate(known):
        rates, (colour, marker) = over_time(run, one.case), look(place)
        each: dict[str, Any] = {"color": colour, "marker": marker, "ms": 4, "lw": 1.8, "markevery": (place, 4)}
        axes.plot(rates.index, rates[column], LINES[place % len(LINES)], label=one.name, **each)
    _level(axes, of.offered_per_s, f"offered: {of.offered_per_s:g}/s", color=GREY, lw=1.2, zorder=1.5)
    axes.set_xlabel("time since the freeze began [s]")
    axes.set_ylabel(words)
    axes.set_ylim(bottom=0)
    linear_axis(axes.xaxis)
    linear_axis(axes.yaxis, quantity)
    axes.margins(x=0.01)
    return True


def _level(axes: Axes, height: float, words: str, **draw: Any) -> None:
    """Draw a rate that does not change along the curves, as data: no legend covers it."""
    axes.plot(axes.dataLim.intervalx, [height, height], label=words, **draw)


def attempts_over_time(run: Run, axes: Axes) -> None:
    """Draw the attempts per second of each policy, with the offered rate and the server's capacity."""
    if _over_time(run, axes, "attempts", "attempts per second, median over starts"):
        capacity = run.case(outcomes(run)[0].case).offered_per_s / utilization(run)
        _level(axes, capacity, f"server's capacity: {capacity:g}/s", color="black", ls=(0, (1, 2)), lw=1.4)
        axes.legend(fontsize=9)
        axes.set_title("Attempts over time")


def goodput_over_time(run: Run, axes: Axes) -> None:
    """Draw the goodput of each policy over time: requests due then that were answered before their deadline."""
    if _over_time(run, axes, "goodput", "goodput [requests/s], median over starts"):
        axes.legend(fontsize=9)
        axes.set_title("Goodput over time")


def _fates(run: Run, one: Outcome) -> dict[str, float]:
    """Return how many attempts per request were answered in time, too late, or not before the end."""
    rows, count = attempts(run, one.case), len(requests(run, one.case))
    in_time, answered = int(rows["in_time"].sum()), int(rows["rtt_ns"].notna().sum())
    return dict(zip(FATES, (each / count for each in (in_time, answered - in_time, len(rows) - answered)), strict=True))


def fates(run: Run, axes: Axes) -> None:
    """Draw the attempts per request of each policy, by what became of them; late replies are wasted work."""
    known = outcomes(run)
    left = np.zeros(len(known))
    each = [_fates(run, one) for one in known]
    for name, (colour, hatch) in FATES.items():
        values = np.array([one[name] for one in each])
        axes.barh(range(len(known)), values, left=left, color=colour, hatch=hatch, height=0.6, label=name)
        left = left + values
    for y, total in enumerate(left):
        beside(axes, y, f"{total:.2f}")
    name_rows(axes, [one.name for one in known])
    axes.set_xlim(0, 1.04 * left.max())
    linear_axis(axes.xaxis)
    axes.set_xlabel("attempts per request, all starts together")
    axes.legend(fontsize=9)
    axes.set_title("Amplification, and what became of the attempts")


def _recovery(one: Outcome) -> str:
    """Return the median recovery in few words."""
    middle = across_starts(one.recovery_s).middle
    return "no freeze" if middle != middle else f"after {middle:.1f} s" if np.isfinite(middle) else "no recovery"


def deadlines(run: Run, axes: Axes) -> None:
    """Draw the share of the requests that met their deadline in each start, and when each policy recovered."""
    known = outcomes(run)
    rows = [
        RangeRow(100 * one.met, look(place).colour, marker=look(place).marker,
                 words=f"{across_starts(one.met).middle:.0%}, {_recovery(one)}")
        for place, one in enumerate(known)
    ]  # fmt: skip
    range_rows(axes, rows, "{:.0f} %".format, is_log=False)
    name_rows(axes, [one.name for one in known])
    linear_axis(axes.xaxis, "{:.0f} %".format)
    axes.set_xlabel("requests that met the deadline; bar: range over starts")
    axes.set_title("Deadlines met, and time to recovery after the freeze")


PANELS = (attempts_over_time, goodput_over_time, fates, deadlines)
