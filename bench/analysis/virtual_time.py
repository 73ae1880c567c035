"""The oracle in virtual time: its service times and loads without processes, sockets or clocks, so the truth is known.

The results have the form of a measured run, and pass through the same tables and checks.
"""

import heapq
import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench import systems
from bench.child import timed_loops
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run import start_record
from bench.run.folder import Folder
from bench.run.frames import Run, numbered
from bench.run.start_record import StartRecord, Times

Effect = Callable[[int, int, int], float]  # (start, block, case index) -> factor on every service time
MACHINE = {"machine_id": "virtual", "cpus_allowed": 2, "clock_cost_ns": 0.0, "cpu_model": "virtual time"}


def service_times(options: dict[str, Any], seed: int = 1) -> Iterator[float]:
    """Yield the times in us that the oracle's server takes for its requests, as the real one does."""
    oracle: Any = systems.load("oracle")
    return oracle.service_times(oracle.Options(**options), seed)


def closed(times_us: Iterable[float], around_us: float, window_s: float) -> Times:
    """Return send and receive times in ns, shape (2, calls), of one closed loop.

    around_us: round trip without the service time.
    """
    ends, now = [], 0.0
    for service in times_us:
        now += service + around_us
        ends.append(now)
        if now >= window_s * 1e6:
            break
    received = np.array(ends)
    return _ns([np.concatenate([[0.0], received[:-1]]), received])


def opened(
    times_us: Iterable[float], around_us: float, due_ns: list[int], connections: int, window_s: float
) -> list[Times]:
    """Return for each connection send, receive and due times in ns, shape (3, calls), of an open load.

    Request i goes by connection i modulo ``connections``, when it is due or the reply before it is there. One server
    takes requests in the order in which they arrive. What is still unsent a fifth after the window is dropped.
    """
    free, limit, services = 0.0, 1.2e6 * window_s, iter(times_us)
    waiting = [iter(due_ns[number::connections]) for number in range(connections)]
    line = [(due / 1e3, number, due / 1e3) for number, dues in enumerate(waiting) for due in itertools.islice(dues, 1)]
    heapq.heapify(line)
    by_connection: list[list[tuple[float, float, float]]] = [[] for _ in range(connections)]
    while line:
        sent, number, due = heapq.heappop(line)
        if sent >= limit:
            continue
        free = max(free, sent + around_us / 2) + next(services)
        received = free + around_us / 2
        by_connection[number].append((sent, received, due))
        for following in itertools.islice(waiting[number], 1):
            heapq.heappush(line, (max(following / 1e3, received), number, following / 1e3))
    return [_ns(list(np.array(calls).T)) for calls in by_connection if calls]


def _ns(times_us: list[Any]) -> Times:
    return np.rint(np.stack(times_us) * 1e3).astype("i8")


def measured(
    case: Case, window_s: float, seed: int, law_seed: int, around_us: float, factor: float = 1.0, after: int = 0
) -> StartRecord:
    """Return what a start of an oracle case would measure: the schedule is the real one of this ``seed``.

    factor: on every service time. after: how many requests the server answered before the window.
    """
    times = (factor * time for time in itertools.islice(service_times(case.options, law_seed), after, None))
    if case.load == "open":
        dues = timed_loops.schedule(case.offered_per_s, window_s, case.arrivals, seed)
        calls = opened(times, around_us, dues, case.clients, window_s)
        scheduled: int | None = len(dues)
    else:
        calls, scheduled = [closed(times, around_us, window_s)], None
    count = sum(of_connection.shape[1] for of_connection in calls)
    last_ns = max(int(of_connection[1][-1]) for of_connection in calls)
    ledger = {"window_s": last_ns / 1e9, "calls": count, "server_calls": count, "errors": 0, "scheduled": scheduled}
    busy = {"client_cpu_ns": int(count * around_us * 1e3), "server_cpu_ns": int(count * case.options["mean_us"] * 1e3)}
    switches = {"voluntary_switches": count, "involuntary_switches": 0, "gc_collections": 0, "first_rtt_ns": 1}
    return StartRecord(ledger | busy | switches, calls)


class InMemory(Folder):
    """A run's folder that was never written."""

    def __init__(self, name: str, plan: Plan, starts: list[dict[str, pa.Table]]) -> None:
        super().__init__(Path(name))
        self._name, self._plan, self._starts = name, plan, starts

    @property
    def id(self) -> str:
        """The run's name."""
        return self._name

    def manifest(self) -> dict[str, Any]:
        """Return what a manifest holds."""
        return self.stored_manifest()

    def stored_manifest(self) -> dict[str, Any]:
        """Return what a manifest holds."""
        git = {"revision": None, "dirty": None}
        return {"plan": self._plan.as_dict(), "machine": MACHINE, "versions": {}, "git": git, "created": "never"}

    def done(self) -> set[int]:
        """Return the numbers of the starts: all are complete."""
        return set(range(len(self._starts)))

    def parts(self, table: str, starts: set[int]) -> Iterator[pa.Table]:
        """Yield one table start by start."""
        yield from (tables[table] for tables in self._starts if table in tables)


def run(plan: Plan, seed: int, effect: Effect = lambda start, block, case: 1.0, around_us: float = 50.0) -> Run:
    """Return the run that a plan of oracle cases would give; each start draws its service times anew."""
    starts = []
    for start, block, index in plan.order():
        case, law_seed = plan.cases[index], seed * 100_003 + start
        record = measured(case, plan.window_s, plan.seed + start, law_seed, around_us, effect(start, block, index))
        starts.append(start_record.tables(start, block, index, case, record))
    return Run(InMemory(f"virtual-{seed}", plan, starts))


def replay(run: Run) -> Run:
    """Return a measured run's oracle cases in virtual time: the same schedules and the same service times.

    A round trip takes no longer there than the service and the wait for it: nothing that was measured is in the truth.
    """
    starts = []
    for number, row in numbered(run.ledger[run.ledger["system"] == "oracle"]):
        case = run.case(row["case"])
        record = measured(case, run.plan.window_s, run.plan.seed + number, 1, around_us=0.0, after=case.clients)
        starts.append(start_record.tables(number, row["block"], row["case"], case, record))
    return Run(InMemory(f"{run.id} in virtual time", run.plan, starts))


def law_quantile(options: dict[str, Any], p: float) -> float:
    """Return the exact ``p`` quantile in us of the oracle's service times, without a freeze."""
    mean = float(options["mean_us"])
    if options["law"] == "exponential":
        return -mean * math.log(1 - p)
    if options["law"] == "bimodal":
        return mean * (0.5 if p <= 0.9 else 5.5)
    return mean
