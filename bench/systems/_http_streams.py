"""Streams of replies over HTTP, by aiohttp on both sides: chunked bodies, server-sent events, WebSocket messages.

Each write waits while the client does not read: memory stays bounded by aiohttp's and the kernel's buffers.
"""

import base64
import binascii
from collections.abc import AsyncIterator, Callable
from typing import Any

from bench.errors import TransportError
from bench.plan.replies import END
from bench.systems._aiohttp import aiohttp, web

Source = Callable[[bytes], AsyncIterator[bytes]]


def routes(source: Source) -> list[web.RouteDef]:
    """Return the server's routes, one for each way."""

    async def chunked(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/octet-stream"})
        return await _body(request, response, source, bytes)

    async def events(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream", "Cache-Control": "no-cache"})
        return await _body(request, response, source, _event)

    async def messages(request: web.Request) -> web.WebSocketResponse:
        response = web.WebSocketResponse(compress=False, max_msg_size=0)
        await response.prepare(request)
        async for message in response:
            async for reply in source(message.data):
                await response.send_bytes(reply)
            await response.send_bytes(END)
        return response

    return [web.post("/chunked", chunked), web.post("/sse", events), web.get("/websocket", messages)]


async def _body(
    request: web.Request, response: web.StreamResponse, source: Source, written: Callable[[bytes], bytes]
) -> web.StreamResponse:
    """Send each reply as a chunk of the response's body."""
    replies = source(await request.read())
    response.enable_chunked_encoding()
    await response.prepare(request)
    async for reply in replies:
        await response.write(written(reply))
    await response.write_eof()
    return response


def _event(reply: bytes) -> bytes:
    return b"data: %b\n\n" % base64.b64encode(reply)


def client(session: aiohttp.ClientSession, base: str, way: str) -> Source:
    """Return what sends a request by a session and yields the replies; TransportError for an answer that is none."""

    async def chunked(payload: bytes) -> AsyncIterator[bytes]:
        async with session.post(f"{base}/chunked", data=payload) as response:
            _check(response)
            parts: list[bytes] = []
            async for data, is_end in response.content.iter_chunks():
                parts.append(data)
                if is_end and (reply := b"".join(parts)):  # the chunk that ends the body is empty
                    yield reply
                    parts.clear()

    async def events(payload: bytes) -> AsyncIterator[bytes]:
        async with session.post(f"{base}/sse", data=payload) as response:
            _check(response)
            async for line in response.content:
                if line.startswith(b"data: "):
                    yield _decoded(line)

    connection: Any = None

    async def messages(payload: bytes) -> AsyncIterator[bytes]:
        nonlocal connection
        if connection is None:
            connection = await session.ws_connect(f"{base}/websocket", max_msg_size=0)
        await connection.send_bytes(payload)
        while True:
            message = await connection.receive()
            if message.type is not aiohttp.WSMsgType.BINARY:
                raise TransportError("the server closed the WebSocket before its stream had ended", "read")
            if not message.data:
                return
            yield message.data

    return {"chunked": chunked, "sse": events, "websocket": messages}[way]


def _check(response: aiohttp.ClientResponse) -> None:
    if response.status != 200:
        kind = f"status {response.status}"
        raise TransportError(f"the request for a stream was answered with {kind} {response.reason}", kind)


def _decoded(line: bytes) -> bytes:
    try:
        return base64.b64decode(line[6:].rstrip(b"\n"), validate=True)
    except binascii.Error as reason:
        raise TransportError(f"an event holds no base64: {reason}", "body") from reason
