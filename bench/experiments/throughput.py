"""throughput.ipynb: one-way streams of messages of more and more bytes, and calls of more and more clients."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from matplotlib.axes import Axes

from bench import systems
from bench.errors import UsageError
from bench.grammar import (
    MESSAGES,
    RATE,
    Claim,
    Contrast,
    Estimate,
    Level,
    Lines,
    alike,
    chosen,
    fewest,
    most,
    over_starts,
    per_start,
)
from bench.grammar.axes import (
    GREY,
    LINE_STYLES,
    ROLE_COLOURS,
    ROLE_MARKERS,
    Look,
    draw_spreads,
    looks,
    needed,
    ticks_at,
)
from bench.grammar.contrast import estimate_of, ratio
from bench.grammar.sweep import Bytes, Counts, ManyBytes, Options, System, as_sweep
from bench.measurement.validation.amount import OnHosts
from bench.measurement.validation.cases import transports
from bench.plan.case import Case
from bench.run.frames import Run

TITLE = "How many messages and calls per second are possible?"
CALLS, STREAMS = {"load": "closed"}, {"load": "stream"}
BITS = "rate_mbit_per_s"


@as_sweep()
def sweep(
    amount: OnHosts,
    system: System = "zeromq",
    transport: object = "all",
    payload_bytes: ManyBytes = (100, 1000, 10_000, 100_000),
    call_bytes: Bytes = 1000,
    clients: Counts = (1, 2, 4, 8),
    options: Options = "",
    target: object = "",
) -> Iterator[Case]:
    """Yield one-way streams over payload sizes, and calls by parallel client processes.

    A target gets the calls only: what a stream's receiver took in cannot be seen from here. So does a server on another
    host (``bench.plan.hosts``): streams are of one machine.
    """
    placement, there = amount.chosen_placement(is_parallel=True), amount.there
    has_streams = not target and not there and hasattr(systems.load(system), "Receiver")
    ways = transports(system, transport, target, there)
    if not has_streams and set(ways) <= {"inproc"}:
        raise UsageError(f"nothing to measure: {system} over {transport} has neither streams nor parallel clients")
    for transport_name in ways:
        if has_streams:
            yield from (Case(system, transport_name, size, options, placement, "stream") for size in payload_bytes)
        if transport_name != "inproc":
            to: dict[str, Any] = {"target": target or None, "hosts": there}
            case = Case(system, transport_name, call_bytes, options, placement, **to)
            yield from (replace(case, clients=count) for count in clients)


def stream_with_most(name: str) -> Callable[[Run, Sequence[int]], list[int]]:
    """Choose the stream with the largest value of a quantity."""
    return lambda run, among: chosen(run, most(name), chosen(run, STREAMS, among))


def bits_by_size(run: Run) -> list[Estimate]:
    """Return the bit rate of each stream divided by that of the next smaller messages over the same transport."""
    rises = [
        ratio(run, *pair, BITS)
        for _, cases in alike(run, run.find(**STREAMS), ("transport",))
        for pair in itertools.pairwise(sorted(cases, key=lambda case: run.case(case).payload_bytes))
    ]
    return [estimate_of(run, rise) for rise in rises]


growth = Contrast(RATE, of=most("clients"), over=fewest("clients"), by=("transport",), where=CALLS)

contrasts = (growth,)
answer = (Level(MESSAGES, stream_with_most(MESSAGES)), Level(BITS, stream_with_most(BITS)), growth)
claims = (
    Claim("the bit rate of one-way streams rises with the size of a message", bits_by_size, above=1),
    Claim("the most clients make more calls per second than the fewest", growth, above=1),
)

received = Lines("One-way streams: messages per second received", MESSAGES, "payload_bytes", where=STREAMS)
bit_rate = Lines("One-way streams: received bit rate", BITS, "payload_bytes", where=STREAMS)
by_clients = Lines("Throughput by number of clients (closed loop)", RATE, "clients", where=CALLS)


def stream_messages(run: Run, axes: Axes) -> None:
    """Draw one-way messages per second by payload: as received, and as sent."""
    target = ": how many reach the target is not known here" if run.cases["target"].any() else ""
    cases = needed(run.find(**STREAMS), f"no one-way streams in this run{target}")
    received(run, axes)
    for case in cases:
        sent, colour = over_starts(run, case, "send_rate_per_s").medians, looks(run)[case].colour
        at = [run.case(case).payload_bytes] * len(sent)
        axes.plot(at, sent, "_", ms=20, mew=1.8, color=colour, zorder=1.5)
    axes.plot([], [], "_", ms=20, mew=1.8, color=GREY, label="sent")


def load_by_clients(run: Run, axes: Axes) -> None:
    """Draw the CPU utilization of clients, server and router by the number of clients."""
    clients = needed(sorted({run.case(case).clients for case in run.find(**CALLS)}), "no parallel clients in this run")
    for (transport,), cases in alike(run, run.find(**CALLS), ("transport",)):
        cases = sorted(cases, key=lambda case: run.case(case).clients)
        for role in ("client", "server", "router"):
            spreads = [over_starts(run, case, f"{role}_cpu_percent") for case in cases]
            if any(len(per_start(run, case, f"{role}_cpu_percent")) for case in cases):
                label = f"{'all clients' if role == 'client' else role}, {transport}"
                drawn = Look(ROLE_COLOURS[role], ROLE_MARKERS[role])
                at = [run.case(case).clients for case in cases]
                draw_spreads(axes, at, spreads, drawn, label, LINE_STYLES[transport])
    ticks_at(axes.xaxis, clients)
    axes.axhline(100, color=GREY, lw=1, ls=(0, (2, 2)))
    axes.set(xlim=(0, None), ylim=(0, None), xlabel="parallel client processes")
    axes.set_ylabel("CPU utilization [% of one CPU]")
    unknown = " (the target's own is not known)" if run.cases["target"].any() else ""
    axes.set_title(f"CPU utilization by role{unknown}")


panels = {
    "stream_messages": stream_messages,
    "stream_bits": bit_rate,
    "calls_by_clients": by_clients,
    "load_by_clients": load_by_clients,
}
