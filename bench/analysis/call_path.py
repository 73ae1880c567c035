"""The path of a traced call: each nanosecond of its RTT belongs to exactly one part, so the parts add up to the RTT.

From the reply back to the request: who ran when the caller had its reply, who woke that thread, who ran before, and so
on. This is the path on which the call depended. Every moment of it belongs to whoever held the CPU that the path
needed: a thread of the case, in user code or in the kernel; another process; or nobody, while a woken thread did not
run yet. A thread that no thread of the case woke has waited for a timer or a device. What ran beside the path is in no
part.
"""

import bisect
import itertools
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import pandas as pd

USER, KERNEL, WAKING, OTHER, OUTSIDE = "user", "kernel", "waking", "another process", "timer or device"
SOCKET_SENDS, FILE_SENDS = ("sendto", "sendmsg"), ("write", "writev")  # which return how many bytes they sent
SENDS = (*SOCKET_SENDS, *FILE_SENDS, "sendmmsg")
RECEIVES = ("recvfrom", "recvmsg", "recvmmsg", "read", "readv")
MOST_STEPS = 10_000  # of a path
BEGINNING = -(2**62)  # before every event

Thread = tuple[str, int]  # its role and its number there; of who is no thread of the case, as ``by_role`` says and -1


class Part(NamedTuple):
    """A part of the path of one call. begin_ns, end_ns: as in the table ``events``.

    role, thread: who ran, or was woken. what: USER; KERNEL, with the name of the system call; WAKING, nobody ran; OTHER
    or OUTSIDE, which have no role.
    """

    begin_ns: int
    end_ns: int
    role: str
    thread: int
    what: str
    name: str = ""

    @property
    def ns(self) -> int:
        """Its length."""
        return self.end_ns - self.begin_ns


class Running(NamedTuple):
    """A time in which a thread ran on one CPU, and why not earlier.

    stopped_ns: when it had stopped to run; BEGINNING: not known. woken_ns, by: when and by whom it was woken; None
    where it had been preempted.
    """

    begin_ns: int
    end_ns: int
    cpu: int
    stopped_ns: int
    woken_ns: int | None
    by: Thread | None


class _State:
    """The state of a thread while its events are read."""

    def __init__(self) -> None:
        self.began_ns: int | None = None
        self.cpu = -1
        self.stopped_ns = BEGINNING
        self.has_slept = False
        self.woken: tuple[int, Thread] | None = None
        self.woken_early_by: Thread | None = None  # while it was about to sleep, in the system call that it is in


class Trace:
    """The events of some calls of a slice, in the order of their times.

    events: rows of the table ``events`` of one slice. running: of each thread its times on a CPU. wakes: (when, who
    woke, who was woken).
    """

    def __init__(self, events: pd.DataFrame) -> None:
        self.running: dict[Thread, list[Running]] = {}
        self.wakes: list[tuple[int, Thread, Thread]] = []
        self._modes: dict[Thread, list[tuple[int, str]]] = {}  # from when a thread was in which system call; "": none
        self._held: dict[int, list[tuple[int, Thread]]] = {}  # from when a CPU was whose
        self._sends: list[tuple[int, int, Thread]] = []  # when a client's system calls that send began and ended
        states: defaultdict[Thread, _State] = defaultdict(_State)
        rows = rows_of(events, "t_ns", "cpu", "role", "thread", "event", "by_role", "by_thread", "name")
        for t_ns, cpu, role, number, event, by_role, by_thread, name in rows:
            thread, now = (role, number), states[role, number]
            other_thread = (by_role, -1 if by_thread is None or math.isnan(by_thread) else int(by_thread))
            if event not in ("woken", "runs") and now.began_ns is None and now.stopped_ns == BEGINNING:
                now.began_ns, now.cpu = BEGINNING, cpu  # it ran before the first event
            if event in ("calls", "returns"):
                self._mode(t_ns, thread, event, name)
                now.woken_early_by = None
            elif event == "woken":
                self.wakes.append((t_ns, other_thread, thread))
                if now.began_ns is None:
                    now.woken = now.woken or (t_ns, other_thread)
                else:
                    now.woken_early_by = other_thread
            elif event == "runs":
                now.began_ns, now.cpu = t_ns, cpu
                self._held.setdefault(cpu, []).append((t_ns, thread))
            else:
                self._ran(thread, now, t_ns)
                now.stopped_ns, now.has_slept, now.woken = t_ns, event == "sleeps", None
                if now.has_slept and now.woken_early_by:
                    now.woken = t_ns, now.woken_early_by
                now.woken_early_by = None
                self._held.setdefault(cpu, []).append((t_ns, other_thread))
        for thread, now in states.items():
            self._ran(thread, now, 2**62)

    def _mode(self, t_ns: int, thread: Thread, event: str, name: str) -> None:
        modes = self._modes.setdefault(thread, [])
        if event == "calls":
            modes.append((t_ns, name))
            return
        begun_ns = modes[-1][0] if modes else BEGINNING
        if not modes:
            modes.append((BEGINNING, name))
        modes.append((t_ns, ""))
        if thread[0] == "client" and name in SENDS:
            self._sends.append((begun_ns, t_ns, thread))

    def _ran(self, thread: Thread, now: _State, end_ns: int) -> None:
        if now.began_ns is not None:
            woken_ns, waker = now.woken if now.woken and now.has_slept else (None, None)
            ran = Running(now.began_ns, end_ns, now.cpu, now.stopped_ns, woken_ns, waker)
            self.running.setdefault(thread, []).append(ran)
        now.began_ns = None

    def at(self, thread: Thread, t_ns: int) -> Running | None:
        """Return the time on a CPU in which a thread ran at or just before an instant, None if it did not."""
        times = self.running.get(thread, [])
        index = bisect.bisect_left(times, t_ns, key=lambda ran: ran.begin_ns) - 1
        return times[index] if index >= 0 and times[index].end_ns >= t_ns else None

    def ran(self, thread: Thread, begin_ns: int, end_ns: int) -> Iterator[Part]:
        """Yield a time in which a thread ran, in user code and in system calls."""
        modes = self._modes.get(thread, [])
        index = bisect.bisect_right(modes, begin_ns, key=lambda mode: mode[0]) - 1
        while begin_ns < end_ns:
            name = modes[index][1] if index >= 0 else ""
            until_ns = min(end_ns, modes[index + 1][0] if index + 1 < len(modes) else end_ns)
            if until_ns > begin_ns:
                yield Part(begin_ns, until_ns, *thread, KERNEL if name else USER, name)
            begin_ns, index = until_ns, index + 1

    def held(self, cpu: int, woken: Thread, begin_ns: int, end_ns: int) -> Iterator[Part]:
        """Yield a time in which a thread that could run waited for a CPU, by whoever held it."""
        owners = self._held.get(cpu, [])
        index = bisect.bisect_right(owners, begin_ns, key=lambda owner: owner[0]) - 1
        while begin_ns < end_ns:
            role, number = owners[index][1] if index >= 0 else ("idle", -1)
            until_ns = min(end_ns, owners[index + 1][0] if index + 1 < len(owners) else end_ns)
            if until_ns > begin_ns and number >= 0:
                yield from self.ran((role, number), begin_ns, until_ns)
            elif until_ns > begin_ns:
                is_other = role == OTHER
                yield Part(begin_ns, until_ns, *(("", -1) if is_other else woken), OTHER if is_other else WAKING)
            begin_ns, index = until_ns, index + 1

    def path(self, caller: Thread, sent_ns: int, received_ns: int) -> list[Part] | None:
        """Return the parts of one call in the order of time, without gaps; None where the events do not explain it."""
        parts: list[Part] = []
        thread, t_ns = caller, received_ns
        for _ in range(MOST_STEPS):
            if t_ns <= sent_ns:
                return sorted(parts)
            if (ran := self.at(thread, t_ns)) is None:
                return None
            begin_ns = max(ran.begin_ns, sent_ns)
            if thread[0] != "client" and (sending := self._sending(begin_ns, t_ns, sent_ns)):
                begin_ns, sender = sending
                parts += self.ran(thread, begin_ns, t_ns)
                thread, t_ns = sender, begin_ns
                continue
            parts += self.ran(thread, begin_ns, t_ns)
            if begin_ns == sent_ns:
                return sorted(parts)
            if ran.stopped_ns == BEGINNING:
                return None
            could_run_ns = max(sent_ns, ran.stopped_ns if ran.woken_ns is None else ran.woken_ns)
            if ran.by is not None and ran.woken_ns is not None:
                could_run_ns = self._answered(ran.by, could_run_ns, ran.begin_ns)
            parts += self.held(ran.cpu, thread, could_run_ns, ran.begin_ns)
            t_ns = could_run_ns
            is_early = ran.woken_ns == ran.stopped_ns  # woken while it was about to sleep
            if ran.by is None or t_ns == sent_ns or (is_early and self.at(ran.by, t_ns) is None):
                continue
            if ran.by[1] >= 0:
                thread = ran.by
            else:
                slept_ns = max(sent_ns, ran.stopped_ns)
                if t_ns > slept_ns:
                    parts.append(Part(slept_ns, t_ns, "", -1, OTHER if ran.by[0] == OTHER else OUTSIDE))
                t_ns = slept_ns
        return None

    def _answered(self, waker: Thread, woken_ns: int, until_ns: int) -> int:
        """Return when a thread that was woken could go on: if its waker was receiving, when that one began to send.

        Who reads from a Unix domain socket makes room in it, and wakes the other end, which waits for an answer.
        """
        modes = self._modes.get(waker, [])
        index = bisect.bisect_right(modes, woken_ns, key=lambda mode: mode[0]) - 1
        if index < 0 or modes[index][1] not in RECEIVES:
            return woken_ns
        later = itertools.takewhile(lambda mode: mode[0] < until_ns, modes[index + 1 :])
        return next((t_ns for t_ns, name in later if name in SENDS), woken_ns)

    def _sending(self, begin_ns: int, end_ns: int, sent_ns: int) -> tuple[int, Thread] | None:
        """Return until when, and by whom, a client was still sending a request that a busy server cannot have yet.

        None where it was sent before ``begin_ns``: a server that slept was woken by it.
        """
        index = bisect.bisect_left(self._sends, sent_ns, key=lambda send: send[0])
        if index == len(self._sends):
            return None
        began_ns, ended_ns, thread = self._sends[index]
        until_ns = ended_ns if ended_ns < end_ns else began_ns
        return (until_ns, thread) if begin_ns < until_ns < end_ns else None


def rows_of(events: pd.DataFrame, *columns: str) -> Iterator[tuple[Any, ...]]:
    """Return the rows of these columns as numbers and strings of Python; to iterate over a column itself is slower."""
    return zip(*(events[name].to_numpy().tolist() for name in columns), strict=True)


def caller_of(trace: Trace, calls: Iterable[tuple[int, int]]) -> Thread:
    """Return the client's thread that ran most often when a call had its reply: it takes the times."""
    counts: dict[Thread, int] = {}
    for _, received_ns in calls:
        for thread in trace.running:
            if thread[0] == "client" and trace.at(thread, received_ns) is not None:
                counts[thread] = counts.get(thread, 0) + 1
    return max(counts, key=lambda thread: (counts[thread], -thread[1]), default=("client", 0))
