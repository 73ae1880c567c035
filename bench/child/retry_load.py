"""The load ``retry``: an open load whose client gives up waiting, and tries again.

A connection carries all attempts that are sent on it, whether earlier ones were answered or not; the server answers
those of one connection in order. Where there are several, the attempts of a request use them in turn, so that a retry
can be answered before the attempt that it repeats. An abandoned attempt is not taken back: its request stays in the
server's queue, as with most RPC libraries, and its reply is read when it comes.
"""

import select
import time
from array import array
from typing import Any

from bench.child import timed_loops
from bench.child.handshake import secure
from bench.child.loads import put_after, schedule
from bench.child.outgoing import Outgoing
from bench.child.retry_attempts import Requests, connection_of
from bench.child.wire_connection import READ_BYTES, InOrder, Script, check
from bench.contract import LoadReport
from bench.errors import TransportError
from bench.plan.retry_policy import RetryPolicy
from bench.process.spec import ClientSpec


class RetryLoad:
    """The load of a process, with the methods of ``Callers``."""

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        wires = [system.Wire(address, options) for _ in range(spec.case.callers)]
        script = Script(wires[0], timed_loops.make_payloads(spec.case.payload_bytes, spec.seed))
        self._connections = [Connection(wire, script) for wire in wires]
        self._requests = Requests(due := schedule(spec), RetryPolicy.from_values(spec.case.retry), spec.schedule_seed)
        self._due = due
        self._answered = 0
        self._took_s = spec.window_s

    def first(self) -> int:
        times = [connection.first() for connection in self._connections]
        return times[0]

    def schedule_from(self, at_ns: int) -> None:
        put_after(self._due, at_ns)

    def load(self, at_ns: int, until_ns: int) -> None:
        """Send each request when it is due, and its retries; return when all are answered or given up."""
        requests, clock = self._requests, time.perf_counter_ns
        while (wake := requests.wake_ns) is not None or clock() < until_ns:
            self._wait((until_ns if wake is None else wake) - clock())
            now = clock()
            while (attempt := requests.next_attempt(now)) is not None:
                index = connection_of(requests.request[attempt], requests.number[attempt], len(self._connections))
                requests.was_sent(attempt, clock())
                self._connections[index].send(attempt)
                now = clock()
        self._took_s = (clock() - at_ns) / 1e9

    TIMED = (load,)

    def _wait(self, most_ns: int) -> None:
        """Wait for replies, for room to send, or until the time is over; take in what has come."""
        writing = [connection for connection in self._connections if connection.outgoing]
        readable, writable, _ = select.select(self._connections, writing, [], max(0, most_ns) / 1e9)
        for connection in writable:
            connection.outgoing.send()
        for connection in readable:
            now, attempts = connection.replies()
            for attempt in attempts:
                self._requests.was_answered(attempt, now)
                self._answered += 1

    def report(self) -> LoadReport:
        """Return how many attempts were answered, and of each its request, number, times of sending and reply, due."""
        made = self._requests.attempts
        kept = (self._requests.request, self._requests.number, self._requests.sent, self._requests.replied)
        due = array("q", (self._due[request] for request in kept[0][:made]))
        columns = [*(memoryview(column)[:made] for column in kept), due]
        return LoadReport(self._answered, columns, scheduled=len(self._due), window_s=self._took_s)

    def close(self) -> None:
        for connection in self._connections:
            connection.close()


class Connection:
    """One connection, on which replies come in the order of the attempts; ``outgoing``: what waits for room."""

    def __init__(self, wire: Any, script: Script) -> None:
        self._wire, self._script, self._dialog = wire, script, InOrder(wire, script)
        self._tls = getattr(wire, "tls", None)

    def fileno(self) -> int:
        """Return the descriptor that ``select`` waits for."""
        descriptor: int = self._socket.fileno()
        return descriptor

    def first(self) -> int:
        """Connect and make one verified call; return its time in ns."""
        self._socket = self._wire.connect()
        secure(self._socket, self._tls)
        began = time.perf_counter_ns()
        self._socket.sendall(self._sealed(0))
        answered_ns, answered = self.replies()
        while not answered:
            answered_ns, answered = self.replies()
        self._socket.setblocking(False)
        self.outgoing = Outgoing(self.fileno(), lambda reason: _failed(reason, "write"))
        return answered_ns - began

    def send(self, attempt: int) -> None:
        """Send an attempt, as far as the kernel takes it."""
        self.outgoing.send(self._sealed(attempt))

    def replies(self) -> tuple[int, list[int]]:
        """Read what has come; return when, in ns, and the attempts that it answers; all are verified."""
        try:
            data = self._socket.recv(READ_BYTES)
        except OSError as reason:
            raise _failed(reason, "read") from reason
        now = time.perf_counter_ns()
        if not data:
            raise TransportError("the server closed the connection instead of answering", "read")
        answered = self._dialog.receive_all(data if self._tls is None else self._tls.decrypt(data))
        for attempt, response, known in answered:
            if response is not True:
                index = self._place(attempt)
                check(self._script, self._wire, response, index, attempt)
                self._dialog.recognize(index, known)
        return now, [attempt for attempt, _, _ in answered]

    def _place(self, attempt: int) -> int:
        """Return the place of an attempt's payload."""
        return attempt % len(self._script.payloads)

    def _sealed(self, attempt: int) -> bytes:
        """Return the bytes of an attempt, which is under way from now on; encrypted where the connection is."""
        index, request = self._script.placed[self._place(attempt)]
        content = self._dialog.begin(index, request, attempt)
        return content if self._tls is None else bytes(self._tls.encrypt(content))

    def close(self) -> None:
        self._socket.close()


def _failed(reason: OSError, kind: str) -> TransportError:
    return TransportError(f"the connection failed: {reason}", kind)
