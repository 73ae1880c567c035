"""What requests take, and how many CPUs they use, at three rates: a table and a picture of one stored run."""

import math

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench.analysis.overload import without_times
from bench.analysis.pacing import lateness
from bench.analysis.quantiles import Quantile, quantile
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
from bench.plan.case import BASELINE
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
ROLES = ("client", "server", "router")


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
    columns = [f"{role}_cpu_percent" for role in ROLES]
    return across_starts((run.starts_of(case)[columns].sum(axis=1) / 100).to_list())


def response(run: Run, case: int) -> Quantile | None:
    """Return the p99 of the response time; None where requests came faster than replies, or failed."""
    return None if case in without_times(run) else quantile(run, case, P, "response")


def table(run: Run) -> pd.DataFrame:
    """Return a row for each system: p99 of the response time, and CPUs in use, at each rate."""
    rows = {}
    for system, cases in cases_at(run).items():
        times = {f"p99 at {rate:,.0f}/s": _time_text(run, case) for rate, case in sorted(cases.items())}
        used = {f"CPUs used at {rate:,.0f}/s": f"{cpus(run, case).middle:.2f}" for rate, case in sorted(cases.items())}
        rows[f"{name_of(system)}, `{system}`"] = times | used
    return pd.DataFrame.from_dict(rows, "index").rename_axis("requests over")


def _time_text(run: Run, case: int) -> str:
    if (p99 := response(run, case)) is None:
        return without_times(run)[case]
    if math.isnan(p99.value):
        return "too few requests"
    ends = "" if math.isnan(p99.low) else " ({} to {})".format(*p99.spread.ends(duration))
    return f"{p99.spread.words(duration)}{ends}"


def met(run: Run) -> str:
    """Return up to which rate each system met the limit, in the median start."""
    by_rate: dict[float, list[str]] = {}
    for system, cases in cases_at(run).items():
        times = {rate: response(run, case) for rate, case in cases.items() if system != BASELINE}
        rates = [rate for rate, p99 in times.items() if p99 is not None and p99.value <= LIMIT_US]
        if rates:
            by_rate.setdefault(max(rates), []).append(f"`{system}`")
    each = [
        f"up to {rate:,.0f} requests/s over {listed(names)}" for rate, names in sorted(by_rate.items(), reverse=True)
    ]
    return f"The p99 of the median start was at most {duration(LIMIT_US)} {'; '.join(each)}"


def sentences(run: Run) -> str:
    """Return which systems met the limit, and how the requests were made."""
    case = run.case(run.numbers[0])
    judged = [number for number in run.numbers if number not in without_times(run)]
    late_us = max(late.value for late in lateness(run, judged).values())
    return (
        f"**{met(run)}.** Requests of {case.payload_bytes:,} B over {case.transport}, at random times ([open "
        f"loop](glossary.md#open-loop)), from {counted(case.clients, 'client')} in Python with a connection "
        f"each; server and clients {IN_WORDS[case.placement]}, so at most two CPUs. The clients share a CPU: "
        f"the p99 of how late they sent a request is up to {duration(late_us)}, which is part of these times "
        "and of a raw socket's. *Overloaded*: requests came faster than replies, so clients, server or broker"
        " could not do more. In brackets: the range over the starts, or, where a start has too few requests, "
        "the 95 % confidence interval of all. *CPUs used*: by clients, server and broker together."
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
        left.set_xlabel("p99 of the response time; marker: median of the starts, bar: range")
        label_axis(right.xaxis, number)
        right.set_xlim(left=0)
        right.set_xlabel("CPUs used by clients, server and broker together")
        entries = legend_entries(right)
        body.legend(entries.values(), entries, loc="outside lower left", ncols=len(entries))
    return framed(figure, TITLE, caption(run))


def _row(run: Run, case: int, y: float, drawn: Look, words: str, left: Axes, right: Axes) -> None:
    interval_row(right, y, cpus(run, case), drawn, label=words)
    if (p99 := response(run, case)) is None:
        left.text(0.98, y, without_times(run)[case], transform=left.get_yaxis_transform(), ha="right", va="center",
                  color=drawn.colour, fontsize="small")  # fmt: skip
    elif not math.isnan(p99.value):
        interval_row(left, y, p99.spread, drawn)
