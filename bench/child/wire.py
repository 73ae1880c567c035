"""The load generator ``wire``: prepared bytes on many connections in one loop, to measure the server, not the client.

Two ways to drive the connections (``bench.child.wire_connection``). Closed loop: each sends the next request as soon as
it has the reply. Open loop: idle connections send in turn when a request is due.
"""

import functools
import itertools
import time
from array import array
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from bench.child import timed_loops
from bench.child.caller import Failures, failed, patiently
from bench.child.loads import limit_ns, put_after, schedule
from bench.child.open_files import allow_connections
from bench.child.polling import Epoll, Poller, Selector
from bench.child.structured_messages import Payloads
from bench.child.timed_loops import NEVER_NS
from bench.child.wire_connection import Connection, Script, Step, Talk
from bench.child.wire_timer import LIMIT_S, DueError, Timer
from bench.contract import LoadReport
from bench.errors import TransportError, WrongReplyError
from bench.plan import credentials
from bench.process.spec import ClientSpec

EARLY_NS = 150_000  # before a due time waiting becomes spinning
BATCH = 64  # connections that are made at once, fewer than servers let wait (their backlog is 100 or more)
MOST_EVENTS = 128  # that one poll takes: what it returns stays in the cache
MOST_UNREAD = 16  # requests sent between two looks for replies: where all are late, replies wait no longer than that


class ConnectionLoop:
    """The talks of some connections, each advanced by the events of its connection until it has ended."""

    def __init__(
        self,
        poller: Epoll | Selector,
        talks: Iterable[tuple[Connection, Talk]],
        persistent: bool = True,
        timer: Timer | None = None,
    ) -> None:
        """Begin all talks: each sends its first request, or waits for the order to send.

        If ``persistent``, a connection counts a failed request and continues; else the error is raised, but for wrong
        replies, of which ``refused`` is the last. timer: its descriptor is one of the poller's; calls that wait longer
        than its limit fail.
        """
        self.refused: WrongReplyError | None = None
        self.poller = poller
        self._persistent = persistent
        self._timer = timer
        self._connections: dict[int, Connection] = {}
        self._steps: dict[int, Step] = {}
        if timer is not None:
            self._steps[timer.fd] = timer.step
        self._own = len(self._steps)  # steps that are no talk's
        for connection, talk in talks:
            self._connections[connection.fd] = connection
            poller.add(connection.fd)
            self._begin(connection, talk)

    def _begin(self, connection: Connection, talk: Talk) -> None:
        """Let a connection's talk send its first request."""
        connection.talking = talk
        connection.steps.append(talk.send)
        self._steps[connection.fd] = talk.send
        try:
            next(talk)
        except StopIteration:
            self._end(connection.fd)
        except TransportError as error:
            self._again(connection, error)

    def _again(self, connection: Connection, error: TransportError) -> None:
        if isinstance(error, WrongReplyError):
            self.refused = error
        elif not self._persistent:
            raise error
        self._begin(connection, connection.again(error))

    def tell(self, step: Step) -> None:
        """Let an idle connection send its next request."""
        try:
            step(None)
        except TransportError as error:
            self._again(
                next(connection for connection in self._connections.values() if connection.steps[-1] == step), error
            )

    def __len__(self) -> int:
        return len(self._steps) - self._own

    def _end(self, fd: int) -> None:
        del self._steps[fd]
        self.poller.remove(fd)

    def run(self) -> None:
        """Advance the talks until all have ended."""
        steps, poll, max_events = self._steps, self.poller.poll, min(MOST_EVENTS, max(1, len(self._steps)))
        while len(steps) > self._own:
            try:
                while True:
                    for fd, event in poll(None, max_events):
                        steps[fd](event)
            except StopIteration:  # the next poll reports what else has come
                self._end(fd)
            except TransportError as error:
                self._again(self._connections[fd], error)
            except DueError:
                self._look_for_late()

    def _look_for_late(self) -> None:
        """Let the calls fail that have waited longer than the time limit."""
        assert self._timer
        latest_ns = self._timer.latest_ns()
        late = [
            connection
            for connection in self._connections.values()
            if connection.fd in self._steps and connection.sent_ns < latest_ns
        ]
        for connection in late:
            connection.talking.close()  # it counts its call as begun
            self._again(connection, self._timer.late())

    def advance(self, timeout_s: float | None) -> bool:
        """Wait up to ``timeout_s`` for events and handle them; return whether there were any."""
        is_due = False
        events = self.poller.poll(timeout_s, min(MOST_EVENTS, max(1, len(self))))
        for fd, event in events:
            try:
                self._steps[fd](event)
            except StopIteration:
                self._end(fd)
            except TransportError as error:
                self._again(self._connections[fd], error)
            except DueError:
                is_due = True
        if is_due:
            self._look_for_late()
        return bool(events)

    def stop(self) -> None:
        """End the talks that still wait for an order to send."""
        for fd in self._connections.keys() & self._steps.keys():
            self._end(fd)


def pace(
    talks: ConnectionLoop, idle: "deque[Step]", due: "array[int]", senders: list[Any], limit_ns: int
) -> list[Step]:
    """Send each request when it is due on the connection that has been idle longest; return the sender of each request.

    senders: a list as long as ``due``, to keep them: memory does not grow meanwhile. A request that is due while no
    connection is idle is sent by the next idle one. Requests not sent by ``limit_ns`` are dropped. Shortly before one
    is due this spins, which is counted (``timed_loops.spun_ns``).
    """
    clock, ahead = time.perf_counter_ns, 0
    while True:
        now = clock()
        if ahead < len(due) and now < limit_ns and idle:
            if (early := due[ahead] - now) <= 0:
                senders[ahead] = step = idle.popleft()
                ahead += 1
                talks.tell(step)
                if ahead % MOST_UNREAD:
                    continue
            elif early > EARLY_NS:
                talks.poller.wait((early - EARLY_NS) / 1e9)
            if not talks.advance(0) and 0 < early <= EARLY_NS:
                timed_loops.add_spun(clock() - now)
        elif len(talks) > len(idle):
            talks.advance(None)
        else:
            return senders[:ahead]


def script_of(wire: Any, payloads: Payloads) -> Script:
    """Return the requests: opaque bytes, or structured messages whose replies are decoded to be verified."""
    if payloads.how is None:
        stand_for = getattr(wire, "payloads", None)  # a service has requests of its own
        return Script(wire, stand_for(payloads.items[0]) if stand_for else payloads.items)
    coder = payloads.how.coder
    return Script(wire, [coder.encode(exchange.request) for exchange in payloads.items], payloads.items, coder.decode)


class WireLoad:
    """The load of a process, closed or open, with the methods of ``Callers``; ``connections``: a caller each."""

    TIMED, TIMED_OPEN = (ConnectionLoop.advance,), (pace,)

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        allow_connections(spec.case.callers)
        make = functools.partial(system.Wire, address, options)
        wire = make()
        self._is_plain = getattr(options, "tls", None) is False
        self._payloads = Payloads(system, options, spec)
        self._script = script_of(wire, self._payloads)
        names = self._payloads.names
        self._places = [names.index(wire.name_of(payload)) for payload in self._script.payloads] if names else []
        self._poller, self._timer = Poller(), Timer(getattr(wire, "timeout_s", LIMIT_S))
        self._poller.add(self._timer.fd)
        kind: Callable[..., Connection] = Connection
        is_stateful = hasattr(wire, "begin") or hasattr(wire, "renewed") or getattr(wire, "tls", None) is not None
        if spec.case.calls_per_connection or is_stateful:
            from bench.child.wire_conversation import WireConversation

            kind = functools.partial(
                WireConversation, calls_per_connection=spec.case.calls_per_connection, size=spec.case.calls_per_caller
            )
        self.connections = [kind(make, self._script, self._poller) for _ in range(spec.case.callers)]
        self._due = schedule(spec) if spec.case.load == "open" else None
        sizes = [spec.case.calls_per_caller] * len(self.connections) if self._due is None else [max(1, len(self._due))]
        self._times = [(timed_loops.zeros(size), timed_loops.zeros(size)) for size in sizes]
        self._senders: list[Any] = []
        self._idle = deque[Step]()

    def first(self) -> int:
        try:
            first_ns = self._first(self.connections[:1])
            self._others()
        except TransportError as error:
            if error.kind == "read" and self._is_plain:
                raise TransportError(f"{error}{credentials.IF}", error.kind) from error
            raise
        return first_ns

    def _others(self) -> None:
        """Do the same with the other connections, some at once; say how many a server took that takes no more."""
        count = len(self.connections)
        for at in range(1, count, BATCH):
            try:
                self._first(self.connections[at : at + BATCH])
            except TransportError as error:
                had = f"{at:,} of {count:,} connections had an answer"
                text = f"{error}; {had}: the server may take no more, give fewer callers"
                raise TransportError(text, error.kind) from error

    def _first(self, connections: list[Connection]) -> int:
        """Connect and make one call with each of some connections; return the time of the last verified one in ns."""
        for connection in connections:
            connection.open()
        return patiently(functools.partial(self._call_each, connections))

    def _call_each(self, connections: list[Connection]) -> int:
        """Make one uncounted call with each of some open connections; return the time of the last one in ns."""
        sent, received, turns = timed_loops.zeros(1), timed_loops.zeros(1), self._script.turns
        pairs = ((connection, connection.talk(turns(1), sent, received, NEVER_NS)) for connection in connections)
        (talks := ConnectionLoop(self._poller, pairs, persistent=False, timer=self._timer)).run()
        for connection in connections:
            connection.calls, connection.failures = 0, Failures()
        if talks.refused and not received[0]:
            raise talks.refused
        return received[0] - sent[0]

    def schedule_from(self, at_ns: int) -> None:
        """Put the schedule of an open load after *go*, and let all connections wait for what is due."""
        if self._due is None:
            return
        put_after(self._due, at_ns)
        self._senders = [None] * len(self._due)
        turns = self._script.turns(len(self._due))
        pairs = (
            (connection, connection.talk(turns, *self._times[0], NEVER_NS, self._idle))
            for connection in self.connections
        )
        self._talks = ConnectionLoop(self._poller, pairs, timer=self._timer)
        self._talks.advance(0)  # connections that ended since the first call are opened again before anything is due

    def load(self, at_ns: int, until_ns: int) -> None:
        """Make the calls of the window, or more in another slice of it; an open load's may be late by a fifth of it."""
        if self._due is not None:
            self._senders = pace(self._talks, self._idle, self._due, self._senders, limit_ns(at_ns, until_ns))
            return self._talks.stop()
        pairs = list(zip(self.connections, self._times, strict=True))
        turns = self._script.turns
        for connection in self.connections:
            connection.renew()
        return ConnectionLoop(
            self._poller,
            ((a, a.talk(turns(len(b[0]), a.calls, index), *b, until_ns)) for index, (a, b) in enumerate(pairs)),
            timer=self._timer,
        ).run()

    def report(self) -> LoadReport:
        """Return the calls, the failures, and each connection's send and receive times (open loads: due times, too)."""
        times = self._closed_times() if self._due is None else self._open_times(self._due)
        scheduled = None if self._due is None else len(self._due)
        calls, codec = sum(len(columns[0]) for columns in times), self._payloads.codec_alone()
        flat = [column for columns in times for column in columns]
        errors, numbers = failed(self.connections)
        names = self._payloads.names
        return LoadReport(calls, flat, errors, numbers, scheduled=scheduled, codec=codec, requests=names)

    def _closed_times(self) -> list[list[Any]]:
        """Return the times of the answered requests of each connection, which has made its own calls."""
        return [
            [
                _answered(column, times[1], connection)
                for column in (*times, connection.began, *self._requests(connection.calls, index))
                if column is not None
            ]
            for index, (connection, times) in enumerate(zip(self.connections, self._times, strict=True))
        ]

    def _requests(self, count: int, index: int) -> list[Any]:
        """Return the column of which request a service gets by each call of a connection, if it has several."""
        if not self._places:
            return []
        return [array("q", itertools.islice(itertools.cycle(self._places), index, index + count))]

    def _open_times(self, due: "array[int]") -> list[list[Any]]:
        """Return the times of the answered requests of each connection, and when they were due.

        The times of all are in the order of the schedule; ``_senders`` says which connection sent each.
        """
        columns = (*self._times[0], due, *self._requests(len(due), 0))
        numbers: list[list[int]] = [[] for _ in self.connections]
        owners = {step: index for index, connection in enumerate(self.connections) for step in connection.steps}
        for number, step in enumerate(self._senders):
            if columns[1][number]:
                numbers[owners[step]].append(number)
        return [[array("q", map(column.__getitem__, sent)) for column in columns] for sent in numbers]

    def close(self) -> None:
        for connection in self.connections:
            connection.close()
        self._poller.close()
        self._timer.close()


def _answered(times: "array[int]", received: "array[int]", connection: Connection) -> Any:
    """Return the times of the requests that were answered; those of failed ones are 0."""
    begun = memoryview(times)[: connection.calls]
    if not connection.failures.kinds:
        return begun
    return array("q", (time_ns for time_ns, done in zip(begun, received, strict=False) if done))
