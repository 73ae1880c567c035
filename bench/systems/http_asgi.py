"""HTTP: ASGI, a Starlette or FastAPI application on uvicorn, hypercorn or granian; clients of aiohttp or httpx."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bench.contract import Address, Binding, Service, parse_address
from bench.errors import TransportError
from bench.process import event_loops
from bench.systems import _client, _connections, _http, _http_wire, _messages, _ports, _tls

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


async def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer in one event loop, until the process ends."""
    from bench.systems import _asgi

    application = _asgi.MADE[options.framework](_asgi.Resources(service))
    folder = binding.credentials if options.tls else ""
    if options.server == "granian":
        address = _reserved(binding.endpoint())
        await _asgi.granian(application, _place(address), folder, _announcer(address, service))
        return
    listener, bound = _asgi.bound(binding)
    service.announce(bound)
    if options.server == "hypercorn":
        await _asgi.hypercorn(application, listener, folder)
    else:
        await _asgi.uvicorn(application, listener, options.server.removeprefix("uvicorn_"), folder)


def _reserved(endpoint: str) -> Address:
    """Return where granian is to listen, which takes a port's number."""
    address = parse_address(endpoint)
    if address.transport == "ipc":
        return address
    _connections.refuse_if_taken(endpoint)
    return address._replace(port=address.port or _ports.free(address.host))


def _place(address: Address) -> dict[str, Any]:
    """Return an address as granian wants it."""
    if address.transport == "ipc":
        return {"uds": Path(address.path)}
    return {"address": address.host, "port": address.port, "backlog": 2048}


def _announcer(address: Address, service: Service) -> Callable[[], bool]:
    """Return a function that announces the address, and is true, when connections are accepted."""

    def ready() -> bool:
        try:
            _connections.connect(address).close()
        except TransportError:
            return False
        service.announce(str(address))
        return True

    return ready


class _Httpx(_client.AsyncClient):
    """One client of httpx."""

    async def connect(self) -> None:
        import httpx

        self._errors, tls = httpx, self.options.tls
        self.base = f"http{'s' * tls}://{_http_wire.authority(self.server)}"
        self._target = self.base + _http.TARGETS[self.options.resource]
        self._fault = _http.fault_of(self.options.resource)
        endpoint = {"uds": self.server.path} if self.server.transport == "ipc" else {}
        transport = httpx.AsyncHTTPTransport(verify=_tls.client_context() if tls else False, **endpoint)
        self.connection = httpx.AsyncClient(transport=transport, timeout=None, trust_env=False)

    async def call(self, payload: bytes) -> bytes:
        is_echo = self.options.resource == "echo"
        if is_echo:
            response = await self.connection.post(self._target, content=payload)
        else:
            response = await self.connection.get(self._target.format(count=len(payload)))
        if response.status_code != 200:
            raise _refused(response.status_code, response.content)
        if fault := self._fault(response.content, payload):
            raise TransportError(f"{self._target} was answered wrongly: {fault}", "body")
        return response.content if is_echo else payload

    async def pieces(self, payload: bytes) -> AsyncIterator[bytes]:
        """Make one request and yield what comes of a streamed body."""
        async with self.connection.stream("POST", f"{self.base}/chunked", content=payload) as response:
            async for data in response.aiter_raw():
                yield data

    def failed(self, reason: BaseException) -> TransportError:
        if isinstance(reason, self._errors.ConnectError):
            return _connections.handshake_error(self.server) if self.options.tls else self.unreachable(reason)
        ended = isinstance(reason, self._errors.RemoteProtocolError | self._errors.ReadError) and not self.options.tls
        return TransportError(f"the call failed: {_client.words(reason)}{_tls.IF * ended}", "read")

    async def close(self) -> None:
        await self.connection.aclose()


def _aiohttp(address: str, options: Options) -> Any:
    """Return a client of aiohttp."""
    from bench.systems import http_aiohttp

    class OfAiohttp(http_aiohttp.Client):
        async def pieces(self, payload: bytes) -> AsyncIterator[bytes]:
            """Make one request and yield what comes of a streamed body."""
            async with self.connection.post(f"{self.base}/chunked", data=payload) as response:
                async for data in response.content.iter_any():
                    yield data

    return OfAiohttp(address, http_aiohttp.Options(resource=options.resource, tls=options.tls))


class Client(_client.AsyncClient):
    """One client of either library with a connection that is kept; the first call connects it."""

    ERRORS = (Exception,)  # beside their own errors the libraries let through what their steps raise on bad input

    async def connect(self) -> None:
        make = _Httpx if self.options.client == "httpx" else _aiohttp
        self.connection: Any = make(str(self.server), self.options)
        await self.connection.open()

    async def call(self, payload: bytes) -> bytes:
        return await self.connection.call(payload)

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        """Make one request and yield its replies, the body's messages, each after its length."""
        came = _messages.Buffer()
        async for data in self.connection.pieces(payload):
            came.add(data)
            while (reply := came.take()) is not None:
                yield reply

    def failed(self, reason: BaseException) -> TransportError:
        return self.connection.failed(reason)


StreamClient = Client


def _refused(status: int, body: bytes) -> TransportError:
    """Return the error for a response of another status than 200."""
    return TransportError(f"the server answered with HTTP status {status}: {body[:100]!r}", f"status {status}")


url = _http.url
Wire = _http.Wire
