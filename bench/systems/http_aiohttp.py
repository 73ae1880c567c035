"""HTTP: aiohttp on both sides, one or more server processes behind one port."""

import asyncio
import functools
import os
from collections.abc import AsyncIterator, Callable
from dataclasses import asdict, dataclass
from socket import socket
from typing import Any, Literal

from bench import codecs
from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.process import event_loops
from bench.systems import _client, _connections, _http, _http_streams, _http_wire, _tls, _workers
from bench.systems._aiohttp import aiohttp, web

TRANSPORTS = ("ipc", "tcp")
START_S = 0.4
REQUIRES = ("aiohttp",)
GROUP = "http"
FOR_MESSAGES = {"resource": "echo"}  # structured messages are posted
ENCRYPTED = ("tcp",)  # aiohttp's connector for socket files does not encrypt

MOST_WORKERS = 256
MODULE = "bench.systems.http_aiohttp"  # that each worker runs


@dataclass(frozen=True)
class Options:
    """The resource requested, and the server.

    resource: echo posts the payload and gets it back; bytes gets as many bytes as the payload has; json gets a small
        JSON value; static gets a file. Of the last two the size does not depend on the payload's.
    workers: server processes that share one TCP port (SO_REUSEPORT); 1 is the server's own process. Connections, not
        requests, are spread over them, by a hash: few connections may leave a worker without any.
    pin: keep each worker on one CPU, in turn, out of those that the server may use (Linux).
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: HTTPS with TLS 1.3, over tcp; the client verifies the server's certificate.
    stream_by: how a stream of replies is sent: chunked, each in a chunk of a body; sse, as server-sent events (base64);
        websocket, as messages.
    event_loop: asyncio or uvloop, on both sides.
    pool: the most connections that a client has at once, for which further calls wait in turn; 0: one for each call
        under way.
    """

    resource: Literal["echo", "bytes", "json", "static"] = "echo"
    workers: int = 1
    pin: bool = False
    codec: str = "json"
    tls: bool = False
    stream_by: Literal["chunked", "sse", "websocket"] = "chunked"
    pool: int = 0
    event_loop: event_loops.EventLoop = "asyncio"

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= MOST_WORKERS:
            raise ValueError(f"workers must be 1 to {MOST_WORKERS}, not {self.workers}")
        if not 0 <= self.pool < 2**31:
            raise ValueError(f"pool must be at least 0, and below 2**31, not {self.pool}")
        if self.pin and not hasattr(os, "sched_setaffinity"):
            raise ValueError("pin needs Linux: this kernel does not keep a process on a CPU")


class Resources:
    """The resources, and the number of requests answered; ``respond`` returns the answer to a posted body."""

    def __init__(self, respond: Callable[[bytes], bytes]) -> None:
        self.calls = 0
        self._respond = respond

    def routes(self) -> list[web.RouteDef]:
        """Return the routes: method, path and handler."""
        return [
            web.post("/echo", self.echo),
            web.get("/resource", self.some_bytes),
            web.get("/json", self.value),
            web.get("/", self.file),
        ]

    async def echo(self, request: web.Request) -> web.Response:
        """Return the answer to the request's body: the same, or that to a structured message."""
        body = self._respond(await request.read())
        self.calls += 1
        return web.Response(body=body)

    async def some_bytes(self, request: web.Request) -> web.Response:
        """Return ``count`` bytes; status 400 if that is not a number up to 128 MiB."""
        body = _http.requested(request.query.get("count", ""))
        if body is None:
            raise web.HTTPBadRequest(text=f"count must be 0 to {_http.MOST_BYTES}")
        self.calls += 1
        return web.Response(body=body)

    async def value(self, request: web.Request) -> web.Response:
        """Return the value as JSON, serialized for each request."""
        self.calls += 1
        return web.json_response(_http.JSON)

    async def file(self, request: web.Request) -> web.FileResponse:
        """Return the file, as aiohttp sends files."""
        self.calls += 1
        return web.FileResponse(_http.STATIC)


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer in this process, or in workers that share its port, until the process ends."""
    settings = {"options": asdict(options), "message": binding.message, "credentials": binding.credentials}
    if options.workers > 1 and not service.is_streaming:
        if binding.transport != "tcp":
            raise TransportError(f"{options.workers} workers need a port to share: use tcp, or workers 1 for ipc")
        with _workers.Workers(MODULE, binding.endpoint(), options.workers, options.pin, settings) as workers:
            service.announce(workers.address, counts=workers.counts)
            workers.wait()
    if options.pin:
        os.sched_setaffinity(0, _workers.own_cpu(0))
    listener, address = _connections.bound(binding, backlog=_workers.BACKLOG)

    def announce(counted: Callable[[], int]) -> None:
        service.announce(address, counts=lambda: [counted()])

    _answer(listener, settings, announce, service)


def _answer(
    listener: socket, settings: dict[str, Any], announce: _workers.Announce, service: Service | None = None
) -> None:
    """Answer the requests at a listening socket until the process ends.

    given: the ``options``; the ``message`` that requests carry; ``credentials``, the folder of the certificate.
    service: of a server of one process, which can answer with streams.
    """
    options, message = Options(**settings["options"]), settings["message"]
    respond = bytes if message == "bytes" else codecs.around(codecs.load(options.codec, message))
    resources, application = Resources(respond), web.Application(client_max_size=0)  # a payload of any size
    application.add_routes(resources.routes())
    if service is not None and service.is_streaming:
        application.add_routes(_http_streams.routes(service.replies_async))
    context = _tls.server_context(settings["credentials"]) if options.tls else None

    async def answer_all() -> None:
        runner = web.AppRunner(application, access_log=None)
        await runner.setup()
        await web.SockSite(runner, listener, backlog=_workers.BACKLOG, ssl_context=context).start()
        announce(lambda: resources.calls)
        await asyncio.Event().wait()  # an event that nobody sets

    event_loops.run(answer_all(), options)


class Client(_client.AsyncClient):
    """One session with at most one connection at a time; the first call connects it."""

    ERRORS = (Exception,)  # beside its own errors the library lets through what its steps raise on bad input

    async def connect(self) -> None:
        options, limit = self.options, self.options.pool  # connections; 0: the library's word for no limit
        secure: dict[str, Any] = {"ssl": _tls.client_context()} if options.tls else {}
        connector: aiohttp.BaseConnector
        if self.server.transport == "ipc":
            connector = aiohttp.UnixConnector(self.server.path, limit=limit)
        else:
            connector = aiohttp.TCPConnector(limit=limit, **secure)
        self.base = f"http{'s' * options.tls}://{_http_wire.authority(self.server)}"
        no_limit = aiohttp.ClientTimeout(total=None)  # this package has its own deadlines, without a timer per call
        self.connection = aiohttp.ClientSession(connector=connector, timeout=no_limit, auto_decompress=False)
        self.connection._retry_connection = False  # a lost connection is an error, not a longer call
        self._ask, self._fault = self._prepared(self.base), _http.fault_of(options.resource)
        self._is_echo = options.resource == "echo"

    def _prepared(self, base: str) -> Callable[[bytes], Any]:
        """Return the function that starts a request for a payload."""
        post = functools.partial(self.connection.post, allow_redirects=False)
        get = functools.partial(self.connection.get, allow_redirects=False)
        return {
            "echo": lambda payload: post(f"{base}/echo", data=payload),
            "bytes": lambda payload: get(f"{base}/resource?count={len(payload)}"),
            "json": lambda payload: get(f"{base}/json"),
            "static": lambda payload: get(f"{base}/"),
        }[self.options.resource]

    async def call(self, payload: bytes) -> bytes:
        """Make one request and return the payload: as sent by the server or implied by a correct response."""
        async with self._ask(payload) as reply:
            body = await reply.read()
        if fault := self._fault(body, payload) if reply.status == 200 else repr(body[:100]):
            raise _refused(reply, fault)
        return body if self._is_echo else payload

    def failed(self, reason: BaseException) -> TransportError:
        if isinstance(reason, aiohttp.ClientConnectorCertificateError):
            return _tls.failed(reason.certificate_error)
        if isinstance(reason, aiohttp.ClientConnectorSSLError):
            return _tls.failed(reason.os_error)
        is_new = isinstance(reason, aiohttp.ClientConnectorError)
        return self.unreachable(reason) if is_new else super().failed(reason)


class StreamClient(Client):
    """A session whose requests are answered by streams of replies."""

    async def connect(self) -> None:
        await super().connect()
        self._replies = _http_streams.client(self.connection, self.base, self.options.stream_by)

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        async for reply in self._replies(payload):
            yield reply


class Multiplexed(Client):
    """A session whose calls wait in turn for its few connections: HTTP/1.1 carries one call at a time on each."""

    def __init__(self, address: str, options: Options) -> None:
        if not options.pool:
            raise ValueError(
                "HTTP/1.1 carries one call at a time on a connection: give callers (a connection each), or pool 1 "
                "(calls wait in turn for one connection)"
            )
        super().__init__(address, options)


def _refused(reply: aiohttp.ClientResponse, fault: str) -> TransportError:
    """Return the error for a wrong response."""
    request = f"{reply.method} {reply.url.raw_path_qs}"
    kind = f"status {reply.status}" if reply.status != 200 else "body"
    return TransportError(f"{request} was answered with status {reply.status} {reply.reason}: {fault}", kind)


url = _http.url
Wire = _http.Wire


if __name__ == "__main__":
    _workers.work(_answer)
