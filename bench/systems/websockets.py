"""WebSocket: messages over one connection that begins as HTTP (RFC 6455); websockets or picows on both sides."""

import asyncio
import importlib
import importlib.util
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

from bench.contract import Binding, Service
from bench.errors import NotInstalledError, TransportError
from bench.plan.replies import END
from bench.process import event_loops
from bench.systems import _asgi, _client, _http_wire, _tls, _websocket_wire

TRANSPORTS = ("ipc", "tcp")
START_S = 0.4
REQUIRES = ("websockets",)
ENCRYPTED = ("tcp",)
GROUP = "http"
FOR_WIRE = {"compress": False, "tls": False}  # it sends messages as they are

LIBRARIES = {"websockets": "websockets.asyncio", "picows": "picows.websockets.asyncio"}
UNLIMITED: dict[str, Any] = {"open_timeout": None, "ping_interval": None, "max_size": None}


@dataclass(frozen=True)
class Options:
    """Who frames the messages, and what they carry: each is one binary message, whose reply is the next.

    library: websockets, whose frames are made in Python and masked in C; or picows, compiled, by its interface with the
        names of websockets, over tcp alone.
    compress: permessage-deflate, which both libraries offer by default; random bytes do not become shorter.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: wss, TLS 1.3, over tcp; the client verifies the server's certificate.
    event_loop: asyncio or uvloop, on both sides.
    """

    library: Literal["websockets", "picows"] = "websockets"
    compress: bool = False
    codec: str = "json"
    tls: bool = False
    event_loop: event_loops.EventLoop = "asyncio"

    def __post_init__(self) -> None:
        if self.library == "picows" and importlib.util.find_spec("picows") is None:
            raise NotInstalledError("picows is not installed; install it: python -m pip install picows")

    def settings(self) -> dict[str, Any]:
        """Return what both ends are given: no limits of time and size, no pings."""
        return UNLIMITED | {"compression": "deflate" if self.compress else None}


def _library(options: Options, end: str) -> Any:
    """Return the library's module for one end, ``client`` or ``server``."""
    return importlib.import_module(f"{LIBRARIES[options.library]}.{end}")


async def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer in one event loop, until the process ends."""
    if options.library == "picows" and binding.transport != "tcp":
        raise TransportError("picows sets options of TCP on each socket: use tcp, or library websockets for ipc")
    context = _tls.server_context(binding.credentials) if options.tls else None
    listener, address = _asgi.bound(binding)
    handler = _streaming(service) if service.is_streaming else _answering(service)
    settings = options.settings() | {"sock": listener, "ssl": context, "backlog": _asgi.BACKLOG}
    async with _library(options, "server").serve(handler, **settings):
        service.announce(address)
        await asyncio.Event().wait()  # an event that nobody sets


def _answering(service: Service) -> Any:
    answer = service.answer

    async def handler(connection: Any) -> None:
        async for message in connection:
            await connection.send(answer(message))

    return handler


def _streaming(service: Service) -> Any:
    async def handler(connection: Any) -> None:
        async for message in connection:
            async for reply in service.replies_async(message):
                await connection.send(reply)
            await connection.send(END)

    return handler


class Client(_client.AsyncClient):
    """One connection."""

    ERRORS = (Exception,)  # beside its own errors the library lets through what its steps raise on bad input

    async def connect(self) -> None:
        options, settings = self.options, self.options.settings() | {"proxy": None}
        if options.tls:
            settings["ssl"] = _tls.client_context()
        if self.server.transport == "ipc":
            settings |= {"unix": True, "path": self.server.path}
        url = f"ws{'s' * options.tls}://{_http_wire.authority(self.server)}/"
        self.connection = await _library(options, "client").connect(url, **settings)

    def unreachable(self, reason: BaseException) -> TransportError:
        if self.options.tls or (isinstance(reason, OSError) and reason.errno):
            return super().unreachable(reason)
        return TransportError(f"no WebSocket at {self.server}: {_client.words(reason)}{_tls.IF}", "connect")

    async def call(self, payload: bytes) -> bytes:
        """Send one message and return the next that comes."""
        await self.connection.send(payload)
        return await self.connection.recv()

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        """Send one message and yield those that come, until an empty one."""
        await self.connection.send(payload)
        while reply := await self.connection.recv():
            yield reply


StreamClient = Client
Wire = _websocket_wire.Wire
