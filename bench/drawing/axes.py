"""What panels share: the house style, palettes, numbers in words, scales, lines, rows and lanes."""

import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, Locator, MaxNLocator, NullLocator

from bench import stats
from bench.analysis.quantiles import Quantile, crossed, quantile
from bench.analysis.resources import total_cpu
from bench.run.frames import Run, numbered
from bench.stats.intervals import Interval
from bench.text import duration, listed, plain, quantity

Panel = Callable[[Run, Axes], None]


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

COLOURS = (  # seaborn's "colorblind": colours that colour-blind people can distinguish
    *("#0173b2", "#de8f05", "#029e73", "#d55e00", "#cc78bc", "#ca9161", "#fbafe4", "#949494", "#ece133", "#56b4e9"),
)

SYSTEM_COLOURS = tuple(one for one in COLOURS if one not in ("#fbafe4", "#949494", "#ece133"))  # dark enough for lines

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


_drawing = threading.RLock()


@contextmanager
def style() -> Iterator[None]:
    """Apply the house style inside a ``with`` block: readable in print and on a projector.

    The style is one for the whole process, so another thread that wants to draw waits until this one has drawn.
    """
    fixed: dict[Any, Any] = {
        "svg.hashsalt": "roundtrip",  # the same run gives the same bytes
        "font.sans-serif": ["DejaVu Sans"],  # comes with matplotlib; each further one is looked up for every text
        "figure.autolayout": False,  # whatever a person's matplotlibrc says: a figure that was laid out stays so
        "figure.constrained_layout.use": False,
        "figure.dpi": 100,
        "savefig.dpi": 150,
        "axes.titleweight": "bold",
        "axes.titlesize": 12,
        "axes.titlelocation": "left",
        "axes.titley": 1.0,  # no panel has ticks on top: else each drawing measures all labels to find that out
        "font.size": 11,
        "axes.labelsize": 11,
        "legend.fontsize": 10,
        "legend.frameon": True,
        "legend.framealpha": 0.9,
        "grid.color": "#dddddd",
    }
    with _drawing, mpl.rc_context(WHITEGRID | fixed):
        yield


class RoundTicks(Locator):
    """Ticks at round values, as densely as their labels have room for.

    ``choices`` returns lists of values for the ends of an axis, the densest first; the first that fits is taken.
    """

    SIZE = 11  # of a label, in points

    def __init__(self, choices: Callable[[float, float], Iterable[Iterable[float]]]) -> None:
        self._choices = choices

    def __call__(self) -> list[float]:
        """Return the ticks of the axis as it is now."""
        axis: Any = self.axis
        return self.tick_values(*sorted(axis.get_view_interval()))

    def tick_values(self, low: float, high: float) -> list[float]:
        """Return the ticks between two ends."""
        shown: list[float] = []
        for values in self._choices(low, high):
            inside = [value for value in values if low <= value <= high]
            if len(inside) < 2 and shown:
                break
            shown = inside
            if self._fits(shown, low, high):
                break
        return shown

    def _fits(self, values: list[float], low: float, high: float) -> bool:
        """Return whether the labels of these values do not touch each other."""
        axis: Any = self.axis
        is_flat = axis.axis_name == "x"
        room = (axis.axes.bbox.width if is_flat else axis.axes.bbox.height) * 72 / axis.axes.figure.dpi
        to = axis.get_transform().transform
        start, end = to(np.array([low, high]))
        places = np.sort((to(np.array(values)) - start) / (end - start) * room)
        letters = [len(axis.get_major_formatter()(value)) for value in values]
        needed = self.SIZE * ((0.62 * max(letters, default=0) + 0.9) if is_flat else 1.7)
        return len(values) < 2 or bool(np.diff(places).min() >= needed)


def _round(low: float, high: float) -> Iterator[Iterable[float]]:
    """Return round values of a logarithmic axis, denser ones first."""
    decades = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    if high / low < 3:
        for most in (6, 4):
            yield MaxNLocator(most, steps=[1, 2, 5, 10]).tick_values(low, high)
    dense = ((1.0, 1.5, 2.0, 3.0, 5.0, 7.0),) if high / low < 8 else ()
    for subs in (*dense, (1.0, 2.0, 5.0), (1.0, 3.0)):
        yield [sub * 10.0**decade for decade in decades for sub in subs]
    for step in (1, 2, 3):
        yield [10.0**decade for decade in decades if decade % step == 0]


def _ratios(low: float, high: float) -> Iterator[Iterable[float]]:
    """Return round ratios, 1 among them, denser ones first."""
    if high / low < 1.4:
        for most in (8, 5):
            yield MaxNLocator(most).tick_values(low, high)
    for above in ((1.1, 1.25, 1.5, 2, 3, 5, 7), (1.25, 2, 5), (2, 5), (3,), ()):
        tens = [10.0**n for n in range(7)]
        larger = [ten * one for ten in tens for one in (1, *(one for one in above if ten == 1 or one >= 2))]
        yield sorted({float(f"{value:.3g}") for one in larger for value in (one, 1 / one) if _is_round(value)})


def _is_round(value: float) -> bool:
    """Return whether a ratio needs no more than two digits, or is 1.25."""
    return value in (1.25,) or float(f"{value:.2g}") == float(f"{value:.6g}")


def log_axis(axis: Any, text: Callable[[float], str]) -> None:
    """Label a logarithmic axis in words, at round values, as densely as there is room for."""
    axis.set_major_locator(RoundTicks(_round))
    axis.set_major_formatter(FuncFormatter(lambda value, _=None: plain(text(value))))
    axis.set_minor_locator(NullLocator())


def ratio_axis(axis: Any, text: Callable[[float], str] = "{:g}".format) -> None:
    """Label a logarithmic axis of ratios; 1 has a tick."""
    axis.set_major_locator(RoundTicks(_ratios))
    axis.set_major_formatter(FuncFormatter(lambda value, _=None: text(value)))
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


def looks(run: Run) -> dict[int, Look]:
    """Return the look of each case, the same for equal system and transport; loopback is grey."""
    pairs = list(dict.fromkeys((case.system, case.transport) for case in run.plan.cases if case.system != "loopback"))
    chosen = {pair: look(place) for place, pair in enumerate(pairs)}
    return {i: chosen.get((case.system, case.transport), Look(GREY, "o")) for i, case in enumerate(run.plan.cases)}


def lines(run: Run, axes: Axes, cases: pd.DataFrame, x: str, y: str, text: Callable[[float], str] = duration) -> None:
    """Draw one line for each system and transport, with the range over starts as a band."""
    for (system, transport), rows in cases.groupby(["system", "transport"], sort=False):
        rows = rows.sort_values(x)
        one = looks(run)[rows.index[0]]
        draw: dict[str, Any] = {"color": one.colour, "marker": one.marker, "ls": LINE_STYLES[transport]}
        axes.plot(rows[x], rows[y], ms=6, lw=1.8, label=f"{system} {transport}", **draw)
        band(axes, rows, x, y, one.colour)
    hold(axes, cases[y], cases[f"{y}_low"], cases[f"{y}_high"], text)


def band(axes: Axes, rows: pd.DataFrame, x: str, y: str, colour: Any, alpha: float = 0.2) -> None:
    """Draw the range over starts of a column of ``Run.cases`` as a band."""
    axes.fill_between(rows[x], rows[f"{y}_low"], rows[f"{y}_high"], color=colour, alpha=alpha, lw=0)


FURTHEST = 1000.0  # times the largest median: where the axis of a distribution ends at the latest

FAR = 4.0  # times the largest median: a single start beyond it does not stretch an axis


def reach(rows: Iterable[Any], is_log: bool = True) -> tuple[float, float]:
    """Return the ends between which the starts of some rows are drawn; a single start of a row beyond them is not.

    On a logarithmic axis the ends are ``FAR`` times beyond the least and the largest median, on a linear one
    ``FAR - 1`` times the largest away from them. Where two or more starts of a row are beyond an end, that end is
    infinite.
    """
    each = [np.asarray(row, float) for row in rows]
    each = [row[~np.isnan(row)] for row in each if np.isfinite(np.asarray(row, float)).any()]
    if not each:
        return -np.inf, np.inf
    middles = np.array([np.median(row) for row in each])
    if is_log:
        positive = middles[middles > 0]
        low, high = (positive.min() / FAR, positive.max() * FAR) if len(positive) else (-np.inf, np.inf)
    else:
        far = (FAR - 1) * max(np.abs(middles).max(), max(float(np.subtract(*np.percentile(r, [75, 25]))) for r in each))
        low, high = middles.min() - far, middles.max() + far
    many_low = any((row < low).sum() > 1 for row in each)
    many_high = any((row > high).sum() > 1 for row in each)
    return (-np.inf if many_low else low), (np.inf if many_high else high)


def hold(axes: Axes, middle: Any, low: Any, high: Any, text: Callable[[float], str]) -> None:
    """End the vertical axis near the medians where a band reaches much further; the legend says how far it reaches."""
    least, most = reach([value] for value in np.asarray(middle, float))
    highest, lowest = float(np.nanmax(np.asarray(high, float))), float(np.nanmin(np.asarray(low, float)))
    if highest > most:
        axes.set_ylim(top=most)
        axes.plot([], [], " ", label=f"▴ off the axis: a start at {text(highest)}")
    if axes.get_yscale() == "log" and lowest < least:
        axes.set_ylim(bottom=least)
        axes.plot([], [], " ", label=f"▾ off the axis: a start at {text(lowest)}")


def payload_axis(axes: Axes, sizes: "pd.Series[int]") -> None:
    """Label the horizontal axis with the payloads that were measured."""
    ticks_at(axes.xaxis, sorted(sizes.unique()))
    linear_axis(axes.xaxis, size)
    axes.set_xlabel("payload")


def nothing(axes: Axes, why: str) -> None:
    """Say why a panel is empty."""
    axes.set(xticks=[], yticks=[])
    axes.text(0.5, 0.5, textwrap.fill(why, 60), ha="center", va="center", transform=axes.transAxes, color=GREY)


@contextmanager
def hollow(axes: Axes, is_hollow: bool = True) -> Iterator[None]:
    """Draw what a ``with`` block draws hollow: markers and bars unfilled, ranges as thin lines, words in grey.

    What already has an entry in the legend gets no second one.
    """
    before, known = set(axes.get_children()), set(axes.get_legend_handles_labels()[1])
    containers = len(axes.containers)
    yield
    if not is_hollow:
        return
    drawn: list[Any] = [one for one in axes.get_children() if one not in before]
    for one in drawn:
        _empty(one)
    for one in [*axes.containers[containers:], *drawn]:
        if one.get_label() in known:
            one.set_label("_nolegend_")


def _empty(drawn: Any) -> None:
    """Take the filling out of something drawn, and keep its colour as its outline."""
    if isinstance(drawn, Line2D):
        if drawn.get_marker() in Line2D.filled_markers:
            drawn.set(markerfacecolor="white", markeredgecolor=drawn.get_color(), markeredgewidth=1.3)
        if drawn.get_linewidth() > BROAD:
            drawn.set_alpha(1)
        drawn.set_linewidth(min(THIN, drawn.get_linewidth()))
    elif isinstance(drawn, Patch):
        drawn.set(edgecolor=drawn.get_facecolor(), facecolor="white", linewidth=1.4)
    elif isinstance(drawn, PolyCollection):
        drawn.set(edgecolor=drawn.get_facecolor(), facecolor="none", linewidth=0.8)
    elif isinstance(drawn, Text):
        drawn.set_color(GREY)


THIN, BROAD = 1.2, 3  # points: a line of what is hollow; one that is broader than the second is the bar of a range


def beside(axes: Axes, y: float, words: str, fontsize: float = 10) -> None:
    """Write words on the right of the axes, at the height of a row: the axis itself ends near the data."""
    at = axes.get_yaxis_transform()
    axes.annotate(words, (1, y), (6, 0), at, "offset points", va="center", fontsize=fontsize, annotation_clip=False)


def below_line(axes: Axes, y: float, words: str) -> None:
    """Write words in grey at the left end of a horizontal line, below it."""
    at = axes.get_yaxis_transform()
    axes.annotate(words, (0, y), (5, -3), at, "offset points", va="top", color=GREY, fontsize=10)


def range_row(
    axes: Axes,
    y: float,
    each: Any,
    colour: Any,
    text: Callable[[float], str],
    more: str = "",
    marker: str = "o",
    within: tuple[float, float] = (-np.inf, np.inf),
    words: str = "",
    fontsize: float = 10,
    line: float = np.nan,
    is_hollow: bool = False,
) -> None:
    """Draw one value of each start as markers, their range as a bar, their median as a line; beside it ``words``.

    line: where the line is drawn instead, if another estimate than the median is written beside the row.

    Values that are not ``within`` the ends are off the axis: they are marked at its edge, and named.
    """
    values = np.asarray(each, float)
    middle, _, _ = stats.across_starts(list(values))
    on = values[(values >= within[0]) & (values <= within[1])]
    with hollow(axes, is_hollow):
        if len(on):
            axes.plot([on.min(), on.max()], [y, y], color=colour, lw=7, alpha=0.3, solid_capstyle="round")
        axes.plot(on, [y] * len(on), marker, ms=5.5, mec="white", mew=0.6, color=colour)
        axes.plot(line if line == line else middle, y, "|", ms=16, mew=2, color="black")
        beside(axes, y, (words or text(middle)) + more + off_axis(axes, y, values, colour, text, within), fontsize)


def off_axis(
    axes: Axes, y: float, values: Any, colour: Any, text: Callable[[float], str], within: tuple[float, float]
) -> str:
    """Mark the values beyond two ends at the edges of a row, and return them in words."""
    values, words = np.asarray(values, float), ""
    for is_off, edge, mark in ((values > within[1], 1, ">"), (values < within[0], 0, "<")):
        if is_off.any():
            axes.plot([edge], [y], mark, ms=7, color=colour, clip_on=False, transform=axes.get_yaxis_transform())
            words += f"; off the axis: {listed(text(value) for value in np.sort(values[is_off]))}"
    return words


class RangeRow(NamedTuple):
    """One row of ``range_rows``: a value of each start, its colour and marker, and words behind its median.

    ``instead``: what is written in place of the values, where there are none to show. ``words``: what is written
    beside the row in place of the median. ``line``: the estimate that they give, drawn in its place. ``is_hollow``: it
    was measured elsewhere.
    """

    each: Any
    colour: Any
    more: str = ""
    instead: str = ""
    marker: str = "o"
    words: str = ""
    line: float = np.nan
    is_hollow: bool = False


def range_rows(
    axes: Axes, rows: Iterable[RangeRow], text: Callable[[float], str] = duration, is_log: bool = True
) -> None:
    """Draw rows from the top down: the value of each start, their range and their median, or what is said instead."""
    known = list(rows)
    within = reach((row.each for row in known if not row.instead), is_log)
    for y, row in enumerate(known):
        if row.instead:
            axes.text(0.02, y, row.instead, transform=axes.get_yaxis_transform(), va="center")
        else:
            range_row(axes, y, row.each, row.colour, text, row.more, row.marker, within, row.words, line=row.line,
                      is_hollow=row.is_hollow)  # fmt: skip


def median_rows(axes: Axes, rows: Iterable[RangeRow]) -> None:
    """Draw rows of the median RTT of each start, in us, on a logarithmic axis."""
    range_rows(axes, rows)
    near(axes)
    axes.set_xlabel("median RTT of each start; bar: their range, line: their median")
    axes.set_title("Median RTT of each start")


def name_rows(axes: Axes, names: Iterable[str], fontsize: float | None = None) -> None:
    """Name the rows on the vertical axis, the first on top, with a line along each."""
    known = list(names)
    axes.set_yticks(range(len(known)), known, fontsize=fontsize)
    axes.set_ylim(len(known) - 0.4, -0.6)


def small(rows: int) -> float:
    """Return a font size for the names of this many rows."""
    return 11 if rows < 8 else 9.5 if rows < 14 else 8.5 if rows < 20 else 7.5


def times(ratio: Interval) -> str:
    """Return a ratio of two cases with its interval, where it has one: "× 1.53 [1.40, 1.66]"."""
    middle, low, high = (f"{one:.{2 if one < 10 else 1 if one < 100 else 0}f}" for one in
                         (ratio.middle, ratio.low, ratio.high))  # fmt: skip
    return f"× {middle}{f' [{low}, {high}]' if ratio.low == ratio.low else ''}" if ratio.middle == ratio.middle else ""


def near(axes: Axes, text: Callable[[float], str] = duration) -> None:
    """Make the horizontal axis logarithmic, and end it near the data."""
    axes.set_xscale("log")
    low, high = axes.dataLim.intervalx
    room = max(1.04, (high / low) ** 0.05)
    axes.set_xlim(low / room, high * room)
    log_axis(axes.xaxis, text)


LANE = 0.94  # the part of a lane that is drawn in


def lane_scale(run: Run, cases: Sequence[int]) -> float:
    """Return the seconds that the drawn part of each lane stands for: the longest case, its starts end to end."""
    return max((sum(start_seconds(run, case)) for case in cases), default=1.0) or 1.0


def start_seconds(run: Run, case: int) -> list[float]:
    """Return how long the calls of each start of a case took, the warm-up included."""
    last = run.samples[run.samples["start"].isin(run.ledger_of(case).index)].groupby("start")["t_send_ns"].max()
    return [float(ns) / 1e9 for ns in last.reindex(run.ledger_of(case).index).fillna(0)]


def lane_places(run: Run, case: int, lane: int, seconds: float) -> list[tuple[int, float, float]]:
    """Return (start, where it begins, width of a second) for each start of a case in its lane, end to end."""
    begins = np.concatenate([[0.0], np.cumsum(start_seconds(run, case))])
    each, left = LANE / seconds, lane + (1 - LANE) / 2
    return [(int(start), left + each * at, each) for start, at in zip(run.ledger_of(case).index, begins, strict=False)]


def name_lanes(axes: Axes, names: Iterable[str], seconds: float) -> None:
    """Name lanes of width 1 on the horizontal axis, and give each the same time axis, in seconds."""
    known = list(names)
    axes.set_xlim(0, len(known))
    axes.xaxis.grid(False)
    for edge in range(1, len(known)):
        axes.axvline(edge, color="#bbbbbb", lw=0.8)
    is_many = max((len(word) for name in known for word in name.split()), default=0) > LETTERS // max(1, len(known))
    texts = [" ".join(name.split("\n")) if is_many else _in_lane(name, len(known)) for name in known]
    axes.set_xticks(np.arange(len(known)) + 0.5, texts, fontsize=min(9.0, small(len(known))))
    axes.tick_params(axis="x", which="major", pad=5 if is_many else 15, rotation=90 if is_many else 0)
    times = MaxNLocator(2 if len(known) > 3 else 4, steps=[1, 2, 5, 10]).tick_values(0, seconds)
    places = [(lane, t) for lane in range(len(known)) for t in times if 0 <= t <= seconds]
    labels = ["" if is_many else f"{t:g}" for _, t in places]
    axes.xaxis.set_minor_locator(FixedLocator([lane + (1 - LANE) / 2 + LANE * t / seconds for lane, t in places]))
    axes.xaxis.set_minor_formatter(FuncFormatter(lambda _, place: labels[place] if place < len(labels) else ""))
    axes.tick_params(axis="x", which="minor", labelsize=8, bottom=True, length=3, pad=2)
    span = f", each lane {seconds:.2g} s" if is_many else ""
    axes.set_xlabel(f"time [s] in each lane{span}: the starts of a case, end to end")


LETTERS = 66  # that fit below all lanes together


def _in_lane(name: str, lanes: int) -> str:
    """Return a name in lines that fit into one of so many lanes."""
    return "\n".join(textwrap.fill(line, LETTERS // lanes, break_on_hyphens=False) for line in name.split("\n"))


def tail_scale(fractions: Any) -> Any:
    """Return heights for fractions: linear up to 90 %, then one step for each further nine."""
    fractions = np.asarray(fractions, float)
    tail = 1 - np.log10(np.maximum(1 - fractions, 1e-9))
    return np.where(fractions < 0.9, 2 * fractions / 0.9, tail)


TAIL_TOP = 5.4  # the end of the scale of tails: 99.996 %


def curve(axes: Axes, times: Any, label: str, colour: Any, line: str = "-", width: float = 2) -> None:
    """Draw the empirical CDF of some times in us on the scale of tails."""
    values, fractions = stats.distribution(np.asarray(times))
    axes.plot(values, tail_scale(fractions), line, lw=width, color=colour, label=label)


def distribution_line(
    run: Run, axes: Axes, case: int, colour: Any, line: str, marker: str, name: str | None = None
) -> None:
    """Draw one case's empirical CDF; on it a marker at each quantile, beside it what its starts say of it."""
    values, fractions = run.distribution_us(case)
    found = [(p, quantile(run, case, p)) for p in stats.QUANTILES]
    label = f"{name or run.labels[case]}, n = {run.count(case):,}{crossed(found)}"
    axes.plot(values, tail_scale(fractions), line, lw=1.8, color=colour, label=label)
    axes.lines[-1].set(marker=marker, markevery=(max(1, len(values)), 1), ms=5.5)  # the marker is for the legend only
    quantile_marks(axes, values, fractions, found, colour, marker)


def quantile_marks(
    axes: Axes, values: Any, fractions: Any, found: Iterable[tuple[float, Quantile]], colour: Any, marker: str
) -> None:
    """Draw a marker on a curve at each quantile that is known; its interval as a bar, its median over starts as a line.

    values, fractions: the curve, as ``stats.distribution`` returns it.
    """
    for p, one in found:
        if one.value != one.value or not len(values):
            continue
        height = float(tail_scale(p))
        axes.plot([one.low, one.high], [height] * 2, color=colour, lw=4.5, alpha=0.3, solid_capstyle="round")
        axes.plot(one.value, height, "|", color=colour, ms=9, mew=1.4)
        axes.plot(on_curve(values, fractions, p), height, marker, color=colour, ms=5.5)


def on_curve(values: Any, fractions: Any, p: float) -> float:
    """Return the time at which a drawn curve has the height of a fraction."""
    return float(10 ** np.interp(tail_scale(p), tail_scale(fractions), np.log10(np.maximum(values, 1e-12))))


def distribution_axes(axes: Axes, of: str = "calls") -> None:
    """Label the axes of an empirical CDF, and end the horizontal one where the curves leave the panel."""
    axes.set_xscale("log")
    ends = [visible for one in axes.lines if one.get_transform() == axes.transData
            for visible in _visible(one.get_xdata(), one.get_ydata())]  # fmt: skip
    if ends:
        last = min(max(ends), FURTHEST * max(_medians(axes), default=np.inf))
        room = max(1.04, (last / min(ends)) ** 0.03)
        axes.set_xlim(min(ends) / room, last * room)
        if last < max(ends):
            axes.plot([], [], " ", label=f"▸ off the axis: up to {duration(max(ends))}")
    time_axis(axes.xaxis)
    ticks = (0, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999)
    axes.set_yticks(tail_scale(ticks), [f"{100 * p:.6g} %" for p in ticks])
    axes.set_ylim(0, TAIL_TOP)
    axes.axhline(2, color="#999999", lw=1, zorder=0.9)
    axes.set_xlabel("RTT (marker: quantile; bar and |: range and median over starts)")
    axes.set_ylabel(f"empirical CDF: share of {of}")
    axes.legend(handlelength=2.6, fontsize=9)


def _medians(axes: Axes) -> list[float]:
    """Return the time at which each curve of an axes, which begins low and rises, passes one half."""
    curves = [(np.asarray(one.get_xdata(), float), np.asarray(one.get_ydata(), float)) for one in axes.lines]
    half = float(tail_scale(0.5))
    return [float(x[min(int(np.searchsorted(y, half)), len(x) - 1)]) for x, y in curves if len(x) > 2 and y[-1] > half]


def _visible(x: Any, y: Any) -> list[float]:
    """Return the least and the largest positive time of a curve below the top of the scale."""
    x, y = np.asarray(x, float), np.asarray(y, float)
    inside = x[(x > 0) & np.isfinite(x) & (y <= TAIL_TOP)]
    if not len(inside):
        return []
    rises = len(y) > 2 and bool((np.diff(y) >= 0).all() and (x > 0).any())
    leaves = [float(10 ** np.interp(TAIL_TOP, y[x > 0], np.log10(x[x > 0])))] if rises else []
    return [float(inside.min()), *leaves, float(inside.max())]


def cpu_bars(
    run: Run,
    axes: Axes,
    cases: pd.DataFrame,
    more: Callable[[Any], str] = lambda row: "",
    at: Sequence[int] = (),
) -> None:
    """Draw the CPU time per call as a bar for each case, by role, with the range of the starts' totals.

    ``more`` gives words behind a case's total. ``at``: the row of each case, if they do not follow each other.
    """
    places = list(at) or list(range(len(cases)))
    left, every = np.zeros(len(cases)), total_cpu(run.starts).groupby(run.starts["case"])
    for role, colour in ROLE_COLOURS.items():
        values = cases[f"{role}_cpu_us_per_call"].fillna(0).to_numpy()
        if values.max() > 0.002 * total_cpu(cases).max():  # what cannot be seen has no place in the legend
            hatch = ROLE_HATCHES[role]
            axes.barh(places, values, left=left, color=colour, hatch=hatch, label=role, height=0.62)
            left = left + values
    totals = [every.get_group(case).to_numpy() if case in every.groups else np.array([]) for case in cases.index]
    within = reach(totals, is_log=False)
    right = left.max()
    for y, total, each, (_, row) in zip(places, left, totals, numbered(cases), strict=True):
        on = each[(each >= within[0]) & (each <= within[1])]
        words = duration(total) + more(row) + off_axis(axes, y, each, "black", duration, within)
        if len(on):
            axes.hlines(y, on.min(), on.max(), color="black", lw=1.4)
            right = max(right, on.max())
        beside(axes, y, words, min(10, small(len(places)) + 1))
    axes.set_xlim(0, 1.04 * right)
    linear_axis(axes.xaxis)
    axes.xaxis.set_major_locator(MaxNLocator(6))
    axes.set_xlabel("CPU time per call [µs]; line: range over starts")


def first_size(run: Run) -> list[int]:
    """Return the cases with a server of the first payload size: those that panels of single calls show."""
    cases = run.round_trips()
    return [case for case, row in numbered(cases) if row["payload_bytes"] == cases["payload_bytes"].iloc[0]]


def of_first_size(run: Run) -> str:
    """Return what a title says where panels show the first of several payload sizes: ", payload 100 B"."""
    sizes = run.round_trips()["payload_bytes"]
    return f", payload {size(sizes.iloc[0])}" if sizes.nunique() > 1 else ""
