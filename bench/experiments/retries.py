"""retries.ipynb: one open load on a server of which a worker freezes once, under four retry policies."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from bench.analysis.retry_outcomes import Outcome, attempts, freezes_ns, outcomes, over_time, utilization
from bench.errors import UsageError
from bench.grammar import Claim, Estimand, Estimate, of_spread
from bench.grammar.axes import (
    GREY,
    label_axis,
    look,
    name_rows,
    needed,
    range_row,
    separate_rows,
    stacked_bar,
    write_beside,
)
from bench.grammar.sweep import Bytes, Rate, as_sweep
from bench.grammar.table import as_table, with_ends
from bench.measurement.validation.amount import Placed
from bench.measurement.validation.cases import one_transport
from bench.measurement.validation.oracle_options import oracle_server
from bench.plan import parameters
from bench.plan.case import Case
from bench.plan.retry_policy import RetryPolicy
from bench.run.frames import Run
from bench.stats import Text, across_starts
from bench.text import quantity

TITLE = "What do retries do to a server that is late?"
FREEZE_AT = 0.2  # of the window: when one of the workers stops


@as_sweep(windows_s={"smoke": 1.0, "class": 2.0})  # long enough to see what remains after the freeze
def sweep(
    amount: Placed,
    transport: object = "tcp",
    payload_bytes: Bytes = 100,
    rate: Rate = 300,
    service_us: object = 4000,
    freeze_ms: object = 300,
    timeout_ms: object = 50,
    deadline_ms: object = 500,
    retries: object = 3,
    backoff_ms: object = 50,
    budget: object = 0.1,
    workers: object = 2,
) -> Iterator[Case]:
    """Yield the same rate, service times and freeze for no retries, and for three ways to retry.

    There is a connection to each of the server's workers, and a retry uses another one than the attempt before it: with
    one worker no retry could be answered before the attempt that it repeats.
    """
    positive = partial(parameters.positive, at_most=60_000, whole=False)
    patience = {"timeout_ms": positive(timeout_ms, "timeout_ms"), "deadline_ms": positive(deadline_ms, "deadline_ms")}
    again = {"retries": parameters.count(retries, "retries", 100)}
    backoff = {"backoff_ms": positive(backoff_ms, "backoff_ms")}
    bucket = {"budget": parameters.positive(budget, "budget", 100, whole=False)}
    mean_us, count = parameters.count(service_us, "service_us", 10_000_000), parameters.count(workers, "workers", 64)
    if rate * mean_us >= 1e6 * count:
        raise UsageError(f"{rate:g} requests/s of {mean_us} us each exceed the capacity: lower the rate")
    options = {
        "mean_us": mean_us,
        "wait": "sleep",  # the result does not depend on how much CPU time other processes leave
        "freeze_after": max(2, round(FREEZE_AT * amount.window_s_of([]) * rate)),
        "freeze_ms": parameters.count(freeze_ms, "freeze_ms", 60_000),
        "server": oracle_server(),
        "workers": count,
    }
    load: dict[str, Any] = {"load": "retry", "offered_per_s": rate, "arrivals": "poisson", "engine": "wire"}
    transport_name, placement = one_transport("oracle", transport), amount.chosen_placement(is_parallel=True)
    for policy in ({}, again, again | backoff, again | bucket):
        yield Case(
            "oracle", transport_name, payload_bytes, options, placement, callers=count, retry=patience | policy, **load
        )


def seconds(value: float, *, like: float | None = None) -> str:
    """Return a time to recovery in words: infinite where the window ended before."""
    return f"{value:.1f} s" if math.isfinite(value) else "no freeze" if math.isnan(value) else "not recovered"


hundredths, percent = "{:.2f}".format, "{:.0%}".format


def attempts_each(run: Run) -> list[Estimate]:
    """Return how many attempts a request has under each policy."""
    return [
        of_spread(outcome.name, across_starts(outcome.attempts_per_request), hundredths) for outcome in outcomes(run)
    ]


def recoveries(run: Run, is_meant: Callable[[float], bool] = lambda load: True) -> list[Estimate]:
    """Return the time from the end of the freeze until requests are answered in time again, of some policies.

    is_meant: whether a policy is meant, by the utilization of the server if all its attempts are made.
    """
    estimates = []
    for outcome in outcomes(run):
        if outcome.frozen and is_meant(utilization(run, outcome.most_attempts)):
            of_starts = across_starts(outcome.recovery_s)
            recovered = f"recovered: {outcome.recovered} of {outcome.frozen} starts"
            estimates.append(Estimate(outcome.name, of_starts, of_starts.words(seconds), recovered))
    return estimates


def window_s(run: Run) -> float:
    """Return the window, in s: no recovery takes that long."""
    return run.plan.window_s


answer = (
    Estimand("attempts per request", attempts_each),
    Estimand("time from the end of the freeze until requests are answered in time again", recoveries),
)
claims = (
    Claim(
        "the server recovers within the window if even all attempts that a policy allows use less than 100 % of it",
        lambda run: recoveries(run, lambda load: load <= 1),
        at_most=window_s,
        unit="s",
    ),
    Claim(
        "the server stays late if all attempts that a policy allows would use more than 100 % of it",
        lambda run: recoveries(run, lambda load: load > 1),
        above=window_s,
        unit="s",
    ),
)

LINES = ("-", "--", "-.", ":")


def draw_over_time(run: Run, axes: Axes, column: str) -> Sequence[Outcome]:
    """Draw a rate of each policy over the time since the freeze began; return those that froze."""
    frozen = [outcome for outcome in outcomes(run) if freezes_ns(run, outcome.case).notna().all()]
    needed(frozen, "the server did not freeze in this run: use a longer window")
    case = run.case(frozen[0].case)
    axes.axvspan(0, case.options["freeze_ms"] / 1e3, color="#bbbbbb", alpha=0.4, lw=0, zorder=0.5, label="freeze")
    for index, outcome in enumerate(frozen):
        rates, drawn = over_time(run, outcome.case), look(index)
        line: dict[str, Any] = {"ls": LINES[index % len(LINES)], "marker": drawn.marker, "markevery": (index, 4)}
        axes.plot(rates.index, rates[column], color=drawn.colour, ms=4, lw=1.8, label=outcome.name, **line)
    axes.axhline(case.offered_per_s, color=GREY, lw=1.2, zorder=1.5, label=f"offered: {case.offered_per_s:g}/s")
    axes.set_xlabel("time since the freeze began [s]")
    axes.set_ylim(bottom=0)
    label_axis(axes.yaxis, quantity)
    axes.margins(x=0.01)
    return frozen


def attempts_over_time(run: Run, axes: Axes) -> None:
    """Draw the attempts per second of each policy, with the offered rate and the server's capacity."""
    axes.set_title("Attempts over time")
    frozen = draw_over_time(run, axes, "attempts")
    capacity = run.case(frozen[0].case).offered_per_s / utilization(run)
    axes.axhline(capacity, color="black", ls=(0, (1, 2)), lw=1.4, label=f"server's capacity: {capacity:g}/s")
    axes.set_ylabel("attempts per second, median over starts")


def goodput_over_time(run: Run, axes: Axes) -> None:
    """Draw the goodput of each policy over time: requests due then that were answered before they were abandoned."""
    axes.set_title("Goodput over time")
    draw_over_time(run, axes, "goodput")
    axes.set_ylabel("goodput [requests/s], median over starts")


def fates(run: Run, axes: Axes) -> None:
    """Draw the attempts per request of each policy, by what became of them; late replies are wasted work."""
    for y, outcome in enumerate(outcomes(run)):
        rows, of_starts = attempts(run, outcome.case), across_starts(outcome.attempts_per_request)
        awaited, answered = int(rows["is_awaited"].sum()), int(rows["rtt_ns"].notna().sum())
        each = of_starts.middle / max(1, len(rows))
        parts = [
            ("answered before it was abandoned", each * awaited, "#2f4858", ""),
            ("answered after that", each * (answered - awaited), "#d9a441", "//"),
            ("no reply before the end", each * (len(rows) - answered), "#d9d9d9", ".."),
        ]
        stacked_bar(axes, y, parts)
        write_beside(axes, y, of_starts.words(hundredths))
    name_rows(axes, [outcome.name for outcome in outcomes(run)])
    axes.set_xlabel("attempts per request, median over starts; parts: shares of all attempts")
    axes.set_title("Amplification, and what became of the attempts")


def deadlines(run: Run, axes: Axes) -> None:
    """Draw two shares of the requests in each start: replies within the deadline, and before the attempt was abandoned.

    Beside the second stands when the policy recovered: goodput counts only such replies.
    """
    names: list[str] = []
    for index, outcome in enumerate(outcomes(run)):
        of_starts = across_starts(outcome.recovery_s)
        recovery = f", {'after ' * math.isfinite(of_starts.middle)}{of_starts.words(seconds)}"
        policy = RetryPolicy.from_values(run.case(outcome.case).retry)
        limits = (f"{policy.deadline_ms:g} ms (deadline)", f"{policy.timeout_ms:g} ms (timeout)")
        for values, limit, more in zip((outcome.met, outcome.awaited), limits, ("", recovery), strict=True):
            beside = f"{across_starts(values).words(percent)}{more}"
            range_row(axes, len(names), 100 * values, look(index), words=beside)
            names.append(f"{outcome.name}:\nwithin {limit}")
    name_rows(axes, names)
    separate_rows(axes, (index - 0.5 for index in range(2, len(names), 2)))
    label_axis(axes.xaxis, "{:.0f} %".format)
    axes.set_xlabel("requests answered within each limit; bar: range over starts")
    axes.set_title("Requests answered in time, and time to recovery after the freeze")


panels = {
    "attempts_over_time": attempts_over_time,
    "goodput_over_time": goodput_over_time,
    "fates": fates,
    "deadlines": deadlines,
}


@as_table("policy")
def predicted(run: Run) -> Iterator[dict[str, str]]:
    """Yield for each policy the utilization if all its attempts are made, and how many starts recovered."""
    for outcome in outcomes(run):
        yield {
            "policy": outcome.name,
            "attempts per request at most, in the long run": f"{outcome.most_attempts:g}",
            "utilization if all are made": percent(utilization(run, outcome.most_attempts)),
            "in time again within the window": f"{outcome.recovered} of {outcome.frozen} starts",
        }


COLUMNS: dict[str, tuple[str, Text]] = {
    "attempts per request": ("attempts_per_request", hundredths),
    "goodput [requests/s]": ("goodput_per_s", "{:.0f}".format),
    "answered before the attempt was abandoned": ("awaited", percent),
    "deadline met": ("met", percent),
    "answered by a retry first": ("overtaken", percent),
    "recovery after the freeze": ("recovery_s", seconds),
    "server utilization with the freeze": ("utilization", percent),
    "served too late": ("wasted", percent),
}


@as_table("policy")
def results(run: Run) -> Iterator[dict[str, str]]:
    """Yield for each policy attempts, goodput, deadlines met, recovery and the server's work; range over starts."""
    for outcome in outcomes(run):
        yield {"policy": outcome.name} | {
            title: _ranged(getattr(outcome, name), text) for title, (name, text) in COLUMNS.items()
        }


def _ranged(values: "pd.Series[float]", text: Text) -> str:
    of_starts = across_starts(values)
    return with_ends(of_starts, text) if math.isfinite(of_starts.low) else of_starts.words(text)


tables = {"predicted": predicted, "retries": results}
