"""HTTP: ASGI, a Starlette or FastAPI application on uvicorn, hypercorn or granian; clients of aiohttp or httpx."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.contract import Address, Binding, Service, parse_address
from bench.errors import TransportError
from bench.process import event_loops
from bench.systems import _connections, _http, _http_wire, _messages, _ports, _tls

TRANSPORTS = ("ipc", "tcp")
START_S = 0.8
REQUIRES = ("starlette", "fastapi", "uvicorn", "h11", "httptools", "hypercorn", "granian", "httpx", "aiohttp", "uvloop")
GROUP = "http"
FOR_MESSAGES = {"resource": "echo"}  # structured messages are posted
ENCRYPTED = ("tcp",)



@dataclass(frozen=True)
class Options:
    """The resource requested, and who reads HTTP on each side: one server process, connections kept.

    An idle connection is kept for an hour; the limit of uvicorn and hypercorn is 5 s.

    server: uvicorn with the parser httptools (C) or h11 (Python); hypercorn, which uses h11 too; granian (hyper, in
        Rust, in threads beside the event loop).
    framework: starlette finds the handler by its routes; fastapi is built on it, and reads a handler's parameters from
        its signature; none is an application by hand.
    client: aiohttp, as in the other systems of HTTP, with a parser in C; or httpx, whose parser is h11, in Python. Both
        without limits on time.
    resource: echo posts the payload and gets it back; bytes gets as many bytes as the payload has.
    event_loop: asyncio or uvloop, which uvicorn takes by itself where it is installed; on both sides.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: HTTPS, over tcp; the client verifies the server's certificate.
    """

    server: Literal["uvicorn_httptools", "uvicorn_h11", "hypercorn", "granian"] = "uvicorn_httptools"
    framework: Literal["starlette", "fastapi", "none"] = "starlette"
    client: Literal["aiohttp", "httpx"] = "aiohttp"
    resource: Literal["echo", "bytes"] = "echo"
    event_loop: event_loops.EventLoop = "uvloop"
    codec: str = "json"
    tls: bool = False


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer in one event loop, until the process ends."""
    from bench.systems import _asgi

    application = _asgi.MADE[options.framework](_asgi.Resources(service))
    folder = binding.credentials if options.tls else ""
    if options.server == "granian":
        where = _reserved(binding.endpoint())
        event_loops.run(_asgi.granian(application, _place(where), folder, _announcer(where, service)), options)
        return
    listener = _asgi.listen(binding.endpoint())
    service.announce(_connections.announced(listener, binding.endpoint()))
    if options.server == "hypercorn":
        event_loops.run(_asgi.hypercorn(application, listener, folder), options)
    else:
        parser = options.server.removeprefix("uvicorn_")
        event_loops.run(_asgi.uvicorn(application, listener, parser, folder), options)


def _reserved(endpoint: str) -> Address:
    """Return where granian is to listen, which takes a port's number: a free one is held until it does."""
    where = parse_address(endpoint)
    if where.transport == "ipc":
        return where
    _connections.refuse_if_taken(endpoint)
    return where._replace(port=_ports.held(where.host, where.port))


def _place(where: Address) -> dict[str, Any]:
    """Return an address as granian wants it."""
    if where.transport == "ipc":
        return {"uds": Path(where.path)}
    return {"address": where.host, "port": where.port, "backlog": 2048}


def _announcer(where: Address, service: Service) -> Callable[[], bool]:
    """Return a function that announces the address, and is true, when connections are accepted."""

    def ready() -> bool:
        try:
            _connections.connect(where).close()
        except TransportError:
            return False
        service.announce(str(where))
        return True

    return ready


class _Httpx:
    """One client of httpx."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._options = parse_address(address), options
        self._fault = _http.fault_of(options.resource)

    async def open(self) -> None:
        """Make the client (inside the event loop that will use it)."""
        import httpx

        where, tls = self._where, self._options.tls
        self._base = f"http{'s' * tls}://{_http_wire.authority(where)}"
        self._target = self._base + _http.TARGETS[self._options.resource]
        given: dict[str, Any] = {"uds": where.path} if where.transport == "ipc" else {}
        transport = httpx.AsyncHTTPTransport(verify=_tls.client_context() if tls else False, **given)
        self._client = httpx.AsyncClient(transport=transport, timeout=None, trust_env=False)

    async def call(self, payload: bytes) -> bytes:
        """Make one request and return the payload: as sent by the server or implied by a correct response."""
        is_echo = self._options.resource == "echo"
        try:
            if is_echo:
                response = await self._client.post(self._target, content=payload)
            else:
                response = await self._client.get(self._target.format(count=len(payload)))
        except Exception as reason:  # beside its own errors the library lets through what its steps raise on bad input
            raise self._failed(reason) from reason
        if response.status_code != 200:
            raise _refused(response.status_code, response.content)
        if fault := self._fault(response.content, payload):
            raise TransportError(f"{self._target} was answered wrongly: {fault}", "body")
        return response.content if is_echo else payload

    async def pieces(self, payload: bytes) -> AsyncIterator[bytes]:
        """Make one request and yield what comes of a streamed body."""
        try:
            async with self._client.stream("POST", f"{self._base}/chunked", content=payload) as response:
                async for data in response.aiter_raw():
                    yield data
        except Exception as reason:  # as in ``call``
            raise self._failed(reason) from reason

    def _failed(self, reason: Exception) -> TransportError:
        """Return the error for a request without an answer."""
        import httpx

        if isinstance(reason, httpx.ConnectError):
            if self._options.tls:
                return _connections.handshake_error(self._where)
            return TransportError(f"cannot connect to {self._base}: {reason}", "connect")
        ended = isinstance(reason, httpx.RemoteProtocolError | httpx.ReadError) and not self._options.tls
        return TransportError(f"the call failed: {reason or type(reason).__name__}{_tls.IF * ended}", "read")

    async def close(self) -> None:
        """Disconnect."""
        await self._client.aclose()


def _aiohttp(address: str, options: Options) -> Any:
    """Return a client of aiohttp."""
    from bench.systems import http_aiohttp

    class Found(http_aiohttp.Client):
        async def pieces(self, payload: bytes) -> AsyncIterator[bytes]:
            """Make one request and yield what comes of a streamed body."""
            try:
                async with self._session.post(f"{self._base}/chunked", data=payload) as response:
                    async for data in response.content.iter_any():
                        yield data
            except Exception as reason:  # as in ``call``
                raise self._failed(reason) from reason

    return Found(address, http_aiohttp.Options(resource=options.resource, tls=options.tls))


class Client:
    """One client of either library with a connection that is kept; the first call connects it."""

    def __init__(self, address: str, options: Options) -> None:
        self._library: Any = (_Httpx if options.client == "httpx" else _aiohttp)(address, options)

    async def open(self) -> None:
        """Make the client (inside the event loop that will use it)."""
        await self._library.open()

    async def call(self, payload: bytes) -> bytes:
        """Make one request and return the payload: as sent by the server or implied by a correct response."""
        reply: bytes = await self._library.call(payload)
        return reply

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        """Make one request and yield its replies, the body's messages, each after its length."""
        came = _messages.Buffer()
        async for data in self._library.pieces(payload):
            came.add(data)
            while (reply := came.take()) is not None:
                yield reply

    async def close(self) -> None:
        """Disconnect."""
        await self._library.close()


StreamClient = Client


def _refused(status: int, body: bytes) -> TransportError:
    """Return the error for a response of another status than 200."""
    return TransportError(f"the server answered with HTTP status {status}: {body[:100]!r}", f"status {status}")


url = _http.url
Wire = _http.Wire
