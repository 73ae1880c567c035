"""connections.ipynb: new connections, calls under way on one, and a large call beside small ones."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from matplotlib.axes import Axes

from bench.errors import UsageError
from bench.grammar import (
    CPU,
    P50,
    RATE,
    Bytes,
    Claim,
    Contrast,
    Count,
    Estimate,
    Lines,
    Quantity,
    Ratio,
    Rows,
    Table,
    alike,
    as_sweep,
    chosen,
    distinct,
    fewest,
    most,
    over_starts,
)
from bench.grammar.axes import GREY, band_words, draw_spreads, label_axis, log_axis, looks, needed
from bench.grammar.contrast import estimate_of
from bench.grammar.table import as_table
from bench.measurement.validation.amount import Placed
from bench.measurement.validation.cases import chosen_systems, instrument, one_transport
from bench.plan import parameters
from bench.plan.case import MOST_BYTES, MOST_CALLS, MOST_OUTSTANDING, Case
from bench.run.frames import Run, once_per_run
from bench.text import duration, in_bytes, quantity

TITLE = "One connection or many, persistent or new?"
ONE_CONNECTION = {"http_aiohttp": {"pool": 1}}  # options with which calls share a connection, where others do not
NOT_ALIKE = "no: different numbers of large calls"
MOST_DIFFERENT = 0.1  # share by which the numbers of large calls may differ, if small calls beside them are compared

SomeSystems = Annotated[Any, lambda value, name: chosen_systems(value) if parameters.as_list(value) else []]
P99Bytes = Annotated[Any, lambda value, name: parameters.count(value, name, MOST_BYTES, least=0)]


@as_sweep(skips_missing=True)
def sweep(
    amount: Placed,
    churn: SomeSystems = ("sockets", "zeromq", "grpc_sync", "http_aiohttp"),
    calls_per_connection: Annotated[Any, partial(parameters.positives, at_most=MOST_CALLS, least=0)] = (1, 10, 100, 0),
    depth: SomeSystems = ("sockets", "zeromq", "grpc_sync", "grpc_aio"),
    outstanding: Annotated[Any, partial(parameters.positives, at_most=MOST_OUTSTANDING)] = (1, 4, 16, 64),
    connections: Count = 1,
    head_of_line: SomeSystems = ("zeromq", "grpc_aio", "http_aiohttp"),
    large_bytes: Bytes = 1_000_000,
    payload_bytes: Bytes = 100,
    p99_bytes: P99Bytes = 0,
    transport: object = "tcp",
) -> Iterator[Case]:
    """Yield three groups of cases, each for the systems named; an empty list leaves a group out.

    churn: connections renewed after so many calls. depth: so many calls under way on each connection. head_of_line: the
    small call alone, beside a large one on the same connection, and beside one on a connection of its own.
    """
    if not [*churn, *depth, *head_of_line]:
        raise UsageError("nothing to measure: name a system in churn, depth or head_of_line")
    base_cases = {
        name: Case(
            name, one_transport(name, transport), payload_bytes, placement=amount.chosen_placement(is_parallel=True)
        )
        for name in dict.fromkeys([*churn, *depth, *head_of_line])
    }
    cases = [
        replace(base_cases[name], calls_per_connection=calls, p99_bytes=p99_bytes)
        for name in churn
        for calls in calls_per_connection
    ]
    cases += [
        replace(base_cases[name], callers=connections, outstanding=under_way, p99_bytes=p99_bytes)
        for name in depth
        for under_way in outstanding
    ]
    for name in head_of_line:
        same = {"options": ONE_CONNECTION.get(name, {}), "outstanding": 2}
        beside = [replace(base_cases[name], large_bytes=large_bytes, **how) for how in (same, {"callers": 2})]
        cases += [base_cases[name], *beside]
    yield from distinct(cases)
    yield instrument(payload_bytes, amount.chosen_placement(is_parallel=True))


def plain(run: Run) -> list[int]:
    """Return the cases of calls without large ones beside them."""
    return chosen(run, {"load": "closed", "large_bytes": 0})


def renewed(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases of systems whose connections are renewed: fewest calls first, persistent connections last."""
    systems = {run.case(case).system for case in plain(run) if run.case(case).calls_per_connection}
    cases = chosen(run, {"system": systems.__contains__, "under_way": 1}, plain(run))
    return sorted(cases, key=lambda case: run.case(case).calls_per_connection or float("inf"))


def deep(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases of systems that were measured at several depths, on the most connections of each."""
    kept = chosen(run, {"calls_per_connection": 0}, plain(run))
    systems = {run.case(case).system for case in kept if run.case(case).outstanding > 1}
    cases = chosen(run, {"system": systems.__contains__}, kept)
    by_system = dict(alike(run, cases, ("system",)))
    callers = {name: max(run.case(case).callers for case in group) for (name,), group in by_system.items()}
    return [case for case in cases if run.case(case).callers == callers[run.case(case).system]]


def beside(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the small calls of systems that were measured beside large ones: alone, same connection, own one."""
    cases = []
    for same in chosen(run, {"large_bytes": bool, "outstanding": lambda calls: calls > 1}):
        factors = run.case(same)
        like = {"system": factors.system, "transport": factors.transport, "payload_bytes": factors.payload_bytes}
        alone = run.find(**like, under_way=1, calls_per_connection=0, large_bytes=0)[:1]
        cases += [*alone, same, *run.find(**like, large_bytes=factors.large_bytes, outstanding=1)[:1]]
    return cases


def comparable(run: Run, among: Sequence[int]) -> list[int]:
    """Choose small calls beside large ones of which some were answered: without any, nothing is shown of sharing."""
    return [case for case in chosen(run, {"large_bytes": bool}) if large_calls(run, case)]


@once_per_run
def large_calls(run: Run, case: int) -> int:
    """Return how many large calls were answered after the warm-up, in all starts of a case together."""
    return int(run.samples_of(case, warm=True)["large"].sum())


@dataclass(frozen=True)
class OverEach(Contrast):
    """A quantity of one case ``of`` divided by that of each case ``over``."""

    def ratios(self, run: Run) -> list[Ratio]:
        """Return the ratios to each case ``over``, in their order."""
        bases = chosen(run, self.over, chosen(run, self.where))
        return [ratio for base in bases for ratio in self._over(base).ratios(run)]

    def _over(self, base: int) -> Contrast:
        return Contrast(self.quantity, self.of, lambda run, among: [base] * (base in among), self.by, self.where)


PERSISTENT, RENEWED = {"calls_per_connection": 0}, {"calls_per_connection": bool}
persistent_over_each = OverEach(RATE, of=PERSISTENT, over=RENEWED, by=("system",), where=renewed)
persistent = Contrast(RATE, of=PERSISTENT, over=RENEWED, by=("system",), where=renewed)
deeper = Contrast(RATE, of=most("outstanding"), over=fewest("outstanding"), by=("system",), where=deep)
queued = Contrast(P50, of=most("outstanding"), over=fewest("outstanding"), by=("system",), where=deep)
SAME, OWN = {"outstanding": lambda calls: calls > 1}, {"outstanding": 1}
blocking = Contrast(P50, of=SAME, over=OWN, by=("system",), where=comparable)


def difference(run: Run, ratio: Ratio) -> float:
    """Return by which share the larger number of large calls, of the shared connection and of another, is larger."""
    few, many = sorted(large_calls(run, case) for case in (ratio.base, ratio.other))
    return many / few - 1 if few else float("inf")


def decisive(run: Run) -> list[Estimate]:
    """Return the ratios of blocking beside about the same number of large calls."""
    return [estimate_of(run, ratio) for ratio in blocking.ratios(run) if difference(run, ratio) <= MOST_DIFFERENT]


contrasts = (persistent_over_each, deeper, queued, blocking)
answer = (persistent, deeper)
claims = (
    Claim(
        "a persistent connection makes more calls per second than one that is renewed", persistent_over_each, above=1
    ),
    Claim("the most calls under way make more calls per second than the fewest", deeper, above=1),
    Claim("small calls take longer on the connection of a large call than on their own", decisive, above=1),
)

TIME = Quantity("mean time per call", duration, values=lambda run, case: 1e6 / run.starts_of(case)[RATE])


def against_churn(name: str | Quantity, title: str, words: str) -> Callable[[Run, Axes], object]:
    """Return a panel that draws a quantity against the calls of each connection."""

    def draw(run: Run, axes: Axes) -> None:
        axes.set_title(title)
        cases = needed(chosen(run, renewed), "no connections were renewed in this run")
        axes.set_ylabel(f"{words}; {band_words(over_starts(run, case, name) for case in cases)}")
        order = list(dict.fromkeys(run.case(case).calls_per_connection for case in cases))
        for (system,), system_cases in alike(run, cases, ("system",)):
            positions = [order.index(run.case(case).calls_per_connection) for case in system_cases]
            spreads = [over_starts(run, case, name) for case in system_cases]
            draw_spreads(axes, positions, spreads, looks(run)[system_cases[0]], system)
        log_axis(axes.yaxis)
        axes.set_xticks(range(len(order)), [f"{calls:,}" if calls else "persistent" for calls in order])
        axes.set_xlabel("calls per connection, before a new one is opened")

    return draw


def time_wait(run: Run, axes: Axes) -> None:
    """Draw how many ports a window leaves in TIME_WAIT, each start, against the connections opened in it."""
    axes.set_title("Connections opened, and sockets left in TIME_WAIT")
    cases = chosen(run, RENEWED, chosen(run, renewed))
    starts = run.starts[run.starts["case"].isin(cases)].dropna(subset=["tcp_connections", "tcp_time_wait"])
    needed(starts, "the kernel's counters of connections are not known in this run")
    for case in cases:
        shown, (colour, marker) = starts[starts["case"] == case], looks(run)[case]
        label = run.case(case).system
        axes.plot(shown["tcp_connections"], shown["tcp_time_wait"], marker, ms=5.5, color=colour, label=label)
    opened = float(starts["tcp_connections"].max())
    axes.plot([0, opened], [0, opened], ":", color=GREY, lw=1, label="one for each connection")
    label_axis(axes.xaxis, quantity)
    label_axis(axes.yaxis, quantity)
    axes.set_xlabel("TCP connections opened in the window")
    axes.set_ylabel("more sockets in TIME_WAIT after it")


def system_of(run: Run, case: int) -> str:
    """Return the name of a case's system."""
    return run.case(case).system


def place_of(run: Run, case: int) -> str:
    """Return where the small calls of a case are made, beside which large ones."""
    factors = run.case(case)
    if not factors.large_bytes:
        return f"{factors.system}, alone"
    connection = "own connection" if factors.outstanding == 1 else "same connection"
    return f"{factors.system}, {connection}" + ("" if large_calls(run, case) else ":\nno large call answered")


panels = {
    "time_per_call": against_churn(TIME, "Time per call, opening and closing included", TIME.words),
    "cpu_per_call": against_churn(CPU, "CPU time per call, client and server", "CPU time per call"),
    "throughput": Lines(
        "Throughput by calls under way on each connection", RATE, "outstanding", where=deep, label=system_of
    ),
    "head_of_line": Rows("Small calls beside large ones", P50, where=beside, label=place_of),
    "round_trips": Lines(
        "Median RTT by calls under way on each connection", P50, "outstanding", where=deep, label=system_of
    ),
    "time_wait": time_wait,
}


def connects(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases that open a TCP connection for each call, where the kernel's counters are known."""
    each_call = chosen(run, {"calls_per_connection": 1, "transport": "tcp"})
    return [case for case in each_call if run.starts_of(case)["opened_per_call"].notna().any()]


@as_table("system")
def large(run: Run) -> Iterator[dict[str, object]]:
    """Yield of small calls beside large ones: how many large ones were answered, and whether that decides."""
    ratios = {ratio.other: ratio for ratio in blocking.ratios(run)}
    for (system,), cases in alike(run, chosen(run, beside), ("system",)):
        case_by_connection = {
            ("own" if run.case(case).outstanding == 1 else "same"): case
            for case in chosen(run, {"large_bytes": bool}, cases)
        }
        ratio = ratios.get(case_by_connection["same"])
        numbers = {connection: large_calls(run, case) for connection, case in case_by_connection.items()}
        yield {
            "system": system,
            "large calls": in_bytes(run.case(case_by_connection["same"]).large_bytes),
            "answered on the shared connection": numbers["same"],
            "answered on another": numbers.get("own", ""),
            "RTT of small calls, shared / own [95 % CI]": f"{ratio.words} ({ratio.range})" if ratio else "not known",
            "compared": "yes" if ratio and difference(run, ratio) <= MOST_DIFFERENT else NOT_ALIKE,
        }


tables = {
    "renewal": Table(
        {
            "mean time per call [range over starts]": TIME,
            "CPU time per call [range over starts]": CPU,
            "opening and first call [range over starts]": "p50_first_us",
        },
        where=renewed,
    ),
    "ports": Table(
        {
            "TCP connections opened per call": "opened_per_call",
            "more sockets in TIME_WAIT after a window": "tcp_time_wait",
        },
        where=connects,
    ),
    "large": large,
}
