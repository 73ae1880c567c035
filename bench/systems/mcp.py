"""MCP: a tool call of the Model Context Protocol, by its Python SDK: over stdio (ipc) or streamable HTTP (tcp).

The SDK is imported where it is used: that takes most of a second, and whoever only reads the options does without.
"""

import asyncio
import base64
import binascii
import contextlib
import math
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

from bench.contract import Address, Binding, Service
from bench.errors import TransportError
from bench.process import event_loops
from bench.systems import _asgi, _client, _connections, _http_wire, _pipes

TRANSPORTS = ("ipc", "tcp")
START_S = 2.0
REQUIRES = ("mcp", "uvicorn", "httptools")
GROUP = "http"

PATH = "/mcp"
MOST_BYTES = 2**31  # of a request, whose limit is otherwise that of a public server


@dataclass(frozen=True)
class Options:
    """One tool, ``echo``, which gets and returns a text: the payload as base64, since JSON carries no bytes.

    Over ipc each client has a pair of pipes to the server, as a host has to a server that it spawned; here the server
    runs already, and a socket file is used once to pass the pipes' ends. The server reads and writes them as the SDK
    does, in worker threads; the client in its event loop, as the SDK's client does.

    protocol: modern is the newest version that both sides know, since 2026-07-28 without sessions; legacy begins with
        the handshake of earlier versions, makes a session, and over HTTP sends each reply as an event of a stream.
    json_response: the server answers each HTTP request with a JSON body from the task of that request, and sends no
        notifications before the reply.
    tool: function is a plain one, which the SDK calls in a worker thread; coroutine, one that it awaits.
    structured: the result is in the reply twice, as text and as structured content, as the SDK makes it of a function
        with a type for its result; else once, as text.
    event_loop: asyncio or uvloop, on both sides.
    """

    protocol: Literal["modern", "legacy"] = "modern"
    json_response: bool = False
    tool: Literal["function", "coroutine"] = "function"
    structured: bool = True
    event_loop: event_loops.EventLoop = "asyncio"


def _server(options: Options, service: Service) -> Any:
    """Return the server with its tool."""
    from mcp.server import MCPServer

    server: Any = MCPServer("roundtrip", log_level="CRITICAL")

    def echo(data: str) -> str:
        """Return the data."""
        return base64.b64encode(service.answer(base64.b64decode(data))).decode()

    async def awaited(data: str) -> str:
        """Return the data."""
        return echo(data)

    made = echo if options.tool == "function" else awaited
    server.tool(name="echo", structured_output=options.structured)(made)
    return server


async def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer in one event loop, until the process ends."""
    server = _server(options, service)
    if binding.transport == "ipc":
        await _serve_stdio(server, binding, service)
        return
    application = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=options.json_response,
        max_request_body_size=MOST_BYTES,
        session_idle_timeout=None,
        max_sessions=None,
        host=binding.host,
    )
    listener, address = _asgi.bound(binding)
    service.announce(address)
    await _asgi.uvicorn(application, listener, "httptools", "", lifespan="on")


async def _serve_stdio(server: Any, binding: Binding, service: Service) -> None:
    """Serve each client through its pipes; each waits for the next line in a worker thread of its own."""
    import anyio.to_thread

    anyio.to_thread.current_default_thread_limiter().total_tokens = math.inf
    listener, address = _connections.bound(binding)
    service.announce(address)
    async with asyncio.TaskGroup() as sessions:
        while True:
            if ends := await anyio.to_thread.run_sync(_pipes.accept, listener):
                sessions.create_task(_session(server._lowlevel_server, ends))


async def _session(server: Any, ends: _pipes.Ends) -> None:
    """Serve one client until it leaves."""
    import anyio
    from mcp import stdio_server

    files = os.fdopen(ends.read, encoding="utf-8"), os.fdopen(ends.write, "w", encoding="utf-8")
    with contextlib.suppress(OSError), files[0], files[1]:
        async with stdio_server(*map(anyio.wrap_file, files)) as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())


@contextlib.asynccontextmanager
async def _through_pipes(address: Address) -> AsyncIterator[Any]:
    """Yield the messages from and to a server through pipes, a line of JSON each, as the SDK's own client of stdio.

    That one spawns its server. The pipes are read and written by the event loop, as those of a child are.
    """
    import anyio
    import mcp_types
    from mcp.shared.message import SessionMessage

    loop, ends = asyncio.get_running_loop(), _pipes.connect(address, "pipe")
    lines = asyncio.StreamReader(limit=MOST_BYTES)
    protocol = asyncio.StreamReaderProtocol(lines)
    receiving, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(ends.read, "rb", 0))
    sending, flow = await loop.connect_write_pipe(asyncio.streams.FlowControlMixin, os.fdopen(ends.write, "wb", 0))
    writer = asyncio.StreamWriter(sending, flow, None, loop)
    came, reading = anyio.create_memory_object_stream[Any](0)
    writing, written = anyio.create_memory_object_stream[Any](0)

    async def read() -> None:
        async with came:  # the session ends with it
            async for line in lines:
                await came.send(SessionMessage(mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)))

    async def write() -> None:
        async with written:
            async for message in written:
                text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                writer.write(text.encode() + b"\n")
                with contextlib.suppress(OSError):  # ``read`` notices that the server is gone
                    await writer.drain()

    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            tasks.start_soon(write)
            yield reading, writing
            tasks.cancel_scope.cancel()
    finally:
        receiving.close()
        sending.close()


class Client(_client.AsyncClient):
    """One client of the SDK, with a session over pipes or HTTP."""

    ERRORS = (Exception,)  # also what the steps of the library raise, in groups

    def __init__(self, address: str, options: Options) -> None:
        import mcp  # now, so that ``open`` only connects

        super().__init__(address, options)
        self._library: Any = mcp
        self._mode: Any = "legacy" if options.protocol == "legacy" else "auto"

    async def connect(self) -> None:
        """Connect, and agree on the version of the protocol."""
        self._is_over, opened = asyncio.Event(), asyncio.get_running_loop().create_future()
        self._session = asyncio.create_task(self._stay(opened))
        await opened

    def unreachable(self, reason: BaseException) -> TransportError:
        return TransportError(f"no MCP server answers at {self.server}: {_text(reason)}", "connect")

    def failed(self, reason: BaseException) -> TransportError:
        return TransportError(f"the call failed: {_text(reason)}", "read")

    async def _stay(self, opened: Any) -> None:
        """Enter the SDK's client and leave it, in a task of its own: it cancels that one when a connection breaks."""
        try:
            async with self._transport() as transport, self._library.Client(transport, mode=self._mode) as self._client:
                opened.set_result(None)
                await self._is_over.wait()
        except (Exception, asyncio.CancelledError) as reason:
            if not opened.done():
                opened.set_exception(reason)

    @contextlib.asynccontextmanager
    async def _transport(self) -> AsyncIterator[Any]:
        """Yield the pipes, or the SDK's transport over HTTP without limits of time and size."""
        if self.server.transport == "ipc":
            yield _through_pipes(self.server)
            return
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        url = f"http://{_http_wire.authority(self.server)}{PATH}"
        async with httpx2.AsyncClient(timeout=None, trust_env=False) as http:
            yield streamable_http_client(url, http_client=http, max_sse_event_size=None)

    async def call(self, payload: bytes) -> bytes:
        """Call the tool and return the bytes in its result."""
        result = await self._client.call_tool("echo", {"data": base64.b64encode(payload).decode()})
        text = result.content[0].text if result.content else ""
        if result.is_error:
            raise TransportError(f"the tool failed: {text}", "tool")
        try:
            return base64.b64decode(text, validate=True)
        except binascii.Error as reason:
            raise TransportError(f"the result holds no base64: {reason}", "body") from reason

    async def close(self) -> None:
        self._is_over.set()
        await self._session


Multiplexed = Client


def _text(reason: BaseException) -> str:
    """Return what the SDK says of a failure, of several the first."""
    while isinstance(reason, ExceptionGroup):
        reason = reason.exceptions[0]
    return str(getattr(reason, "message", "")) or str(reason) or type(reason).__name__
