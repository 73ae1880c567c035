"""Panels of single round trips: every call, their distribution, medians, CPU time."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.resources import total_cpu
from bench.drawing.axes import (
    FURTHEST,
    LINE_STYLES,
    RangeRow,
    cpu_bars,
    distribution_axes,
    distribution_line,
    first_size,
    lane_places,
    lane_scale,
    lines,
    looks,
    median_rows,
    name_lanes,
    name_rows,
    of_first_size,
    payload_axis,
    small,
    time_axis,
)
from bench.run.frames import Run, column
from bench.text import duration

TITLE = "How long is one round trip?"

MOST_DOTS = 60_000
MOST_SETTLED = 12  # lanes with room for how their starts settled


def calls_in_order(run: Run, axes: Axes) -> None:
    """Draw the RTT of every call against time: a lane for each case, its starts end to end."""
    shown, found = first_size(run), looks(run)
    seconds = lane_scale(run, shown)
    for lane, case in enumerate(shown):
        for start, left, second in lane_places(run, case, lane, seconds):
            _lane(run, axes, start, left, second, found[case].colour)
    axes.set_yscale("log")
    names = ["\n".join(run.labels[case].split(" ", 1)) for case in shown]
    if len(shown) <= MOST_SETTLED:
        names = [f"{name}\n{_settled(run, case)}" for name, case in zip(names, shown, strict=True)]
    name_lanes(axes, names, seconds)
    axes.set_ylabel("RTT; line: running median")
    time_axis(axes.yaxis)
    axes.set_title(f"Every call{of_first_size(run)}; marks on top: end of warm-up{_held(run, axes, shown)}")


def _held(run: Run, axes: Axes, cases: list[int]) -> str:
    """End the vertical axis where single calls would stretch it; return the words that name the longest one."""
    last, longest = FURTHEST * run.cases.loc[cases, column(0.5)].max(), axes.dataLim.y1
    if not longest > last:
        return ""
    axes.set_ylim(top=last)
    return f"; off the axis: up to {duration(longest)}"


def _settled(run: Run, case: int) -> str:
    """Return how many starts of a case settled in which way."""
    starts = run.ledger_of(case).index
    labels = [run.settlings[start].label for start in starts if start in run.settlings]
    return "\n".join(f"{labels.count(label)} {label}" for label in dict.fromkeys(labels))


def _lane(run: Run, axes: Axes, start: int, left: float, second: float, colour: Any) -> None:
    """Draw one start's calls as dots and their running median as a line; the warm-up is pale."""
    rows = run.samples[run.samples["start"] == start]
    rows = rows.iloc[:: max(1, len(rows) * len(run.ledger) // MOST_DOTS)] if len(rows) > 400 else rows
    time, rtt = rows["t_send_ns"].to_numpy(), rows["rtt_ns"].to_numpy() / 1e3
    x = left + second * time / 1e9
    cut = left + second * run.ledger.loc[start, "warm_up_ns"] / 1e9
    axes.plot([cut, cut], [0.965, 1], color="black", lw=1, transform=axes.get_xaxis_transform())
    for warm, alpha in ((False, 0.12), (True, 0.35)):
        of = rows["warm"].to_numpy() == warm
        axes.plot(x[of], rtt[of], ".", ms=1.6, mew=0, color=colour, alpha=alpha, rasterized=True)
    bins = np.array_split(np.arange(len(x)), min(25, len(x)))
    middle = [np.median(rtt[b]) for b in bins]
    axes.plot([x[b].mean() for b in bins], middle, color="black", lw=1, solid_capstyle="butt")


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of all calls after the warm-up; above 90 % each further nine is as high."""
    found = looks(run)
    for case in first_size(run):
        distribution_line(
            run, axes, case, found[case].colour, LINE_STYLES[run.case(case).transport], found[case].marker
        )
    distribution_axes(axes)
    axes.set_title(f"Distribution of the RTT{of_first_size(run)}")


def medians(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start and the median over starts, for each case; or against the payload."""
    if _is_sweep(run):
        return _over_payload(
            run, axes, column(0.5), "median RTT", time_axis, "Median RTT by payload; band: range over starts"
        )
    cases, found = run.cases.dropna(subset=column(0.5)), looks(run)
    own = cases.loc[cases["system"] == "loopback", column(0.5)]
    off = own.map(lambda us: f"◂ {duration(us)}, off the axis: instrument overhead")
    each = {case: run.starts_of(case)[column(0.5)] for case in cases.index}
    rows = (RangeRow(each[c], found[c].colour, instead=off.get(c, ""), marker=found[c].marker) for c in cases.index)
    median_rows(axes, rows)
    name_rows(axes, cases["label"], small(len(cases)))
    return None


def cpu_per_call(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of client, server and router; unknown values are named."""
    if _is_sweep(run):
        return _over_payload(
            run, axes, "cpu", "CPU time per call", time_axis, "CPU time per call, all roles; band: range over starts"
        )
    cases = run.cases.dropna(subset="client_cpu_us_per_call")
    cpu_bars(run, axes, cases, _unknown_cpu)
    name_rows(axes, cases["label"], small(len(cases)))
    axes.legend()
    axes.set_title("CPU time per call, by role")
    return None


def _unknown_cpu(row: "pd.Series[Any]") -> str:
    return "\n(server: not known)" if row["target"] else ""


def _is_sweep(run: Run) -> bool:
    """Return whether several payload sizes were measured with calls."""
    calls = run.round_trips()
    return calls["payload_bytes"].nunique() > 1


def _over_payload(run: Run, axes: Axes, name: str, what: str, scale: Callable[[Any], None], title: str) -> None:
    cases = run.round_trips().copy()
    if name == "cpu":
        every = total_cpu(run.starts).groupby(run.starts["case"])
        cases["cpu"], cases["cpu_low"], cases["cpu_high"] = total_cpu(cases), every.min(), every.max()
    axes.set(xscale="log", yscale="log")
    lines(run, axes, cases, "payload_bytes", name)
    payload_axis(axes, cases["payload_bytes"])
    scale(axes.yaxis)
    axes.set_ylabel(what)
    axes.legend()
    axes.set_title(title)


PANELS = (calls_in_order, distribution, medians, cpu_per_call)
