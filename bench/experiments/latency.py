"""latency.ipynb: sequential round trips of some systems, beside raw sockets and the instrument alone."""

from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes

from bench import systems
from bench.analysis import request_mix
from bench.analysis.quantiles import quantile
from bench.errors import UsageError
from bench.experiments import published
from bench.grammar import (
    CPU,
    P50,
    Cdf,
    Claim,
    Contrast,
    CpuBars,
    Estimand,
    Estimate,
    Level,
    Lines,
    Rows,
    Table,
    chosen,
    over_starts,
    per_start,
)
from bench.grammar.choose import everything
from bench.grammar.quantities import cpu_share
from bench.grammar.sweep import Engine, ManyBytes, Options, Systems, as_sweep
from bench.grammar.timeline import Timeline
from bench.measurement.validation.amount import InTurns
from bench.measurement.validation.cases import INSTRUMENT, instrument, transports
from bench.plan.case import BASELINE, Case
from bench.run.frames import Run
from bench.text import duration, quantity

TITLE = "How long is one round trip?"
CLASS_S = 0.4  # thousands of calls in each start
BLOCKS_S = 24  # how long all blocks take: the first figure is there within a minute


@as_sweep(class_s=CLASS_S, blocks_s=BLOCKS_S)
def sweep(
    amount: InTurns,
    system: Systems = "zeromq",
    transport: object = "all",
    payload_bytes: ManyBytes = 1000,
    options: Options = "",
    target: object = "",
    engine: Engine = "library",
) -> Iterator[Case]:
    """Yield round trips of some systems, of raw sockets over the same transports, and of the instrument itself.

    Users' services alone are measured without raw sockets, whose echo does none of their work.
    hosts: see ``bench.plan.hosts``; then all clients and the server are on these machines.
    """
    chosen = [name for name in system if name != INSTRUMENT]
    if not chosen:
        raise UsageError(f"{INSTRUMENT} is measured with every system: name another ({', '.join(systems.names())})")
    shared: dict[str, Any] = {"placement": amount.chosen_placement(), "hosts": amount.there}
    asked: dict[str, Any] = {"options": options, "target": target or None, "engine": engine}
    ways = [
        (name, transport_name)
        for name in chosen
        for transport_name in transports(name, transport, target, amount.there)
    ]
    yield from (
        Case(name, transport_name, size, **shared, **asked) for name, transport_name in ways for size in payload_bytes
    )
    if not target and BASELINE not in chosen and not all(map(systems.service_of, chosen)):
        provided = systems.constant(BASELINE, "TRANSPORTS")
        names = dict.fromkeys(transport_name for _, transport_name in ways)
        also = [transport_name for transport_name in names if transport_name in provided]
        yield from (Case(BASELINE, transport_name, size, **shared) for transport_name in also for size in payload_bytes)
    yield instrument(payload_bytes[0], amount.chosen_placement(), amount.there)


def first_size(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases of the first payload: those whose single calls are drawn."""
    return [case for case in among if run.case(case).payload_bytes == run.case(among[0]).payload_bytes]


def not_compared(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases that are in no ratio; of the instrument the figure says what it takes."""
    compared = {case for ratio in over_sockets.ratios(run) for case in (ratio.base, ratio.other)}
    return [case for case in among if case not in compared]


over_sockets = Contrast(
    P50, of={"system": lambda name: name != BASELINE}, over={"system": BASELINE}, by=("transport", "payload_bytes")
)
over_ipc = Contrast(P50, of={"transport": "tcp"}, over={"transport": "ipc"}, by=("system", "payload_bytes"))


def tails(run: Run) -> list[Estimate]:
    """Return p90 and p99 of the cases that are in no ratio, where there are enough calls for them."""
    quantiles = [
        (f"{run.labels[case]}, p{100 * p:g}", quantile(run, case, p), case)
        for case in chosen(run, not_compared)
        for p in (0.9, 0.99)
    ]
    return [
        Estimate(subject, tail.spread, tail.spread.words(duration), tail.ends, cases=(case,))
        for subject, tail, case in quantiles
        if tail.over
    ]


def of_requests(run: Run) -> list[Estimate]:
    """Return the median RTT of each request of a service that has several."""
    cases = [case for case in chosen(run, not_compared) if request_mix.counts(run, case)]
    return [
        Estimate(
            f"{run.labels[case]}, {name}" if len(cases) > 1 else name,
            median.spread,
            median.spread.words(duration),
            median.ends,
            cases=(case,),
        )
        for case in cases
        for name in request_mix.counts(run, case)
        if (median := quantile(run, case, 0.5, "rtt", name)).over
    ]


contrasts = (over_sockets,)
answer = (
    over_sockets,
    Level(P50, not_compared),
    Estimand("tail of the RTT", tails),
    Estimand("median RTT by request", of_requests),
)
claims = (Claim("a library adds time to a round trip over raw sockets", over_sockets, above=1),)


def has_sizes(run: Run) -> bool:
    """Return whether calls of several payloads were measured."""
    return run.round_trips()["payload_bytes"].nunique() > 1


def medians(run: Run, axes: Axes) -> None:
    """Draw the median RTT of each start, with the instrument's own in words; of several payloads by payload."""
    if has_sizes(run):
        return Lines("Median RTT by payload", P50, "payload_bytes")(run, axes)
    Rows("Median RTT of each start", P50)(run, axes)
    own = [over_starts(run, case, P50).words(duration) for case in run.find(system=INSTRUMENT)]
    axes.set_xlabel("\n".join([axes.get_xlabel(), *(f"instrument overhead (loopback): {text}" for text in own)]))


def cpu_per_call(run: Run, axes: Axes) -> None:
    """Draw the CPU time per call by role; of several payloads that of all roles by payload."""
    if has_sizes(run):
        return Lines("CPU time per call, all roles", CPU, "payload_bytes")(run, axes)
    CpuBars("CPU time per call, by role", where=everything)(run, axes)


panels = {
    "calls_in_order": Timeline("Calls in their order", where=first_size),
    "distribution": Cdf("Distribution of the RTT", where=first_size),
    "medians": medians,
    "cpu_per_call": cpu_per_call,
}


def tail(run: Run, case: int) -> str:
    """Return the p99.9 of the RTT divided by its median."""
    return quantity(quantile(run, case, 0.999).value / quantile(run, case, 0.5).value)


def overhead(run: Run, case: int) -> str:
    """Return the median of the instrument alone in per cent of a case's."""
    own = [over_starts(run, number, P50).middle for number in run.find(system=INSTRUMENT)]
    return quantity(100 * own[0] / over_starts(run, case, P50).middle) if own else "n/a"


def with_cpu_of_server(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases whose server's CPU time is known: one that was not started here keeps its own."""
    return [case for case in among if len(per_start(run, case, "server_cpu_us_per_call"))]


tables = {
    "medians": Table(
        {
            "median RTT [range over starts]": P50,
            "p99.9 / median": tail,
            "instrument overhead [% of the median]": overhead,
        }
    ),
    "cpu": Table(
        {
            "CPU time per call [range over starts]": CPU,
            "mean RTT [range over starts]": "mean_rtt_us",
            "CPU time / mean RTT": cpu_share,
        },
        where=with_cpu_of_server,
    ),
}
lines = published.zeromq_lines
