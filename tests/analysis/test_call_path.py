"""Paths of traced calls from made events: every nanosecond is in the part in which it belongs."""

from collections import Counter
from typing import Any

import pandas as pd
import pytest

from bench.analysis.call_path import KERNEL, OTHER, OUTSIDE, USER, WAKING, Thread, Trace, caller_of

CLIENT, SERVER = ("client", 0), ("server", 0)
COLUMNS = ["t_ns", "cpu", "role", "thread", "event", "by_role", "by_thread", "name"]


class Events:
    """Events that are written one after another."""

    def __init__(self) -> None:
        self.rows: list[list[Any]] = []

    def add(
        self, t_ns: int, cpu: int, who: Thread, event: str, cause: Thread = ("", -1), name: str | None = None
    ) -> None:
        """Add one event; ``cause``: the thread that brought it about, of a role that is no thread's with -1."""
        self.rows.append([t_ns, cpu, *who, event, cause[0] or None, cause[1] if cause[1] >= 0 else None, name])

    def switch(self, t_ns: int, cpu: int, before: Thread | None, after: Thread | None, how: str = "sleeps") -> None:
        """Add a switch; None: the CPU is idle."""
        idle = ("idle", -1)
        if before and before[1] >= 0:
            self.add(t_ns, cpu, before, how, after or idle)
        if after and after[1] >= 0:
            self.add(t_ns, cpu, after, "runs", before or idle)

    def call(self, t_ns: int, cpu: int, who: Thread, name: str, to_ns: int | None = None) -> None:
        """Add a system call, which returns at ``to_ns``."""
        self.add(t_ns, cpu, who, "calls", name=name)
        if to_ns is not None:
            self.returns(to_ns, cpu, who, name)

    def returns(self, t_ns: int, cpu: int, who: Thread, name: str) -> None:
        """Add the return of a system call."""
        self.add(t_ns, cpu, who, "returns", name=name)

    def trace(self) -> Trace:
        """Return the trace of all events."""
        return Trace(pd.DataFrame(sorted(self.rows, key=lambda row: row[0]), columns=COLUMNS))


def round_trip(
    events: Events, at: int, *, split: bool, work: int = 30, hold: int = 0, timer: int = 0
) -> tuple[int, int]:
    """Add a call that begins at an instant; return when it was sent and answered.

    split: on two CPUs. work: user time of the server. hold: how long another process keeps the server's CPU. timer: how
    long the server sleeps until a timer wakes it.
    """
    cpu = 1 if split else 0
    events.call(at + 10, 0, CLIENT, "sendto")
    events.add(at + 15, 0, SERVER, "woken", CLIENT)
    events.returns(at + 20, 0, CLIENT, "sendto")
    events.call(at + 25, 0, CLIENT, "recvfrom")
    if split:
        events.switch(at + 40, 0, CLIENT, None)
        began = at + 35
        events.switch(began, cpu, ("another process", -1) if hold else None, SERVER)
    else:
        began = at + 40
        events.switch(began, 0, CLIENT, SERVER)
    events.returns(began + 5, cpu, SERVER, "recvfrom")
    now = began + 5 + work
    if timer:
        events.call(now, cpu, SERVER, "nanosleep")
        events.switch(now + 2, cpu, SERVER, None)
        events.add(now + 2 + timer, cpu, SERVER, "woken", ("interrupt", -1))
        events.switch(now + 4 + timer, cpu, None, SERVER)
        events.returns(now + 5 + timer, cpu, SERVER, "nanosleep")
        now += 5 + timer
    events.call(now, cpu, SERVER, "sendto")
    events.add(now + 3, cpu, CLIENT, "woken", SERVER)
    events.returns(now + 6, cpu, SERVER, "sendto")
    events.call(now + 8, cpu, SERVER, "recvfrom")
    if split:
        events.switch(now + 20, 0, None, CLIENT)
        events.switch(now + 12, cpu, SERVER, ("another process", -1) if hold else None)
        done = now + 24
    else:
        events.switch(now + 12, 0, SERVER, CLIENT)
        done = now + 16
    events.returns(done, 0, CLIENT, "recvfrom")
    return at, done + 5


def parts_of(split: bool, **how: int) -> tuple[Counter[tuple[str, str]], int]:
    """Return the parts of the second of two calls by role and kind, and its RTT."""
    events = Events()
    _, end = round_trip(events, 0, split=split)
    sent, received = round_trip(events, end + 7, split=split, **how)
    trace = events.trace()
    assert caller_of(trace, [(sent, received)]) == CLIENT
    parts = trace.path(CLIENT, sent, received)
    assert parts is not None
    assert [part.end_ns for part in parts[:-1]] == [part.begin_ns for part in parts[1:]]
    sums: Counter[tuple[str, str]] = Counter()
    for part in parts:
        sums[part.role, part.what] += part.ns
    return sums, received - sent


def test_on_one_cpu_all_of_a_call_belongs_to_who_ran() -> None:
    sums, rtt_ns = parts_of(split=False)
    assert sums == {
        ("client", USER): 10 + 5 + 5,
        ("client", KERNEL): 10 + 15 + 4,
        ("server", USER): 30 + 2,
        ("server", KERNEL): 5 + 6 + 4,
    }
    assert sums.total() == rtt_ns


def test_with_a_cpu_each_waking_is_a_part_and_what_runs_beside_is_not() -> None:
    sums, rtt_ns = parts_of(split=True)
    assert sums == {
        ("client", USER): 10 + 5,
        ("client", KERNEL): 5 + 4,
        ("server", WAKING): 20,
        ("server", USER): 30,
        ("server", KERNEL): 5 + 3,
        ("client", WAKING): 17,
    }
    assert sums.total() == rtt_ns


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize(
    ("how", "row"), [({"work": 30 + 50_000}, ("server", USER)), ({"timer": 40_000_000}, ("", OUTSIDE))]
)
def test_what_is_added_appears_in_its_own_part_and_in_no_other(
    how: dict[str, int], row: tuple[str, str], *, split: bool
) -> None:
    before, _ = parts_of(split=split)
    after, _ = parts_of(split=split, **how)
    more = {name: after[name] - before[name] for name in after | before}
    assert more.pop(row) == pytest.approx(50_000 if "work" in how else 40_000_000, abs=10)
    assert all(abs(ns) <= 10 for ns in more.values())


def test_a_cpu_that_another_process_holds_is_no_idle_one() -> None:
    events = Events()
    _, end = round_trip(events, 0, split=True, hold=1)
    sent, received = round_trip(events, end + 7, split=True, hold=1)
    parts = events.trace().path(CLIENT, sent, received)
    assert parts is not None
    assert sum(part.ns for part in parts if part.what == OTHER) == 20
    assert not any(part.what == WAKING and part.role == "server" for part in parts)


def test_a_server_that_never_sleeps_has_no_request_before_it_was_sent() -> None:
    events = Events()
    events.switch(0, 1, None, SERVER)
    events.switch(0, 0, None, CLIENT)
    events.call(1_010, 0, CLIENT, "sendto", 1_020)
    events.call(1_025, 0, CLIENT, "recvfrom")
    events.switch(1_040, 0, CLIENT, None)
    events.call(1_100, 1, SERVER, "sendto")
    events.add(1_105, 1, CLIENT, "woken", SERVER)
    events.returns(1_110, 1, SERVER, "sendto")
    events.switch(1_120, 0, None, CLIENT)
    events.returns(1_125, 0, CLIENT, "recvfrom")
    events.switch(2_000, 1, SERVER, None)
    parts = events.trace().path(CLIENT, 1_000, 1_130)
    assert parts is not None
    assert [(part.role, part.what, part.ns) for part in parts] == [
        ("client", USER, 10),
        ("client", KERNEL, 10),
        ("server", USER, 80),
        ("server", KERNEL, 5),
        ("client", WAKING, 15),
        ("client", KERNEL, 5),
        ("client", USER, 5),
    ]


def test_a_call_whose_beginning_is_not_in_the_events_is_not_explained() -> None:
    events = Events()
    events.add(150, 1, CLIENT, "woken", SERVER)
    events.switch(160, 0, None, CLIENT)
    events.returns(165, 0, CLIENT, "recvfrom")
    assert events.trace().path(CLIENT, 100, 170) is None


def test_who_is_woken_by_room_in_a_socket_waits_for_what_the_waker_sends() -> None:
    events = Events()
    events.switch(0, 0, None, CLIENT)
    events.switch(0, 1, None, SERVER)
    events.call(90, 1, SERVER, "recvfrom")
    events.call(101, 0, CLIENT, "sendto", 105)
    events.call(106, 0, CLIENT, "recvfrom")
    events.switch(110, 0, CLIENT, None)
    events.add(112, 1, CLIENT, "woken", SERVER)  # the request was read, which makes room: the reply is not there yet
    events.returns(120, 1, SERVER, "recvfrom")
    events.call(150, 1, SERVER, "sendto", 155)
    events.call(156, 1, SERVER, "recvfrom")
    events.switch(160, 0, None, CLIENT)
    events.returns(165, 0, CLIENT, "recvfrom")
    parts = events.trace().path(CLIENT, 100, 170)
    assert parts is not None and sum(part.ns for part in parts) == 70
    assert sum(part.ns for part in parts if part.role == "server" and part.what == USER) == 30
    assert sum(part.ns for part in parts if part.what == WAKING) == 10
