"""Panels of single round trips: every call, their distribution, medians, CPU time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.resources import total_cpu
from bench.experiments.axes import (
    LINE_STYLES,
    MARKERS,
    RangeRow,
    colours,
    cpu_bars,
    distribution_axes,
    distribution_line,
    first_size,
    lines,
    median_rows,
    name_lanes,
    name_rows,
    payload_axis,
    time_axis,
)
from bench.run.frames import Run, column
from bench.text import duration

TITLE = "How long is one round trip?"

MOST_DOTS = 60_000


def calls_in_order(run: Run, axes: Axes) -> None:
    """Draw every call in order: a lane for each case, its starts one behind the other, time inside each."""
    shown, colour = first_size(run), colours(run)
    for lane, case in enumerate(shown):
        starts = run.ledger_of(case).index
        for place, start in enumerate(starts):
            _lane(run, axes, start, lane + 0.04 + 0.92 * place / len(starts), 0.92 / len(starts), colour[case])
    axes.set_yscale("log")
    names = ["\n".join([*run.labels[case].split(" ", 1), _settled(run, case)]) for case in shown]
    name_lanes(axes, names, fontsize=9.5)
    axes.set_ylabel("RTT")
    time_axis(axes.yaxis)
    axes.set_title("Every call, in order: starts side by side; ticks on top: warm-up cut")


def _settled(run: Run, case: int) -> str:
    """Return how many starts of a case settled in which way."""
    starts = run.ledger_of(case).index
    labels = [run.settlings[start].label for start in starts if start in run.settlings]
    return "\n".join(f"{labels.count(label)} {label}" for label in dict.fromkeys(labels))


def _lane(run: Run, axes: Axes, start: int, left: float, width: float, colour: Any) -> None:
    """Draw one start's calls as dots and their running median as a line; the warm-up is pale."""
    rows = run.samples[run.samples["start"] == start]
    rows = rows.iloc[:: max(1, len(rows) * len(run.ledger) // MOST_DOTS)] if len(rows) > 400 else rows
    time, rtt = rows["t_send_ns"].to_numpy(), rows["rtt_ns"].to_numpy() / 1e3
    x = left + 0.94 * width * time / max(time[-1], 1)
    cut = left + 0.94 * width * run.ledger.loc[start, "warm_up_ns"] / max(time[-1], 1)
    axes.plot([cut, cut], [0.965, 1], color="black", lw=1, transform=axes.get_xaxis_transform())
    for warm, alpha in ((False, 0.12), (True, 0.35)):
        of = rows["warm"].to_numpy() == warm
        axes.plot(x[of], rtt[of], ".", ms=1.6, mew=0, color=colour, alpha=alpha, rasterized=True)
    bins = np.array_split(np.arange(len(x)), min(25, len(x)))
    middle = [np.median(rtt[b]) for b in bins]
    axes.plot([x[b].mean() for b in bins], middle, color="black", lw=1, solid_capstyle="butt")


def distribution(run: Run, axes: Axes) -> None:
    """Draw the distribution of all calls after the warm-up; above 90 % each further nine has equal height."""
    colour = colours(run)
    for case in first_size(run):
        transport = run.case(case).transport
        distribution_line(run, axes, case, colour[case], LINE_STYLES[transport], MARKERS[transport])
    distribution_axes(axes)
    axes.set_title("Distribution; p50, p90, p99, p99.9 over starts")


def medians(run: Run, axes: Axes) -> None:
    """Draw each case's median over its starts, the starts themselves, and their range; or against payload."""
    if _is_sweep(run):
        return _over_payload(run, axes, column(0.5), "median RTT", time_axis, "Median RTT against payload")
    cases, colour = run.cases.dropna(subset=column(0.5)), colours(run)
    off = cases.loc[cases["system"] == "loopback", column(0.5)].map(lambda own: f"◂ {duration(own)}, off the axis")
    each = {case: run.starts_of(case)[column(0.5)] for case in cases.index}
    median_rows(axes, (RangeRow(each[case], colour[case], instead=off.get(case, "")) for case in cases.index))
    name_rows(axes, cases["label"], _small(cases), ruled=True)
    return None


def cpu_per_call(run: Run, axes: Axes) -> None:
    """Draw the CPU time that one call costs the client and the server; what is not known is said."""
    if _is_sweep(run):
        return _over_payload(run, axes, "cpu", "CPU per call", time_axis, "CPU per call, client and server together")
    cases = run.cases.dropna(subset="client_cpu_us_per_call")
    cpu_bars(run, axes, cases, _unknown_cpu)
    axes.set_xlim(0, axes.get_xlim()[1] * (1.75 if cases["target"].any() else 1.2))
    name_rows(axes, cases["label"], _small(cases))
    axes.legend(loc="lower right")
    axes.set_title("CPU per call")
    return None


def _unknown_cpu(row: "pd.Series[Any]") -> str:
    if row["target"]:
        return " (server: not known)"
    return " (no server)" if row["system"] == "loopback" else ""


def _small(cases: pd.DataFrame) -> float | None:
    """Return a small font for the names of many cases."""
    return 9 if len(cases) > 10 else None


def _is_sweep(run: Run) -> bool:
    """Return whether several payload sizes were measured with calls."""
    calls = run.round_trips()
    return calls["payload_bytes"].nunique() > 1


def _over_payload(run: Run, axes: Axes, name: str, what: str, scale: Callable[[Any], None], title: str) -> None:
    cases = run.round_trips().copy()
    if name == "cpu":
        every = total_cpu(run.starts).groupby(run.starts["case"])
        cases["cpu"], cases["cpu_low"], cases["cpu_high"] = total_cpu(cases), every.min(), every.max()
    lines(run, axes, cases, "payload_bytes", name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    payload_axis(axes, cases["payload_bytes"])
    scale(axes.yaxis)
    axes.set_ylabel(what)
    axes.legend()
    axes.set_title(title)


PANELS = (calls_in_order, distribution, medians, cpu_per_call)
