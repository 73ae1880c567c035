"""What panels share: the house style, palettes, axes labelled in words, lines, rows, bars and distributions."""

import math
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib as mpl
import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator

from bench import stats
from bench.analysis.quantiles import Quantile, crossed, quantile
from bench.analysis.resources import cpu_over_starts, total_cpu
from bench.run.frames import Run, numbered
from bench.stats.intervals import Interval
from bench.text import duration, plain, quantity, ratio_ends

LINE_STYLES = {"inproc": ":", "ipc": "-", "tcp": "--"}

ROLE_COLOURS = {  # muted, and none of them a colour of systems
    "client": "#2f4858",
    "server": "#8aa4b8",
    "router": "#8c3b5e",
    "controller": "#d9c9a3",
}

ROLE_HATCHES = {"client": "", "server": "", "router": "//", "controller": ".."}  # for prints in grey

ROLE_MARKERS = {"client": "o", "server": "s", "router": "D", "controller": "^"}

GREY = "#6b6b6b"

SYSTEM_COLOURS = (  # those of seaborn's "colorblind" that are dark enough for lines
    *("#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#ca9161", "#56b4e9"),
)

MORE_COLOURS = ("#332288", "#882255", "#6b8e23", "#444444", "#00b3b3", "#7a4a12")  # for the eighth system and later

SYSTEM_MARKERS = ("o", "s", "^", "D")  # their number and that of all colours have no common divisor


class Look(NamedTuple):
    """How one system, or one case, is drawn everywhere in a figure."""

    colour: str
    marker: str


def look(place: int) -> Look:
    """Return the look of the system at a place; 13 places differ in colour, 52 in colour or marker."""
    colours = SYSTEM_COLOURS + MORE_COLOURS
    return Look(colours[place % len(colours)], SYSTEM_MARKERS[place % len(SYSTEM_MARKERS)])


HOUSE_STYLE: dict[Any, Any] = {
    "patch.edgecolor": "w",
    "patch.force_edgecolor": True,
    "svg.hashsalt": "roundtrip",  # the same run gives the same bytes
    "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib; each further one is looked up for every text
    "figure.autolayout": False,  # whatever a person's matplotlibrc says
    "figure.constrained_layout.use": False,
    "figure.constrained_layout.w_pad": 0.1,
    "figure.constrained_layout.h_pad": 0.06,
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "axes.titleweight": "bold",
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # no panel has ticks on top: else each drawing measures all labels to find that out
    "font.size": 11,
    "axes.labelsize": 11,
    "xtick.labelsize": 10,
    "ytick.labelsize": 10,
    "legend.fontsize": 9,
    "grid.color": "#dddddd",
}

_drawing = threading.RLock()


@contextmanager
def style() -> Iterator[None]:
    """Apply the house style inside a ``with`` block: readable in print and on a projector.

    The style is one for the whole process, so another thread that wants to draw waits until this one has drawn.
    """
    with _drawing, mpl.rc_context(mpl.style.library["seaborn-v0_8-whitegrid"] | HOUSE_STYLE):
        yield


def finish(axes: Axes) -> None:
    """Put the legend below the panel, where it covers no data, one entry for each label; wrap what is too wide.

    The panel has its figure, or subfigure, for itself: the layout engine gives its legend room.
    """
    axes.set_title(axes.get_title(loc="left"), wrap=True)
    axes.set_xlabel(axes.get_xlabel(), wrap=True)
    entries: dict[str, Any] = {}
    for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
        entries.setdefault(str(label), handle)
    if entries:
        figure: Any = axes.get_figure()
        letters = max(len(line) for label in entries for line in label.splitlines()) + 9  # with the handle
        columns = max(1, int(figure.bbox.width / figure.dpi * 72 / (5.3 * letters)))
        figure.legend(entries.values(), entries, loc="outside lower left", ncols=min(columns, len(entries)))


class LogTicks(LogLocator):
    """Ticks at 1, 2 and 5 of each decade, at 1 and 3, or at decades only: as many as there is room for."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks between two ends; linear ones, where these are less than a decade apart."""
        axis: Any = self.axis
        most = max(3, int(0.7 * axis.get_tick_space()))
        for subs in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
            self.set_params(subs=subs, numticks=most)
            ticks = np.asarray(super().tick_values(vmin, vmax))
            inside = int(((ticks >= vmin) & (ticks <= vmax)).sum())
            if (2 if len(subs) == 1 else 3) <= inside <= most:
                return ticks
        return MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(vmin, vmax)


def log_axis(axis: Any, text: Callable[[float], str] = duration) -> None:
    """Make an axis logarithmic, and write its values in words."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(LogTicks())
    axis.set_minor_locator(NullLocator())
    label_axis(axis, text)


def label_axis(axis: Any, text: Callable[[float], str]) -> None:
    """Write the values of an axis in words."""
    axis.set_major_formatter(lambda value, _: plain(text(value)))


def ratio_axis(axes: Axes, text: Callable[[float], str] = "{:g}".format) -> None:
    """Make the horizontal axis one of ratios, logarithmic, with a line at 1."""
    axes.axvline(1, color="black", lw=1, zorder=0.9)
    log_axis(axes.xaxis)
    axes.xaxis.set_major_formatter(lambda value, _: text(value))


def ticks_at(axis: Any, values: Iterable[float], text: Callable[[float], str] = "{:g}".format) -> None:
    """Put ticks at these values and nowhere else, and write them in words."""
    axis.set_major_locator(FixedLocator(list(values)))
    axis.set_minor_locator(NullLocator())
    label_axis(axis, text)


def size(payload_bytes: float) -> str:
    """Return a payload in words."""
    return quantity(payload_bytes, "B")


def payload_axis(axes: Axes, sizes: "pd.Series[int]") -> None:
    """Make the horizontal axis logarithmic, with ticks at the payloads that were measured."""
    axes.set_xscale("log")
    ticks_at(axes.xaxis, sorted(sizes.unique()), size)
    axes.set_xlabel("payload")


def looks(run: Run) -> dict[int, Look]:
    """Return the look of each case, the same for equal system and transport; loopback is grey."""
    pairs = list(dict.fromkeys((case.system, case.transport) for case in run.plan.cases if case.system != "loopback"))
    chosen = {pair: look(place) for place, pair in enumerate(pairs)}
    return {
        number: chosen.get((case.system, case.transport), Look(GREY, "o")) for number, case in enumerate(run.plan.cases)
    }


def lines(run: Run, axes: Axes, cases: pd.DataFrame, x: str, y: str) -> None:
    """Draw one line for each system and transport, with the range over starts as a band."""
    for (system, transport), rows in cases.groupby(["system", "transport"], sort=False):
        drawn = looks(run)[rows.index[0]]
        draw_line(axes, rows.sort_values(x), x, y, drawn, f"{system} {transport}", LINE_STYLES[str(transport)])


def draw_line(axes: Axes, rows: pd.DataFrame, x: str, y: str, drawn: Look, label: str, line: str = "-") -> None:
    """Draw a column of ``Run.cases`` against another, with the range over starts as a band."""
    axes.plot(rows[x], rows[y], line, color=drawn.colour, marker=drawn.marker, ms=6, lw=1.8, label=label)
    band(axes, rows[x], rows[f"{y}_low"], rows[f"{y}_high"], drawn.colour)


def band(axes: Axes, x: Any, low: Any, high: Any, colour: str) -> None:
    """Draw a range over starts as a band."""
    axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)


def say_why_empty(axes: Axes, why: str) -> None:
    """Say why a panel is empty."""
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, textwrap.fill(why, 60), ha="center", va="center", transform=axes.transAxes, color=GREY)


@contextmanager
def hollow(axes: Axes, is_hollow: bool = True) -> Iterator[None]:
    """Draw what a ``with`` block draws hollow: markers and bars unfilled, ranges as thin lines, words in grey."""
    before = set(axes.get_children())
    yield
    for artist in axes.get_children():
        if is_hollow and artist not in before:
            _empty(artist)


def _empty(artist: Any) -> None:
    """Take the filling out of something drawn, and keep its colour as its outline."""
    if isinstance(artist, Line2D):
        if artist.get_marker() in Line2D.filled_markers:
            artist.set(markerfacecolor="white", markeredgecolor=artist.get_color(), markeredgewidth=1.3)
        if artist.get_linewidth() > BROAD:
            artist.set_alpha(1)
        artist.set_linewidth(min(THIN, artist.get_linewidth()))
    elif isinstance(artist, Patch):
        artist.set(edgecolor=artist.get_facecolor(), facecolor="white", linewidth=1.4)
    elif isinstance(artist, PolyCollection):
        artist.set(edgecolor=artist.get_facecolor(), facecolor="none", linewidth=0.8)
    elif isinstance(artist, Text):
        artist.set_color(GREY)


THIN, BROAD = 1.2, 3  # points: a line of what is hollow; one that is broader than the second is the bar of a range


def write_beside(axes: Axes, y: float, words: str, fontsize: float = 9.5) -> None:
    """Write words on the right of the axes, at the height of a row: the axis itself ends near the data."""
    at = axes.get_yaxis_transform()
    axes.annotate(words, (1, y), (6, 0), at, "offset points", va="center", fontsize=fontsize, annotation_clip=False)


def level(axes: Axes, y: float, words: str) -> None:
    """Draw a dashed line across the axes, with words in grey below its left end."""
    axes.axhline(y, color=GREY, ls="--", lw=1)
    at = axes.get_yaxis_transform()
    axes.annotate(words, (0, y), (5, -3), at, "offset points", va="top", color=GREY, fontsize=10)


class RangeRow(NamedTuple):
    """One row of ``range_rows``: a value of each start, its colour and marker, and words behind its median.

    ``instead``: what is written in place of the values, where there are none to show. ``words``: what is written
    beside the row in place of the median. ``line``: the estimate that they give, drawn in its place. ``is_hollow``: it
    was measured elsewhere.
    """

    values: Any
    colour: Any
    more: str = ""
    instead: str = ""
    marker: str = "o"
    words: str = ""
    line: float = np.nan
    is_hollow: bool = False


def range_rows(axes: Axes, rows: Iterable[RangeRow], text: Callable[[float], str] = duration) -> None:
    """Draw rows from the top down."""
    for y, row in enumerate(rows):
        range_row(axes, y, row, text)


def range_row(
    axes: Axes, y: float, row: RangeRow, text: Callable[[float], str] = duration, fontsize: float = 10
) -> None:
    """Draw one value of each start as markers, their range as a bar, their median as a line; beside it the median.

    Starts with two levels have two lines, and both values beside them.
    """
    if row.instead:
        axes.text(0.02, y, row.instead, transform=axes.get_yaxis_transform(), va="center")
        return
    of = stats.across_starts(list(row.values))
    lines = of.medians if math.isnan(row.line) else (row.line,)
    with hollow(axes, row.is_hollow):
        axes.plot([of.low, of.high], [y, y], color=row.colour, lw=7, alpha=0.3, solid_capstyle="round")
        axes.plot(row.values, [y] * len(row.values), row.marker, ms=5.5, mec="white", mew=0.6, color=row.colour)
        axes.plot(lines, [y] * len(lines), "|", ms=16, mew=2, color="black")
        write_beside(axes, y, (row.words or of.values(text)) + row.more, fontsize)


def median_rows(axes: Axes, rows: Iterable[RangeRow]) -> None:
    """Draw rows of the median RTT of each start, in us, on a logarithmic axis."""
    range_rows(axes, rows)
    log_axis(axes.xaxis)
    axes.set_xlabel("median RTT of each start; bar: their range, line: their median, or two levels")
    axes.set_title("Median RTT of each start")


def interval_row(axes: Axes, y: float, ends: Any, drawn: Look, words: str = "", label: str | None = None) -> None:
    """Draw an estimate as a marker and its interval as a bar, with words beside them.

    ends: (estimate, low, high), or a spread; an interval that is not known is NaN, and has no bar.
    """
    middle, low, high = ends[:3]
    at = ends.medians if isinstance(ends, stats.Spread) else (middle,)
    axes.plot([low, high], [y, y], color=drawn.colour, lw=5, alpha=0.35, solid_capstyle="butt")
    axes.plot(at, [y] * len(at), drawn.marker, ls="", ms=6.5, color=drawn.colour, label=label)
    if words:
        write_beside(axes, y, words, 9)


def ends_of(interval: Interval) -> tuple[float, float, float]:
    """Return (estimate, low, high)."""
    return interval.middle, interval.low, interval.high


def name_rows(axes: Axes, names: Iterable[str], fontsize: float | None = None) -> None:
    """Name the rows on the vertical axis, the first on top, with a line along each."""
    listed = list(names)
    axes.set_yticks(range(len(listed)), listed, fontsize=fontsize or row_fontsize(len(listed)))
    axes.set_ylim(len(listed) - 0.4, -0.6)


def row_fontsize(rows: int) -> float:
    """Return a font size for the names of this many rows."""
    return 10.5 if rows < 8 else 9.5 if rows < 14 else 8.5 if rows < 20 else 7.5


def separate_rows(axes: Axes, edges: Iterable[float]) -> None:
    """Draw lines between groups of rows."""
    for edge in edges:
        axes.axhline(edge, color="#bbbbbb", lw=0.8)


def ratio_text(ratio: Interval) -> str:
    """Return a ratio of two cases with its interval, where it has one: "× 1.53 [1.40, 1.66]"."""
    if math.isnan(ratio.middle):
        return ""
    middle, low, high = ratio_ends(*ends_of(ratio))
    return f"× {middle}" if math.isnan(ratio.low) else f"× {middle} [{low}, {high}]"


def end_to_end(run: Run, cases: Iterable[int]) -> Iterator[tuple[int, int, float]]:
    """Yield (case, start, second at which it begins), as if the starts of all cases followed each other."""
    seconds, begin = run.samples.groupby("start")["t_send_ns"].max() / 1e9, 0.0
    for case in cases:
        for start in run.ledger_of(case).index:
            yield case, int(start), begin
            begin += float(seconds.get(start, 0.0))


def tail_scale(fractions: Any) -> Any:
    """Return heights for fractions: linear up to 90 %, then one step for each further nine."""
    fractions = np.asarray(fractions, float)
    tail = 1 - np.log10(np.maximum(1 - fractions, 1e-9))
    return np.where(fractions < 0.9, 2 * fractions / 0.9, tail)


TAIL_TOP = 0.99996  # the fraction at which the scale of tails ends


def curve(
    axes: Axes, points: tuple[Any, Any], label: str, colour: Any, line: str = "-", marker: str = "", width: float = 1.8
) -> None:
    """Draw an empirical CDF on the scale of tails, up to its top; the marker is for the legend only.

    points: (times in us, fractions), as ``stats.distribution`` returns them.
    """
    values, fractions = points
    inside = fractions < TAIL_TOP
    if len(values) and not inside.all():
        end = on_curve(values, fractions, TAIL_TOP)
        values, fractions = np.append(values[inside], end), np.append(fractions[inside], TAIL_TOP)
    axes.plot(values, tail_scale(fractions), line, lw=width, color=colour, label=label,
              marker=marker, markevery=(max(1, len(values)), 1), ms=5.5)  # fmt: skip


def distribution_line(
    run: Run, axes: Axes, case: int, colour: Any, line: str, marker: str, name: str | None = None
) -> None:
    """Draw one case's empirical CDF; on it a marker at each quantile, beside it what its starts say of it."""
    points = run.distribution_us(case)
    quantiles = [(p, quantile(run, case, p)) for p in stats.QUANTILES]
    label = f"{name or run.labels[case]}, n = {run.count(case):,}{crossed(quantiles)}"
    curve(axes, points, label, colour, line, marker)
    quantile_marks(axes, points, quantiles, Look(colour, marker))


def quantile_marks(
    axes: Axes, points: tuple[Any, Any], quantiles: Iterable[tuple[float, Quantile]], drawn: Look
) -> None:
    """Draw a marker on a curve at each quantile that is known; its interval as a bar, its median over starts as a line.

    points: the curve, as ``stats.distribution`` returns it.
    """
    for p, of in quantiles:
        if math.isnan(of.value) or not len(points[0]):
            continue
        height = float(tail_scale(p))
        axes.plot([of.low, of.high], [height] * 2, color=drawn.colour, lw=4.5, alpha=0.3, solid_capstyle="round")
        medians = of.spread.medians
        axes.plot(medians, [height] * len(medians), "|", color=drawn.colour, ms=9, mew=1.4)
        axes.plot(on_curve(*points, p), height, drawn.marker, color=drawn.colour, ms=5.5)


def on_curve(values: Any, fractions: Any, p: float) -> float:
    """Return the time at which a drawn curve has the height of a fraction."""
    return float(10 ** np.interp(tail_scale(p), tail_scale(fractions), np.log10(np.maximum(values, 1e-12))))


def distribution_axes(axes: Axes, of: str = "calls") -> None:
    """Label the axes of empirical CDFs."""
    log_axis(axes.xaxis)
    ticks = (0, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999)
    axes.set_yticks(tail_scale(ticks), [f"{100 * p:.6g} %" for p in ticks])
    axes.set_ylim(0, tail_scale(TAIL_TOP))
    axes.axhline(2, color="#999999", lw=1, zorder=0.9)
    axes.set_xlabel("RTT (marker: quantile; bar and |: range and median over starts)")
    axes.set_ylabel(f"empirical CDF: share of {of}")


def stacked_bar(axes: Axes, y: float, parts: Iterable[tuple[str, float, str, str]]) -> float:
    """Draw parts of a whole as one bar, and return where it ends; each is (label, width, colour, hatch)."""
    left = 0.0
    for label, width, colour, hatch in parts:
        if width > 0:
            axes.barh(y, width, left=left, color=colour, hatch=hatch, height=0.62, label=label)
            left += width
    return left


def cpu_bars(run: Run, axes: Axes, cases: pd.DataFrame, at: Sequence[int] = ()) -> None:
    """Draw the CPU time per call as a bar for each case, by role, with the range of the starts' totals.

    at: the row of each case, if they do not follow each other.
    """
    totals, least = total_cpu(run.starts), 0.002 * total_cpu(cases).max()  # less cannot be seen
    for y, (case, row) in zip(at or range(len(cases)), numbered(cases), strict=True):
        spent = {role: row[f"{role}_cpu_us_per_call"] for role in ROLE_COLOURS}
        stacked_bar(axes, y, ((role, us if us > least else 0.0, ROLE_COLOURS[role], ROLE_HATCHES[role])
                              for role, us in spent.items()))  # fmt: skip
        of_starts = totals[run.starts["case"] == case]
        axes.hlines(y, of_starts.min(), of_starts.max(), color="black", lw=1.4)
        words = cpu_over_starts(run, case).values(duration) + ("\n(server: not known)" if row["target"] else "")
        write_beside(axes, y, words, min(10, row_fontsize(len(cases)) + 1))
    axes.set_xlim(0, 1.04 * axes.dataLim.x1)
    axes.set_xlabel("CPU time per call [µs]; line: range over starts")


def first_size(run: Run) -> list[int]:
    """Return the cases with a server of the first payload size: those that panels of single calls show."""
    cases = run.round_trips()
    return [case for case, row in numbered(cases) if row["payload_bytes"] == cases["payload_bytes"].iloc[0]]


def of_first_size(run: Run) -> str:
    """Return what a title says where panels show the first of several payload sizes: ", payload 100 B"."""
    sizes = run.round_trips()["payload_bytes"]
    return f", payload {size(sizes.iloc[0])}" if sizes.nunique() > 1 else ""
