"""The load ``retry``: an open load whose client gives up waiting, and tries again.

One connection carries all attempts, whether earlier ones were answered or not; the server answers them in order. An
abandoned attempt is not taken back: its request stays in the server's queue, as with most RPC libraries, and its reply
is read when it comes.
"""

import select
import time
from array import array
from typing import Any

from bench.child import timed_loops
from bench.child.handshake import secure
from bench.child.loads import schedule
from bench.child.retry_attempts import Requests
from bench.contract import LoadReport
from bench.errors import TransportError
from bench.plan.retry_policy import RetryPolicy
from bench.process.spec import ClientSpec

READ_BYTES = 1 << 16


class RetryLoad:
    """The load of a process, with the methods of ``Callers``."""

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        self._wire = system.Wire(address, options)
        self._tls = getattr(self._wire, "tls", None)
        self._payloads = timed_loops.make_payloads(spec.case.payload_bytes, spec.seed)
        self._encoded = [self._wire.request(payload) for payload in self._payloads]
        self._requests = Requests(due := schedule(spec), RetryPolicy.of(spec.case.retry), spec.schedule_seed)
        self._due = due
        self._inbox, self._outbox = bytearray(), bytearray()
        self._answered = 0
        self._took_s = spec.window_s

    def first(self) -> int:
        """Connect and make one verified call; return its time in ns."""
        self._socket = self._wire.connect()
        secure(self._socket, self._tls)
        began = time.perf_counter_ns()
        self._socket.sendall(self._sealed(0))
        while not (size := self._wire.end(self._inbox, len(self._inbox))):
            self._receive()
        took = time.perf_counter_ns() - began
        self._verify(size, 0)
        self._socket.setblocking(False)
        return took

    def load(self, at_ns: int, until_ns: int) -> None:
        """Send each request when it is due, and its retries; return when all are answered or given up."""
        for place in range(len(self._due)):
            self._due[place] += at_ns
        requests, clock = self._requests, time.perf_counter_ns
        while (wake := requests.wake_ns) is not None or clock() < until_ns:
            self._wait((until_ns if wake is None else wake) - clock())
            now = clock()
            while (attempt := requests.next_attempt(now)) is not None:
                requests.was_sent(attempt, clock())
                self._outbox += self._sealed(attempt)
                self._push()
                now = clock()
        self._took_s = (clock() - at_ns) / 1e9

    def _wait(self, most_ns: int) -> None:
        """Wait for replies, for room to send, or until the time is over; take in what has come."""
        writing = [self._socket] if self._outbox else []
        readable, writable, _ = select.select([self._socket], writing, [], max(0, most_ns) / 1e9)
        if writable:
            self._push()
        if readable:
            self._receive()
            now = time.perf_counter_ns()
            while size := self._wire.end(self._inbox, len(self._inbox)):
                self._verify(size, self._answered)
                self._requests.was_answered(self._answered, now)
                self._answered += 1

    def _push(self) -> None:
        """Hand as much as possible of what is to be sent to the kernel."""
        try:
            while self._outbox:
                del self._outbox[: self._socket.send(self._outbox)]
        except BlockingIOError:
            pass
        except OSError as reason:
            raise TransportError(f"the connection failed: {reason}", "write") from reason

    def _receive(self) -> None:
        try:
            data = self._socket.recv(READ_BYTES)
        except OSError as reason:
            raise TransportError(f"the connection failed: {reason}", "read") from reason
        if not data:
            raise TransportError("the server closed the connection instead of answering", "read")
        self._inbox += data if self._tls is None else self._tls.decrypt(data)

    def _sealed(self, attempt: int) -> bytes:
        """Return the bytes of an attempt, encrypted where the connection is."""
        request = self._encoded[attempt % len(self._encoded)]
        return request if self._tls is None else self._tls.encrypt(request)

    def _verify(self, size: int, attempt: int) -> None:
        """Compare the first response, of ``size`` bytes, with its request, and remove it."""
        payload = self._payloads[attempt % len(self._payloads)]
        body = self._wire.body(bytes(self._inbox[:size]), payload)
        if body != payload:
            raise timed_loops.wrong_answer(payload, body, attempt)
        del self._inbox[:size]

    def report(self) -> LoadReport:
        """Return how many attempts were answered, and of each its request, number, times of sending and reply, due."""
        made = self._requests.attempts
        kept = (self._requests.request, self._requests.number, self._requests.sent, self._requests.replied)
        due = array("q", (self._due[request] for request in kept[0][:made]))
        columns = [*(memoryview(column)[:made] for column in kept), due]
        return LoadReport(self._answered, columns, scheduled=len(self._due), window_s=self._took_s)

    def close(self) -> None:
        """Disconnect."""
        self._socket.close()
