"""Panels of single round trips: calls in order, their distribution, medians, CPU time."""

import numpy as np
from matplotlib.axes import Axes

from bench.analysis.resources import total_cpu
from bench.drawing.axes import (
    LINE_STYLES,
    RangeRow,
    cpu_bars,
    distribution_of,
    draw_cdfs,
    end_to_end,
    first_size,
    lines,
    log_axis,
    looks,
    median_rows,
    name_rows,
    of_first_size,
    payload_axis,
)
from bench.run.frames import Run, column
from bench.stats import Array
from bench.text import duration

TITLE = "How long is one round trip?"

MOST_DOTS = 60_000


def calls_in_order(run: Run, axes: Axes) -> None:
    """Draw the RTT of calls against time: the starts of all cases, end to end; pauses between slices left out."""
    shown, in_slices = first_size(run), len(run.stored_slices) > 0
    dots = calls = 0
    for case, start, begin in end_to_end(run, shown):
        if not in_slices:
            axes.axvline(begin + run.ledger.loc[start, "warm_up_ns"] / 1e9, 0.965, 1, color="black", lw=1)
        of_start = _start(run, axes, start, begin, looks(run)[case].colour)
        dots += int(np.count_nonzero(of_start))
        calls += len(of_start)
    for case in shown:
        axes.plot([], [], "o", ms=5, color=looks(run)[case].colour, label=run.labels[case])
    log_axis(axes.yaxis)
    axes.set_xlabel(f"time [s]: the {'slices' if in_slices else 'starts'} of each case, end to end")
    axes.set_ylabel("RTT; line: running median")
    pale = "pale: not counted" if in_slices else "marks on top: end of warm-up"
    drawn = "Every call" if dots == calls else f"{dots:,} of {calls:,} calls, in order"
    axes.set_title(f"{drawn}{of_first_size(run)}; {pale}")


def _start(run: Run, axes: Axes, start: int, begin_s: float, colour: str) -> Array:
    """Draw one start's calls as dots, those that do not count pale, and the running median of all of them as a line.

    Return for each call whether it is a dot, shape (n,).
    """
    calls, is_warm = run.calls.of(start), run.is_warm[run.calls.place_of(start)]
    time_s, rtt = begin_s + calls.t_send_ns / 1e9, calls.rtt_ns / 1e3
    is_dot = np.arange(calls.size) % (max(1, calls.size * len(run.ledger) // MOST_DOTS) if calls.size > 400 else 1) == 0
    for warm, alpha in ((False, 0.12), (True, 0.35)):
        of = is_dot & (is_warm == warm)
        axes.plot(time_s[of], rtt[of], ".", ms=1.6, mew=0, color=colour, alpha=alpha, rasterized=True)
    bins = np.array_split(np.arange(calls.size), min(25, calls.size))
    axes.plot([time_s[part].mean() for part in bins], [np.median(rtt[part]) for part in bins], color="black", lw=1)
    return is_dot


def distribution(run: Run, axes: Axes) -> None:
    """Draw the empirical CDF of the RTT of all calls after the warm-up; above 90 % each further nine is as high."""
    draw_cdfs(axes, [distribution_of(run, case, looks(run)[case], LINE_STYLES[run.case(case).transport])
                         for case in first_size(run)])  # fmt: skip
    axes.set_title(f"Distribution of the RTT{of_first_size(run)}")


def medians(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start and the median over starts, for each case; or against the payload."""
    if _is_sweep(run):
        return _over_payload(run, axes, column(0.5), "median RTT", "Median RTT by payload; band: range over starts")
    cases = run.cases.dropna(subset=column(0.5))
    own = {case: run.over_starts(case, column(0.5)) for case in run.find(system="loopback")}
    off = {case: f"◂ {of.values(duration)}, off the axis: instrument overhead" for case, of in own.items()}
    drawn = {case: looks(run)[case] for case in cases.index}
    median_rows(axes, (RangeRow(run.starts_of(case)[column(0.5)], colour, instead=off.get(case, ""), marker=marker)
                       for case, (colour, marker) in drawn.items()))  # fmt: skip
    name_rows(axes, cases["label"])


def cpu_per_call(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call of client, server and router; unknown values are named."""
    if _is_sweep(run):
        return _over_payload(run, axes, "cpu", "CPU time per call",
                             "CPU time per call, all roles; band: range over starts")  # fmt: skip
    cases = run.cases.dropna(subset="client_cpu_us_per_call")
    cpu_bars(run, axes, cases)
    name_rows(axes, cases["label"])
    axes.set_title("CPU time per call, by role")


def _is_sweep(run: Run) -> bool:
    """Return whether several payload sizes were measured with calls."""
    return run.round_trips()["payload_bytes"].nunique() > 1


def _over_payload(run: Run, axes: Axes, name: str, what: str, title: str) -> None:
    cases = run.round_trips().copy()
    if name == "cpu":
        of_starts = total_cpu(run.starts).groupby(run.starts["case"])
        cases["cpu"], cases["cpu_low"], cases["cpu_high"] = total_cpu(cases), of_starts.min(), of_starts.max()
    lines(run, axes, cases, "payload_bytes", name)
    payload_axis(axes, cases["payload_bytes"])
    log_axis(axes.yaxis)
    axes.set_ylabel(what)
    axes.set_title(title)


PANELS = (calls_in_order, distribution, medians, cpu_per_call)
