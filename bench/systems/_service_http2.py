"""Requests of a service file over HTTP/2 on asyncio: over TLS, or in plain text with prior knowledge (RFC 9113, 3.3).

The libraries for this fail requests that the server still answers behind its GOAWAY, as it does after some number of
requests: the frames are those of the load generator ``wire``.
"""

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from bench.contract import Address
from bench.errors import TransportError, UnprocessedError
from bench.plan.service_file import Prepared, Service, too_late
from bench.systems import _http2, _service_streams, _service_tls, _service_wire

MOST_SENDINGS = 20  # of a request that the server says it has not processed


class Reply:
    """A response under way. is_over: whether it is whole."""

    stream: _http2.Stream

    def __init__(self) -> None:
        self.is_over, self._has_news = False, False
        self._error: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None

    def wake(self, error: Exception | None = None) -> None:
        """Say that something has come, or why nothing more will."""
        self._error, self._has_news = error, True
        if self._waiter and not self._waiter.done():
            self._waiter.set_result(None)

    async def news(self) -> None:
        """Wait until something has come since the last time; NoAnswerError, or UnprocessedError, if nothing will."""
        if not self._has_news:
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        self._has_news = False
        if isinstance(self._error, UnprocessedError):
            raise self._error
        if self._error:
            raise NoAnswerError from self._error

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield what comes of the body."""
        while True:
            is_over = self.is_over
            yield self.stream.taken()
            if is_over:
                return
            await self.news()


class NoAnswerError(Exception):
    """A connection or a stream failed; why is the cause."""


class Talk(_http2.Parts):
    """The state of a connection whose requests are made with a ``Reply`` each."""

    def _keep(self, stream: _http2.Stream, prefix: bytes, content: bytes) -> None:
        super()._keep(stream, prefix, content)
        stream.call.wake()

    def _lose(self, stream: _http2.Stream, error: TransportError) -> None:
        del self._streams[stream.number]
        stream.call.wake(error)


class Connection(asyncio.Protocol):
    """One connection, with as many requests under way at once as the server takes."""

    def __init__(self) -> None:
        self.talk = Talk([], _service_wire.MOST_FRAME)
        self.is_closed = False
        self._replies: set[Reply] = set()
        self._waiting: deque[asyncio.Future[None]] = deque()  # for room
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Keep what sends."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        try:
            for reply, _, _ in self.talk.receive_all(data):
                reply.is_over = True
        except TransportError as reason:
            self.close(reason)
        self._say()

    def connection_lost(self, reason: Exception | None) -> None:
        """Fail what is under way."""
        self.close(reason or ConnectionError("the server closed the connection while a request was under way"))

    def close(self, reason: Exception | None = None) -> None:
        """Disconnect, and fail what is under way."""
        self.is_closed = True
        self._transport.abort() if reason else self._transport.close()
        for reply in self._replies:
            if not reply.is_over:
                reply.wake(reason)
        self._say()

    async def has_room(self) -> bool:
        """Wait until one more request can begin; return False if none will."""
        while not (self.is_closed or self.talk.last) and self.talk.room < 1:
            self._waiting.append(waiter := asyncio.get_running_loop().create_future())
            await waiter
        return not (self.is_closed or self.talk.last)

    def begin(self, fields: _http2.Asked, body: bytes) -> Reply:
        """Send a request for which there is room."""
        reply = Reply()
        reply.stream = self.talk.ask(fields, body, reply)
        self._replies.add(reply)
        self._say()
        return reply

    def end(self, reply: Reply) -> None:
        """Forget a request; the server is told where its response is not over."""
        self._replies.discard(reply)
        self.talk.cancel(reply.stream)
        self._say()

    def _say(self) -> None:
        """Send what is to be sent, let those begin for whom there is room, and leave a server that takes no more."""
        if self.talk.outgoing and not self.is_closed:
            self._transport.write(bytes(self.talk.outgoing))
            self.talk.outgoing.clear()
        is_left = self.is_closed or self.talk.last
        for _ in range(len(self._waiting) if is_left else min(self.talk.room, len(self._waiting))):
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(None)
        if is_left and not self._replies and not self.is_closed:
            self.close()


class Session:
    """A session over HTTP/2, with one connection for new requests at a time."""

    def __init__(self, described: Service, where: Address) -> None:
        self._described, self._where, self._host = described, where, described.called(where)
        self._connecting = asyncio.Lock()
        self._connections: list[Connection] = []  # the last one is for new requests

    async def call(self, request: Prepared, data: bytes) -> tuple[int, bytes, str]:
        """Make a request; return status, body and its encoding; TransportError where there is no answer."""
        async with self._asked(request, data) as reply:
            body = b"".join([part async for part in reply.parts()])
            return reply.stream.status, body, reply.stream.headers.get("content-encoding", "")

    async def stream(self, request: Prepared, data: bytes) -> AsyncIterator[bytes]:
        """Make a request; yield the parts of its stream of events; TransportError where there is no such answer."""
        async with self._asked(request, data) as reply:
            status, headers = reply.stream.status, reply.stream.headers
            body = b"".join([part async for part in reply.parts()]) if status >= 400 else b""
            _service_streams.refuse_no_events(request, status, headers, body)
            async for part in reply.parts():
                yield part

    @contextlib.asynccontextmanager
    async def _asked(self, request: Prepared, data: bytes) -> AsyncIterator[Reply]:
        """Make a request; the response's head has come."""
        try:
            async with asyncio.timeout(self._described.says.timeout_s):
                connection, reply = await self._begun(_service_wire.fields(request, self._described, self._host), data)
                try:
                    yield reply
                finally:
                    connection.end(reply)
        except TimeoutError as reason:
            raise too_late(self._described, request) from reason
        except NoAnswerError as reason:
            raise self._failed(request, reason.__cause__) from reason

    async def _begun(self, fields: _http2.Asked, data: bytes) -> tuple[Connection, Reply]:
        """Send a request, again on another connection if it was not processed, and wait for the response's head."""
        for left in reversed(range(MOST_SENDINGS)):
            connection = await self._connected()
            reply = connection.begin(fields, data)
            try:
                while not reply.stream.fields:
                    await reply.news()
                return connection, reply
            except UnprocessedError as reason:
                connection.end(reply)
                if not left:
                    raise NoAnswerError from reason
            except BaseException:
                connection.end(reply)
                raise
        raise AssertionError

    async def _connected(self) -> Connection:
        """Return a connection with room for a request."""
        while True:
            if self._connections and await self._connections[-1].has_room():
                return self._connections[-1]
            async with self._connecting:
                self._connections = [each for each in self._connections if not each.is_closed]
                if not self._connections or self._connections[-1].talk.last:
                    self._connections.append(await self._connect())

    async def _connect(self) -> Connection:
        loop, where = asyncio.get_running_loop(), self._where
        more: dict[str, Any] = {}
        if context := _service_tls.context(self._described, "h2"):
            more = {"ssl": context, "server_hostname": self._described.host}
        try:
            if where.transport == "ipc":
                transport, made = await loop.create_unix_connection(Connection, where.path, **more)
            else:
                transport, made = await loop.create_connection(Connection, where.host, where.port, **more)
        except OSError as reason:
            raise NoAnswerError from reason
        if more and transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            made.close()
            raise NoAnswerError from TransportError("the server does not agree to speak h2 over TLS", "connect")
        return made

    def _failed(self, request: Prepared, reason: BaseException | None) -> TransportError:
        """Return the error for a request without an answer."""
        if isinstance(reason, ssl.SSLError):
            return _service_tls.failed(self._described, reason)
        kind = reason.kind if isinstance(reason, TransportError) else "read"
        return TransportError(f"{request.name} had no answer over HTTP/2: {reason or type(reason).__name__}", kind)

    async def close(self) -> None:
        """Disconnect."""
        for each in self._connections:
            each.close()
