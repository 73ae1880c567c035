"""explore.ipynb: any cases side by side, under closed or open loads; the page adds results as it measures them."""

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes

from bench import stats
from bench.analysis import overload
from bench.analysis.comparison import effect
from bench.errors import UsageError
from bench.grammar import P50, RATE, CpuBars, Estimand, Estimate, as_sweep, of_spread, per_start
from bench.grammar.axes import (
    SYSTEM_COLOURS,
    Distribution,
    Times,
    draw_cdfs,
    interval_row,
    log_axis,
    look,
    name_rows,
    needed,
    range_row,
    ratio_axis,
    ratio_text,
    times_of,
    wrapped,
)
from bench.grammar.choose import everything
from bench.grammar.contrast import ratio_estimate
from bench.measurement.validation.amount import InTurns
from bench.measurement.validation.profiles import takes_turns
from bench.measurement.validation.spelled import case, of_each_system
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run.frames import Run
from bench.stats.intervals import Interval
from bench.text import duration, quantity

TITLE = "What changes when you change one factor?"
DEFAULT = "[{system: sockets}, {system: zeromq}, {system: zeromq, transport: tcp}]"


@as_sweep(omits=("placement", "hosts"))  # each case has its own
def sweep(amount: InTurns, cases: object = DEFAULT) -> Plan:
    """Return the plan of the cases that mappings spell, and of nothing else: neither the baseline nor the instrument.

    A ``system`` that is a list, or ``all``, stands for a case of each: of all that the case's load generator can load,
    and whose servers start fast. They take turns if all of them can; else each start has a window, which those need
    that cannot.
    """
    absent: dict[str, str] = {}
    chosen = [case(mapping) for spelled in parameters.as_list(cases) for mapping in of_each_system(spelled, absent)]
    if not chosen and not absent:
        raise UsageError("cases is an empty list: write [{system: sockets, transport: ipc}]")
    if not all(map(takes_turns, chosen)):
        amount = replace(amount, slice_ms=0)
    return amount.plan("explore", chosen, absent)


@dataclass(frozen=True, eq=False)
class Row:
    """The times that are drawn of one case, whichever run it comes from.

    medians: one value for each start, in us. over: why no times are reported; "": they are.
    """

    name: str
    paced: bool
    medians: stats.Array
    times: Times
    over: str = ""


def time_of(factors: Case) -> str:
    """Return which time of a case's calls is drawn: the round trip, or from when a request was due."""
    return "response" if factors.load == "open" else "rtt"


def row(run: Run, number: int, name: str) -> Row:
    """Return what is drawn of one case of a run."""
    factors, time = run.case(number), time_of(run.case(number))
    medians = run.starts_of(number)[P50.replace("rtt", time)].to_numpy(float)
    over = overload.without_times(run).get(number, "")
    return Row(name, factors.load == "open", medians, times_of(run, number, time), over)


def rows(run: Run) -> list[Row]:
    """Return what is drawn of each case of a run."""
    return [row(run, number, run.labels[number]) for number in run.numbers]


def ratio_of(run: Run, base: int, other: int) -> Interval | None:
    """Return the ratio of the medians of two cases, other over base; None where there is none.

    Of different times (see ``time_of``), without a common block, or where one has no times.
    """
    time, base_time = (time_of(run.case(number)) for number in (other, base))
    if base == other or time != base_time or {base, other} & overload.without_times(run).keys():
        return None
    ratio = effect(run, base, other, P50.replace("rtt", time))
    return None if math.isnan(ratio.middle) else ratio


def to_shortest(shown: Sequence[Row], known: Mapping[tuple[str, str], Interval]) -> list[Estimate]:
    """Return the shortest median, and every other divided by it; those that a row has no time of at the end.

    known: ratios paired by block, by the names of (base, other); pairs that it lacks have no ratio.
    """
    medians = [(series, stats.across_starts(series.medians)) for series in shown if not series.over]
    medians = sorted((pair for pair in medians if not math.isnan(pair[1].middle)), key=lambda pair: pair[1].middle)
    estimates = []
    for index, (series, spread) in enumerate(medians):
        first = medians[0][0].name
        level = of_spread(series.name if index else f"{series.name}, the shortest", spread, duration)
        ratio = known.get((first, series.name))
        if ratio is not None:
            estimates.append(_divided(level, first, ratio))
        else:
            apart = "; no ratio: measured in other blocks, or another kind of time" if index else ""
            estimates.append(replace(level, ends=level.ends + apart))
    over = [
        Estimate(f"{series.name} at its rate", Interval(math.nan), series.over, "no time is reported")
        for series in shown
        if series.over
    ]
    return estimates + over


def _divided(level: Estimate, base: str, ratio: Interval) -> Estimate:
    """Return a median as a ratio to the shortest one."""
    doubt = "; not distinguishable" if ratio.low <= 1 <= ratio.high else ""
    return ratio_estimate(f"{level.subject} ({level.words}) divided by that of {base}", ratio, doubt, base)


def relative_medians(run: Run) -> list[Estimate]:
    """Return the shortest median of a run, and every other divided by it."""
    pairs = [(base, other) for base in run.numbers for other in run.numbers]
    known = {
        (run.labels[base], run.labels[other]): ratio for base, other in pairs if (ratio := ratio_of(run, base, other))
    }
    return to_shortest(rows(run), known)


def median_words(run: Run) -> str:
    """Return what the medians of a run are of."""
    is_paced = any(series.paced for series in rows(run))
    return "median RTT (of an open loop: response time)" if is_paced else "median RTT"


answer = (Estimand(median_words, relative_medians),)

NO_ROWS = "nothing has been measured yet"
NO_TIMES = "no times: every case is overloaded, or its requests failed"
LINES = ("-", "--", "-.", ":")


def medians(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start, their range and their median; or why a case has none."""
    shown = rows(run)
    drawn = needed([series for series in shown if not series.over and not np.isnan(series.medians).all()], NO_TIMES)
    for y, series in enumerate(shown):
        if series in drawn:
            range_row(axes, y, series.medians, look(y))
        else:
            why = f"{series.over or 'no reply'}: no time is reported"
            axes.text(0.02, y, why, transform=axes.get_yaxis_transform(), va="center")
    log_axis(axes.xaxis)
    axes.set_xlabel(
        "median RTT of each start (open loop: median response time)"
        if any(series.paced for series in drawn)
        else "median RTT, each start; bar: range, line: median"
    )
    axes.set_title("Median RTT of each start")
    name_rows(axes, wrapped(series.name for series in shown))


def draw_distributions(shown: Sequence[Row], axes: Axes) -> None:
    """Draw the empirical CDF of all calls of each row with a marker at each quantile; of many rows three quantiles."""
    drawn = [(index, series) for index, series in enumerate(shown) if series.times.n and not series.over]
    needed(drawn, NO_TIMES if shown else NO_ROWS)
    distributions = [
        Distribution(series.name, series.times, look(index), LINES[index // len(SYSTEM_COLOURS) % len(LINES)])
        for index, series in drawn
    ]
    draw_cdfs(axes, distributions)
    if any(series.paced for _, series in drawn):
        axes.set_xlabel(axes.get_xlabel().replace("RTT", "RTT (open loop: response time)", 1))
    axes.set_title("Distribution of the RTT")


def ratios(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each case divided by that of the first one, with its 95 % interval."""
    drawn = [(number, ratio) for number in run.numbers if (ratio := ratio_of(run, run.numbers[0], number))]
    needed(drawn, "no two cases share blocks: there is no ratio")
    for y, (number, ratio) in enumerate(drawn):
        interval_row(axes, y, ratio, look(run.numbers.index(number)), ratio_text(ratio))
    ratio_axis(axes)
    name_rows(axes, wrapped(run.labels[number] for number, _ in drawn))
    axes.set_xlabel(f"median RTT divided by that of {run.labels[run.numbers[0]]}; bar: 95 % confidence interval")
    axes.set_title("Ratios of the median RTT")


def rates(run: Run, axes: Axes) -> None:
    """Draw the throughput of each start in calls per second, all clients together."""
    for y, number in enumerate(run.numbers):
        range_row(axes, y, per_start(run, number, RATE), look(y), quantity)
    log_axis(axes.xaxis, quantity)
    axes.set_xlabel("calls per second, each start; bar: range, line: median")
    name_rows(axes, wrapped(run.labels[number] for number in run.numbers))
    axes.set_title("Throughput of each start")


panels = {
    "medians": medians,
    "distributions": lambda run, axes: draw_distributions(rows(run), axes),
    "rates": rates,
    "cpu_per_call": CpuBars(
        "CPU time per call, by role", where=everything, label=lambda run, number: textwrap.fill(run.labels[number], 24)
    ),
    "ratios": ratios,
}
