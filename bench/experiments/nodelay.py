"""nodelay.ipynb: TCP_NODELAY on either side, one write or two per message, and the stalls that each predicts."""

from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench import systems
from bench.analysis.stalls import DELAY_S, acks_per_call, rate_per_s, stalls
from bench.experiments.published import XMLRPC_C
from bench.grammar import P50, RATE, Bytes, Claim, Contrast, Estimand, Estimate, Level, ManyBytes, Quantity, Table
from bench.grammar.axes import (
    GREY,
    EmptyError,
    Look,
    dashed_level,
    interval_row,
    label_axis,
    log_axis,
    look,
    name_rows,
    needed,
)
from bench.grammar.choose import alike, chosen
from bench.grammar.estimand import of_interval
from bench.grammar.quantities import by_block, two_decimals
from bench.grammar.sweep import as_sweep
from bench.measurement.validation.amount import Placed
from bench.measurement.validation.cases import instrument
from bench.plan import parameters
from bench.plan.case import Case
from bench.run.frames import Run, numbered
from bench.stats import across_starts
from bench.stats.intervals import paired_shift
from bench.text import duration, in_bytes, listed, plain, quantity

TITLE = "How much time do Nagle's algorithm and delayed ACKs add to a call?"
ABLE = ("sockets", "xmlrpc_pstream", "http_stdlib")  # systems with the three options
SIDES = {(True, True): "both", (False, True): "server only", (True, False): "client only", (False, False): "neither"}
REPEATED = "xmlrpc_pstream"  # the system whose rates the origin published
CALLS = 60  # at most, of a case without stalls: a few show the stall
BARE = {"http_stdlib": {"client": "bare"}}  # http.client always makes two writes
HELD = {"client_nodelay": False, "server_nodelay": False, "writes": 2}

Able = Annotated[Any, lambda value, name: parameters.names(value, name, ABLE)]


@as_sweep(windows_s={"class": 0.5})  # 11 stalls or more in a start: one call without its stall is within a tenth
def sweep(
    amount: Placed,
    system: Able = "all",
    payload_bytes: Bytes = 100,
    sizes: ManyBytes = (100, 40_000, 66_000),
) -> Iterator[Case]:
    """Yield the factorial of client's and server's TCP_NODELAY and one write or two; then raw sockets by payload."""
    shared: dict[str, Any] = {"placement": amount.chosen_placement(), "max_calls": CALLS}
    for name in (name for name in system if systems.load(name)):
        for writes in (1, 2):
            for client, server in SIDES:
                options = {"client_nodelay": client, "server_nodelay": server, "writes": writes, **BARE.get(name, {})}
                yield Case(name, "tcp", payload_bytes, options, **shared)
    yield from (Case("sockets", "tcp", size, HELD, **shared) for size in sizes if size != payload_bytes)
    yield instrument(payload_bytes, shared["placement"])


def sides(case: Case) -> str:
    """Return which sides of a case set TCP_NODELAY."""
    return SIDES[case.options["client_nodelay"], case.options["server_nodelay"]]


def factorial(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases of the factorial: those with the first payload."""
    size = run.case(0).payload_bytes
    return [case for case in among if run.case(case).payload_bytes == size and "writes" in run.case(case).options]


def two_writes(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases of the factorial with two writes per message."""
    return [case for case in factorial(run, among) if run.case(case).options["writes"] == 2]


def is_first(run: Run, case: int) -> bool:
    """Return whether a case is one of the run's first system."""
    return run.case(case).system == run.case(0).system


def added(run: Run) -> list[Estimate]:
    """Return what one stall and two add to the median RTT of the run's first system: differences within each block."""
    cases = [case for case in chosen(run, two_writes) if is_first(run, case)]
    by_count = {
        count: pd.concat([by_block(run, case, P50) for case in part], axis=1).mean(axis=1)
        for (count,), part in alike(run, cases, (stalls,))
    }
    return [
        of_interval(words, paired_shift((by_count[count] - by_count[0]).dropna().to_numpy()), duration)
        for count, words in ((1, "one stall"), (2, "two stalls"))
        if {0, count} <= by_count.keys()
    ]


def acks_per_stall(run: Run) -> list[Estimate]:
    """Return the delayed ACKs that the kernel counted for each predicted stall, of each case that should stall."""
    cases = chosen(run, {stalls: bool}, chosen(run, factorial))
    counted = {case: acks_per_call(run, case) / stalls(run.case(case)) for case in cases}
    return [
        of_interval(run.labels[case], paired_shift(acks.to_numpy()), two_decimals, (case,))
        for case, acks in counted.items()
        if len(acks)
    ]


ACKS = Quantity("delayed ACKs per call", two_decimals, values=acks_per_call)
FIRST = Quantity("first call", duration, values=lambda run, case: run.starts_of(case)["first_rtt_ns"] / 1e3)
stalled = Contrast(P50, of={stalls: bool}, over={sides: "both"}, by=("system",), where=two_writes)

answer = (
    Estimand(lambda run: f"time added to the median RTT ({run.case(0).system})", added),
    Level(
        P50,
        lambda run, among: [case for case in two_writes(run, among) if is_first(run, case)],
        lambda run, case: f"{sides(run.case(case))} with TCP_NODELAY",
    ),
)
claims = (
    Claim("the kernel counts a delayed ACK for each predicted stall", acks_per_stall, above=0.9),
    Claim("a call that should stall takes longer than with TCP_NODELAY on both sides", stalled, above=1),
)

LOOKS = {name: look(index) for index, name in enumerate(SIDES.values())}
DELAY = plain(duration(DELAY_S * 1e6))
APART = 0.22  # of a row: two writes above, one write below


def rates(run: Run, axes: Axes) -> None:
    """Draw calls per second with one write and with two, the predicted rates, and those published by the origin."""
    cases = {case: run.case(case) for case in chosen(run, factorial)}
    rows = list(dict.fromkeys(f"{case.system}: {sides(case)}" for case in cases.values()))
    for number, case in cases.items():
        values, is_one = run.starts_of(number)[RATE], case.options["writes"] == 1
        at = rows.index(f"{case.system}: {sides(case)}") + (APART if is_one else -APART)
        colour, marker = LOOKS[sides(case)]
        axes.plot(values, [at] * len(values), marker, ms=5, mew=1, color=colour, mfc="white" if is_one else colour)
        if stalls(case):
            axes.plot(rate_per_s(case), at, "|", ms=11, mew=2, color="black")
    theirs = XMLRPC_C["calls_per_s_held"].values()
    measured = [at for at, name in enumerate(rows) if name.startswith(f"{REPEATED}:")]
    if measured:
        axes.vlines([*theirs], measured[0] - 0.5, measured[-1] + 0.5, color=GREY, ls=":", lw=1.3,
                    label=f"origin ({REPEATED}), about 1999: {listed(theirs)}")  # fmt: skip
    axes.plot([], [], "o", ms=6, mfc="white", color=GREY, mew=1.2, label="one write: each start")
    axes.plot([], [], "o", ms=6, color=GREY, label="two writes: each start")
    axes.plot([], [], "|", ms=12, mew=2, color="black", label=f"predicted, k stalls: at most 1/(k × {DELAY})")
    log_axis(axes.xaxis, quantity)
    name_rows(axes, rows)
    axes.set_xlabel("calls per second; row names: which side sets TCP_NODELAY")
    axes.set_title("Calls per second: predicted and measured")


def calls(run: Run, axes: Axes) -> None:
    """Draw the RTT of each call against its number in the connection: two writes, the first system."""
    system = run.case(0).system
    shown = [case for case in chosen(run, two_writes) if is_first(run, case)]
    needed(shown, "no case with two writes in this run")
    maximum = 0
    for index, case in enumerate(shown):
        colour, marker = LOOKS[sides(run.case(case))]
        for start, times in run.calls_of(case):
            rtt_us = np.array([run.ledger.loc[start, "first_rtt_ns"], *times.rtt_ns]) / 1e3
            numbers = np.arange(1, len(rtt_us) + 1) + 0.08 * (index - (len(shown) - 1) / 2)  # side by side
            axes.plot(numbers, rtt_us, color=colour, marker=marker, ms=3.5, lw=0.8, alpha=0.6,
                      label=f"TCP_NODELAY: {sides(run.case(case))}")  # fmt: skip
            maximum = max(maximum, len(rtt_us) if stalls(run.case(case)) else 0)
    axes.set_xlim(0.5, 1.3 * maximum + 1)
    log_axis(axes.yaxis)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("number of the call in its connection; lines end with the window")
    axes.set_ylabel("RTT")
    axes.set_title(f"RTT of each call, two writes ({system})")


def draw_acks(
    run: Run, axes: Axes, cases: Sequence[int], name: Callable[[Case], str], drawn: Callable[[Case], Look]
) -> None:
    """Draw the delayed ACKs per call of each start that the kernel counted, and how many stalls were predicted."""
    axes.set_title("Delayed ACKs per call, counted by the kernel")
    known = [case for case in cases if len(acks_per_call(run, case))]
    counted = needed(known, "the kernel's counters are not known in this run")
    for y, case in enumerate(counted):
        values = across_starts(acks_per_call(run, case))
        axes.plot(stalls(run.case(case)), y, "|", ms=20, mew=2, color="black", zorder=1, label="predicted stalls")
        interval_row(axes, y, values, drawn(run.case(case)), values.words(two_decimals))
    name_rows(axes, [name(run.case(case)) for case in counted])
    axes.set_xlabel("delayed ACKs per call; marker: median, bar: range over starts")


def proof(run: Run, axes: Axes) -> None:
    """Draw the delayed ACKs per call of two writes."""
    cases = chosen(run, two_writes)
    draw_acks(run, axes, cases, lambda case: f"{case.system}: {sides(case)}", lambda case: LOOKS[sides(case)])


def by_size(run: Run, axes: Axes) -> None:
    """Draw the median RTT against the payload, TCP_NODELAY on neither side: a full segment is sent at once."""
    cases = run.cases_with(system="sockets", **HELD).sort_values("payload_bytes")
    if len(cases) < 2:
        raise EmptyError("one payload only: give sizes")
    spreads = [run.over_starts(case, P50) for case, _ in numbered(cases)]
    drawn, sizes = LOOKS["neither"], cases["payload_bytes"]  # no line: between two payloads lies the limit, a step
    axes.plot(sizes, [spread.middle for spread in spreads], drawn.marker, ms=8, color=drawn.colour)
    ends = [spread.low for spread in spreads], [spread.high for spread in spreads]
    axes.vlines(sizes, *ends, color=drawn.colour, alpha=0.3, lw=5)
    for count in (1, 2):
        dashed_level(axes, count * DELAY_S * 1e6, f"{count} × {DELAY}")
    label_axis(axes.xaxis, in_bytes)
    log_axis(axes.yaxis)
    axes.set_xlabel("payload")
    axes.set_ylabel("median RTT; bar: range over starts")
    axes.set_title("RTT by payload, two writes, TCP_NODELAY: neither")


panels = {"rates": rates, "calls": calls, "proof": proof, "by_size": by_size}


def predicted_rate(run: Run, case: int) -> str:
    """Return the calls per second that the predicted stalls allow."""
    return f"{rate_per_s(run.case(case)):.3g}" if stalls(run.case(case)) else "no stall"


def measured_over_delay(run: Run, case: int) -> str:
    """Return how long a predicted stall takes, from the calls per second."""
    k = stalls(run.case(case))
    return duration(1e6 / run.cases.loc[case, RATE] / k) if k else ""


def of_origin(run: Run, number: int) -> str:
    """Return the calls per second that the origin published for a case, about 1999."""
    case = run.case(number)
    sides_held = {1: "one side", 2: "both sides"}.get(stalls(case))
    return str(XMLRPC_C["calls_per_s_held"][sides_held]) if case.system == "xmlrpc_pstream" and sides_held else ""


tables = {
    "stalls": Table(
        {
            "predicted stalls per call": lambda run, case: stalls(run.case(case)),
            "delayed ACKs per call [range over starts]": ACKS,
            "calls/s [range over starts]": RATE,
            "calls/s, predicted at most": predicted_rate,
            "time per predicted stall": measured_over_delay,
            "first call of a connection [range over starts]": FIRST,
            "origin, about 1999 [calls/s]": of_origin,
        },
        where=two_writes,
    )
}
