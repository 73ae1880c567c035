"""Panels of retries around a freeze: attempts and goodput over time, what became of attempts and of requests."""

import numpy as np
from matplotlib.axes import Axes

from bench.drawing.axes import (
    GREY,
    RangeRow,
    label_axis,
    look,
    name_rows,
    range_rows,
    say_why_empty,
    separate_rows,
    stacked_bar,
    write_beside,
)
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
    "answered before it was abandoned": ("#2f4858", ""),
    "answered after that": ("#d9a441", "//"),
    "no reply before the end": ("#d9d9d9", ".."),
}


def _over_time(run: Run, axes: Axes, column: str) -> None:
    """Draw a rate of each policy over the time since the freeze began."""
    shown = [of for of in outcomes(run) if freezes_ns(run, of.case).notna().all()]
    if not shown:
        return say_why_empty(axes, "the server did not freeze in this run: use a longer window")
    case = run.case(shown[0].case)
    axes.axvspan(0, case.options["freeze_ms"] / 1e3, color="#bbbbbb", alpha=0.4, lw=0, zorder=0.5, label="freeze")
    for place, of in enumerate(shown):
        rates, (colour, marker) = over_time(run, of.case), look(place)
        axes.plot(rates.index, rates[column], LINES[place % len(LINES)], color=colour, marker=marker, ms=4, lw=1.8,
                  markevery=(place, 4), label=of.name)  # fmt: skip
    axes.axhline(case.offered_per_s, color=GREY, lw=1.2, zorder=1.5, label=f"offered: {case.offered_per_s:g}/s")
    axes.set_xlabel("time since the freeze began [s]")
    axes.set_ylim(bottom=0)
    label_axis(axes.yaxis, quantity)
    axes.margins(x=0.01)


def attempts_over_time(run: Run, axes: Axes) -> None:
    """Draw the attempts per second of each policy, with the offered rate and the server's capacity."""
    _over_time(run, axes, "attempts")
    if axes.has_data():
        capacity = run.case(outcomes(run)[0].case).offered_per_s / utilization(run)
        axes.axhline(capacity, color="black", ls=(0, (1, 2)), lw=1.4, label=f"server's capacity: {capacity:g}/s")
    axes.set_ylabel("attempts per second, median over starts")
    axes.set_title("Attempts over time")


def goodput_over_time(run: Run, axes: Axes) -> None:
    """Draw the goodput of each policy over time: requests due then that were answered before they were abandoned."""
    _over_time(run, axes, "goodput")
    axes.set_ylabel("goodput [requests/s], median over starts")
    axes.set_title("Goodput over time")


def _fates(run: Run, of: Outcome) -> list[float]:
    """Return how many attempts per request were answered before they were abandoned, after that, or not at all."""
    rows, count = attempts(run, of.case), len(requests(run, of.case))
    awaited, answered = int(rows["is_awaited"].sum()), int(rows["rtt_ns"].notna().sum())
    return [fate / count for fate in (awaited, answered - awaited, len(rows) - answered)]


def fates(run: Run, axes: Axes) -> None:
    """Draw the attempts per request of each policy, by what became of them; late replies are wasted work."""
    for y, of in enumerate(outcomes(run)):
        stacked_bar(axes, y, ((name, per_request, *looks) for (name, looks), per_request
                                      in zip(FATES.items(), _fates(run, of), strict=True)))  # fmt: skip
        write_beside(axes, y, across_starts(of.attempts_per_request).values("{:.2f}".format))
    name_rows(axes, [of.name for of in outcomes(run)])
    axes.set_xlabel("attempts per request, all starts together; right: median over starts")
    axes.set_title("Amplification, and what became of the attempts")


def _recovery(of: Outcome) -> str:
    """Return the median recovery in few words."""
    of_starts = across_starts(of.recovery_s)
    if np.isnan(of_starts.middle):
        return "no freeze"
    return f"after {of_starts.values('{:.1f} s'.format)}" if np.isfinite(of_starts.middle) else "no recovery"


def deadlines(run: Run, axes: Axes) -> None:
    """Draw two shares of the requests in each start: replies within the deadline, and before the attempt was abandoned.

    Beside the second stands when the policy recovered: goodput counts only such replies.
    """
    rows, names = [], []
    for place, of in enumerate(outcomes(run)):
        (colour, marker), recovery = look(place), _recovery(of)
        for values, name, more in ((of.met, "deadline", ""), (of.awaited, "not abandoned", f", {recovery}")):
            words = f"{across_starts(values).values('{:.0%}'.format)}{more}"
            rows.append(RangeRow(100 * values, colour, marker=marker, words=words))
            names.append(f"{of.name}: {name}")
    range_rows(axes, rows)
    name_rows(axes, names)
    separate_rows(axes, (place - 0.5 for place in range(2, len(rows), 2)))
    label_axis(axes.xaxis, "{:.0f} %".format)
    axes.set_xlabel("requests answered in time; bar: range over starts")
    axes.set_title("Requests answered in time, and time to recovery after the freeze")


PANELS = (attempts_over_time, goodput_over_time, fates, deadlines)
