"""The panels of figures: rows, lines, ratios, distributions, CPU time; each draws a run onto one pair of axes.

A panel draws the systems that a run lacks hollow, from the reference run, if that has them.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from matplotlib.axes import Axes

from bench.grammar.axes import (
    GREY,
    LINE_STYLES,
    SYSTEM_COLOURS,
    Distribution,
    EmptyError,
    Look,
    band,
    band_words,
    cpu_bars,
    draw_cdfs,
    draw_spreads,
    hollow,
    interval_row,
    label_axis,
    log_axis,
    look,
    looks,
    name_rows,
    needed,
    range_row,
    ratio_axis,
    ratio_text,
    separate_rows,
    ticks_at,
    times_of,
)
from bench.grammar.borrowed import marked, shown
from bench.grammar.choose import Chooser, Factor, alike, chosen, factor
from bench.grammar.contrast import Contrast
from bench.grammar.model import Model
from bench.grammar.quantities import Quantity, factor_or_quantity, over_starts, per_start, quantity_of
from bench.run.frames import Run
from bench.stats import Spread
from bench.text import in_bytes

Label = Callable[[Run, int], str]
Ticks = Callable[[float], str]
MODEL = SYSTEM_COLOURS[4]
NO_CASES = "this run has no such cases"
SPREAD_OUT = 10  # the largest value divided by the smallest: above it an axis is logarithmic
FACTORS: dict[str, tuple[str, Ticks]] = {  # of horizontal axes: their words, and how values are written
    "clients": ("parallel client processes", "{:g}".format),
    "under_way": ("callers, each with one call under way", "{:g}".format),
    "payload_bytes": ("payload", in_bytes),
    "outstanding": ("calls under way on each connection", "{:g}".format),
    "offered_per_s": ("offered requests per second", "{:g}".format),
}


def way_of(run: Run, case: int) -> str:
    """Return the system and the transport of a case."""
    return f"{run.case(case).system} {run.case(case).transport}"


@dataclass(frozen=True)
class Drawn:
    """A case that a panel draws, of the run or of the reference run, and its name there."""

    run: Run
    case: int
    name: str
    is_hollow: bool


@dataclass(frozen=True)
class Panel:
    """What every panel has: a title, the cases that it draws, and how they are named."""

    title: str
    where: Chooser = field(default_factory=dict, kw_only=True)
    label: Label = field(default=lambda run, case: run.labels[case], kw_only=True)

    def drawn(self, run: Run) -> list[Drawn]:
        """Return the cases to draw, those of the run first."""
        return [
            Drawn(part, case, marked(self.label(part, case), part is not run), part is not run)
            for part in shown(run)
            for case in chosen(part, self.where)
        ]


@dataclass(frozen=True)
class Rows(Panel):
    """A row for each case: the value of each start, their range and their median.

    colour_by: a factor whose values have a colour each; rows of cases that differ in it alone share one name.
    "": each case has the colour of its system and transport.
    """

    quantity: str | Quantity
    colour_by: Factor = ""

    def __call__(self, run: Run, axes: Axes) -> None:
        """Draw the rows of a run."""
        axes.set_title(self.title)
        text, cases = quantity_of(self.quantity), needed(self.drawn(run), NO_CASES)
        of_values, groups = colours_of(self.colour_by, cases) if self.colour_by else {}, self._groups(cases)
        begins = [*itertools.accumulate((len(rows) + bool(self.colour_by) for rows in groups), initial=0)]
        values: list[float] = []
        for begin, rows in zip(begins, groups, strict=False):
            for y, row in enumerate(rows, begin):
                starts = per_start(row.run, row.case, self.quantity)
                if len(starts):
                    drawn = look_of(row, self.colour_by, of_values)
                    range_row(axes, y, starts, drawn, text.text, is_hollow=row.is_hollow)
                values.extend(starts)
        if self.colour_by:
            middles = [begin + (len(rows) - 1) / 2 for begin, rows in zip(begins, groups, strict=False)]
            axes.set_yticks(middles, [rows[0].name for rows in groups])
            axes.yaxis.grid(False)
            axes.set_ylim(begins[-1] - 1, -1)
            separate_rows(axes, [begin - 1 for begin in begins[1:-1]])
        else:
            name_rows(axes, [row.name for row in cases])
        for name, (colour, marker) in of_values.items():
            label = f"{self.colour_by} {name}" if isinstance(self.colour_by, str) and not name.isalpha() else name
            axes.plot([], [], marker, ms=7, color=colour, label=label)
        _from_zero_or_log(axes.xaxis, values, text.text)
        axes.set_xlabel(f"{text.words}, each start; bar: range, line: median")

    def _groups(self, cases: Sequence[Drawn]) -> list[list[Drawn]]:
        """Return the rows that stand together: of one colour those of one name, else each for itself."""
        groups: dict[str | int, list[Drawn]] = {}
        for index, row in enumerate(cases):
            groups.setdefault(row.name if self.colour_by else index, []).append(row)
        return list(groups.values())


def colours_of(colour_by: Factor, cases: Sequence[Drawn]) -> dict[str, Look]:
    """Return the look of each value of a factor, in the order of the cases."""
    values = dict.fromkeys(str(factor(subject.run.case(subject.case), colour_by)) for subject in cases)
    return {value: look(index) for index, value in enumerate(values)}


def look_of(subject: Drawn, colour_by: Factor, of_values: dict[str, Look]) -> Look:
    """Return the look of a case: that of its value of a factor, or of its system and transport."""
    return (
        of_values[str(factor(subject.run.case(subject.case), colour_by))]
        if colour_by
        else looks(subject.run)[subject.case]
    )


def _from_zero_or_log(axis: Any, values: Sequence[float], text: Ticks) -> None:
    """Make an axis logarithmic if its values are spread out; else let it begin at zero."""
    known = [value for value in values if value > 0]
    if known and max(known) > SPREAD_OUT * min(known):
        return log_axis(axis, text)
    axis.axes.set(**{f"{axis.axis_name}lim": (0, None)})
    label_axis(axis, text)


@dataclass(frozen=True)
class Lines(Panel):
    """A quantity by a factor: a line for each combination of other factors, with the range over starts as a band.

    by: these factors. models: predictions beside what was measured.
    """

    quantity: str | Quantity
    x: str
    by: tuple[Factor, ...] = ("system", "transport")
    models: tuple[Model, ...] = ()
    label: Label = field(default=way_of, kw_only=True)

    def __call__(self, run: Run, axes: Axes) -> None:
        """Draw the lines of a run, and the models."""
        axes.set_title(self.title)
        text = quantity_of(self.quantity)
        at: list[float] = []
        drawn: list[Spread] = []
        lines = list(self._lines(run))
        dashes = LINE_STYLES if len({part.case(cases[0]).transport for part, cases in lines}) > 1 else {}
        for colours, (part, cases) in zip(self._looks(lines), lines, strict=True):
            x = [factor_or_quantity(part, case, self.x) for case in cases]
            spreads = [over_starts(part, case, self.quantity) for case in cases]
            first, name = part.case(cases[0]), marked(self.label(part, cases[0]), part is not run)
            with hollow(axes, part is not run):
                draw_spreads(axes, x, spreads, colours, name, dashes.get(first.transport, "-"))
            at, drawn = at + x, drawn + spreads
        needed(at, NO_CASES)
        self._draw_models(run, axes)
        words, ticks = FACTORS.get(self.x, (self.x.replace("_", " "), "{:g}".format))
        if max(at) > SPREAD_OUT * min(at) > 0:
            axes.set_xscale("log")
        else:
            axes.set_xlim(0, 1.04 * max(at))
        ticks_at(axes.xaxis, sorted(set(at)), ticks)
        _from_zero_or_log(axes.yaxis, [spread.middle for spread in drawn], text.text)
        axes.set_xlabel(words)
        axes.set_ylabel(f"{text.words}; {band_words(drawn)}")

    def _lines(self, run: Run) -> Iterator[tuple[Run, list[int]]]:
        for part in shown(run):
            for _, cases in alike(part, chosen(part, self.where), self.by):
                yield part, sorted(cases, key=lambda case: factor_or_quantity(part, case, self.x))

    def _looks(self, lines: Sequence[tuple[Run, list[int]]]) -> list[Look]:
        """Return the look of each line: that of its case in every panel, if that distinguishes the lines."""
        of_cases = [looks(part)[cases[0]] for part, cases in lines]
        return of_cases if len(set(of_cases)) == len(lines) else [look(index) for index in range(len(lines))]

    def _draw_models(self, run: Run, axes: Axes) -> None:
        for model in self.models:
            if curve := model.curve(run):
                colour = GREY if model.line == "--" else MODEL
                axes.plot(curve.x, curve.y, model.line, color=colour, lw=1.8, label=model.words)
                if curve.low is not None:
                    band(axes, curve.x, curve.low, curve.high, colour)


@dataclass(frozen=True)
class Ratios(Panel):
    """A row for each ratio of some contrasts: the estimate and its interval, and a line at 1."""

    contrasts: tuple[Contrast, ...]

    def __call__(self, run: Run, axes: Axes) -> None:
        """Draw the ratios of a run."""
        axes.set_title(self.title)
        ratios = needed([ratio for contrast in self.contrasts for ratio in contrast.ratios(run)], NO_CASES)
        for y, ratio in enumerate(ratios):
            interval_row(axes, y, ratio.interval, looks(run)[ratio.other], ratio_text(ratio.interval))
        name_rows(axes, [self.label(run, ratio.other) for ratio in ratios])
        ratio_axis(axes)
        words = dict.fromkeys(quantity_of(ratio.name).words for ratio in ratios)
        over = dict.fromkeys(run.labels[ratio.base] for ratio in ratios)
        beside = f" divided by that of {next(iter(over))}" if len(over) == 1 else ", ratio"
        axes.set_xlabel(f"{' and '.join(words)}{beside}; bar: 95 % CI")


@dataclass(frozen=True)
class Cdf(Panel):
    """The distribution of the RTT of each case.

    colour_by: as of ``Rows``. dash: a factor; lines of its first value are whole, the others dashed.
    """

    colour_by: Factor = ""
    dash: str = "transport"

    def __call__(self, run: Run, axes: Axes) -> None:
        """Draw the distributions of a run."""
        axes.set_title(self.title)
        cases = self.drawn(run)
        of_values = colours_of(self.colour_by, cases) if self.colour_by else {}
        firsts = [curve.run.case(curve.case).factor(self.dash) for curve in cases[:1]]
        looks_of = [look_of(curve, self.colour_by, of_values) for curve in cases]
        drawn = [
            Distribution(
                curve.name, times_of(curve.run, curve.case), with_look, self._line(curve, firsts), curve.is_hollow
            )
            for curve, with_look in zip(cases, looks_of, strict=True)
        ]
        draw_cdfs(axes, drawn)

    def _line(self, curve: Drawn, firsts: Sequence[object]) -> str:
        value = curve.run.case(curve.case).factor(self.dash)
        return LINE_STYLES[str(value)] if self.dash == "transport" else "-" if value in firsts else "--"


@dataclass(frozen=True)
class CpuBars(Panel):
    """The CPU time per call of each case, by role."""

    def __call__(self, run: Run, axes: Axes) -> None:
        """Draw the CPU time per call of a run."""
        axes.set_title(self.title)
        cases = self.drawn(run)
        if all(math.isnan(bar.run.cases.loc[bar.case, "client_cpu_us_per_call"]) for bar in cases):
            raise EmptyError("the CPU time is not known")
        for part in shown(run):
            indices = [index for index, bar in enumerate(cases) if bar.run is part]
            with hollow(axes, part is not run):
                cpu_bars(part, axes, part.cases.loc[[cases[index].case for index in indices]], indices)
        name_rows(axes, [bar.name for bar in cases])
