"""wamp.ipynb: a call through a router, by transport, framing and serializer; and the same echo without a router."""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from bench import systems
from bench.analysis import factorial
from bench.analysis.factorial import Effect
from bench.experiments import published
from bench.experiments.published import WAMP, WAMP_PROCESSES
from bench.grammar import (
    CPU,
    P50,
    Claim,
    Contrast,
    CpuBars,
    Estimand,
    Estimate,
    Rows,
    Table,
    chosen,
    fewest,
    of_interval,
    over_starts,
    per_start,
)
from bench.grammar.axes import GREY, SYSTEM_COLOURS, Look, log_axis, name_rows, needed, range_row
from bench.grammar.quantities import signed
from bench.grammar.sweep import Bytes, Flag, as_sweep
from bench.grammar.table import as_table
from bench.measurement.validation.amount import Placed
from bench.plan import parameters
from bench.plan.case import BASELINE, Case
from bench.run.frames import ROLES, Run, once_per_run
from bench.text import duration, in_bytes, quantity

TITLE = "What does a router add to a call, and which factor matters most?"
ROUTED = "wamp_crossbar"
FIRST = {"transport": "ipc", "framing": "rawsocket", "serializer": "msgpack"}  # of the origin's two combinations
SECOND = {"transport": "tcp", "framing": "websocket", "serializer": "json"}
BATCH = 20  # calls averaged, as the origin averages "N calls", again and again
REPLICAS = ((SYSTEM_COLOURS[0], "o"), (SYSTEM_COLOURS[3], "s"))


@as_sweep()
def sweep(
    amount: Placed,
    transport: object = "all",
    framing: object = "all",
    serializer: object = "all",
    payload_bytes: Bytes = 100,
    fresh_router: Flag = False,
) -> Iterator[Case]:
    """Yield the factorial of transport, framing and serializer through a router, and the same echo without one."""
    placement = amount.chosen_placement()
    ways = parameters.names(transport, "transport", systems.constant(ROUTED, "TRANSPORTS"))
    framings = parameters.names(framing, "framing", ("rawsocket", "websocket"))
    serializers = parameters.names(serializer, "serializer", ("msgpack", "cbor", "json"))
    for transport_name, frame, text in itertools.product(ways, framings, serializers):
        options = {"framing": frame, "serializer": text}
        yield Case(ROUTED, transport_name, payload_bytes, options, placement, fresh_router=fresh_router)
    yield from (
        Case(name, transport_name, payload_bytes, placement=placement)
        for name in (BASELINE, "zeromq")
        for transport_name in ways
    )


def fastest(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the routed case with the shortest median RTT, and the same echo without a router over its transport."""
    known = [case for case in run.find(system=ROUTED) if len(per_start(run, case, "router_cpu_us_per_call"))]
    routed = chosen(run, fewest(P50), known)
    ways = [run.case(case).transport for case in routed]
    return routed + [case for case in among if run.case(case).system != ROUTED and run.case(case).transport in ways]


@once_per_run
def effects(run: Run) -> list[Effect]:
    """Return the effect of each level of each factor on the median RTT, in us."""
    return factorial.effects(run, run.find(system=ROUTED), FIRST, P50)


def origins_effects(run: Run) -> list[Effect]:
    """Return the effects of what the origin changed at once."""
    return [effect for effect in effects(run) if effect.level in SECOND.values()]


def added(run: Run) -> list[Estimate]:
    """Return what each of the origin's three changes adds to the median RTT, averaged over the other factors."""
    changes = {f"{effect.level} instead of {effect.against}": effect for effect in origins_effects(run)}
    return [of_interval(change, effect.interval, signed) for change, effect in changes.items()]


def websocket_beyond(run: Run) -> list[Estimate]:
    """Return by how much the effect of websocket is larger than those of the origin's other changes."""
    by_level = {effect.level: effect for effect in origins_effects(run)}
    framing = by_level.pop("websocket", None)
    return [
        of_interval(f"websocket minus {effect.level}", framing.minus(effect), signed)
        for effect in by_level.values()
        if framing
    ]


combined = Contrast(P50, of={"system": ROUTED, **SECOND}, over={"system": ROUTED, **FIRST})
over_sockets = Contrast(P50, of={"system": ROUTED}, over={"system": BASELINE}, where=fastest)
over_zeromq = Contrast(P50, of={"system": ROUTED}, over={"system": "zeromq"}, where=fastest)

contrasts = (combined, over_sockets, over_zeromq)
changes = Estimand("effect on the median RTT", added)
answer = (over_sockets, over_zeromq, changes)
claims = (
    Claim("each of the origin's three changes adds time to a call", added, above=0),
    Claim("websocket adds more time than each of the other two changes", websocket_beyond, above=0),
)


def batches(run: Run, axes: Axes) -> None:
    """Draw the mean RTT of each batch of calls from the first on, for every start; and the origin's batches."""
    shown = needed(published.wamp_replicas(run), "neither of the origin's two combinations is in this run")
    for (colour, marker), (name, case) in zip(REPLICAS, shown.items(), strict=False):
        for _, calls in run.calls_of(case):
            means_us = pd.Series(calls.rtt_ns / 1e3).groupby(np.arange(calls.size) // BATCH).mean()
            whole = means_us[: calls.size // BATCH]
            axes.plot(whole.index + 1, whole, color=colour, marker=marker, ms=2.5, lw=1, alpha=0.55)
        axes.plot([], [], color=colour, marker=marker, ms=4, lw=2, label=name.replace(" ", " + "))
        theirs = 1e3 * np.array(WAMP[name]["batches_ms"])
        axes.plot(np.arange(1, len(theirs) + 1), theirs, "x:", color=colour, ms=7, lw=1)
    axes.plot([], [], "x:", color=GREY, label="origin's log, 2016 (its own batches)")
    log_axis(axes.yaxis)
    axes.set_xlim(0, axes.dataLim.x1 + 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(f"batch of {BATCH} calls, from the first call of a start on")
    axes.set_ylabel("mean RTT of a batch")
    axes.set_title("Warm-up: each start, batch by batch")


def draw_effects(run: Run, axes: Axes) -> None:
    """Draw the effect of each factor on the median RTT, one factor at a time, for each block."""
    drawn = needed(effects(run), "one factor at a time needs two levels of it,\nand six starts without a gap")
    for y, effect in enumerate(drawn):
        colour, middle = SYSTEM_COLOURS[0] if effect.is_certain else GREY, effect.interval.middle
        words = f"{signed(middle)}  (× {effect.ratio:.2f})"
        range_row(axes, y, effect.added, Look(colour, "o"), words=words, line=middle)
    axes.axvline(0, color="black", lw=1)
    name_rows(axes, [f"{effect.factor}:\n{effect.level} instead\nof {effect.against}" for effect in drawn])
    unsure = "" if all(effect.is_certain for effect in drawn) else "; grey: may be 0"
    axes.set_xlabel(f"added to the median RTT [µs], each block; line: estimate{unsure}")
    axes.set_title("Effect of one factor, averaged over the others")


panels = {
    "batches": batches,
    "medians": Rows("Median RTT of each start", P50),
    "effects": draw_effects,
    "cpu_per_call": CpuBars("CPU time per call, by role"),
}


@as_table("effect")
def effects_table(run: Run) -> Iterator[dict[str, str]]:
    """Yield each effect on the median RTT: in us, as a factor, and of the origin's three as a share."""
    positive = {effect.level: max(0.0, effect.interval.middle) for effect in origins_effects(run)}
    for effect in sorted(effects(run), key=lambda effect: -abs(effect.interval.middle)):
        share = positive.get(effect.level)
        yield {
            "effect": f"{effect.factor}: {effect.level} instead of {effect.against}",
            "added to the median RTT": str(of_interval("", effect.interval, signed)),
            "ratio": quantity(effect.ratio),
            "distinguishable from zero": "yes" if effect.is_certain else "no",
            "share of the origin's three": f"{share / sum(positive.values()):.0%}" if share else "",
        }


@as_table("case")
def processes(run: Run) -> Iterator[dict[str, str]]:
    """Yield CPU load and memory by role in the two cases that repeat the origin, with the values of its monitor."""
    for case, role in itertools.product(published.wamp_replicas(run).values(), ROLES):
        if len(per_start(run, case, f"{role}_cpu_percent")):
            cpu, memory = (" to ".join(f"{end:g}" for end in dict.fromkeys(ends)) for ends in WAMP_PROCESSES[role])
            yield {
                "case": run.labels[case],
                "role": role,
                "CPU load [% of one CPU]": over_starts(run, case, f"{role}_cpu_percent").words("{:.1f}".format),
                "CPU/call": over_starts(run, case, f"{role}_cpu_us_per_call").words(duration),
                "memory": over_starts(run, case, f"{role}_rss_bytes").words(in_bytes),
                "origin, 2016": f"{cpu} %, {memory} MB",
            }


def routers_share(run: Run, case: int) -> str:
    """Return the router's share of the CPU time per call, its controller's included in the whole."""
    spent, whole = (over_starts(run, case, name).middle for name in ("router_cpu_us_per_call", CPU))
    return f"{spent / whole:.0%}" if whole else "n/a"


tables = {
    "effects": effects_table,
    "processes": processes,
    "router": Table(
        {
            "CPU time per call [range over starts]": CPU,
            "the router's": "router_cpu_us_per_call",
            "the router's share": routers_share,
            "its controller's": "controller_cpu_us_per_call",
        },
        where={"system": ROUTED},
    ),
}
lines = published.wamp_lines
