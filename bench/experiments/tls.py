"""tls.ipynb: the same connections and calls with and without encryption, and with resumed sessions."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator

from bench import systems
from bench.analysis import encryption
from bench.analysis.encryption import added, connect_us, pairs, protocol
from bench.analysis.limits import limit_of
from bench.analysis.marginal_costs import KINDS
from bench.errors import UsageError
from bench.grammar import (
    CPU,
    P50,
    Absent,
    Claim,
    Contrast,
    CpuBars,
    Estimand,
    Estimate,
    ManyBytes,
    Quantity,
    Rows,
    alike,
    as_sweep,
    chosen,
    way_of,
)
from bench.grammar.axes import (
    GREY,
    SMALL,
    SYSTEM_COLOURS,
    Look,
    band,
    interval_row,
    log_axis,
    looks,
    name_rows,
    payload_axis,
)
from bench.grammar.table import as_table, ratio_with_ends, with_ends
from bench.measurement.validation.amount import InTurns
from bench.measurement.validation.cases import absent_of, chosen_systems
from bench.measurement.validation.support import encrypted_transports, encrypting
from bench.measurement.validation.support import encryption as option_of
from bench.plan import parameters
from bench.plan.case import Case
from bench.run.frames import Run
from bench.stats.intervals import Interval
from bench.text import duration, in_bytes, listed

TITLE = "What does encryption cost?"
MOST_OPENED = 1000  # connections in a start
BLOCKS_S = 90.0  # about a dozen blocks
WAY = ("system", "transport")

Encrypting = Annotated[
    Any, lambda value, name: encrypting() if parameters.literal(value) == "all" else chosen_systems(value)
]
Opened = Annotated[Any, lambda value, name: parameters.count(value, name, MOST_OPENED)]


@as_sweep(omits=("hosts",), in_common=(*WAY, "payload_bytes"), blocks_s=BLOCKS_S)
def sweep(
    amount: InTurns,
    system: Encrypting = ("sockets", "http_stdlib", "grpc_sync", "zeromq"),
    transport: object = "tcp",
    payload_bytes: ManyBytes = (100, 16_000, 64_000, 256_000),
    connections: Opened = 20,
) -> Iterator[Case | Absent]:
    """Yield connections of one call each, and calls of each payload on a connection that is kept.

    Each system does both without encryption and with it, and connects with resumed sessions where it can. Whole
    connections take no turns: they have starts of their own.
    """
    sizes = sorted(payload_bytes)
    if len(sizes) < 2:
        raise UsageError("payload_bytes needs two numbers or more, such as [100, 64000]: the cost of a byte is a slope")
    absent = absent_of(system)
    yield from itertools.starmap(Absent, absent.items())
    options = {name: variants(name) for name in system if name not in absent}
    ways = [
        (name, transport_name, options[name])
        for name in options
        for transport_name in parameters.names(transport, f"encrypted transport of {name}", encrypted_transports(name))
    ]
    whole: dict[str, Any] = {"load": "reconnect", "sessions": ((1, sizes[0]),) * connections}
    yield from (
        Case(name, transport_name, sizes[0], tls_options, amount.chosen_placement(), **whole)
        for name, transport_name, every in ways
        for tls_options in every
    )
    for (name, transport_name, every), size in itertools.product(ways, sizes):
        yield from (
            Case(name, transport_name, size, tls_options, amount.chosen_placement()) for tls_options in every[:2]
        )  # only new connections resume


def variants(name: str) -> list[dict[str, Any]]:
    """Return the options of a system without encryption, with it, and with resumed sessions where it has them."""
    option = option_of(name)
    if option is None:
        raise UsageError(f"{name} does not encrypt: there are {', '.join(encrypting())}")
    has_sessions = hasattr(systems.load(name).Options, "tls_session")
    resumed = [{option: True, "tls_session": "resumed"}] if has_sessions else []
    return [{option: False}, {option: True}, *resumed]


def variant(case: Case) -> str:
    """Return how the connections of a case are encrypted."""
    is_resumed = case.options.get("tls_session") == "resumed"
    return f"encrypted, {'resumed' if is_resumed else 'new'} session" if case.tls else "not encrypted"


def way(run: Run, case: int) -> str:
    """Return the system, the transport and the protocol of encryption of a case."""
    return f"{way_of(run, case)} ({protocol(run, case)})"


def largest(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the calls of the largest payload on an open connection."""
    cases = chosen(run, {"load": "closed"})
    return [
        case for case in cases if run.case(case).payload_bytes == max(run.case(other).payload_bytes for other in cases)
    ]


CONNECT = Quantity("time to the first reply", duration, values=connect_us)
PLAIN, ENCRYPTED = {"tls": False}, {"tls": True}
NEW, RESUMED = (
    {"tls": True, "tls_session": (lambda session, on=on: (session == "resumed") == on)} for on in (False, True)
)
OPENED = {"load": "reconnect"}
connecting = Contrast(CONNECT, of=NEW, over=PLAIN, by=WAY, where=OPENED)
resuming = Contrast(CONNECT, of=RESUMED, over=NEW, by=WAY, where=OPENED)
calling = Contrast(P50, of=ENCRYPTED, over=PLAIN, by=(*WAY, "payload_bytes"), where={"load": "closed"})
computing = Contrast(CPU, of=ENCRYPTED, over=PLAIN, by=(*WAY, "payload_bytes"), where={"load": "closed"})
large_calls = replace(calling, where=largest)
large_work = replace(computing, where=largest)


def by_payload(run: Run) -> list[Estimate]:
    """Return for each system the ratio of each payload, the smallest first; the tables have their intervals."""
    ratios = {ratio.other: ratio for ratio in calling.ratios(run)}
    estimates = []
    for _, cases in alike(run, list(ratios), WAY):
        words = listed(ratios[case].words for case in cases)
        sizes = listed(in_bytes(run.case(case).payload_bytes) for case in cases)
        last = ratios[cases[-1]]
        estimates.append(Estimate(way(run, cases[0]), last.interval, words, sizes, cases=(last.base, last.other)))
    return estimates


answer = (connecting, Estimand("median RTT on an open connection, encrypted divided by not encrypted", by_payload))
claims = (
    Claim("the first reply on a new connection takes longer with encryption", connecting, above=1),
    Claim("the first reply takes at most as long with a resumed session as with a new one", resuming, at_most=1),
    Claim("a call of the largest payload takes longer with encryption", large_calls, above=1),
    Claim("a call of the largest payload costs more CPU time with encryption", large_work, above=1),
)


def by_size(run: Run, axes: Axes) -> None:
    """Draw the median RTT on an open connection with encryption, divided by that without, against the payload."""
    ratios = {ratio.other: ratio.interval for ratio in calling.ratios(run)}
    for _, cases in alike(run, list(ratios), WAY):
        (colour, marker), sizes = looks(run)[cases[0]], [run.case(case).payload_bytes for case in cases]
        middle, low, high = ([getattr(ratios[case], end) for case in cases] for end in ("middle", "low", "high"))
        axes.plot(sizes, middle, marker=marker, ms=6, lw=1.8, color=colour, label=way(run, cases[0]))
        band(axes, sizes, low, high, colour)
    axes.axhline(1, color="black", lw=1, zorder=0.9)
    payload_axis(axes, run.cases.loc[list(ratios), "payload_bytes"])
    log_axis(axes.yaxis, "{:g}".format)
    axes.set_xlabel("payload, there and back")
    axes.set_ylabel("median RTT, encrypted / not; band: 95 % CI")
    axes.set_title("A call on an open connection: RTT encrypted / not encrypted")


COSTS = {
    "handshake, per connection": Look(SYSTEM_COLOURS[3], "s"),
    "per call of the smallest payload": Look(SYSTEM_COLOURS[1], "o"),
    "per kB of payload": Look(SYSTEM_COLOURS[2], "^"),
}


def costs(run: Run, axes: Axes) -> None:
    """Draw what encryption adds to a connection, to a call and to a kilobyte, with 95 % intervals."""
    shown = [added(run, pair) for pair in pairs(run)]  # 1 ns per byte is 1 us per kB
    positive = [us for three in shown for cost in three for us in (cost.low, cost.middle) if us > 0]
    left_us = 10 ** np.floor(np.log10(min(positive, default=0.1))) / 2
    for y, three in enumerate(shown):
        for dy, cost, (name, drawn) in zip((-0.26, 0.0, 0.26), three, COSTS.items(), strict=True):
            _cost(axes, y + dy, cost, drawn, name, left_us)
    name_rows(axes, [way(run, pair.plain) for pair in pairs(run)])
    log_axis(axes.xaxis)
    axes.xaxis.set_major_locator(LogLocator())
    most_us = max((us for three in shown for cost in three for us in (cost.middle, cost.high) if us == us), default=1.0)
    axes.set_xlim(left_us, 12 * most_us)  # with room for the words of the longest bar
    axes.set_xlabel("time added by encryption; bar: 95 % CI")
    axes.set_title("Time added to a connection, a call, a kilobyte")


def _cost(axes: Axes, y: float, cost: Interval, drawn: Look, label: str, left_us: float) -> None:
    """Draw an added time with its interval; one that is not distinguishable from 0 as what it is at most."""
    middle, low, high = cost.middle, *np.nan_to_num((cost.low, cost.high), nan=cost.middle)
    if low > 0:
        interval_row(axes, y, Interval(middle, low, high), drawn, label=label)
        words = duration(middle)
    else:
        axes.plot([], [], "<", ms=6, color=GREY, label="interval contains 0")
        interval_row(axes, y, Interval(1.15 * left_us, left_us, max(high, left_us)), Look(drawn.colour, "<"))
        words = f"at most {duration(high)}" if high > 0 else "nothing is added"
    axes.annotate(words, (max(high, left_us), y), (7, 0), textcoords="offset points", va="center", fontsize=SMALL)


panels = {
    "connecting": Rows("Opening a connection, with its first call", CONNECT, variant, where=OPENED, label=way),
    "by_size": by_size,
    "cpu": CpuBars(
        "CPU time per call of the largest payload",
        where=largest,
        label=lambda run, case: f"{way_of(run, case)}, {protocol(run, case) if run.case(case).tls else 'plain'}",
    ),
    "costs": costs,
}


@as_table("case")
def encryption_costs(run: Run) -> Iterator[dict[str, Any]]:
    """Yield what encryption adds to a connection, to a call and to a kilobyte: time, and CPU time by role."""
    for pair, (kind, words) in itertools.product(pairs(run), KINDS.items()):
        cost, ends = added(run, pair, kind), f"from {in_bytes(min(pair.calls))} to {in_bytes(max(pair.calls))}"
        yield {
            "case": way_of(run, pair.plain),
            "protocol": protocol(run, pair.plain),
            "of": words,
            "per connection: handshake [95 % CI]": with_ends(cost.handshake, duration),
            f"per call of {in_bytes(min(pair.calls))} [95 % CI]": with_ends(cost.call, duration),
            f"per kB, {ends} [95 % CI]": with_ends(cost.byte, duration),
        }


@as_table("case")
def calls(run: Run) -> Iterator[dict[str, Any]]:
    """Yield of calls on an open connection, encrypted divided by not: RTT and CPU time; and whether CPU time is added.

    The CPU time that encryption adds, divided by what it adds to the round trip, is 1 where that is computation.
    """
    work = {ratio.other: ratio.interval for ratio in computing.ratios(run)}
    for ratio in calling.ratios(run):
        yield {
            "case": way(run, ratio.other),
            "payload": in_bytes(run.case(ratio.other).payload_bytes),
            "RTT ratio [95 % CI]": ratio_with_ends(ratio.interval),
            "CPU time ratio [95 % CI]": ratio_with_ends(work[ratio.other]) if ratio.other in work else "not known",
            "CPU time added / RTT added [95 % CI]": ratio_with_ends(encryption.computed(run, ratio.base, ratio.other)),
            "CPU utilization, encrypted": limit_of(run, ratio.other).utilization,
        }


tables = {"encryption_costs": encryption_costs, "encrypted_calls": calls}
