"""What panels share: the house style, palettes, axes labelled in words, lines, rows, bars and distributions."""

import math
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from typing import Any, NamedTuple, TypeVar

import matplotlib as mpl
import matplotlib.style
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator

from bench import stats
from bench.analysis.quantiles import CALLS, Quantile, crossed, of_all_calls, quantile, times
from bench.analysis.resources import total_cpu
from bench.grammar.table import ratio_with_ends
from bench.run.frames import Run, numbered
from bench.stats.intervals import Interval
from bench.text import duration, in_bytes, listed, plain

Items = TypeVar("Items", bound=Sized)

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

SYSTEM_MARKERS = ("o", "s", "^", "D", "v", "<", ">")  # all can be hollow; no common divisor with all colours


class Look(NamedTuple):
    """How one system, or one case, is drawn everywhere in a figure."""

    colour: str
    marker: str


def look(index: int) -> Look:
    """Return the look of the system at an index; 13 indices differ in colour, 91 in colour or marker."""
    colours = SYSTEM_COLOURS + MORE_COLOURS
    return Look(colours[index % len(colours)], SYSTEM_MARKERS[index % len(SYSTEM_MARKERS)])


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
    "legend.fontsize": 9.5,
    "legend.handlelength": 2.8,  # a dashed line shows its dashes beside its marker
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


def finish(row: Any, *panels: Axes) -> None:
    """Wrap what is too wide for its panel, and put legends below, so that they cover no data.

    The panels of a row whose legends have the same labels share one. The row and each panel have a figure, or
    subfigure, for themselves: the layout engine gives legends room.
    """
    for axes in panels:
        axes.set_title(axes.get_title(loc="left"), wrap=True)
        axes.set_xlabel(axes.get_xlabel(), wrap=True)
        axes.set_ylabel(axes.get_ylabel(), wrap=True)
    legends = [(axes.get_figure(), entries) for axes in panels if (entries := legend_entries(axes))]
    if len(legends) > 1 and len({frozenset(entries) for _, entries in legends}) == 1:
        legends = [(row, legends[0][1])]
    for figure, entries in legends:
        put_legend(figure, entries)


def put_legend(figure: Any, entries: dict[str, Any]) -> None:
    """Put a legend below all that a figure, or subfigure, has: one entry for each label, in as many columns as fit."""
    letters = max(len(line) for label in entries for line in label.splitlines()) + 9  # with the handle
    columns = max(1, int(figure.bbox.width / figure.dpi * 72 / (5.6 * letters)))
    figure.legend(entries.values(), entries, loc="outside lower left", ncols=min(columns, len(entries)))


def legend_entries(*panels: Axes) -> dict[str, Any]:
    """Return what some panels draw by its label, the first of each label."""
    entries: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            entries.setdefault(str(label), handle)
    return entries


def sheet(size: tuple[float, float], rows: int, draws: Sequence[Callable[[Axes], object]]) -> Figure:
    """Return a figure of some panels, in so many rows; each is drawn by a function of its axes. size: in inches.

    The last row may have fewer panels than the others; fewer panels than rows stand in a row each.
    """
    columns = math.ceil(len(draws) / rows)
    of_rows = [draws[first : first + columns] for first in range(0, len(draws), columns)]
    with style():
        figure = Figure(figsize=size, layout="constrained")
        for row, of_row in zip(figure.subfigures(len(of_rows), 1, squeeze=False).flat, of_rows, strict=True):
            panels = [part.subplots() for part in row.subfigures(1, columns, squeeze=False).flat[: len(of_row)]]
            for axes, draw in zip(panels, of_row, strict=True):
                draw(axes)
            finish(row, *panels)
    return figure


DECADES = ((1, 1.5, 2, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1, 3))  # ticks of each decade, from 1 on


class LogTicks(LogLocator):
    """Ticks of a logarithmic axis: the most whose labels do not touch, at round values."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Return the ticks between two ends: of each decade, whole decades, or multiples of one step."""
        if not 0 < vmin < vmax < math.inf:  # nothing is drawn
            return np.array([])
        exponents = np.arange(math.floor(math.log10(vmin)), math.ceil(math.log10(vmax)) + 1)
        sets = [np.outer(10.0**exponents, steps).ravel() for steps in DECADES]
        sets += [10.0 ** exponents[exponents % stride == 0] for stride in range(1, len(exponents))]
        for index, ticks in enumerate(sets):
            inside = ticks[(ticks >= vmin) & (ticks <= vmax)]
            if len(inside) >= (3 if index < len(DECADES) - 1 else 2) and self._gap(inside, vmin, vmax) >= 1:
                return inside
        kept: list[float] = []
        for tick in MaxNLocator(8, steps=[1, 2, 5, 10]).tick_values(vmin, vmax):
            if vmin <= tick <= vmax and (not kept or self._gap(np.array([kept[-1], tick]), vmin, vmax) >= 1):
                kept.append(float(tick))
        return np.array(kept)

    def _gap(self, ticks: Any, vmin: float, vmax: float) -> float:
        """Return the smallest distance of neighbours, as a multiple of what their labels need."""
        axis: Any = self.axis
        letters = max(len(axis.get_major_formatter()(tick, 0)) for tick in ticks)
        sizes = (0.55 * letters + 0.8) / 3 if axis.axis_name == "x" else 1.0  # matplotlib counts 3 sizes, or 2, for one
        return float(np.diff(np.log(ticks)).min() / math.log(vmax / vmin) * (axis.get_tick_space() + 0.5) / sizes)


def log_axis(axis: Any, text: Callable[[float], str] = duration) -> None:
    """Make an axis logarithmic, and write its values in words."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(LogTicks())
    axis.set_minor_locator(NullLocator())
    label_axis(axis, text)


def label_axis(axis: Any, text: Callable[[float], str]) -> None:
    """Write the values of an axis in words."""
    axis.set_major_formatter(lambda value, _: plain(text(value)) if value else "0")


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


def payload_axis(axes: Axes, sizes: "pd.Series[int]") -> None:
    """Make the horizontal axis logarithmic, with ticks at the payloads that were measured."""
    axes.set_xscale("log")
    ticks_at(axes.xaxis, sorted(sizes.unique()), in_bytes)
    axes.set_xlabel("payload")


def looks(run: Run) -> dict[int, Look]:
    """Return the look of each case, the same for equal system and transport; loopback is grey."""
    pairs = list(dict.fromkeys((case.system, case.transport) for case in run.plan.cases if case.system != "loopback"))
    chosen = {pair: look(index) for index, pair in enumerate(pairs)}
    return {
        number: chosen.get((case.system, case.transport), Look(GREY, "o")) for number, case in enumerate(run.plan.cases)
    }


def draw_spreads(
    axes: Axes, x: Iterable[float], spreads: Sequence[stats.Spread], drawn: Look, label: str, line: str = "-"
) -> None:
    """Draw medians as a line, with the range over starts as a band.

    If the starts have two levels, each has a marker, and the line is broken: no start is between them.
    """
    at, middles = list(x), [spread.middle if spread.levels is None else math.nan for spread in spreads]
    axes.plot(at, middles, line, color=drawn.colour, marker=drawn.marker, ms=6, lw=1.8, label=label)
    for position, spread in zip(at, spreads, strict=True):
        if spread.levels is not None:
            axes.plot([position, position], spread.levels, drawn.marker, color=drawn.colour, ms=6)
    band(axes, at, [spread.low for spread in spreads], [spread.high for spread in spreads], drawn.colour)


def band_words(spreads: Iterable[stats.Spread]) -> str:
    """Return what the bands and markers of ``draw_spreads`` mean."""
    has_levels = any(spread.levels for spread in spreads)
    return "band: range over starts" + "\ntwo markers: the two middle starts" * has_levels


def band(axes: Axes, x: Any, low: Any, high: Any, colour: str) -> None:
    """Draw a range over starts as a band; if both neighbours have none, as a short one."""
    axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
    at, ends = np.asarray(x, float), np.array([low, high], float)
    is_known = np.pad(np.isfinite(ends).all(axis=0), 1)
    is_alone = is_known[1:-1] & ~is_known[:-2] & ~is_known[2:]
    axes.vlines(at[is_alone], *ends[:, is_alone], color=colour, alpha=0.2, lw=6)


class EmptyError(Exception):
    """There is nothing that a panel could draw; the words say why, and are written into it."""


def needed(items: Items | None, why: str) -> Items:
    """Return what a panel draws; EmptyError with the reason if there is nothing."""
    if items is None or not len(items):
        raise EmptyError(why)
    return items


@contextmanager
def explaining_emptiness(axes: Axes) -> Iterator[None]:
    """Write into a panel why it is empty, if there is nothing to draw."""
    try:
        yield
    except EmptyError as empty:
        say_why_empty(axes, str(empty))


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


SMALL = 9.5  # points: the smallest text, which has 9 points where a figure of 14 inches is 1280 pixels wide


def write_beside(axes: Axes, y: float, words: str) -> None:
    """Write words on the right of the axes, at the height of a row: the axis itself ends near the data."""
    at = axes.get_yaxis_transform()
    axes.annotate(words, (1, y), (6, 0), at, "offset points", va="center", fontsize=SMALL, annotation_clip=False)


def dashed_level(axes: Axes, y: float, words: str) -> None:
    """Draw a dashed line across the axes, with words in grey below its left end."""
    axes.axhline(y, color=GREY, ls="--", lw=1)
    at = axes.get_yaxis_transform()
    axes.annotate(words, (0, y), (5, -3), at, "offset points", va="top", color=GREY, fontsize=SMALL)


def range_row(
    axes: Axes,
    y: float,
    values: Any,
    drawn: Look,
    text: Callable[[float], str] = duration,
    *,
    words: str = "",
    more: str = "",
    line: float = math.nan,
    is_hollow: bool = False,
) -> None:
    """Draw one value of each start as markers, their range as a bar, their median as a line; beside it the median.

    Starts with two levels have two lines, and both values beside them. words: what is written in place of the median.
    more: behind it. line: an estimate that is drawn in its place. is_hollow: it was measured elsewhere.
    """
    spread = stats.across_starts(list(values))
    lines = spread.medians if math.isnan(line) else (line,)
    with hollow(axes, is_hollow):
        axes.plot([spread.low, spread.high], [y, y], color=drawn.colour, lw=7, alpha=0.3, solid_capstyle="round")
        axes.plot(values, [y] * len(values), drawn.marker, ms=5.5, mec="white", mew=0.6, color=drawn.colour)
        axes.plot(lines, [y] * len(lines), "|", ms=13, mew=2, color="black")
        write_beside(axes, y, (words or spread.words(text)) + more)


def interval_row(
    axes: Axes, y: float, estimate: Interval | stats.Spread, drawn: Look, words: str = "", label: str | None = None
) -> None:
    """Draw an estimate as a marker and its interval as a bar, with words beside them; NaN ends have no bar."""
    at = estimate.medians if isinstance(estimate, stats.Spread) else (estimate.middle,)
    axes.plot([estimate.low, estimate.high], [y, y], color=drawn.colour, lw=5, alpha=0.35, solid_capstyle="butt")
    axes.plot(at, [y] * len(at), drawn.marker, ls="", ms=6.5, color=drawn.colour, label=label)
    if words:
        write_beside(axes, y, words)


def name_rows(axes: Axes, names: Iterable[str], fontsize: float | None = None) -> None:
    """Name the rows on the vertical axis, the first on top, with a line along each."""
    listed = list(names)
    axes.set_yticks(range(len(listed)), listed, fontsize=fontsize or row_fontsize(len(listed)))
    axes.set_ylim(len(listed) - 0.4, -0.6)


def wrapped(names: Iterable[str]) -> list[str]:
    """Return names broken into lines of at most 24 letters, for the narrow space beside an axis."""
    return [textwrap.fill(name, 24) for name in names]


def row_fontsize(rows: int) -> float:
    """Return a font size for the names of this many rows."""
    return 10.5 if rows < 8 else SMALL


def separate_rows(axes: Axes, edges: Iterable[float]) -> None:
    """Draw lines between groups of rows."""
    for edge in edges:
        axes.axhline(edge, color="#bbbbbb", lw=0.8)


def ratio_text(ratio: Interval) -> str:
    """Return a ratio of two cases with its interval if it has one: "× 1.53 [1.40, 1.66]"."""
    return "" if math.isnan(ratio.middle) else f"× {ratio_with_ends(ratio)}"


def end_to_end(run: Run, cases: Iterable[int]) -> Iterator[tuple[int, int, float]]:
    """Yield (case, start, second at which it begins), as if the starts of all cases followed each other."""
    begin = 0.0
    for case in cases:
        for start in run.ledger_of(case).index:
            yield case, int(start), begin
            begin += run.calls.of_start(start).t_send_ns.max(initial=0) / 1e9


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

    It ends at the largest value below that value's step to 1, which has no place on this scale: n values show no share
    above 1 - 1/n. points: (times in us, fractions), as ``stats.distribution`` returns them.
    """
    values, fractions = points
    if len(values) and fractions[-1] >= 1:
        fractions = np.append(fractions[:-1], fractions[-2:-1] if len(fractions) > 1 else 0.0)
    inside = fractions < TAIL_TOP
    if len(values) and not inside.all():
        end = on_curve(values, fractions, TAIL_TOP)
        values, fractions = np.append(values[inside], end), np.append(fractions[inside], TAIL_TOP)
    axes.plot(values, tail_scale(fractions), line, lw=width, color=colour, label=label, drawstyle="steps-post",
              marker=marker, markevery=(max(1, len(values)), 1), ms=5.5)  # fmt: skip


MOST_CURVES = 6  # on one pair of axes; more distributions are drawn as a row of quantiles each


class Times(NamedTuple):
    """The times of the calls of one case: how many, their empirical CDF in us, and their quantiles."""

    n: int
    points: tuple[Any, Any]
    quantiles: dict[float, Quantile]


def times_of(run: Run, case: int, time: str = "rtt") -> Times:
    """Return the RTT of the calls of a case, or another time."""
    us = times(run, case, time).to_numpy()
    return Times(len(us), stats.distribution(us), {p: quantile(run, case, p, time) for p in stats.QUANTILES})


class Distribution(NamedTuple):
    """The times of one case, and how they are drawn."""

    name: str
    times: Times
    drawn: Look
    line: str
    is_hollow: bool = False


def draw_cdfs(axes: Axes, shown: Sequence[Distribution]) -> None:
    """Draw empirical CDFs with a marker at each quantile; of more than six distributions three quantiles each."""
    if len(shown) <= MOST_CURVES:
        for index, (name, (n, points, quantiles), drawn, line, is_hollow) in enumerate(shown):
            with hollow(axes, is_hollow):
                label = f"{name}, n = {n:,}{crossed(quantiles.items())}"
                curve(axes, points, label, drawn.colour, line, drawn.marker)
                quantile_marks(axes, points, quantiles, drawn, BAR_APART * (index - (len(shown) - 1) / 2))
        distribution_axes(axes)
        label = "RTT (marker: quantile; bar and |: range and median over starts)"
        if pooled := of_all_calls(item for distribution in shown for item in distribution.times.quantiles.items()):
            label += f"\n{listed(pooled)} of all calls together, where a start has too few; bar: 95 % CI"
        axes.set_xlabel(label)
        return
    for y, (_, (n, _, quantiles), drawn, _, is_hollow) in enumerate(shown):
        with hollow(axes, is_hollow):
            quantile_row(axes, y, quantiles, drawn.colour, f"; n = {n:,}")
    quantile_axes(axes)
    name_rows(axes, [distribution.name for distribution in shown])


MARKS = {0.5: "|", 0.9: "o", 0.99: "D"}


def quantile_row(axes: Axes, y: float, quantiles: dict[float, Quantile], colour: str, more: str) -> None:
    """Draw p50, p90 and p99 in a row, the p50 of two levels as two lines; beside it the p99."""
    known = {p: quantiles[p] for p in MARKS if not math.isnan(quantiles[p].value)}
    ends = [us for estimate in known.values() for us in estimate.spread.medians]
    if ends:
        axes.plot([min(ends), max(ends)], [y, y], color=colour, lw=2)
    for p, estimate in known.items():
        medians = estimate.spread.medians if p == min(MARKS) else (estimate.value,)
        _quantile_mark(axes, p, medians, [y] * len(medians), color=colour)
    few = [f"p{100 * p:g}" for p in MARKS if p not in known]
    of_calls = "*" * sum(estimate.over == CALLS for estimate in known.values())
    words = f"too few calls for {listed(few)}" if few else f"p99 {quantiles[0.99].spread.words(duration)}{of_calls}"
    write_beside(axes, y, words + more + crossed((p, quantiles[p]) for p in MARKS))


def _quantile_mark(axes: Axes, p: float, x: Any, y: Any, **how: Any) -> None:
    is_line = MARKS[p] == "|"
    axes.plot(x, y, MARKS[p], ls="", ms=12 if is_line else 6, mew=2 if is_line else 0.6, **how)


def quantile_axes(axes: Axes) -> None:
    """Label the axes of rows of quantiles, and explain their markers."""
    for p in MARKS:
        _quantile_mark(axes, p, [], [], color=GREY, label=f"p{100 * p:g}")
    log_axis(axes.xaxis)
    axes.set_xlabel("RTT: median over the starts; * p99, ** p90 and p99: of all calls (too few in a start)")


BAR_APART = 0.08  # of the bars of neighbouring curves, in units of the scale of tails


def quantile_marks(
    axes: Axes, points: tuple[Any, Any], quantiles: dict[float, Quantile], drawn: Look, above: float
) -> None:
    """Draw a marker on a curve at each quantile that is known; its interval as a bar, its median over starts as a line.

    points: the curve, as ``stats.distribution`` returns it. above: how far above the quantile's height bar and line
    are, so that those of several curves do not lie on each other.
    """
    for p, estimate in quantiles.items():
        if math.isnan(estimate.value) or not len(points[0]):
            continue
        height, medians = float(tail_scale(p)), estimate.spread.medians
        at = height + above
        axes.plot([estimate.low, estimate.high], [at, at], color=drawn.colour, lw=3, alpha=0.4, solid_capstyle="round")
        axes.plot(medians, [at] * len(medians), "|", color=drawn.colour, ms=6, mew=1.4)
        axes.plot(on_curve(*points, p), height, drawn.marker, color=drawn.colour, ms=5.5)


def on_curve(values: Any, fractions: Any, p: float) -> float:
    """Return the time at which a drawn curve, which is made of steps, reaches a fraction: one that was measured."""
    return float(values[min(np.searchsorted(fractions, p), len(values) - 1)])


def distribution_axes(axes: Axes, observations: str = "calls") -> None:
    """Label the axes of empirical CDFs."""
    log_axis(axes.xaxis)
    ticks = (0, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999)
    axes.set_yticks(tail_scale(ticks), [f"{100 * p:.6g} %" for p in ticks])
    axes.set_ylim(0, tail_scale(TAIL_TOP))
    axes.tick_params("x", pad=7)  # below the label of 0 %
    axes.axhline(2, color="#999999", lw=1, zorder=0.9)
    axes.set_ylabel(f"empirical CDF: share of {observations}")


def stacked_bar(axes: Axes, y: float, parts: Iterable[tuple[str, float, str, str]]) -> float:
    """Draw parts of a whole as one bar, and return where it ends; each is (label, width, colour, hatch)."""
    left = 0.0
    for label, width, colour, hatch in parts:
        if width > 0:
            axes.barh(y, width, left=left, color=colour, hatch=hatch, height=0.62, label=label)
            left += width
    return left


MOST_TIMES = 50  # the largest CPU time per call over the smallest: above it, bars of the small ones cannot be seen


def hides_bars(cpu_us: Iterable[float]) -> bool:
    """Return whether bars of these CPU times per call are too unequal for one linear axis."""
    known = [us for us in cpu_us if us > 0]
    return bool(known) and max(known) > MOST_TIMES * min(known)


def cpu_bars(run: Run, axes: Axes, cases: pd.DataFrame, at: Sequence[int] = ()) -> None:
    """Draw the CPU time per call of each case, by role, with the range of the starts' totals.

    Bars on a linear axis, of the medians of the roles, scaled so that they end at the median of the totals. Where the
    largest hides the smallest, a marker for each role on a logarithmic axis. at: the row of each case, if they do not
    follow each other.
    """
    totals, of_cases = total_cpu(run.starts), total_cpu(cases)
    is_log = hides_bars(of_cases[cases["system"] != "loopback"])
    least = 0.002 * of_cases.max()  # less cannot be seen in a bar
    for y, (case, row) in zip(at or range(len(cases)), numbered(cases), strict=True):
        of_starts = totals[run.starts["case"] == case]
        total = stats.across_starts(of_starts)
        spent = {role: row[f"{role}_cpu_us_per_call"] for role in ROLE_COLOURS}
        if is_log:
            _role_markers(axes, y, spent, total.middle)
        else:
            scale = total.middle / of_cases[case] if of_cases[case] > 0 else 1.0
            stacked_bar(axes, y, ((role, scale * us if us > least else 0.0, ROLE_COLOURS[role], ROLE_HATCHES[role])
                                  for role, us in spent.items()))  # fmt: skip
        axes.hlines(y, of_starts.min(), of_starts.max(), color="black", lw=1.4)
        words = total.words(duration) + ("\n(server: not known)" if row["target"] else "")
        write_beside(axes, y, words)
    if is_log:
        axes.plot([], [], "|", ls="", ms=12, mew=2, color="black", label="all roles")
        log_axis(axes.xaxis)
        axes.set_xlabel("CPU time per call; line: range over starts, all roles")
    else:
        if axes.dataLim.x1 > 0:
            axes.set_xlim(0, 1.04 * axes.dataLim.x1)
        axes.set_xlabel("CPU time per call [µs]; bar, right: median of the starts' totals; line: range")


def _role_markers(axes: Axes, y: float, spent: dict[str, float], total_us: float) -> None:
    """Draw the CPU time of each role as a marker, one below the other, and that of all roles as a line."""
    for role, dy in zip(ROLE_COLOURS, (-0.3, 0.0, 0.3, 0.3), strict=True):
        if spent[role] > 0:
            axes.plot(spent[role], y + dy, ROLE_MARKERS[role], ls="", ms=4.5, color=ROLE_COLOURS[role], label=role)
    axes.plot(total_us, y, "|", ls="", ms=12, mew=2, color="black")
