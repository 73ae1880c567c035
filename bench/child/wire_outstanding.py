"""The load generator ``wire`` with several calls under way on each connection: one lean loop, prepared bytes.

A call's time ends with the read that returned its response's last byte; what one read brought is verified before the
next requests begin, so that no call's time includes the verification of another one's response. Each response is
matched with its request: by its order, or by its stream's number (HTTP/2).
"""

import contextlib
import functools
import itertools
import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.child import timed_loops
from bench.child.caller import Failures, renew, run_plain
from bench.child.open_files import allow_connections
from bench.child.outgoing import Outgoing
from bench.child.outstanding import report_of
from bench.child.polling import WRITE, Epoll, Poller, Selector
from bench.child.structured_messages import Payloads
from bench.child.timed_loops import NEVER_NS
from bench.child.wire import script_of
from bench.child.wire_connection import READ_BYTES, InOrder, Script, broken, check
from bench.child.wire_timer import LIMIT_S, DueError, Timer
from bench.contract import LoadReport
from bench.errors import TransportError
from bench.process.spec import ClientSpec


class Slot:
    """One of the calls under way on a connection: its requests in turn, and the times of its calls."""

    def __init__(self, script: Script, number: int, size: int) -> None:
        self.turns = itertools.cycle(timed_loops.from_place(script.placed, number))
        self.place = -1  # of the payload of the call under way; -1: none is
        self.sent, self.received = timed_loops.zeros(size), timed_loops.zeros(size)
        self.failures = Failures()
        self.calls = 0


class Connection:
    """One connection and its slots."""

    def __init__(
        self, make: Callable[[], Any], script: Script, poller: Epoll | Selector, slots: Sequence[Slot]
    ) -> None:
        self._make, self._script, self._poller, self.slots = make, script, poller, slots
        self._socket: Any = None

    def open(self) -> None:
        wire = self._make()
        self._socket = wire.connect()
        self._socket.setblocking(False)
        self.fd: int = self._socket.fileno()
        self._wire, self._dialog = wire, wire if hasattr(wire, "begin") else InOrder(wire, self._script)
        self._had = 0
        self._outgoing = Outgoing(self.fd, lambda reason: broken(self._had, reason))
        self._poller.add(self.fd)

    def close(self) -> None:
        if self._socket is not None:
            self._poller.remove(self.fd)
            self._socket.close()
            self._socket = None

    @property
    def sent_ns(self) -> int:
        """Return when the oldest call under way was sent."""
        return min((slot.sent[slot.calls] for slot in self.slots if slot.place >= 0), default=NEVER_NS)

    @property
    def under_way(self) -> int:
        """Return how many calls are under way."""
        return sum(slot.place >= 0 for slot in self.slots)

    def begin(self, numbers: Sequence[int]) -> None:
        """Send the next request of each of these slots, as far as the kernel takes it."""
        clock, dialog, parts = time.perf_counter_ns, self._dialog, []
        for number in numbers:
            slot = self.slots[number]
            slot.place, request = next(slot.turns)
            slot.sent[slot.calls] = clock()
            parts.append(dialog.begin(slot.place, request, number))
        self._send(parts)

    def _send(self, parts: list[bytes]) -> None:
        """Send what the conversation has to send and these bytes, behind what could not be sent before."""
        dialog = self._dialog
        if dialog.outgoing:
            parts = [*parts, bytes(dialog.outgoing)]
            dialog.outgoing = bytearray()
        if content := b"".join(parts):
            self._write(content)

    def _write(self, content: bytes = b"") -> None:
        """Send; where the kernel does not take all, wait for room."""
        waited = bool(self._outgoing)
        self._outgoing.send(content)
        if waited != bool(self._outgoing):
            self._poller.also_write(self.fd, not waited)

    def advance(self, event: int, until_ns: int) -> None:
        """Handle an event: read and verify responses, then begin the next calls of their slots until an instant."""
        if self._outgoing and event & WRITE:
            self._write()
        if event == WRITE:
            return
        try:
            data = os.read(self.fd, READ_BYTES)
        except BlockingIOError:
            return
        except OSError as reason:
            raise broken(self._had, reason) from reason
        if not data:
            raise broken(self._had)
        t_recv = time.perf_counter_ns()
        self._had += len(data)
        free = []
        for number, response, known in self._dialog.receive_all(data):
            slot = self.slots[number]
            if response is not True:
                check(self._script, self._wire, response, slot.place, slot.calls)
                self._dialog.recognize(slot.place, known)
            slot.received[slot.calls] = t_recv
            slot.calls += 1
            slot.place = -1
            if t_recv < until_ns and slot.calls < len(slot.sent):
                free.append(number)
        self.begin(free)

    def renew(self, error: TransportError) -> None:
        """Count all calls under way as failed, and connect anew; where that is not possible, raise the error."""
        for slot in self.slots:
            if slot.place >= 0:
                slot.place = -1
                slot.failures.add(error)
        run_plain(renew(lambda: self, self, error))


class WireOutstanding:
    """The closed load of a process, with the methods of ``bench.child.loads.Callers``."""

    TIMED = (Connection.advance,)

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        allow_connections(spec.case.callers)
        make = functools.partial(system.MultiplexedWire, address, options)
        self._payloads = Payloads(system, options, spec)
        wire = make()
        script = script_of(wire, self._payloads)
        self._poller, depth = Poller(), spec.case.outstanding
        self._timer = Timer(getattr(wire, "timeout_s", LIMIT_S))
        self._poller.add(self._timer.fd)
        self._slots = [Slot(script, number, spec.case.calls_per_caller) for number in range(spec.case.callers * depth)]
        places = range(0, len(self._slots), depth)
        self._connections = [Connection(make, script, self._poller, self._slots[at : at + depth]) for at in places]

    def first(self) -> int:
        times = []
        for connection in self._connections:
            slot = connection.slots[0]
            connection.open()
            connection.begin([0])
            while slot.place >= 0:
                self._advance({connection.fd: connection}, 0)
            times.append(slot.received[0] - slot.sent[0])
            slot.calls, slot.received[0] = 0, 0
        return times[0]

    def _advance(self, connections: dict[int, Connection], until_ns: int) -> None:
        for fd, event in self._poller.poll(None, max(1, len(self._connections))):
            if fd in connections:
                connections[fd].advance(event, until_ns)
            elif fd == self._timer.fd and self._late(connections):
                raise self._timer.late()

    def _late(self, connections: dict[int, Connection]) -> list[Connection]:
        """Take in the timer's event; return the connections with a call that has waited too long."""
        with contextlib.suppress(DueError):
            self._timer.step(None)
        latest_ns = self._timer.latest_ns()
        return [connection for connection in connections.values() if connection.sent_ns < latest_ns]

    def load(self, at_ns: int, until_ns: int) -> None:
        """Keep one call of each slot under way until an instant, or until its buffers are full."""
        active: dict[int, Connection] = {}
        for idle in self._connections:
            self._begin(idle, active, until_ns)
        poll, max_events = self._poller.poll, max(1, len(self._connections))
        while active:
            for fd, event in poll(None, max_events):
                if (connection := active.get(fd)) is None:
                    for late in self._late(active) if fd == self._timer.fd else ():
                        self._renew(late, self._timer.late(), active, until_ns)
                    continue
                try:
                    connection.advance(event, until_ns)
                    if not connection.under_way:
                        del active[fd]
                except TransportError as error:
                    self._renew(connection, error, active, until_ns)

    def _renew(
        self, connection: Connection, error: TransportError, active: dict[int, Connection], until_ns: int
    ) -> None:
        """Count the calls under way on a connection as failed, and begin others on a new one."""
        del active[connection.fd]
        connection.renew(error)
        if time.perf_counter_ns() < until_ns:
            self._begin(connection, active, until_ns)

    def _begin(self, connection: Connection, active: dict[int, Connection], until_ns: int) -> None:
        """Begin a call of each slot that has room; on a new connection as long as they fail at once."""
        while True:
            try:
                connection.begin([n for n, slot in enumerate(connection.slots) if slot.calls < len(slot.sent)])
                break
            except TransportError as error:
                connection.renew(error)
                if time.perf_counter_ns() >= until_ns:
                    return
        if connection.under_way:
            active[connection.fd] = connection

    def report(self) -> LoadReport:
        """Return the number of calls, what failed, and the times of each slot."""
        return report_of(self._slots, self._payloads.codec_alone())

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
        self._poller.close()
        self._timer.close()
