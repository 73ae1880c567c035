"""Reply streams by the engine ``wire``: bare connections in one loop, so that the receive stamps wait for no library.

A reply's time is that of its arrival at the socket, where the kernel reports it (``arrivals``), so that it does not
wait for this process either; all replies that one read brings have the time of the last one's. Where the connection is
encrypted they are decrypted right after the read; then they are verified as by ``reply_streams``.
"""

import heapq
import itertools
import time
from typing import Any

from bench import replies
from bench.child import timed_loops
from bench.child.arrivals import Arrivals, watch
from bench.child.caller import Failures, renew, run_plain
from bench.child.handshake import secure
from bench.child.open_files import allow_many_files
from bench.child.polling import Poller
from bench.child.reply_streams import RETRY_S, Record, report_of
from bench.contract import LoadReport
from bench.errors import TransportError
from bench.process.spec import ClientSpec
from bench.replies import Ask

READ_BYTES = 65_536


class Flow:
    """One connection: one stream at a time, and what all of its streams brought."""

    def __init__(self, wire: Any, requests: list[bytes], arrivals: Arrivals) -> None:
        self._wire, self._requests, self._arrivals = wire, itertools.cycle(requests), arrivals
        self._tls = getattr(wire, "tls", None)
        self.record, self.failures = Record(), Failures()
        self.socket: Any = None

    def open(self) -> None:
        """Connect; TransportError where that is not possible."""
        self.socket = self._wire.connect()
        secure(self.socket, self._tls)
        self._is_stamped = watch(self.socket)

    def close(self) -> None:
        """Disconnect."""
        if self.socket is not None:
            self.socket.close()

    def begin(self, ask: Ask, request: bytes | None = None) -> None:
        """Send a request; TransportError where that fails."""
        self._ask, self._fixed = ask, replies.rest(ask.reply_bytes)
        self._number, self._before, self._buffer = 0, len(self.record.received), b""
        content = request or next(self._requests)
        self._sent_ns = time.perf_counter_ns()
        try:
            self.socket.sendall(content if self._tls is None else self._tls.encrypt(content))
        except OSError as reason:
            raise TransportError(f"the stream failed: {reason}", "read") from reason

    def read(self) -> bool:
        """Take in what has come, which is something; return whether the stream has ended, complete."""
        try:
            if self._is_stamped:
                data, t_recv = self._arrivals.read(self.socket, READ_BYTES)
            else:
                data, t_recv = self.socket.recv(READ_BYTES), time.perf_counter_ns()
        except OSError as reason:
            raise TransportError(f"the stream failed: {reason}", "read") from reason
        if not data:
            raise TransportError("the server closed the connection in the middle of a stream", "read")
        if self._tls is not None:
            data = self._tls.decrypt(data)
        buffer, start, end = self._buffer + data, 0, self._wire.end
        view = memoryview(buffer)
        while start < len(buffer) and (size := end(view[start:], len(buffer) - start)):
            content = self._wire.body(buffer[start : start + size], b"")
            start += size
            if not content:
                return self._end(len(buffer) - start)
            self._take(content, t_recv)
        self._buffer = buffer[start:]
        return False

    def _take(self, content: bytes, t_recv: int) -> None:
        ask, number, record = self._ask, self._number, self.record
        if len(content) != ask.reply_bytes or number >= ask.replies:
            raise replies.wrong(content, number, ask)
        which, due, handed = replies.mark_of(content)
        if which != number or content[replies.LEAST_REPLY :] != self._fixed:
            raise replies.wrong(content, number, ask)
        record.received.append(t_recv)
        record.due.append(due)
        record.handed.append(handed)
        self._number = number + 1

    def _end(self, more: int) -> bool:
        if self._number < self._ask.replies:
            raise replies.too_few(self._number, self._ask)
        if more:
            raise TransportError(f"{more} bytes came after a stream, without a request")
        self.record.end(self._sent_ns, self._before, True)
        return True

    def broke(self, error: TransportError) -> None:
        """Count a stream that broke, keep its replies apart, and connect anew; the error is raised if that fails."""
        self.record.end(self._sent_ns, self._before, False)
        self.failures.add(error)
        run_plain(renew(lambda: self, self, error))


class WireStreams:
    """The streams of a process on bare connections, ``spec.case.callers`` at once."""

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        allow_many_files()
        self._ask = Ask(spec.case.replies, spec.case.reply_bytes, 1000 * spec.case.gap_us)
        fillers = timed_loops.make_payloads(spec.case.payload_bytes, spec.seed)
        wire = system.Wire(address, options)
        requests = [wire.request(replies.request(self._ask, filler)) for filler in fillers]
        self._first = Ask(1, spec.case.reply_bytes, 0)
        self._first_request = wire.request(replies.request(self._first, fillers[0]))
        arrivals = Arrivals()
        self._flows = [Flow(system.Wire(address, options), requests, arrivals) for _ in range(spec.case.callers)]
        self._stagger_ns = min(spec.case.replies * self._ask.gap_ns, int(spec.window_s * 1e9)) // spec.case.callers

    def first(self) -> int:
        """Connect, and receive a stream of one reply by each connection; return the time of the first in ns."""
        times = []
        for flow in self._flows:
            flow.open()
            flow.begin(self._first, self._first_request)
            while not flow.read():
                pass
            first, flow.record = flow.record, Record()
            times.append(first.received[0] - first.sent[0])
        return times[0]

    def load(self, at_ns: int, until_ns: int) -> None:
        """Run all streams; paced ones begin one after another, spread over the length of a stream."""
        poller, flows, clock = Poller(), self._flows, time.perf_counter_ns
        waiting = [(at_ns + place * self._stagger_ns, place) for place in range(len(flows))]
        under_way: dict[int, int] = {}
        while True:
            while waiting and waiting[0][0] <= clock():
                _, place = heapq.heappop(waiting)
                if clock() < until_ns:
                    self._try(flows[place], place, poller, under_way, waiting, begin=True)
            if not waiting and not under_way:
                break
            pause_s = max(0.0, waiting[0][0] - clock()) / 1e9 if waiting else None
            for fd, _ in poller.poll(pause_s, len(flows)):
                self._try(flows[under_way[fd]], under_way[fd], poller, under_way, waiting)
        poller.close()

    def _try(
        self, flow: Flow, place: int, poller: Any, under_way: dict[int, int], waiting: Any, begin: bool = False
    ) -> None:
        """Begin a stream, or read from one; a connection whose stream has ended or broken waits for its next turn."""
        try:
            if begin:
                flow.begin(self._ask)
                poller.add(flow.socket.fileno())
                under_way[flow.socket.fileno()] = place
                return
            if not flow.read():
                return
            self._rest(flow, poller, under_way)
            heapq.heappush(waiting, (time.perf_counter_ns(), place))
        except TransportError as error:
            self._rest(flow, poller, under_way)
            flow.broke(error)
            heapq.heappush(waiting, (time.perf_counter_ns() + int(RETRY_S * 1e9), place))

    @staticmethod
    def _rest(flow: Flow, poller: Any, under_way: dict[int, int]) -> None:
        if under_way.pop(flow.socket.fileno(), None) is not None:
            poller.remove(flow.socket.fileno())

    def report(self) -> LoadReport:
        """Return how many replies came, the columns of each connection's record, and what failed."""
        return report_of(self._flows)

    def close(self) -> None:
        """Disconnect."""
        for flow in self._flows:
            flow.close()
