"""One connection of the load generator ``wire``: a Python generator that sends a request and yields until data arrive.

A response is compared with an earlier verified one for the same payload; only a response that differs is parsed.
A request's time ends with the read that returned the last byte, before verification; unverified responses are never
counted. A connection that the server ends between two responses is opened again before the next request's time begins.
"""

import functools
import itertools
import os
import time
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any

from bench import codecs
from bench.child import timed_loops
from bench.child.caller import Failures, beyond_repair
from bench.child.outgoing import send
from bench.child.polling import READ, WRITE, Epoll, Selector
from bench.child.timed_loops import NEVER_NS
from bench.contract import Wire
from bench.errors import SystemFailedError, TransportError, WrongReplyError

READ_BYTES = 1 << 16  # until a response to the payload is known; the rest of one in larger pieces
MORE_BYTES = 1 << 20
MOST_EARLY = 256_000_000  # bytes that may come while a request is still being sent

Turn = tuple[int, tuple[int, bytes]]  # a request's number; its payload's, and its bytes
Step = Callable[[int | None], None]
Talk = Generator[None, int | None, None]


class Script:
    """Payloads, their requests and their verified responses, shared by all connections.

    expected: what the bodies of the responses have to be, or, with ``decode``, what they have to be once decoded.
    """

    def __init__(
        self,
        wire: Wire,
        payloads: list[bytes],
        expected: list[Any] | None = None,
        decode: Callable[[bytes], Any] | None = None,
    ) -> None:
        self.payloads, self.expected, self.decode = payloads, expected or payloads, decode
        self.requests = [wire.request(payload) for payload in payloads]
        self.placed = list(enumerate(self.requests))  # each with its place among the payloads
        self.verified: list[bytes | None] = [None] * len(payloads)
        self.most = [READ_BYTES] * len(payloads)  # to read at once: a verified response and, were it there, one byte

    def turns(self, count: int, first: int = 0, index: int = 0) -> Iterable[Turn]:
        """Return numbered requests from ``first`` up to ``count`` that rotate through the payloads from a place on."""
        return zip(range(first, count), itertools.cycle(timed_loops.from_place(self.placed, first + index)))


class Connection:
    """One connection.

    calls: number of requests begun (closed load). reopened: number of reconnections. failures: failed requests.
    steps: the ``send`` methods of its talks, of which ``talking`` is the last. sent_ns: when the call under way was
    sent. began: for each call when the opening of its connection began, where
    connections are not kept.
    """

    began: "array[int] | None" = None

    def __init__(self, make: Callable[[], Wire], script: Script, poller: Epoll | Selector) -> None:
        self._make = make
        self._wire = make()
        self._script = script
        self._poller = poller
        self._socket: Any = None
        self.calls = 0
        self.reopened = 0
        self.failures = Failures()
        self._event: int | None = READ  # that brought the last byte of an unknown response
        self.steps: list[Step] = []
        self.talking: Talk
        self.sent_ns = NEVER_NS

    def open(self) -> None:
        self._socket = self._wire.connect()
        self._socket.setblocking(False)
        self.fd: int = self._socket.fileno()

    def close(self) -> None:
        if self._socket:
            self._socket.close()

    def renew(self) -> None:
        """Begin the calls of a window; the connection is kept."""

    def talk(
        self,
        turns: Iterable[Turn],
        sent: "array[int]",
        received: "array[int]",
        until_ns: int,
        idle: deque[Step] | None = None,
    ) -> Talk:
        """Make one call for each turn, until one is answered at or after ``until_ns``; yield while waiting.

        The generator receives the events of its connection. With ``idle``, it appends itself to that queue before each
        call and waits until it is sent None. A request's number is the index of its times. TransportError if the
        connection fails during a request, SystemFailedError for a wrong answer.
        """
        self._turns, self._limits = turns, (sent, received, until_ns, idle)
        clock, fd, read, write = time.perf_counter_ns, self.fd, os.read, os.write  # the socket's own cost 0.4 us more
        verified, max_bytes = self._script.verified, self._script.most
        number = self.calls - 1
        if self.failures.kinds and clock() >= until_ns:
            return
        try:
            for number, (index, request) in turns:
                if idle is not None:
                    yield from self._rest(idle)
                self.sent_ns = t_send = clock()
                try:
                    gone = write(fd, request)
                except OSError as reason:
                    t_send, gone = self._send_again(request, reason, t_send)
                early = b"" if gone == len(request) else (yield from self._push(request, gone))
                event = READ if early else (yield)
                try:
                    data = early or read(fd, max_bytes[index])
                except OSError as reason:
                    raise broken(0, reason) from reason
                t_recv = clock()
                if data != verified[index]:
                    t_recv, event = yield from self._finish(data, t_recv, event, index, number)
                sent[number] = t_send
                received[number] = t_recv
                if t_recv >= until_ns:
                    break
                if event != READ:
                    self._open_again()
        finally:
            self.calls = number + 1

    def again(self, error: TransportError) -> Talk:
        """Return a talk that continues with the next turn after a failed request, on a new connection if necessary.

        The times of that request stay 0. TransportError if no connection can be made or too many requests failed.
        """
        self.failures.add(error)
        if isinstance(error, WrongReplyError) and not self._has_ended():
            return self.talk(self._turns, *self._limits)
        self._wire = self._make()
        try:
            self._open_again()
        except TransportError as reason:
            raise beyond_repair(error, reason) from reason
        return self.talk(self._turns, *self._limits)

    def _has_ended(self) -> bool:
        """Return whether the server ends the connection with the response that came last."""
        return self._event != READ or self._wire.last

    def _rest(self, idle: deque[Step]) -> Talk:
        """Wait for the order to send; meanwhile the server may close the connection, but must send nothing else.

        Other unrequested data and a failed reconnection are no failed calls: SystemFailedError, which ends the start.
        """
        self.sent_ns = NEVER_NS
        idle.append(self.steps[-1])
        while (yield) is not None:
            try:
                data = self._socket.recv(READ_BYTES)
            except ConnectionError:
                data = b""
            if data:
                self._refuse_unless_leaving(data)
            try:
                self._open_again()
            except TransportError as reason:
                raise SystemFailedError(str(reason)) from reason

    def _refuse_unless_leaving(self, data: bytes) -> None:
        """Raise SystemFailedError for bytes without a request, unless a server ends its connection in such words."""
        takes_leave = getattr(self._wire, "takes_leave", None)
        if takes_leave is None or not takes_leave(data):
            raise SystemFailedError(f"{len(data)} bytes came without a request")

    def _send_again(self, request: bytes, reason: OSError, t_send: int) -> tuple[int, int]:
        """Return the send time of a request whose first send failed, and its bytes sent; reconnect if necessary.

        No byte of it had been sent, so the server does not receive it twice.
        """
        if isinstance(reason, BlockingIOError):
            return t_send, 0
        if not isinstance(reason, ConnectionError):
            raise broken(0, reason) from reason
        self._open_again()
        t_send = time.perf_counter_ns()
        return t_send, send(self.fd, request, functools.partial(broken, 0))

    def _open_again(self) -> None:
        """Replace a connection that the server has ended.

        The new one takes the old one's file descriptor, so users of the descriptor need no change.
        """
        fresh = self._wire.connect()
        fresh.setblocking(False)
        self._poller.remove(self.fd)
        os.dup2(fresh.fileno(), self.fd, inheritable=False)
        fresh.close()
        self._poller.add(self.fd)
        self.reopened += 1

    def _push(self, request: bytes, gone: int) -> Generator[None, int | None, bytes]:
        """Send the rest that did not fit into the kernel's buffer; return the data received meanwhile."""
        rest, early = memoryview(request)[gone:], bytearray()
        self._poller.also_write(self.fd, True)
        while rest:
            event = yield
            early += self._read(len(early)) if event != WRITE else b""
            if len(early) > MOST_EARLY:
                raise TransportError(f"more than {MOST_EARLY:,} bytes came before the server had read the request")
            rest = rest[send(self.fd, rest, functools.partial(broken, len(early))) :]
        self._poller.also_write(self.fd, False)
        return bytes(early)

    def _read(self, had: int) -> bytes:
        """Return the received bytes, at least one; TransportError if the connection ended after ``had`` bytes."""
        try:
            data = self._socket.recv(MORE_BYTES)
        except OSError as reason:
            raise broken(had, reason) from reason
        if not data:
            raise broken(had)
        return data

    def _finish(
        self, data: bytes, t_recv: int, event: int | None, index: int, number: int
    ) -> Generator[None, int | None, tuple[int, int | None]]:
        """Receive and verify the rest of a response; return the time of its last byte and the last event.

        The event is not READ where the connection ends with this response.
        """
        wire, buffer = self._wire, bytearray(data)
        if not data:
            raise broken(0)
        while not (size := wire.end(buffer, len(buffer))):
            event = yield
            buffer += self._read(len(buffer))
            t_recv = time.perf_counter_ns()
        if size < len(buffer):
            raise TransportError(f"{len(buffer) - size} bytes came after a response, without a request")
        response, self._event = bytes(buffer), event
        if response != self._script.verified[index]:
            self._verify(response, index, number)
        return t_recv, 0 if wire.last else event

    def _verify(self, response: bytes, index: int, number: int) -> None:
        """Check a response; remember the bytes to recognize equal ones."""
        check(self._script, self._wire, response, index, number)
        if not self._wire.last:
            self._script.verified[index] = response
            self._script.most[index] = min(len(response) + 1, MORE_BYTES)  # a small buffer: 0.4 us less than READ_BYTES


class InOrder:
    """Responses that come in the order of the requests, on a connection without any other state."""

    last = False

    def __init__(self, wire: Any, script: Script) -> None:
        self._wire, self._script = wire, script
        self.outgoing = bytearray()  # stays empty
        self._rest = bytearray()
        self._under_way: deque[tuple[int, int]] = deque()  # numbers of calls and places of their payloads

    def begin(self, index: int, request: bytes, number: int) -> bytes:
        self._under_way.append((number, index))
        return request

    def receive_all(self, data: bytes) -> list[tuple[int, Any, Any]]:
        """Take in what has come; return the number of each call that is answered, and its response: True if known."""
        answered: list[tuple[int, Any, Any]] = []
        buffer, at, verified, under_way = self._rest, 0, self._script.verified, self._under_way
        buffer += data
        while under_way and at < len(buffer):
            number, index = under_way[0]
            verified_response = verified[index]
            if verified_response is not None and buffer.startswith(verified_response, at):
                response: Any = True
                at += len(verified_response)
            else:
                del buffer[:at]
                at = 0
                if not (size := self._wire.end(buffer, len(buffer))):
                    break
                response = bytes(memoryview(buffer)[:size])
                at = size
            under_way.popleft()
            answered.append((number, response, response))
        del buffer[:at]
        if buffer and not under_way:
            raise TransportError(f"{len(buffer)} bytes came after a response, without a request")
        return answered

    def recognize(self, index: int, response: bytes) -> None:
        """Recognize a response, found right by the caller, when it comes again to this payload."""
        self._script.verified[index] = response


def check(script: Script, wire: Any, response: Any, index: int, number: int) -> None:
    """Compare a response's payload with the expected one."""
    try:
        body: Any = wire.body(response, script.payloads[index])
    except TransportError as reason:
        raise WrongReplyError(str(reason), reason.kind) from reason
    if script.decode is not None:
        try:
            body = script.decode(body)
        except Exception as reason:  # codecs raise what they like
            raise codecs.failed(reason) from reason
    if script.expected[index] != body:
        raise timed_loops.wrong_answer(script.expected[index], body, number)


def broken(had: int, reason: OSError | None = None) -> TransportError:
    """Return the error for a connection that failed after ``had`` bytes of a response."""
    how = f"failed ({reason})" if reason else "was closed by the server"
    return TransportError(
        f"a connection {how} while a request was under way; {had} bytes of its response had come", "read"
    )
