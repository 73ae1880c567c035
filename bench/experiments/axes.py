"""What panels share: the house style, numbers in words, scales, lines and rows."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, MaxNLocator, NullLocator

from bench import stats
from bench.analysis.quantiles import quantile
from bench.analysis.resources import total_cpu
from bench.run.frames import Run, numbered
from bench.text import duration, plain, quantity

Panel = Callable[[Run, Axes], None]


LINE_STYLES = {"inproc": ":", "ipc": "-", "tcp": "--"}


MARKERS = {"inproc": "^", "ipc": "o", "tcp": "s"}


ROLE_COLOURS = {
    "client": "#0173b2",
    "server": "#de8f05",
    "router": "#029e73",
    "controller": "#ca9161",
}  # seaborn's "colorblind"


GREY = "#6b6b6b"

COLOURS = (  # seaborn's "colorblind": colours that colour-blind people can distinguish
    *("#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9"),
)

WHITEGRID: dict[Any, Any] = {  # seaborn's style of that name; importing seaborn imports scipy.stats: 0.8 s of CPU time
    "figure.facecolor": "white",
    "axes.labelcolor": ".15",
    "xtick.direction": "out",
    "ytick.direction": "out",
    "xtick.color": ".15",
    "ytick.color": ".15",
    "axes.axisbelow": True,
    "grid.linestyle": "-",
    "text.color": ".15",
    "font.family": ["sans-serif"],
    "font.sans-serif": ["Arial", "DejaVu Sans", "Liberation Sans", "Bitstream Vera Sans", "sans-serif"],
    "lines.solid_capstyle": "round",
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "xtick.top": False,
    "ytick.right": False,
    "axes.grid": True,
    "axes.facecolor": "white",
    "axes.edgecolor": ".8",
    "grid.color": ".8",
    "axes.spines.left": True,
    "axes.spines.bottom": True,
    "axes.spines.right": True,
    "axes.spines.top": True,
    "xtick.bottom": False,
    "ytick.left": False,
}


@contextmanager
def style() -> Iterator[None]:
    """Apply the house style inside a ``with`` block: readable in print and on a projector."""
    fixed: dict[Any, Any] = {
        "svg.hashsalt": "roundtrip",  # the same run gives the same bytes
        "figure.dpi": 100,
        "savefig.dpi": 150,
        "axes.titleweight": "bold",
        "axes.titlesize": 12,
        "axes.titlelocation": "left",
        "font.size": 11,
        "axes.labelsize": 11,
        "legend.fontsize": 10,
        "legend.frameon": True,
        "legend.framealpha": 0.9,
        "grid.color": "#dddddd",
    }
    with mpl.rc_context(WHITEGRID | fixed):
        yield


def log_axis(axis: Any, text: Callable[[float], str]) -> None:
    """Label a logarithmic axis in words, at round values, as densely as there is room for."""
    low, high = axis.get_view_interval()
    decades = np.log10(high / low)
    subs = (
        (1.0,)
        if decades > 3
        else (1.0, 3.0)
        if decades > 1.9
        else (1.0, 2.0, 5.0)
        if decades > 0.9
        else (1.0, 1.5, 2.0, 3.0, 5.0, 7.0)
    )
    axis.set_major_locator(LogLocator(subs=subs, numticks=20) if decades > 0.45 else MaxNLocator(6))
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(text(value))))
    axis.set_minor_locator(NullLocator())


def time_axis(axis: Any) -> None:
    """Label a logarithmic axis of times."""
    log_axis(axis, duration)


def linear_axis(axis: Any, text: Callable[[float], str] = "{:g}".format) -> None:
    """Label a linear axis in words, or with its bare numbers."""
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(text(value))))


def size(payload_bytes: float) -> str:
    """Return a payload in words."""
    return quantity(payload_bytes, "B")


def ticks_at(axis: Any, values: Iterable[float]) -> None:
    """Put ticks at these values and nowhere else."""
    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_minor_locator(FixedLocator([]))


def colours(run: Run) -> dict[int, Any]:
    """Return a colour for each case, the same for equal system and transport; loopback is grey.

    The palette is one that colour-blind people can tell apart.
    """
    pairs = list(dict.fromkeys((case.system, case.transport) for case in run.plan.cases if case.system != "loopback"))
    chosen = {pair: COLOURS[place % len(COLOURS)] for place, pair in enumerate(pairs)}
    return {i: chosen.get((case.system, case.transport), GREY) for i, case in enumerate(run.plan.cases)}


def lines(run: Run, axes: Axes, cases: pd.DataFrame, x: str, y: str) -> None:
    """Draw one line for each system and transport, with the range over starts as a band."""
    for (system, transport), rows in cases.groupby(["system", "transport"], sort=False):
        rows = rows.sort_values(x)
        colour = colours(run)[rows.index[0]]
        draw = {"color": colour, "ls": LINE_STYLES[transport], "marker": MARKERS[transport]}
        axes.plot(rows[x], rows[y], ms=6, lw=1.8, label=f"{system} {transport}", **draw)
        band(axes, rows, x, y, colour)


def band(axes: Axes, rows: pd.DataFrame, x: str, y: str, colour: Any, alpha: float = 0.2) -> None:
    """Draw the range over starts of a column of ``Run.cases`` as a band."""
    axes.fill_between(rows[x], rows[f"{y}_low"], rows[f"{y}_high"], color=colour, alpha=alpha, lw=0)


def payload_axis(axes: Axes, sizes: "pd.Series[int]") -> None:
    """Label the horizontal axis with the payloads that were measured."""
    ticks_at(axes.xaxis, sorted(sizes.unique()))
    linear_axis(axes.xaxis, size)
    axes.set_xlabel("payload")


def nothing(axes: Axes, why: str) -> None:
    """Say why a panel is empty."""
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, why, ha="center", va="center", transform=axes.transAxes, color=GREY)


def range_row(axes: Axes, y: float, each: Any, colour: Any, text: Callable[[float], str], more: str = "") -> None:
    """Draw one value of each start as dots, their range as a bar, their median as a stroke and in words."""
    middle, low, high = stats.across_starts(list(each))
    axes.plot([low, high], [y, y], color=colour, lw=7, alpha=0.3, solid_capstyle="round")
    axes.plot(each, [y] * len(each), "o", ms=5, mec="white", mew=0.6, color=colour)
    axes.plot(middle, y, "|", ms=16, mew=2, color="black")
    axes.annotate(text(middle) + more, (high, y), (12, 0), textcoords="offset points", va="center", fontsize=10.5)


class RangeRow(NamedTuple):
    """One row of ``range_rows``: a value of each start, its colour, and words behind its median.

    ``instead``: what is said in place of the values, where there are none to show.
    """

    each: Any
    colour: Any
    more: str = ""
    instead: str = ""


def range_rows(axes: Axes, rows: Iterable[RangeRow], text: Callable[[float], str] = duration) -> None:
    """Draw rows from the top down: the value of each start, their range and their median, or what is said instead."""
    for y, row in enumerate(rows):
        if row.instead:
            axes.text(0.02, y, row.instead, transform=axes.get_yaxis_transform(), va="center")
        else:
            range_row(axes, y, row.each, row.colour, text, row.more)


def median_rows(axes: Axes, rows: Iterable[RangeRow]) -> None:
    """Draw rows of the median RTT of each start, in us, on a logarithmic axis."""
    range_rows(axes, rows)
    rtt_axis(axes)
    axes.set_title("Median: each start, their range and middle")


def name_rows(axes: Axes, names: Iterable[str], fontsize: float | None = None, ruled: bool = False) -> None:
    """Name the rows on the vertical axis, the first on top; without lines along them unless ``ruled``."""
    known = list(names)
    axes.set_yticks(range(len(known)), known, fontsize=fontsize)
    axes.set_ylim(len(known) - 0.4, -0.6)
    if not ruled:
        axes.yaxis.grid(False)


def name_lanes(axes: Axes, names: Iterable[str], fontsize: float | None = None) -> None:
    """Name lanes of width 1 on the horizontal axis, with a line between any two."""
    known = list(names)
    axes.set_xlim(0, len(known))
    axes.xaxis.grid(False)
    for edge in range(1, len(known)):
        axes.axvline(edge, color="#bbbbbb", lw=0.8)
    axes.set_xticks(np.arange(len(known)) + 0.5, known, fontsize=fontsize)


def log_room(
    axes: Axes, left: float, power: float, times: float = 1.0, text: Callable[[float], str] = duration
) -> None:
    """Make the horizontal axis logarithmic, with room for the words behind the rows.

    It begins ``left`` times below the least value, and ends as far above the largest as ``power`` of the whole span
    and ``times`` as much.
    """
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(low / left, high * (high / low) ** power * times)
    log_axis(axes.xaxis, text)


def rtt_axis(axes: Axes) -> None:
    """Make room for the words behind the rows, on a logarithmic time axis."""
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    axes.set_xlim(low / (high / low) ** 0.12, high * (high / low) ** 0.22 * 1.08)
    time_axis(axes.xaxis)
    axes.set_xlabel("median RTT of a start")


def tail_scale(fractions: Any) -> Any:
    """Return heights for fractions: linear up to 90 %, then one step for each further nine."""
    fractions = np.asarray(fractions, float)
    tail = 1 - np.log10(np.maximum(1 - fractions, 1e-9))
    return np.where(fractions < 0.9, 2 * fractions / 0.9, tail)


def curve(axes: Axes, times: Any, label: str, colour: Any, line: str = "-", width: float = 2) -> None:
    """Draw the distribution of some times in us on the scale of tails."""
    values, fractions = stats.distribution(np.asarray(times))
    axes.plot(values, tail_scale(fractions), line, lw=width, color=colour, label=label)


def distribution_line(
    run: Run, axes: Axes, case: int, colour: Any, line: str, marker: str, name: str | None = None
) -> None:
    """Draw one case's distribution; at each quantile that its calls carry, a mark with its interval."""
    rtt = run.rtt_us(case)
    label = f"{name or run.labels[case]}, n = {len(rtt):,}"
    curve(axes, rtt, label, colour, line, 1.8)
    for p in stats.QUANTILES:
        found = quantile(run, case, p)
        axes.plot(found.value, tail_scale(p), marker, color=colour, ms=5.5)
        axes.plot([found.low, found.high], [tail_scale(p)] * 2, color=colour, lw=4.5, alpha=0.3, solid_capstyle="round")


def distribution_axes(axes: Axes) -> None:
    """Label the axes of a distribution."""
    axes.set_xscale("log")
    axes.margins(x=0.02)
    time_axis(axes.xaxis)
    ticks = (0, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999)
    axes.set_yticks(tail_scale(ticks), [f"{100 * p:.6g} %" for p in ticks])
    axes.set_ylim(0, 5.4)
    axes.axhline(2, color="#999999", lw=1)
    axes.set_xlabel("RTT")
    axes.set_ylabel("calls that took no longer")
    axes.legend(loc="best", handlelength=2.6, fontsize=9.5)


def cpu_bars(run: Run, axes: Axes, cases: pd.DataFrame, more: Callable[[Any], str] = lambda row: "") -> None:
    """Draw the CPU time of a call as a bar for each case, by role, with the range of the starts' totals.

    ``more`` gives words behind a case's total.
    """
    left, every = np.zeros(len(cases)), total_cpu(run.starts).groupby(run.starts["case"])
    for role, colour in ROLE_COLOURS.items():
        values = cases[f"{role}_cpu_us_per_call"].fillna(0).to_numpy()
        if values.max() > 0.002 * total_cpu(cases).max():  # what cannot be seen has no place in the legend
            axes.barh(range(len(cases)), values, left=left, color=colour, label=role, height=0.62)
            left = left + values
    low, high = every.min().reindex(cases.index), every.max().reindex(cases.index)
    axes.hlines(range(len(cases)), low, high, color="black", lw=1.4)
    axes.set_xlim(0, 1.2 * max(left.max(), high.max()))
    linear_axis(axes.xaxis)
    axes.set_xlabel("CPU time of one call [µs]; line: range over starts")
    for y, (_, row) in enumerate(numbered(cases)):
        text, at = duration(left[y]) + more(row), (max(left[y], high.iloc[y]), y)
        axes.annotate(text, at, (6, 0), textcoords="offset points", va="center", fontsize=10.5)


def first_size(run: Run) -> list[int]:
    """Return the cases with a server of the first payload size: those that panels of single calls show."""
    cases = run.round_trips()
    return [case for case, row in numbered(cases) if row["payload_bytes"] == cases["payload_bytes"].iloc[0]]
