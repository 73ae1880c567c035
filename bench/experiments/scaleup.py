"""scaleup.ipynb: an HTTP server with one to many worker processes behind one port."""

import json
import math
from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes

from bench import systems
from bench.analysis.limits import UNKNOWN, limit_of
from bench.errors import UsageError
from bench.experiments.published import scaleup_lines
from bench.grammar import RATE, Cdf, Claim, Contrast, CpuBars, Curve, Lines, Model, Rows, Table, chosen, most
from bench.grammar.axes import GREY, look, needed
from bench.grammar.sweep import Connections, Engine, Flag, ManyBytes, System, as_sweep
from bench.grammar.table import with_ends
from bench.measurement.validation.amount import OnHosts
from bench.measurement.validation.cases import instrument, placement_of
from bench.plan import parameters
from bench.plan.case import Case
from bench.run.frames import Run
from bench.stats import across_starts, scalability
from bench.text import counted, in_bytes

TITLE = "How does throughput scale with the number of server workers?"
MOST_WORKERS = 256
BYTES = {"resource": "bytes"}
SEVERAL = BYTES | {"workers": lambda count: count > 1}
SIZE = ("payload_bytes",)


@as_sweep()
def sweep(
    amount: OnHosts,
    system: System = "http_aiohttp",
    workers: object = (1, 2, 4, 8),
    payload_bytes: ManyBytes = (16, 256, 4096, 65536),
    connections: Connections = 32,
    engine: Engine = "wire",
    pin: Flag = True,
    placement: object = "free",
) -> Iterator[Case]:
    """Yield bytes of each size for each number of workers; a JSON value and a file for the fewest and the most.

    The clients are one process with many connections. One worker is always measured, as the baseline of the others.
    hosts: see ``bench.plan.hosts``; hosts that are named to load have a client process each, and share the connections.
    """
    if "resource" not in systems.load(system).Options.__dataclass_fields__:
        raise UsageError(f"{system} serves no resources by workers: give http_aiohttp")
    counts = sorted({1, *parameters.positives(workers, "workers", MOST_WORKERS)})
    placement_name, there = placement_of(placement), amount.there
    clients = max(1, len(there.get("load", ())))
    asked = [("bytes", size, count) for size in payload_bytes for count in counts]
    ends = dict.fromkeys((1, counts[-1]))
    asked += [(resource, payload_bytes[0], count) for resource in ("json", "static") for count in ends]
    for resource, size, count in asked:
        options = {"resource": resource, "workers": count, "pin": pin}
        callers = math.ceil(connections / clients)
        yield Case(
            system, "tcp", size, options, placement_name, clients=clients, callers=callers, hosts=there, engine=engine
        )
    yield instrument(payload_bytes[0], placement_name, there)


def fewest_and_most(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases with one worker and with the most, of every resource."""
    return [case for case in among if run.case(case).options["workers"] in (1, most_workers(run))]


def with_most(run: Run, among: Sequence[int]) -> list[int]:
    """Choose the cases of bytes with the most workers."""
    return chosen(run, BYTES | {"workers": most_workers(run)}, among)


def most_workers(run: Run) -> int:
    """Return the largest number of workers."""
    return max(run.case(case).options["workers"] for case in chosen(run, {}))


def cpus(run: Run) -> int:
    """Return how many CPUs the workers could use: of the server's host, and else of this machine."""
    return int(run.machine_of(server_host(run))["cpus_allowed"])


def server_host(run: Run) -> str:
    """Return the host on which the server ran, or "" for a run of one machine."""
    servers = [host for host, role in zip(run.hosts["host"], run.hosts["role"], strict=True) if role == "server"]
    return str(servers[0]) if servers else ""


def size_of(run: Run, case: int) -> str:
    """Return the payload of a case in words."""
    return f"{run.case(case).payload_bytes:,} B"


def resource_of(run: Run, case: int) -> str:
    """Return what a case asks for: so many bytes, a JSON value, or a file."""
    resource = str(run.case(case).options["resource"])
    return size_of(run, case) if resource == "bytes" else resource


def resource_and_workers(run: Run, case: int) -> str:
    """Return what a case asks for, and its number of workers."""
    return f"{resource_of(run, case)}, {counted(run.case(case).options['workers'], 'worker')}"


second = Contrast(RATE, of={"workers": 2}, over={"workers": 1}, by=SIZE, where=BYTES)
gain = Contrast(RATE, of=most("workers"), over={"workers": 1}, by=SIZE, where=BYTES)

contrasts = (second, gain)
answer = (gain,)
claims = (Claim("two workers serve at most twice the requests per second of one", second, at_most=2),)


def rates(run: Run, axes: Axes) -> None:
    """Draw requests per second against workers for each payload, with models of the smallest one, and the limit."""
    models, unfitted = scaling(run)
    cases = chosen(run, BYTES)
    (best,) = chosen(run, most(RATE), cases)
    first, limit = run.case(cases[0]), limit_of(run, best)
    title = f"Throughput by workers ({first.engine}, {first.callers * first.clients} connections)"
    Lines(title, RATE, "workers", by=SIZE, where=BYTES, models=models, label=size_of)(run, axes)
    of_host = f" of host {server_host(run)}" if server_host(run) else ""
    axes.axvline(cpus(run), color=GREY, ls="--", lw=1, label=f"{counted(cpus(run), 'CPU')}{of_host}")
    names = UNKNOWN if limit.capacity == UNKNOWN else limit.names
    axes.set_xlabel(f"worker processes\nlimit at the highest rate: {names}{unfitted}")


def scaling(run: Run) -> tuple[tuple[Model, ...], str]:
    """Return Amdahl's law and the USL as fitted to the smallest payload; or a line up to the CPUs, and why none is."""
    smallest = min(run.case(case).payload_bytes for case in chosen(run, BYTES))
    rows = run.cases.loc[chosen(run, BYTES | {"payload_bytes": smallest})].dropna(subset=[RATE])
    measured = rows[RATE].to_numpy()
    workers = np.array([run.case(case).options["workers"] for case in rows.index])
    if reason := scalability.why_not(workers, cpus(run)):
        line = Curve(workers, measured[0] * np.minimum(workers, cpus(run)))
        linear = Model(f"linear up to the CPUs, {smallest:,} B", "workers", lambda run: line, ":")
        return (linear,), f"\nAmdahl's law and USL not fitted: {reason}"
    grid = np.geomspace(1, workers.max(), 100)
    amdahl, usl = (scalability.fit(workers, measured, is_amdahl) for is_amdahl in (True, False))
    return (  # curves without their parameters: at 2 % of noise a fit misses the coherency in one of four runs
        Model("Amdahl's law, fitted", "workers", lambda run: Curve(grid, amdahl.rates(grid)), "-."),
        Model("USL, fitted", "workers", lambda run: Curve(grid, usl.rates(grid)), "--"),
    ), ""


def over_even_share(run: Run, case: int) -> list[list[float]]:
    """Return the requests of each worker in each start, as multiples of an even share."""
    starts = map(json.loads, run.ledger_of(case)["server_worker_calls"].dropna())
    return [[count * len(calls) / sum(calls) for count in calls] for calls in starts if sum(calls)]


def shares(run: Run, axes: Axes) -> None:
    """Draw the requests of each worker in each start, as a multiple of an even share."""
    cases = needed(sorted(chosen(run, SEVERAL), key=lambda case: run.case(case).options["workers"]), "one worker only")
    sizes = list(dict.fromkeys(size_of(run, case) for case in cases))
    counts = [run.case(case).options["workers"] for case in cases]
    for column, case in enumerate(cases):
        colour, marker = look(sizes.index(size_of(run, case)))
        for multiples in over_even_share(run, case):
            axes.plot([column] * len(multiples), multiples, marker, ms=4, alpha=0.5, mew=0, color=colour)
    for index, size in enumerate(sizes):
        colour, marker = look(index)
        axes.plot([], [], marker, color=colour, label=size)
    axes.axhline(1, color="black", lw=1)
    middles = {
        count: np.mean([column for column, workers in enumerate(counts) if workers == count]) for count in counts
    }
    axes.set_xticks(list(middles.values()), [counted(count, "worker") for count in middles])
    for edge in np.flatnonzero(np.diff(counts)):
        axes.axvline(edge + 0.5, color="#bbbbbb", lw=0.8)
    axes.xaxis.grid(False)
    axes.set_xlabel("number of workers; a column for each payload")
    axes.set_ylabel("requests of a worker / even share")
    axes.set_title("Distribution of requests over workers, each start")


def reply_bytes(run: Run, case: int) -> str:
    """Return the bytes of replies per second, with their range over the starts."""
    return with_ends(run.over_starts(case, RATE).times(run.case(case).payload_bytes), in_bytes)


def clients_part(run: Run, case: int) -> str:
    """Return the client's part of the CPU time per request."""
    client, server = (run.cases.loc[case, f"{role}_cpu_us_per_call"] for role in ("client", "server"))
    return "n/a" if math.isnan(client + server) else f"{client / (client + server):.0%}"


def busiest(run: Run, case: int) -> str:
    """Return the requests of the busiest worker as a multiple of an even share, with its range over the starts."""
    return with_ends(across_starts([max(multiples) for multiples in over_even_share(run, case)]), "{:.2f}".format)


panels = {
    "rates": rates,
    "resources": Rows(
        "Throughput by URL, one worker and the most", RATE, "workers", where=fewest_and_most, label=resource_of
    ),
    "percentiles": Cdf(
        "Distribution of the RTT, the most workers", "payload_bytes", "workers", where=with_most,
        label=resource_and_workers,
    ),
    "shares": shares,
    "cost": CpuBars("CPU time per request, by role", where=fewest_and_most, label=resource_and_workers),
}  # fmt: skip
tables = {
    "reply_bytes": Table(
        {
            "requests/s [range over starts]": RATE,
            "replies per second, in bytes [range over starts]": reply_bytes,
            "client's share of the CPU time per request": clients_part,
        },
        BYTES,
        resource_and_workers,
    ),
    "shares": Table({"busiest worker / even share [range over starts]": busiest}, SEVERAL, resource_and_workers),
}
lines = scaleup_lines
