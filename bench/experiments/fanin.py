"""fanin.ipynb: more and more clients of one server, directly and through brokers."""

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes

from bench import systems
from bench.analysis.resources import FULL, WORDS, resources
from bench.errors import unknown
from bench.grammar import P50, RATE, per_start
from bench.grammar.axes import (
    GREY,
    ROLE_COLOURS,
    ROLE_MARKERS,
    Look,
    hollow,
    interval_row,
    label_axis,
    name_rows,
    separate_rows,
)
from bench.grammar.choose import each, fewest, most
from bench.grammar.claim import Claim
from bench.grammar.contrast import Contrast
from bench.grammar.panels import CpuBars, Lines, Panel
from bench.grammar.sweep import Bytes, Count, Counts, Options, Systems, as_sweep
from bench.measurement.validation.amount import Placed
from bench.measurement.validation.cases import instrument, one_transport
from bench.plan import parameters
from bench.plan.case import Case
from bench.run.frames import Run
from bench.stats import across_starts
from bench.text import counted, quantity

TITLE = "How do brokers and servers perform with many clients?"
BROKERS = ("sockets", "wamp_crossbar", "zenoh", "redis", "nats", "rabbitmq", "mqtt")


@as_sweep(skips_missing=True)
def sweep(
    amount: Placed,
    system: Systems = BROKERS,
    clients: Counts = (1, 8, 64),
    processes: Count = 2,
    payload_bytes: Bytes = 100,
    transport: object = "tcp",
    options: Options = "",
) -> Iterator[Case]:
    """Yield closed loops of each number of clients to one server of each system.

    A client is a caller with a connection of its own; they are spread evenly over client processes, of which there are
    ``processes`` at most. options: for each system a mapping of its options; one whose router is optional has it.
    """
    if foreign := [name for name in options if name not in system]:
        raise unknown("system of options", foreign[0], system)
    placement = amount.chosen_placement(is_parallel=True)
    for name in system:
        router = systems.constant(name, "ROUTER_OPTION", None)
        own = ({router: True} if router else {}) | parameters.mapping(options.get(name), f"options of {name}")
        for count in sorted(clients):
            spread = next(number for number in range(min(count, processes), 0, -1) if count % number == 0)
            transport_name = one_transport(name, transport)
            yield Case(name, transport_name, payload_bytes, own, placement, clients=spread, callers=count // spread)
    yield instrument(payload_bytes, placement)


def is_brokered(run: Run, case: int) -> bool:
    """Return whether a case's calls go through a router."""
    return bool(run.starts_of(case)["router_cpu_us_per_call"].notna().any())


def brokered(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases whose calls go through a router."""
    return [case for case in among if is_brokered(run, case)]


def direct(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases whose calls go to the server directly."""
    return [case for case in among if not is_brokered(run, case)]


def system_of(run: Run, case: int) -> str:
    """Return a case's system, and whether it is reached directly."""
    return run.case(case).system + ("" if is_brokered(run, case) else " (direct)")


def with_callers(run: Run, case: int) -> str:
    """Return a case's system and its number of callers."""
    return f"{run.case(case).system}, {counted(run.case(case).under_way, 'caller')}"


CLIENTS = "under_way"
growth = Contrast(RATE, of=most(CLIENTS), over=fewest(CLIENTS), by=("system",))
delay = Contrast(P50, of=most(CLIENTS), over=fewest(CLIENTS), by=("system",))
decline = Contrast(RATE, of=most(CLIENTS), over=most(RATE), by=("system",))
detour = Contrast(P50, of=brokered, over=direct, by=(CLIENTS,), where=each("system", fewest(CLIENTS)))

contrasts = (detour, growth, delay, decline)
answer = (growth,)
claims = (
    Claim("a call through a broker takes longer than a direct one", detour, above=1),
    Claim("the most clients make more calls per second than the fewest", growth, above=1),
)


def busy(run: Run, axes: Axes) -> None:
    """Draw how many CPUs each role used at each system's highest rate, and their sum where they share one."""
    rows = Panel("", where=each("system", most(RATE)), label=with_callers).drawn(run)
    for y, row in enumerate(rows):
        used: dict[str, tuple[float, Look, Any]] = {
            WORDS[role]:
            (dy, Look(ROLE_COLOURS[role], ROLE_MARKERS[role]),
             per_start(row.run, row.case, f"{role}_cpu_percent") / 100)
            for role, dy in (("client", -0.27), ("server", -0.09), ("router", 0.09))
        }  # fmt: skip
        for resource in resources(row.run, row.case):
            if resource.cpus == 1 and len(resource.roles) > 1:
                name = resource.name.removeprefix("the ")
                together = row.run.starts_of(row.case)[[f"{role}_cpu_percent" for role in resource.roles]].sum(axis=1)
                used[name] = 0.27, Look("black", "*"), together / 100
        with hollow(axes, row.is_hollow):
            for name, (dy, drawn, cpus) in used.items():
                if len(cpus):
                    interval_row(axes, y + dy, across_starts(cpus.to_list()), drawn, label=name)
    axes.axvline(FULL, color=GREY, ls=":", lw=1.2, label=f"{FULL:.0%} of one CPU")
    label_axis(axes.xaxis, quantity)
    name_rows(axes, [row.name for row in rows])
    separate_rows(axes, [y + 0.5 for y in range(len(rows) - 1)])
    axes.set_xlim(left=0)
    axes.set_xlabel("CPUs in use; marker: median, bar: range over starts")
    axes.set_title("CPUs in use at the highest rate")


panels = {
    "throughput": Lines("Throughput of all clients together", RATE, CLIENTS, by=("system",), label=system_of),
    "round_trips": Lines("Median RTT", P50, CLIENTS, by=("system",), label=system_of),
    "cpu_by_role": CpuBars(
        "CPU time per call, by role", where=each("system", fewest(CLIENTS), most(CLIENTS)), label=with_callers
    ),
    "busy": busy,
}
