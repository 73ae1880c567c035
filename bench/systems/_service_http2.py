"""Requests of a service file over HTTP/2 on asyncio: over TLS, or in plain text with prior knowledge (RFC 9113, 3.3).

Frames are those of the load generator ``wire``: the library h2 takes in nothing behind a server's GOAWAY, which many
servers send after some number of requests, and so fails requests that are answered.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from bench.contract import Address
from bench.errors import TransportError, UnprocessedError, WrongReplyError
from bench.plan.service_file import Prepared, Service, too_late
from bench.systems import _http2, _service_streams, _service_tls, _service_wire

MOST_SENDINGS = 20  # of a request that the server says it has not processed


class Reply(asyncio.Event):
    """A response under way; set when something has come. is_over: it is whole; error: why nothing more comes."""

    stream: _http2.Stream
    is_over = False
    error: Exception | None = None

    async def news(self) -> None:
        """Wait until something has come since the last time; raise the error if nothing will."""
        await self.wait()
        self.clear()
        if self.error:
            raise self.error

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield what comes of the body."""
        while True:
            is_over = self.is_over
            yield self.stream.taken()
            if is_over:
                return
            await self.news()


class Connection(_http2.Parts, asyncio.Protocol):
    """One connection, with as many requests under way at once as the server takes, each with a ``Reply``."""

    def __init__(self) -> None:
        super().__init__([], _service_wire.MOST_FRAME)
        self.may_begin, self._replies = asyncio.Event(), set[Reply]()
        self._transport: Any = None

    def connection_made(self, transport: Any) -> None:
        """Keep what sends."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Take in what came."""
        try:
            for reply, _, _ in self.receive_all(data):
                reply.is_over = True
        except TransportError as reason:
            self.close(reason)
        self._say()

    def connection_lost(self, reason: Exception | None) -> None:
        """Fail what is under way."""
        self.close(reason or ConnectionError("the server closed the connection while a request was under way"))

    def close(self, reason: Exception | None = None) -> None:
        """Disconnect, and fail what is under way."""
        self.last = True
        self._transport.abort() if reason else self._transport.close()
        for reply in self._replies:
            if not reply.is_over:
                reply.error = reply.error or reason
                reply.set()
        self.may_begin.set()

    def send(self, fields: _http2.Asked, body: bytes) -> Reply:
        reply = Reply()
        reply.stream = self.ask(fields, body, reply)
        self._replies.add(reply)
        self._say()
        return reply

    def end(self, reply: Reply) -> None:
        """Forget a request, and cancel its stream if the response is not whole."""
        self._replies.discard(reply)
        self.cancel(reply.stream)
        self._say()

    def _say(self) -> None:
        """Send what is to be sent; disconnect when the server takes no more requests and has answered the others."""
        if self.outgoing and not self._transport.is_closing():
            self._transport.write(bytes(self.outgoing))
        self.outgoing.clear()
        if self.last and not self._replies:
            self._transport.close()
        (self.may_begin.set if self.last or self.room > 0 else self.may_begin.clear)()

    def _keep(self, stream: _http2.Stream, prefix: bytes, content: bytes) -> None:
        super()._keep(stream, prefix, content)
        stream.call.set()

    def _lose(self, stream: _http2.Stream, error: TransportError) -> None:
        del self._streams[stream.number]
        stream.call.error = error
        stream.call.set()


class Session:
    """A session over HTTP/2, with one connection for new requests at a time."""

    def __init__(self, described: Service, address: Address) -> None:
        self._described, self._address, self._host = described, address, described.called(address)
        self._connecting = asyncio.Lock()
        self._connection: Connection | None = None

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
        """Make a request, again on another connection if it was not processed; the response's head has come."""
        fields = _service_wire.fields(request, self._described, self._host)
        try:
            async with asyncio.timeout(self._described.says.timeout_s):
                for left in reversed(range(MOST_SENDINGS)):
                    connection = await self._connected()
                    reply = connection.send(fields, data)
                    try:
                        while not reply.stream.fields:
                            await reply.news()
                        yield reply
                        return
                    except UnprocessedError:
                        if not left:
                            raise
                    finally:
                        connection.end(reply)
        except WrongReplyError:
            raise
        except (TransportError, OSError) as reason:
            raise self._failed(request, reason) from reason

    async def _connected(self) -> Connection:
        """Return a connection with room for a request."""
        while True:
            async with self._connecting:
                if self._connection is None or self._connection.last:
                    self._connection = await self._connect()
            if not self._connection.last and self._connection.room > 0:
                return self._connection
            await self._connection.may_begin.wait()

    async def _connect(self) -> Connection:
        loop, address = asyncio.get_running_loop(), self._address
        more: dict[str, Any] = {}
        if context := _service_tls.context(self._described, "h2"):
            more = {"ssl": context, "server_hostname": self._described.host}
        try:
            if address.transport == "ipc":
                transport, made = await loop.create_unix_connection(Connection, address.path, **more)
            else:
                transport, made = await loop.create_connection(Connection, address.host, address.port, **more)
        except OSError as reason:
            raise TransportError(str(reason), "connect") from reason
        if more and transport.get_extra_info("ssl_object").selected_alpn_protocol() != "h2":
            made.close()
            raise TransportError("the server does not agree to speak h2 over TLS", "connect")
        return made

    def _failed(self, request: Prepared, reason: Exception) -> TransportError:
        """Return the error for a request without an answer."""
        if isinstance(reason, TimeoutError):
            return too_late(self._described, request)
        kind = reason.kind if isinstance(reason, TransportError) else "read"
        return TransportError(f"{request.name} had no answer over HTTP/2: {reason or type(reason).__name__}", kind)

    async def close(self) -> None:
        if self._connection:
            self._connection.close()
