"""Reply streams by the engine ``wire``: bare connections in one loop, so that the receive stamps wait for no library.

A reply's time is that of its arrival at the socket, where the kernel reports it (``arrivals``), so that it does not
wait for this process either; all replies that one read brings have the time of the last one's. Where the connection is
encrypted they are decrypted right after the read; then they are verified as by ``reply_streams``.
"""

import heapq
import itertools
import math
import time
from typing import Any

from bench.child import timed_loops
from bench.child.arrivals import Arrivals, watch
from bench.child.caller import Failures, renew, run_plain
from bench.child.handshake import secure
from bench.child.open_files import allow_many_files
from bench.child.outgoing import Outgoing
from bench.child.polling import WRITE, Poller
from bench.child.reply_streams import AT_ONCE, RETRY_S, Record, report_of
from bench.contract import LoadReport
from bench.errors import TransportError, UnprocessedError
from bench.plan import replies
from bench.plan.replies import Ask
from bench.process.spec import ClientSpec

READ_BYTES = 65_536


class Flow:
    """One connection: one stream at a time, and what all of its streams brought; subclasses know the replies.

    sent_ns: when the request under way was sent. outgoing: what waits for room.
    """

    def __init__(self, wire: Any, arrivals: Arrivals) -> None:
        self._wire, self._arrivals = wire, arrivals
        self._tls = getattr(wire, "tls", None)
        self.record, self.failures = Record(), Failures()
        self._socket: Any = None
        self.sent_ns, self._before = 0, 0

    @property
    def fd(self) -> int:
        """The connection's descriptor."""
        return int(self._socket.fileno())

    def open(self) -> None:
        self._socket = self._wire.connect()
        secure(self._socket, self._tls)
        self._socket.setblocking(False)
        self.outgoing = Outgoing(self.fd, _failed)
        self._is_stamped = watch(self._socket)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()

    def begin(self, is_first: bool = False, is_again: bool = False) -> None:
        """Send a request, over a new connection if the server has ended this one; TransportError where that fails."""
        self.is_again = is_again
        self._before, self.sent_ns = len(self.record.received), time.perf_counter_ns()
        if self._wire.last or self._is_gone() or self._wire.last:  # what came meanwhile may say so
            self.close()
            self.open()
        content = self._request(is_first)
        self.sent_ns = time.perf_counter_ns()
        self.send(content)

    def send(self, content: bytes) -> None:
        """Send as much as the kernel takes now."""
        self.outgoing.send(content if self._tls is None else self._tls.encrypt(content))

    def read(self) -> bool:
        """Take in what has come; return whether the stream has ended, complete."""
        try:
            if self._is_stamped:
                data, t_recv = self._arrivals.read(self._socket, READ_BYTES)
            else:
                data, t_recv = self._socket.recv(READ_BYTES), time.perf_counter_ns()
        except BlockingIOError:
            return False
        except OSError as reason:
            raise _failed(reason) from reason
        if data and self._tls is not None and not (data := self._tls.decrypt(data)):
            return False
        if not self._take(data, t_recv):
            return False
        self.record.end(self.sent_ns, self._before, True)
        return True

    def broke(self, error: TransportError) -> None:
        """Count a stream that broke, record it as incomplete, and connect anew; the error is raised if that fails."""
        self.record.end(self.sent_ns, self._before, False)
        self.failures.add(error)
        run_plain(renew(lambda: self, self, error))

    def _is_gone(self) -> bool:
        """Take in what came since the last stream; return whether the server has ended the connection."""
        while True:
            try:
                data = self._socket.recv(READ_BYTES)
            except BlockingIOError:
                return False
            except OSError:
                return True
            if not data:
                return True
            if self._tls is None or (data := self._tls.decrypt(data)):
                self._take_between(data)

    def _take_between(self, data: bytes) -> None:
        """Take in what came without a request; TransportError for what must not."""
        raise TransportError(f"{len(data)} bytes came between two streams, without a request")

    def _request(self, is_first: bool) -> bytes:
        """Return the next request, or the first one, which is made before the window."""
        raise NotImplementedError

    def _take(self, data: bytes, t_recv: int) -> bool:
        """Take in what came, b"" for the connection's end; return whether the stream has ended, complete."""
        raise NotImplementedError


def _failed(reason: OSError) -> TransportError:
    return TransportError(f"the stream failed: {reason}", "read")


class Replies(Flow):
    """Replies of a server of ours, each with its number and two instants."""

    def __init__(
        self, wire: Any, arrivals: Arrivals, first: tuple[Ask, bytes], ask: Ask, requests: list[bytes]
    ) -> None:
        """Take what the first request asks for, with its bytes, and the others with theirs."""
        super().__init__(wire, arrivals)
        self._first, self._others, self._requests = first, ask, itertools.cycle(requests)

    def _request(self, is_first: bool) -> bytes:
        self._ask, content = self._first if is_first else (self._others, next(self._requests))
        self._fixed, self._number, self._buffer = replies.rest(self._ask.reply_bytes), 0, b""
        return content

    def _take(self, data: bytes, t_recv: int) -> bool:
        if not data:
            raise TransportError("the server closed the connection before its stream had ended", "read")
        buffer, start, end = self._buffer + data, 0, self._wire.end
        view = memoryview(buffer)
        while start < len(buffer) and (size := end(view[start:], len(buffer) - start)):
            content = self._wire.body(buffer[start : start + size], b"")
            start += size
            if not content:
                return self._end(len(buffer) - start)
            self._add(content, t_recv)
        self._buffer = buffer[start:]
        return False

    def _add(self, content: bytes, t_recv: int) -> None:
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
        return True


class Messages(Flow):
    """Messages of a user's service, which verify themselves and say no time; ``wire`` is a ``contract.StreamWire``."""

    def __init__(self, wire: Any, arrivals: Arrivals, payload: bytes) -> None:
        """Take the payload that seeds the requests."""
        super().__init__(wire, arrivals)
        self._payload = payload

    def _request(self, is_first: bool) -> bytes:
        self._wire.begin(self._payload)
        return self._outgoing()

    def _take(self, data: bytes, t_recv: int) -> bool:
        for message in self._wire.receive(data):
            message.check()
            self.record.received.append(t_recv)
        if self._wire.outgoing:
            self.send(self._outgoing())
        return bool(self._wire.is_over)

    def _take_between(self, data: bytes) -> None:
        for _ in self._wire.receive(data):
            super()._take_between(data)

    def _outgoing(self) -> bytes:
        content = bytes(self._wire.outgoing)
        self._wire.outgoing.clear()
        return content


class WireStreams:
    """The streams of a process on bare connections, ``spec.case.callers`` at once."""

    TIMED = (Flow.read,)

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        allow_many_files()
        ask = Ask(spec.case.replies, spec.case.reply_bytes, 1000 * spec.case.gap_us)
        first = Ask(1, spec.case.reply_bytes, 0)
        fillers = timed_loops.make_payloads(spec.case.payload_bytes, spec.seed)
        payload = replies.request(first, fillers[0])
        arrivals, places = Arrivals(), range(spec.case.callers)
        self._flows: list[Flow]
        if hasattr(system, "StreamWire"):
            wires = [system.StreamWire(address, options) for _ in places]
            self._limit_ns = wires[0].timeout_s * 1e9
            self._flows = [Messages(wire, arrivals, payload) for wire in wires]
        else:
            wires = [system.Wire(address, options) for _ in places]
            begun = first, wires[0].request(payload)
            requests = [wires[0].request(replies.request(ask, filler)) for filler in fillers]
            self._limit_ns = math.inf
            self._flows = [Replies(wire, arrivals, begun, ask, requests) for wire in wires]
        self._stagger_ns = min(spec.case.replies * ask.gap_ns, int(spec.window_s * 1e9)) // spec.case.callers
        self._poller = Poller()
        self._waiting: list[tuple[int, int]] = []  # when connections begin a stream: a heap of instants and places
        self._under_way: dict[int, int] = {}  # their places by their descriptors, the first to begin in front
        self._until_ns: int | None = None  # when the last streams begin; None: each connection has its first one

    def first(self) -> int:
        """Connect, and receive one stream, of one reply where we ask for it, by each; return the time of the first."""
        for begin in (0, *range(1, len(self._flows), AT_ONCE)):
            places = range(begin, min(begin + AT_ONCE, len(self._flows)) if begin else 1)
            for index in places:
                self._flows[index].open()
            self._waiting = [(0, index) for index in places]
            self._receive()
        times = [flow.record.received[0] - flow.record.sent[0] for flow in self._flows]
        for flow in self._flows:
            flow.record = Record()
        return times[0]

    def load(self, at_ns: int, until_ns: int) -> None:
        """Run all streams; paced ones begin one after another, spread over the length of a stream."""
        self._waiting = [(at_ns + index * self._stagger_ns, index) for index in range(len(self._flows))]
        self._until_ns = until_ns
        self._receive()

    def _receive(self) -> None:
        """Begin streams when they are due, and receive them."""
        waiting, under_way, clock = self._waiting, self._under_way, time.perf_counter_ns
        while True:
            while waiting and waiting[0][0] <= clock():
                _, index = heapq.heappop(waiting)
                if self._until_ns is None or clock() < self._until_ns:
                    self._step(index, None)
            if not waiting and not under_way:
                return
            pause_s = (min(waiting[0][0] if waiting else math.inf, self._limit_of_first_ns()) - clock()) / 1e9
            for fd, event in self._poller.poll(None if pause_s == math.inf else max(0.0, pause_s), len(self._flows)):
                self._step(under_way[fd], event)
            while self._limit_of_first_ns() <= clock():
                late = TransportError(f"a stream had not ended after {self._limit_ns / 1e9:g} s", "timeout")
                self._fail(next(iter(under_way.values())), late)

    def _limit_of_first_ns(self) -> float:
        """Return when the stream that began first has to have ended; never, if none is under way."""
        index = next(iter(self._under_way.values()), None)
        return math.inf if index is None else self._flows[index].sent_ns + self._limit_ns

    def _step(self, index: int, event: int | None, is_again: bool = False) -> None:
        """Let a connection begin a stream, again if its request was not processed, or handle an event."""
        flow = self._flows[index]
        had_unsent, has_ended = event is not None and bool(flow.outgoing), False
        try:
            if event is None:
                flow.begin(self._until_ns is None, is_again)
                self._under_way[flow.fd] = index
                self._poller.add(flow.fd)
            elif event == WRITE:
                flow.outgoing.send()
            else:
                has_ended = flow.read()
        except UnprocessedError as error:
            if flow.is_again:
                self._fail(index, error)
                return
            self._rest(flow)
            self._step(index, None, is_again=True)
            return
        except TransportError as error:
            self._fail(index, error)
            return
        if has_ended:
            self._rest(flow)
            if self._until_ns is not None:
                heapq.heappush(self._waiting, (time.perf_counter_ns(), index))
        elif bool(flow.outgoing) != had_unsent:
            self._poller.also_write(flow.fd, not had_unsent)

    def _fail(self, index: int, error: TransportError) -> None:
        """Count a stream that broke, and let its connection begin another one; of a first one, raise the error."""
        flow = self._flows[index]
        self._rest(flow)
        if self._until_ns is None:
            raise error
        flow.broke(error)
        heapq.heappush(self._waiting, (time.perf_counter_ns() + int(RETRY_S * 1e9), index))

    def _rest(self, flow: Flow) -> None:
        if self._under_way.pop(flow.fd, None) is not None:
            self._poller.remove(flow.fd)

    def report(self) -> LoadReport:
        """Return how many replies came, the columns of each connection's record, and what failed."""
        return report_of(self._flows)

    def close(self) -> None:
        for flow in self._flows:
            flow.close()
        self._poller.close()
