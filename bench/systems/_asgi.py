"""The servers of http_asgi: an application by Starlette, by FastAPI or by hand, and what runs it."""

import asyncio
import socket
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qs

from bench.contract import Binding, Service, parse_address
from bench.systems import _connections, _http, _tls

BACKLOG = 2048  # of connections that wait to be accepted
IDLE_S = 3600  # that a connection may be idle; the servers' own limits are 5 s
READY_S = 0.005  # between two looks whether granian accepts connections

Application = Callable[[Any, Any, Any], Awaitable[None]]


def framed(reply: bytes) -> bytes:
    """Return a reply of a stream after its length: servers may put several into one chunk, or one into several."""
    return struct.pack("!I", len(reply)) + reply


async def _framed(replies: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    async for reply in replies:
        yield framed(reply)


class Resources:
    """What the applications answer: the body of each resource; each is counted."""

    def __init__(self, service: Service) -> None:
        self.echo, self._replies = service.answer, service.replies_async if service.is_streaming else None

    def some_bytes(self, count: str) -> bytes | None:
        """Return as many bytes; None for what is no number, or too many."""
        body = _http.requested(count)
        if body is not None:
            self.echo(b"")
        return body

    def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        """Yield the replies to a request, each after its length."""
        assert self._replies is not None
        return _framed(self._replies(payload))


def by_starlette(resources: Resources) -> Application:
    """Return the application as Starlette's users write it."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response, StreamingResponse
    from starlette.routing import Route

    kind = "application/octet-stream"

    async def echo(request: Request) -> Response:
        return Response(resources.echo(await request.body()), media_type=kind)

    async def some_bytes(request: Request) -> Response:
        body = resources.some_bytes(request.query_params.get("count", ""))
        return Response(b"count is wrong", 400) if body is None else Response(body, media_type=kind)

    async def chunked(request: Request) -> Response:
        return StreamingResponse(resources.stream(await request.body()), media_type=kind)

    routes = [("/echo", echo, "POST"), ("/resource", some_bytes, "GET")]
    routes.append(("/chunked", chunked, "POST"))
    return Starlette(routes=[Route(path, handler, methods=[method]) for path, handler, method in routes])


def by_fastapi(resources: Resources) -> Application:
    """Return the application as FastAPI's users write it who take and return bytes: no model is made of a body."""
    from fastapi import FastAPI, Request, Response
    from fastapi.responses import StreamingResponse

    kind = "application/octet-stream"

    async def echo(request: Request) -> Response:
        return Response(resources.echo(await request.body()), media_type=kind)

    async def some_bytes(count: str = "") -> Response:
        body = resources.some_bytes(count)
        return Response(b"count is wrong", 400) if body is None else Response(body, media_type=kind)

    async def chunked(request: Request) -> StreamingResponse:
        return StreamingResponse(resources.stream(await request.body()), media_type=kind)

    application: Any = FastAPI()
    application.post("/echo")(echo)
    application.get("/resource")(some_bytes)
    application.post("/chunked")(chunked)
    return application


def by_hand(resources: Resources) -> Application:
    """Return the application as the interface of ASGI has it, without a framework."""

    async def application(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            return await _live(receive, send)
        path = scope["path"]
        if path == "/echo":
            await _respond(send, resources.echo(await _body(receive)))
        elif path == "/resource":
            count = parse_qs(scope["query_string"].decode("latin-1")).get("count", [""])[0]
            body = resources.some_bytes(count)
            await _respond(send, body or b"", 400 if body is None else 200)
        elif path == "/chunked":
            await _stream(send, resources.stream(await _body(receive)))
        else:
            await _respond(send, b"", 404)
        return None

    return application


MADE = {"starlette": by_starlette, "fastapi": by_fastapi, "none": by_hand}


async def _live(receive: Any, send: Any) -> None:
    while True:
        kind = (await receive())["type"]
        await send({"type": f"{kind}.complete"})
        if kind == "lifespan.shutdown":
            return


async def _body(receive: Any) -> bytes:
    message = await receive()
    parts = [message.get("body", b"")]
    while message.get("more_body"):
        message = await receive()
        parts.append(message.get("body", b""))
    return parts[0] if len(parts) == 1 else b"".join(parts)


async def _respond(send: Any, body: bytes, status: int = 200) -> None:
    length = (b"content-length", b"%d" % len(body))
    await send({"type": "http.response.start", "status": status, "headers": [length]})
    await send({"type": "http.response.body", "body": body})


async def _stream(send: Any, parts: AsyncIterator[bytes]) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    async for part in parts:
        await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": b""})


async def uvicorn(
    application: Application, listener: socket.socket, parser: str, folder: str, lifespan: Literal["on", "off"] = "off"
) -> None:
    """Serve with uvicorn and one of its two parsers.

    lifespan: whether the application has work of its own at the beginning and at the end.
    """
    import uvicorn as library

    certificate, key = _tls.files(folder) if folder else (None, None)
    config = library.Config(
        application,
        http=parser,
        ws="none",
        lifespan=lifespan,
        log_config=None,
        access_log=False,
        timeout_keep_alive=IDLE_S,
        ssl_certfile=certificate,
        ssl_keyfile=key,
    )
    await library.Server(config).serve(sockets=[listener])


async def hypercorn(application: Application, listener: socket.socket, folder: str) -> None:
    """Serve with hypercorn, whose parser is h11."""
    from hypercorn.asyncio.run import worker_serve
    from hypercorn.config import Config, Sockets
    from hypercorn.utils import wrap_app

    config = Config()
    config.keep_alive_timeout = IDLE_S
    config.errorlog = config.accesslog = None
    if folder:
        config.certfile, config.keyfile = _tls.files(folder)
    config.bind = []
    taken = Sockets([listener] if folder else [], [] if folder else [listener], [])
    await worker_serve(wrap_app(application, 0, "asgi"), config, sockets=taken)


async def granian(application: Application, address: dict[str, Any], folder: str, ready: Callable[[], bool]) -> None:
    """Serve with granian's embedded server, whose HTTP is hyper, in Rust; ``ready`` is called until it is true."""
    from granian.constants import HTTPModes, Interfaces
    from granian.server.embed import Server

    settings: dict[str, Any] = dict(address)
    if folder:
        settings["ssl_cert"], settings["ssl_key"] = map(Path, _tls.files(folder))
    server = Server(
        application,
        interface=Interfaces.ASGI,
        http=HTTPModes.http1,
        websockets=False,
        log_enabled=False,
        **settings,
    )
    serving = asyncio.ensure_future(server.serve())
    while not ready():
        done, _ = await asyncio.wait([serving], timeout=READY_S)
        if done:
            break
    await serving


def bound(binding: Binding) -> tuple[socket.socket, str]:
    """Return a listening socket that knows its protocol, and the address that clients connect to.

    Without their protocol event loops do not set TCP_NODELAY.
    """
    listener, endpoint = _connections.listen(parse_address(binding.endpoint()), BACKLOG), binding.endpoint()
    address = _connections.announced(listener, endpoint)
    return socket.socket(fileno=listener.detach()), address
