"""Traces of calls: scheduling, system calls and sampled user code of a case's processes while it made them.

Kept are the events of some calls of each slice. Nothing of other processes is kept but that one of them ran, and no
argument of a system call.
"""

import heapq
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple

from bench.child.tracer import INSTANCES
from bench.child.user_samples import Sample
from bench.measurement.ring_buffer import HARD_INTERRUPT, SOFT_INTERRUPT, Decoder, RawEvent
from bench.measurement.system_calls import name_of
from bench.process.child_process import Child, collect
from bench.process.spec import Trace, Traced, TracerReady, TracerSpec, Tracing, Untrace
from bench.run.schema import SAMPLED

SWITCH, WAKING, WAKEUP = "sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup"
BUFFER_KB = 8_192  # of each CPU: a quarter of a million events
TRACER_S = 10.0  # until the tracer has answered
SKIPPED = 20  # calls at the beginning of a slice, which are not kept
MOST_CALLS = 40  # of a slice are kept
ANOTHER, IDLE, INTERRUPT = "another process", "idle", "interrupt"  # in the place of a role


def why_not() -> str | None:
    """Return why calls cannot be traced here, and what to do; None if they can."""
    if sys.platform != "linux":
        return "calls are traced on Linux only"
    if os.access(INSTANCES, os.W_OK):
        return None
    if os.geteuid():
        return "tracing calls takes the rights of root: run it as root, or mount /sys/kernel/tracing with your gid"
    return "the kernel's tracer, which records calls, is off; as root: mount -t tracefs nodev /sys/kernel/tracing"


class Recorded(NamedTuple):
    """What was recorded in a part of a slice: raw events, the role and number of each thread, samples of user code."""

    events: list[RawEvent]
    threads: Mapping[int, tuple[str, int]]
    samples: Sequence[Sample]


class Tracer:
    """The tracer's process, from the parent; to be stopped by ``child.stop``."""

    def __init__(self) -> None:
        self.child = Child("tracer", "bench.child.tracer", TracerSpec(buffer_kb=BUFFER_KB))

    def get_ready(self) -> None:
        """Wait until it can record; SystemFailedError says why it cannot."""
        (ready,) = collect(TracerReady, [self.child], TRACER_S)
        self._decoder = Decoder(ready.formats)

    def begin(self, roles: Mapping[str, Sequence[int]]) -> None:
        """Record the processes of a case, by role, from now on."""
        self.child.send(Trace(pids=[pid for pids in roles.values() for pid in pids]))
        collect(Tracing, [self.child], TRACER_S)

    def end(self) -> Traced:
        """Stop recording; return the pages as they are, so that nothing is worked out between two slices."""
        self.child.send(Untrace())
        (traced,) = collect(Traced, [self.child], TRACER_S)
        return traced

    def recorded(self, traced: Traced, roles: Mapping[str, Sequence[int]], until_ns: int) -> Recorded | None:
        """Return the events of what was traced until an instant; None where some of them found no room."""
        page_bytes = os.sysconf("SC_PAGESIZE")
        for cpu, lost in enumerate(traced.lost):
            if lost and not self._decoder.reaches(traced.blobs[cpu], page_bytes, until_ns):
                return None
        threads = {}
        for role, pids in roles.items():
            number = 0
            for pid in pids:
                for tid in sorted(traced.threads.get(str(pid), ()), key=lambda tid: (tid != pid, tid)):
                    threads[tid] = role, number
                    number += 1
        events = with_switches(self._decoder.events(traced.blobs, page_bytes, until_ns))
        return Recorded(events, threads, traced.samples)


def with_switches(events: Iterable[RawEvent]) -> list[RawEvent]:
    """Return events with the switches to a thread that kernels do not record on each CPU (6.18, virtual).

    That a thread runs is then known from its own first event. On an idle CPU it began when it was put on the CPU's
    queue: the event ``sched_wakeup``, which an idle CPU records itself. Where that is missing too, or another process
    had the CPU before, the thread's own first event is taken.
    """
    made, running, queued_ns = list[RawEvent](), dict[int, int](), dict[int, int]()
    for event in events:
        if event.kind == WAKEUP:
            queued_ns[event.values[0]] = event.t_ns
            continue
        tid = event.values[0] if event.kind == SWITCH else event.tid
        before = running.get(event.cpu, tid)
        if tid not in (0, before):
            began_ns = queued_ns.get(tid, event.t_ns) if before == 0 else event.t_ns
            made.append(RawEvent(began_ns, event.cpu, SWITCH, before, 0, (before, 0, tid)))
        running[event.cpu] = event.values[2] if event.kind == SWITCH else tid
        queued_ns.pop(running[event.cpu], None)  # it runs: what was before says nothing of the next time
        made.append(event)
    return sorted(made, key=lambda event: event.t_ns)


def kept(calls: int) -> tuple[int, int]:
    """Return the first and the last of the calls of a slice whose events are kept, the last one exclusive."""
    first = min(SKIPPED, calls // 4)
    return first, min(calls, first + MOST_CALLS)


def rows(recorded: Recorded, from_ns: int, to_ns: int) -> Iterator[dict[str, Any]]:
    """Yield the rows of the table ``events`` of a part of a slice, without ``start`` and ``slice``; all samples."""
    events = _event_rows(recorded, from_ns, to_ns)
    yield from heapq.merge(_sample_rows(recorded), events, key=itemgetter("t_ns"))


def _event_rows(recorded: Recorded, from_ns: int, to_ns: int) -> Iterator[dict[str, Any]]:
    for event in recorded.events:
        if from_ns <= event.t_ns <= to_ns:
            for role, thread, what, more in _of_case(event, recorded.threads):
                yield {"t_ns": event.t_ns, "cpu": event.cpu, "role": role, "thread": thread, "event": what} | more


def _sample_rows(recorded: Recorded) -> Iterator[dict[str, Any]]:
    for t_ns, cpu, tid, name in sorted(recorded.samples):
        role, thread = recorded.threads[tid]
        yield {"t_ns": t_ns, "cpu": cpu, "role": role, "thread": thread, "event": SAMPLED, "name": name}


def _of_case(event: RawEvent, known: Mapping[int, tuple[str, int]]) -> Iterator[tuple[str, int, str, dict[str, Any]]]:
    """Yield what an event says of threads of the case: role, thread, what happened, and the other columns."""
    if event.kind == SWITCH:
        before, state, after = event.values
        if before in known:
            what = "preempted" if state & 0xFF == 0 else "sleeps"
            yield *known[before], what, _cause(after, known)
        if after in known:
            yield *known[after], "runs", _cause(before, known)
    elif event.kind == WAKING:
        (woken,) = event.values
        if woken in known:
            in_interrupt = event.flags & HARD_INTERRUPT or (event.flags & SOFT_INTERRUPT and event.tid not in known)
            cause = {"by_role": INTERRUPT} if in_interrupt else _cause(event.tid, known)
            yield *known[woken], "woken", cause
    elif event.tid in known:
        number, *result = event.values
        more = {"name": name_of(number)} | ({"result": result[0]} if result else {})
        yield *known[event.tid], "returns" if result else "calls", more


def _cause(tid: int, known: Mapping[int, tuple[str, int]]) -> dict[str, Any]:
    if tid in known:
        role, thread = known[tid]
        return {"by_role": role, "by_thread": thread}
    return {"by_role": ANOTHER if tid else IDLE}
