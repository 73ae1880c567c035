"""What requests take, and how many CPUs they use, at three rates: a table and a picture of one stored run."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import stats
from bench.analysis.overload import without_times
from bench.analysis.pacing import lateness
from bench.analysis.quantiles import Quantile, by_start, quantile
from bench.analysis.resources import cpus_used
from bench.grammar.axes import (
    Look,
    interval_row,
    label_axis,
    legend_entries,
    log_axis,
    look,
    separate_rows,
    style,
)
from bench.grammar.figure import caption, framed
from bench.plan.case import BASELINE, LEAST_ACHIEVED
from bench.plan.placement import IN_WORDS
from bench.run.frames import Run
from bench.stats import Spread, across_starts
from bench.text import counted, duration, listed
from bench.text import quantity as number
from docs.published_tables import WELL_KNOWN

SCENARIO = "explore.rates"  # its stored run
PICTURE = "docs/rates.png"
TITLE = "What do 1,000, 3,000 and 10,000 requests per second take?"
P = 0.99
LIMIT_US = 5000.0  # of the sentence: what interactive services often promise
TOO_FEW = "too few requests"


def name_of(system: str) -> str:
    """Return a system's name for readers who do not know those of the laboratory."""
    return {BASELINE: "raw socket", "thrift": "Thrift (thriftpy2)"}.get(system) or WELL_KNOWN[system]


def cases_at(run: Run) -> dict[str, dict[float, int]]:
    """Return the cases by system and offered rate."""
    by_system: dict[str, dict[float, int]] = {}
    for case in run.numbers:
        by_system.setdefault(run.case(case).system, {})[run.case(case).offered_per_s] = case
    return by_system


def cpus(run: Run, case: int) -> Spread:
    """Return how many CPUs clients, server and router used together, over the starts of a case."""
    return across_starts(cpus_used(run, case))


def response(run: Run, case: int) -> Quantile | None:
    """Return the p99 of the response time; None where requests came faster than replies, or failed."""
    return None if case in without_times(run) else quantile(run, case, P, "response")


def table(run: Run) -> pd.DataFrame:
    """Return a row for each system: p99 of the response time, and CPUs in use, at each rate."""
    rows = {}
    for system, cases in cases_at(run).items():
        times = {f"p99 at {rate:,.0f}/s": time_text(run, case) for rate, case in sorted(cases.items())}
        used = {f"CPUs used at {rate:,.0f}/s": f"{cpus(run, case).middle:.2f}" for rate, case in sorted(cases.items())}
        rows[f"{name_of(system)}, `{system}`"] = times | used
    return pd.DataFrame.from_dict(rows, "index").rename_axis("requests over")


def time_text(run: Run, case: int) -> str:
    """Return the p99 of the response time with its range, and how many starts met the limit; or why there is none."""
    if (p99 := response(run, case)) is None:
        return without_times(run)[case]
    if math.isnan(p99.value):
        return TOO_FEW
    ends = "" if math.isnan(p99.low) else " ({} to {})".format(*p99.spread.ends(duration))
    return f"{p99.spread.words(duration)}{ends}; {in_time(run, case).sum()} of {run.plan.starts}"


def in_time(run: Run, case: int) -> pd.Series:
    """Return of each start of a case whether 99 % of its requests were answered within the limit; none is left out."""
    p99 = {start: stats.carried(us, P) for start, us in by_start(run, case, "response")}
    starts = run.starts_of(case)
    quick = pd.Series(p99, dtype=float).reindex(starts.index) <= LIMIT_US
    return quick & (starts["achieved"] >= LEAST_ACHIEVED)


def met(run: Run) -> str:
    """Return up to which rate each system met the limit in most starts, and at all lower rates that were tried."""
    by_rate: dict[float, list[str]] = {}
    starts = run.plan.starts
    enough = math.ceil(0.75 * starts)
    for system, cases in cases_at(run).items():
        highest = 0.0
        for rate, case in sorted(cases.items()):
            if in_time(run, case).sum() < enough:
                break
            highest = rate
        if system != BASELINE:
            by_rate.setdefault(highest, []).append(f"`{system}`")
    each = [
        f"{f'up to {rate:,.0f} requests/s' if rate else 'at none of these rates'} over {listed(names)}"
        for rate, names in sorted(by_rate.items(), reverse=True)
    ]
    return (
        f"In {enough} or more of {starts} starts, {100 * P:.0f} % of the requests were answered within "
        f"{duration(LIMIT_US)}: {'; '.join(each)}"
    )


def sentences(run: Run) -> str:
    """Return which systems met the limit, and how the requests were made."""
    case = run.case(run.numbers[0])
    judged = [number for number in run.numbers if number not in without_times(run)]
    late_us = max(late.value for late in lateness(run, judged).values())
    return (
        f"**{met(run)}.** One run, on one machine. Requests of {case.payload_bytes:,} B over {case.transport}, at "
        f"random times ([open loop](glossary.md#open-loop)), from {counted(case.clients, 'client')} in Python; server "
        f"and clients {IN_WORDS[case.placement]}, so at most two CPUs. Each client has a connection with one request "
        "under way, so a request also waits until one of them is free. With more clients, or with a library that has "
        "several requests under way on a connection, it waits less. The clients, which share a CPU, sent requests up "
        f"to {duration(late_us)} late (p99): all times, also those of a raw socket, include this.\n\n"
        "*Overloaded*: requests came faster than replies, so clients, server or broker could not do more. *n of "
        f"{run.plan.starts}*: starts that met {duration(LIMIT_US)}. In brackets: the range over the starts. *CPUs "
        'used*: by clients, server and broker together. "1.04 or 3.82 ms": [the two middle '
        "starts](glossary.md#two-middle-starts), which are far apart."
    )


def draw(run: Run) -> Figure:
    """Return the picture: p99 of the response time, and CPUs in use, of each system at each rate."""
    by_system = cases_at(run)
    rates = sorted({rate for cases in by_system.values() for rate in cases})
    with style():
        figure = Figure(figsize=(12.8, 1.9 + 0.5 * len(by_system)), layout="constrained")
        body = figure.subfigures()
        left, right = body.subplots(1, 2, sharey=True)
        for y, cases in enumerate(by_system.values()):
            for index, rate in enumerate(rates):
                if rate in cases:
                    at = y + 0.26 * (index - 1)
                    _row(run, cases[rate], at, look(index), f"{rate:,.0f} requests/s", left, right)
        left.set_yticks(range(len(by_system)), list(map(name_of, by_system)))
        left.set_ylim(len(by_system) - 0.5, -0.5)
        for axes in (left, right):
            axes.grid(axis="y", visible=False)
            separate_rows(axes, [y + 0.5 for y in range(len(by_system) - 1)])
        log_axis(left.xaxis)
        left.axvline(LIMIT_US, color="black", lw=1, ls="--")
        left.set_xlabel("p99 of the response time; marker: middle start or two, bar: range")
        label_axis(right.xaxis, number)
        right.set_xlim(left=0)
        right.set_xlabel("CPUs used by clients, server and broker together")
        entries = legend_entries(right)
        body.legend(entries.values(), entries, loc="outside lower left", ncols=len(entries))
    return framed(figure, TITLE, caption(run))


def _row(run: Run, case: int, y: float, drawn: Look, words: str, left: Axes, right: Axes) -> None:
    interval_row(right, y, cpus(run, case), drawn, label=words)
    p99 = response(run, case)
    if p99 is None or math.isnan(p99.value):
        words = without_times(run)[case] if p99 is None else TOO_FEW
        left.text(0.98, y, words, transform=left.get_yaxis_transform(), ha="right", va="center",
                  color=drawn.colour, fontsize="small")  # fmt: skip
    else:
        interval_row(left, y, p99.spread, drawn)
