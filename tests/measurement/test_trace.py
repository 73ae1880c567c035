"""Traces: what is kept of the kernel's events, made ones and real ones."""

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from bench.analysis import anatomy
from bench.child.tracer import INSTANCES, NAME
from bench.measurement import runner, trace
from bench.measurement.ring_buffer import RawEvent
from bench.measurement.system_calls import name_of
from bench.measurement.trace import SWITCH, WAKEUP, WAKING, Recorded, Tracer, rows, with_switches
from bench.plan.case import Case
from bench.plan.plan import Plan
from bench.run.frames import Run

needs_tracing = pytest.mark.skipif(bool(trace.why_not()), reason=trace.why_not() or "")
KNOWN = {11: ("client", 0), 22: ("server", 0), 23: ("server", 1)}


def event(t_ns: int, kind: str, tid: int, *values: int, cpu: int = 0, flags: int = 0) -> RawEvent:
    """Return a raw event."""
    return RawEvent(t_ns, cpu, kind, tid, flags, values)


def rows_of(*events: RawEvent) -> list[dict[str, Any]]:
    """Return the rows of some events, without those that are null."""
    return list(rows(Recorded(list(events), KNOWN, []), 0, 10_000))


def test_all_samples_of_a_slice_are_kept_among_the_events_of_a_part_of_it() -> None:
    samples = [(90, 1, 23, "libc"), (2, 0, 11, "cygrpc"), (6, 0, 22, "libpython3.11")]
    recorded = Recorded([event(5, SWITCH, 11, 11, 1, 22), event(50, SWITCH, 22, 22, 1, 11)], KNOWN, samples)
    made = [(row["t_ns"], row["role"], row["thread"], row["event"]) for row in rows(recorded, 0, 10)]
    assert made == [
        (2, "client", 0, "sampled"), (5, "client", 0, "sleeps"), (5, "server", 0, "runs"),
        (6, "server", 0, "sampled"), (90, "server", 1, "sampled"),
    ]  # fmt: skip


def test_a_switch_is_of_the_thread_that_stops_and_of_the_one_that_runs() -> None:
    assert rows_of(event(5, SWITCH, 11, 11, 1, 22)) == [
        {"t_ns": 5, "cpu": 0, "role": "client", "thread": 0, "event": "sleeps", "by_role": "server", "by_thread": 0},
        {"t_ns": 5, "cpu": 0, "role": "server", "thread": 0, "event": "runs", "by_role": "client", "by_thread": 0},
    ]


def test_of_other_processes_nothing_is_kept_but_that_one_ran() -> None:
    assert (
        rows_of(event(5, SWITCH, 99, 99, 1, 98), event(6, WAKING, 99, 98), event(7, "raw_syscalls/sys_enter", 99, 0))
        == []
    )
    (row,) = rows_of(event(5, SWITCH, 11, 11, 0, 99))
    assert (row["event"], row["by_role"], "by_thread" in row) == ("preempted", "another process", False)


@pytest.mark.parametrize(
    ("tid", "flags", "waker"),
    [
        (22, 0, "server"),
        (22, 0x10, "server"),  # the network stack works in the time of the thread that sends
        (22, 0x08, "interrupt"),
        (0, 0x10, "interrupt"),
        (99, 0x10, "interrupt"),
        (99, 0, "another process"),
    ],
)
def test_who_woke_a_thread(tid: int, flags: int, waker: str) -> None:
    (row,) = rows_of(event(5, WAKING, tid, 11, flags=flags))
    assert (row["event"], row["by_role"]) == ("woken", waker)


def test_system_calls_have_a_name_and_a_result_and_no_arguments() -> None:
    called, returned = rows_of(event(5, "raw_syscalls/sys_enter", 23, 0), event(6, "raw_syscalls/sys_exit", 23, 0, 64))
    assert called == {"t_ns": 5, "cpu": 0, "role": "server", "thread": 1, "event": "calls", "name": name_of(0)}
    assert returned["result"] == 64


def test_a_switch_from_idle_that_is_missing_is_put_where_the_thread_was_queued() -> None:
    events = with_switches(
        [
            event(1, SWITCH, 22, 22, 1, 0, cpu=1),
            event(5, WAKING, 11, 22),
            event(7, WAKEUP, 0, 22, cpu=1),
            event(6, "raw_syscalls/sys_exit", 11, 1, 0),
            event(9, "raw_syscalls/sys_exit", 22, 0, 64, cpu=1),
            event(10, SWITCH, 22, 22, 1, 0, cpu=1),
            event(12, SWITCH, 0, 0, 0, 22, cpu=1),
        ]
    )
    switches = [(raw_event.t_ns, raw_event.values) for raw_event in events if raw_event.kind == SWITCH]
    assert switches == [(1, (22, 1, 0)), (7, (0, 0, 22)), (10, (22, 1, 0)), (12, (0, 0, 22))]


@needs_tracing
def test_a_killed_tracer_leaves_nothing_for_long() -> None:
    first, second = Tracer(), None
    try:
        first.get_ready()
        folder = Path(INSTANCES) / f"{NAME}{first.child.pid}"
        assert folder.is_dir()
        os.kill(first.child.pid, signal.SIGKILL)
        first.child.wait(5)
        second = Tracer()
        second.get_ready()
        assert not folder.exists()
    finally:
        for tracer in filter(None, (first, second)):
            tracer.child.stop()
    assert second is not None
    assert not (Path(INSTANCES) / f"{NAME}{second.child.pid}").exists()


@needs_tracing
def test_raw_sockets_make_four_system_calls_and_all_of_each_call_is_explained() -> None:
    ways = (("same", False), ("same", True), ("split", True))
    cases = tuple(Case("sockets", "tcp", 100, placement=placement, traced=traced) for placement, traced in ways)
    run = Run(runner.run(Plan("anatomy", cases, 2, 0.2, 1, "smoke", slice_s=0.05)))
    assert len(anatomy.calls(run, 0)) == 0
    for case in (1, 2):
        assert len(anatomy.calls(run, case)) > 10  # a busy machine makes few
        assert anatomy.explained_share(run, case) > 0.95
        breakdown = anatomy.breakdown(run, case)
        assert (breakdown[list(anatomy.ROWS)].sum(axis=1) == breakdown["rtt_ns"]).all()
        exact = {(count.role, count.what): count.mean for count in anatomy.counts(run, case) if count.is_exact}
        assert {key: round(times) for key, times in exact.items() if key[1] in ("sendto", "recvfrom")} == {
            (role, name): 1 for role in ("client", "server") for name in ("recvfrom", "sendto")
        }
