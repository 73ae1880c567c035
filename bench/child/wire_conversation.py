"""Connections of the load generator ``wire`` whose bytes depend on what was sent before: TLS, HTTP/2, or made anew.

They do what ``bench.child.wire_connection.Connection`` does for constant bytes, at a higher cost per call: a call's
time includes framing and encryption, as it does with a library.
"""

import os
import time
from array import array
from collections import deque
from collections.abc import Callable, Generator, Iterable
from typing import Any

from bench.child.handshake import secure
from bench.child.outgoing import send
from bench.child.polling import READ, WRITE, Epoll, Selector
from bench.child.timed_loops import NEVER_NS
from bench.child.wire_connection import READ_BYTES, Connection, Script, Step, Talk, Turn, broken, check
from bench.contract import Conversation, Layer, Wire
from bench.errors import SystemFailedError, TransportError, UnprocessedError


class Framed:
    """A wire without a state of its own as a ``Conversation``: its responses are found in the bytes that come."""

    def __init__(self, wire: Wire, script: Script) -> None:
        self._wire, self._script = wire, script
        self.outgoing = bytearray()  # stays empty
        self._buffer = bytearray()
        self._verified: bytes | None = None

    @property
    def last(self) -> bool:
        """Whether the server ends the connection after the response that came last."""
        return self._wire.last

    def begin(self, index: int, request: bytes) -> bytes:
        self._verified = self._script.verified[index]
        self._buffer.clear()
        return request

    def receive(self, data: bytes) -> bytes | bool | None:
        """Take in what came; return the response if it is complete, True for one that is known, else None."""
        if data == self._verified:
            return True
        self._buffer += data
        size = self._wire.end(self._buffer, len(self._buffer))
        if not size:
            return None
        if size < len(self._buffer):
            raise TransportError(f"{len(self._buffer) - size} bytes came after a response, without a request")
        return bytes(self._buffer)

    def known(self, index: int) -> None:
        """Do nothing: the script's responses are those that are recognized."""


class WireConversation(Connection):
    """One connection; its methods are those of ``Connection``.

    calls_per_connection: after so many calls a new one is opened; 0: it is kept. began: for each call when the opening
    of its connection began, or when the call was sent over an open one.
    """

    def __init__(
        self,
        make: Callable[[], Wire],
        script: Script,
        poller: Epoll | Selector,
        calls_per_connection: int = 0,
        size: int = 0,
    ) -> None:
        super().__init__(make, script, poller)
        self._calls_per_connection = calls_per_connection
        self._had = 0  # bytes that came of the response under way
        self._left = -1  # calls until the connection is renewed; below 0: it is kept
        self.began = array("q", bytes(8)) * size if calls_per_connection else None

    def open(self) -> None:
        """Connect, and make the handshake of an encrypted connection; TransportError where that is not possible."""
        super().open()
        self._begin_anew()
        secure(self._socket, self._tls)

    def again(self, error: TransportError) -> Talk:
        """Do what ``Connection.again`` does; where connections are not kept, the next call opens its own."""
        talk = super().again(error)
        self.renew()
        return talk

    def renew(self) -> None:
        """Let the next call open a new connection, if connections are not kept."""
        self._left = 0 if self._calls_per_connection else -1

    def _has_ended(self) -> bool:
        return self._event != READ or self._dialog.last

    def _open_again(self) -> None:
        super()._open_again()
        self._begin_anew()

    def _begin_anew(self) -> None:
        """Forget the state of the connection before."""
        wire: Any = self._wire
        self._tls: Layer | None = getattr(wire, "tls", None)
        self._renewed: Callable[[bytes], bytes] | None = getattr(wire, "renewed", None)
        self._dialog: Conversation = wire if hasattr(wire, "begin") else Framed(wire, self._script)
        if self._tls is not None:
            self._tls.start()

    def _shake(self) -> Talk:
        """Make the handshake, if there has to be one."""
        tls = self._tls
        if tls is None or tls.is_ready:
            return
        content = tls.shake(b"")
        while True:
            try:
                os.write(self.fd, content)  # a few hundred bytes, the first of this connection
                if tls.is_ready:
                    return
                yield
                data = os.read(self.fd, READ_BYTES)
            except BlockingIOError:
                content = b""
                continue
            except OSError as reason:
                raise tls.failed(reason) from reason
            content = tls.shake(data or None)

    def talk(
        self,
        turns: Iterable[Turn],
        sent: "array[int]",
        received: "array[int]",
        until_ns: int,
        idle: deque[Step] | None = None,
    ) -> Talk:
        """Do what ``Connection.talk`` does."""
        self._turns, self._limits = turns, (sent, received, until_ns, idle)
        clock, number = time.perf_counter_ns, self.calls - 1
        if self.failures.kinds and clock() >= until_ns:
            return
        try:
            for number, (index, request) in turns:
                if idle is not None:
                    yield from self._rest(idle)
                self.sent_ns = began_ns = clock()
                if self._left == 0:
                    self._open_again()
                    self._left = self._calls_per_connection
                if self._tls is not None and not self._tls.is_ready:
                    yield from self._shake()
                try:
                    t_send, t_recv = yield from self._call(index, request, number)
                except UnprocessedError:  # sent once more; its time goes on
                    t_send = self.sent_ns
                    self._open_again()
                    yield from self._shake()
                    _, t_recv = yield from self._call(index, request, number)
                sent[number] = t_send
                received[number] = t_recv
                if self.began is not None:
                    self.began[number] = began_ns if self._left == self._calls_per_connection else t_send
                self._left -= 1
                if t_recv >= until_ns:
                    break
                if self._has_ended() and self._left:
                    self._open_again()
        finally:
            self.calls = number + 1

    def _call(self, index: int, request: bytes, number: int) -> Generator[None, int | None, tuple[int, int]]:
        """Make one call; return when it was sent, and when its response had come, which is then verified."""
        dialog, tls, clock = self._dialog, self._tls, time.perf_counter_ns
        self._had, response = 0, None
        if self._renewed is not None:
            request = self._renewed(self._script.payloads[index])
        t_send = clock()
        content = dialog.begin(index, request)
        if dialog.outgoing:
            content = bytes(dialog.outgoing) + content
            dialog.outgoing = bytearray()
        if tls is not None:
            content = tls.encrypt(content)
        try:
            gone = os.write(self.fd, content)
        except OSError as reason:
            t_send, gone, content = yield from self._begin_again(index, request, reason, t_send, content)
            dialog = self._dialog
        if gone < len(content):
            response = yield from self._push_on(content, gone)
        while response is None:
            if dialog.outgoing:
                response = yield from self._answer()
            else:
                self._event = yield
                response = self._receive()
        t_recv = clock()
        if response is not True and response != self._script.verified[index]:
            check(self._script, self._wire, response, index, number)
            if self._renewed is not None:
                return t_send, t_recv
            dialog.known(index)
            if type(response) is bytes and not dialog.last:
                self._script.verified[index] = response
        return t_send, t_recv

    def _failed(self, reason: OSError) -> TransportError:
        return broken(self._had, reason)

    def _receive(self) -> Any:
        """Read what has come; return the response if it is complete, True for one that is known, else None."""
        try:
            data = os.read(self.fd, READ_BYTES)
        except OSError as reason:
            raise broken(self._had, reason) from reason
        if not data:
            raise broken(self._had)
        if self._tls is not None:
            data = self._tls.decrypt(data)
        self._had += len(data)
        return self._dialog.receive(data) if data else None

    def _push_on(self, content: bytes, gone: int) -> Generator[None, int | None, Any]:
        """Send the rest that did not fit into the kernel's buffer; return the response if it came meanwhile.

        What comes is taken in at once, so that no more of it is held than the conversation allows.
        """
        rest, response = memoryview(content)[gone:], None
        self._poller.also_write(self.fd, True)
        while rest:
            self._event = yield
            if self._event != WRITE:
                response = self._receive() or response
            rest = rest[send(self.fd, rest, self._failed) :]
        self._poller.also_write(self.fd, False)
        return response

    def _answer(self) -> Generator[None, int | None, Any]:
        """Send what the conversation has to send beside requests; return the response if it came meanwhile."""
        content = bytes(self._dialog.outgoing)
        self._dialog.outgoing = bytearray()
        if self._tls is not None:
            content = self._tls.encrypt(content)
        gone = send(self.fd, content, self._failed)
        return None if gone == len(content) else (yield from self._push_on(content, gone))

    def _begin_again(
        self, index: int, request: bytes, reason: OSError, t_send: int, content: bytes
    ) -> Generator[None, int | None, tuple[int, int, bytes]]:
        """Return the send time of a request whose first send failed, its bytes sent, and all of its bytes.

        No byte of it had been sent, so the server does not receive it twice; the connection is made anew if necessary.
        """
        if isinstance(reason, BlockingIOError):
            return t_send, 0, content
        if not isinstance(reason, ConnectionError):
            raise broken(0, reason) from reason
        self._open_again()
        yield from self._shake()
        t_send = time.perf_counter_ns()
        content = self._dialog.begin(index, request)
        if self._tls is not None:
            content = self._tls.encrypt(content)
        return t_send, send(self.fd, content, self._failed), content

    def _rest(self, idle: deque[Step]) -> Talk:
        """Wait for the order to send; meanwhile the server may close the connection, or say what is no response."""
        if self._dialog.outgoing:
            yield from self._answer()
        self.sent_ns = NEVER_NS
        idle.append(self.steps[-1])
        while (yield) is not None:
            try:
                data = os.read(self.fd, READ_BYTES)
            except BlockingIOError:
                continue
            except ConnectionError:
                data = b""
            try:
                if not data or self._take_in(data):
                    self._open_again()
            except TransportError as reason:
                raise SystemFailedError(str(reason)) from reason

    def _take_in(self, data: bytes) -> bool:
        """Take in what came without a request; return whether the server ends the connection.

        What has to be said to it is sent at once, or with the next request.
        """
        if self._tls is not None:
            data = self._tls.decrypt(data)
        if data and isinstance(self._dialog, Framed):
            self._refuse_unless_leaving(data)
            return True
        if data:
            self._dialog.receive(data)
        return self._dialog.last
