"""WebSocket: messages over one connection that begins as HTTP (RFC 6455); websockets or picows on both sides."""

import asyncio
import importlib
import importlib.util
import os
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

from bench.contract import Binding, Service, parse_address
from bench.errors import NotInstalledError, TransportError
from bench.process import event_loops
from bench.replies import END
from bench.systems import _asgi, _connections, _http_wire, _tls, _websocket_wire

TRANSPORTS = ("ipc", "tcp")
START_S = 0.4
REQUIRES = ("websockets",)
ENCRYPTED = ("tcp",)
GROUP = "http"

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


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer in one event loop, until the process ends."""
    event_loops.run(_serve(binding, options, service), options)


async def _serve(binding: Binding, options: Options, service: Service) -> None:
    if options.library == "picows" and binding.transport != "tcp":
        raise TransportError("picows sets options of TCP on each socket: use tcp, or library websockets for ipc")
    context = _tls.server_context(binding.credentials) if options.tls else None
    listener = _asgi.listen(binding.endpoint())
    handler = _streaming(service) if service.is_streaming else _answering(service)
    given = options.settings() | {"sock": listener, "ssl": context, "backlog": _asgi.BACKLOG}
    async with _library(options, "server").serve(handler, **given):
        service.announce(_connections.announced(listener, binding.endpoint()))
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


class Client:
    """One connection."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._options = parse_address(address), options

    async def open(self) -> None:
        """Connect, and upgrade to WebSocket."""
        where, options = self._where, self._options
        given = options.settings() | {"proxy": None}
        if options.tls:
            given["ssl"] = _tls.client_context()
        try:
            if where.transport == "ipc":
                given |= {"unix": True, "path": where.path}
            url = f"ws{'s' * options.tls}://{_http_wire.authority(where)}/"
            self._connection = await _library(options, "client").connect(url, **given)
        except Exception as reason:  # beside its own errors the library lets through what its steps raise on bad input
            raise self._unconnected(reason) from reason

    def _unconnected(self, reason: Exception) -> TransportError:
        if _tls.is_handshake(reason, self._options.tls):
            return _tls.failed(reason)
        if isinstance(reason, OSError) and reason.errno:
            return TransportError(f"cannot connect to {self._where}: {os.strerror(reason.errno)}", "connect")
        text = f"{str(reason) or type(reason).__name__}{'' if self._options.tls else _tls.IF}"
        return TransportError(f"no WebSocket at {self._where}: {text}", "connect")

    async def call(self, payload: bytes) -> bytes:
        """Send one message and return the next that comes."""
        try:
            await self._connection.send(payload)
            return await self._connection.recv()
        except Exception as reason:  # as in ``open``
            raise _failed(reason) from reason

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        """Send one message and yield those that come, until an empty one."""
        try:
            await self._connection.send(payload)
            while reply := await self._connection.recv():
                yield reply
        except Exception as reason:  # as in ``open``
            raise _failed(reason) from reason

    async def close(self) -> None:
        """Disconnect, with the closing handshake."""
        await self._connection.close()


StreamClient = Client


def _failed(reason: Exception) -> TransportError:
    return TransportError(f"the call failed: {str(reason) or type(reason).__name__}", "read")


class Wire(_websocket_wire.Wire):
    """The same messages for the load generator ``wire``."""

    def __init__(self, address: str, options: Options) -> None:
        if options.compress or options.tls:
            raise ValueError("the engine wire sends messages as they are: give compress false and tls false")
        super().__init__(parse_address(address))
