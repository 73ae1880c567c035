"""A block of resident cases: all their processes live at once, and the cases take turns in slices.

While one case makes its calls, the others and this process sleep. Neighbouring slices share the state of the machine,
which lasts from tenths of a second to minutes; starts that follow each other do not.
"""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import numpy as np
import psutil

from bench import systems
from bench.errors import SystemFailedError
from bench.measurement import speed, trace
from bench.measurement.hosts.host import HERE, HostWindow, Metered, counters, used_between
from bench.measurement.routers import Routers
from bench.measurement.start import (
    GO_AHEAD_NS,
    PATIENCE_S,
    Prepared,
    Spawned,
    Start,
    Window,
    disconnect,
    specified,
    summed,
)
from bench.measurement.trace import Tracer
from bench.plan import slicing
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.plan.slicing import WARM_UP, Turn
from bench.process import cpu_clocks
from bench.process.child_process import ChildHandle, collect, stop_all
from bench.process.meters import LoadMeter
from bench.process.spec import Done, GoOn, Paused, Traced, Used
from bench.run.start_record import StartRecord, Times
from bench.stats.clock_offsets import ClockReading


class ResidentFailedError(SystemFailedError):
    """A case of a block failed; ``place``: which."""

    def __init__(self, index: int, error: SystemFailedError) -> None:
        super().__init__(str(error))
        self.place = index


@dataclass(frozen=True)
class Edge:
    """What was used until an edge of a slice: by other roles and the kernel's counters; by the case's processes."""

    at_ns: int
    used: Counter[str]
    own_cpu_ns: int


@dataclass
class Resident:
    """A case whose processes stay up for a block, and what its slices have measured so far.

    asleep_ns, asleep_cpu_ns: how long others had their turns, and the CPU time of this one's processes meanwhile.
    """

    start: Start
    spawned: Spawned
    prepared: Prepared
    slices: list[dict[str, Any]] = field(default_factory=list)
    used: Counter[str] = field(default_factory=Counter)
    reports: list[list[Any]] = field(default_factory=list)
    utc: str = ""
    last: Edge | None = None
    asleep_ns: int = 0
    asleep_cpu_ns: int = 0
    traced: list[Traced] = field(default_factory=list)

    @cached_property
    def patience_s(self) -> float:
        """After the end of a slice, for calls under way."""
        return PATIENCE_S + systems.timeout_s(self.start.case.system)

    @property
    def pids(self) -> dict[str, list[int]]:
        """The process ids by role."""
        ((_, pids),) = self.prepared.pids
        return dict(pids)

    def edge(self) -> Edge:
        """Read the clocks and counters."""
        own = [pid for role, ids in self.pids.items() if role in ("client", "server", "client+server") for pid in ids]
        return Edge(time.perf_counter_ns(), Counter(counters(self.pids)), cpu_clocks.total_ns(own))

    def take(self, turn: Turn, slice_s: float, more: bool, tracer: Tracer | None) -> None:
        """Let this case make its calls for one slice while all others sleep; a tracer records it, if it is traced."""
        if tracer:
            tracer.begin(self.pids)
        self._take(turn, slice_s, more)
        if tracer:
            self.traced.append(tracer.end())

    def _take(self, turn: Turn, slice_s: float, more: bool) -> None:
        """Order the clients to go on together for one slice; add what they report and what the processes used in it."""
        before, clients = self.edge(), self.spawned.clients
        if self.last:
            self.asleep_ns += before.at_ns - self.last.at_ns
            self.asleep_cpu_ns += before.own_cpu_ns - self.last.own_cpu_ns
        self.utc = self.utc or datetime.now(UTC).isoformat(timespec="milliseconds")
        at_ns = time.perf_counter_ns() + GO_AHEAD_NS * len(clients) * (len(clients) > 1)  # together, where several
        for client in clients:
            client.send(GoOn(at_ns=at_ns, until_ns=at_ns + int(slice_s * 1e9), more=more))
        reports: Sequence[Any] = collect(
            Paused if more else Done, clients, slice_s + self.patience_s, self.spawned.watched
        )
        self.last = self.edge()
        used = used_between(before.used, self.last.used)
        self.used.update(used)
        self.reports.append(list(reports))
        cpu = {name: value for name, value in used.items() if name.endswith("_cpu_ns")}
        of_clients = {name: summed(reports, name) for name in ("client_cpu_ns", "server_cpu_ns")}
        cpu |= {name: total for name, total in of_clients.items() if total is not None}
        self.slices.append({"round": turn.round, "at_ns": at_ns, **cpu})

    def record(self, go_ns: int, tracer: Tracer | None) -> StartRecord:
        """Return what was measured, as a start whose window has no pauses; ``go_ns``: when the block's slices began."""
        load = LoadMeter(self.pids)
        load.tick()
        metered = Metered(dict(self.used), load.rows)
        here = ClockReading(at_ns=go_ns)
        window = Window(
            self.utc, go_ns, (go_ns,) * len(self.spawned.clients), self._summed(), (),
            (HostWindow(HERE, go_ns, here, here, metered),),
        )  # fmt: skip
        record = self.start.record(self.spawned, self.prepared, window)
        rows = [row | {"at_ns": row["at_ns"] - go_ns} for row in self.slices]
        calls, slices = without_pauses(record.calls, rows)
        ledger = record.ledger | {
            "window_s": sum(row["length_ns"] for row in slices) / 1e9,
            "asleep_s": self.asleep_ns / 1e9,
            "asleep_cpu_ns": self.asleep_cpu_ns,
        }
        events = self._events(tracer, go_ns, record.calls[0], slices) if tracer else []
        tables = record.tables | {"slices": slices} | ({"events": events} if events else {})
        return StartRecord(ledger, calls, tables, record.requests)

    def _events(
        self, tracer: Tracer, go_ns: int, times: Times, slices: Sequence[Mapping[str, Any]]
    ) -> list[dict[str, Any]]:
        """Return the rows of the table ``events``; times: of the first caller, since *go*, with the pauses."""
        made, ends = list[dict[str, Any]](), [*(row["at_ns"] for row in slices[1:]), None]
        for traced, row, end in zip(self.traced, slices, ends, strict=True):
            sent, received = times[:, slice(*np.searchsorted(times[0], [row["at_ns"], end or times[0][-1] + 1]))]
            if row["round"] in (None, WARM_UP):
                continue
            first, last = trace.kept(len(sent))
            if last - first < 2:
                continue  # the events before its first call say who ran then
            moved = row["begin_ns"] - int(sent[0]) - go_ns
            begin_ns, end_ns = go_ns + int(sent[first]), go_ns + int(received[last - 1])
            if recorded := tracer.recorded(traced, self.pids, end_ns):
                rows = trace.rows(recorded, begin_ns, end_ns)
                made += [event | {"slice": row["number"], "t_ns": event["t_ns"] + moved} for event in rows]
        return made

    def _summed(self) -> tuple[Done, ...]:
        """Return the last report of each client with the resource use of all slices."""
        by_client = zip(*self.reports, strict=True)
        return tuple(
            Done(**vars(reports[-1]) | {name: summed(reports, name) for name in Used._fields}) for reports in by_client
        )


def without_pauses(
    calls: Sequence[Times], slices: Sequence[dict[str, Any]]
) -> tuple[list[Times], list[dict[str, Any]]]:
    """Return the times of each caller with the pauses between its slices left out, and the slices' rows.

    calls: send and receive times in ns since *go*, shape (2, calls). slices: ``at_ns`` of each, likewise. ``begin_ns``
    in a row is where its slice begins when the pauses are left out, ``length_ns`` from its first request to its last
    reply.
    """
    edges = np.array([row["at_ns"] for row in slices])
    indices_of_callers = [np.searchsorted(edges, times[0], "right") - 1 for times in calls]
    first, last = np.full(len(slices), np.iinfo("i8").max), np.full(len(slices), np.iinfo("i8").min)
    for indices, times in zip(indices_of_callers, calls, strict=True):
        np.minimum.at(first, indices, times[0])
        np.maximum.at(last, indices, times[1])
    counted = sum(
        (np.bincount(indices, minlength=len(slices)) for indices in indices_of_callers), np.zeros(len(slices), int)
    )
    length = np.where(counted > 0, last - first, 0)
    begin = np.concatenate([[0], np.cumsum(length)[:-1]])
    moved = [times + (begin - first)[indices] for indices, times in zip(indices_of_callers, calls, strict=True)]
    columns = {"begin_ns": begin, "length_ns": length, "calls": counted}
    return moved, [
        row | {"number": number} | {name: int(values[number]) for name, values in columns.items()}
        for number, row in enumerate(slices)
    ]


def measure(plan: Plan, cases: Sequence[Case], block: int, routers: Routers) -> list[StartRecord]:
    """Start the processes of all cases of a block, let them take turns, end them; return what each measured."""
    children: list[list[ChildHandle]] = [[] for _ in cases]
    starts: list[Start] = []
    turns = slicing.turns(len(cases), plan.rounds, block, plan.seed)
    order = [turn.place for turn in turns[: len(cases)]]  # at random: no case always starts first
    tracer = Tracer() if any(case.traced for case in cases) else None
    try:
        if tracer:
            tracer.get_ready()
        for index, case in enumerate(cases):
            with _failing(index, starts, children):
                starts.append(specified(case, plan.window_s, plan.seed_of(block), routers))
        spawned, residents = dict[int, Spawned](), dict[int, Resident]()
        for index in order:
            with _failing(index, starts, children):
                spawned[index] = starts[index].spawn(children[index])
        for index in order:
            with _failing(index, starts, children):
                prepared = starts[index].get_ready(spawned[index])
                residents[index] = Resident(starts[index], spawned[index], prepared)
        cpus = speed.cpus_of(group.places for group in spawned.values())
        speed_before = speed.probe(cpus)
        left = Counter(turn.place for turn in turns)
        for turn in turns:
            left[turn.place] -= 1
            with _failing(turn.place, starts, children):
                of_case = tracer if cases[turn.place].traced else None
                residents[turn.place].take(turn, plan.slice_s, left[turn.place] > 0, of_case)
        speeds = speed.mean(speed_before, speed.probe(cpus))
        go_ns, records = min(resident.slices[0]["at_ns"] for resident in residents.values()), []
        for index, resident in sorted(residents.items()):
            with _failing(index, starts, children):
                records.append(resident.record(go_ns, tracer if cases[index].traced else None))
                records[-1].ledger |= speeds
                disconnect(resident.spawned)
        return records
    finally:
        stop_all([child for own in children for child in own] + ([tracer.child] if tracer else []))


@contextmanager
def _failing(index: int, starts: Sequence[Start], children: Sequence[Sequence[ChildHandle]]) -> Iterator[None]:
    """Name the case whose processes failed, and how they ended."""
    try:
        yield
    except (SystemFailedError, psutil.NoSuchProcess) as error:
        whole = starts[index].failure(error, children[index]) if index < len(starts) else SystemFailedError(str(error))
        raise ResidentFailedError(index, whole) from error
