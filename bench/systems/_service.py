"""A service of your own, described by a file: started here, or running; its own requests, every reply checked."""

import asyncio
import fcntl
import functools
import http.client
import itertools
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp

from bench.contract import Binding, Service, parse_address
from bench.errors import NotInstalledError, SystemFileError, TransportError
from bench.plan import service_file
from bench.plan.service_file import Prepared
from bench.process import pipes
from bench.systems import _http_wire, _ports

TRANSPORTS = ("tcp",)
REQUIRES = ("aiohttp",)
GROUP = "http"
START_S = 1.0
READY_S = 18.0  # for the service to be ready; a start waits a little longer for its server


@dataclass(frozen=True)
class Options:
    """A service has no options here: its file says what it is."""


class System:
    """The system that a service file describes, with the names that ``bench.contract`` lists."""

    TRANSPORTS, REQUIRES, Options = TRANSPORTS, REQUIRES, Options

    def __init__(self, file: str) -> None:
        described = service_file.read(file)
        self.__name__ = described.name
        self.Client = type("Client", (Client,), {"described": described})
        self.serve = functools.partial(_serve, described, self.Client)
        self.Wire = _wire_of(described)
        self.target = described.target if described.is_running else None
        self.prepare = functools.partial(_built, file)


@functools.cache
def _built(file: str) -> None:
    """Build the service unless it is built from these sources; NotInstalledError without the program that does it."""
    described = service_file.read(file)
    if not (words := described.says.build):
        return
    made_of, path = service_file.sources_hash(described), os.path.join(described.folder, f".{described.name}.built")  # noqa: PTH118
    if made_of and _stamped(path) == made_of:
        return
    if not pipes.program(words[0]):
        how = described.says.install or "install it"
        raise NotInstalledError(f"{described.name} is built by {words[0]}, which is not installed: {how}")
    try:
        stamp = open(path, "a+")  # noqa: PTH123, SIM115
    except OSError as reason:
        raise SystemFileError(f"{file} cannot be built: {reason.strerror}: its folder must be writable") from reason
    with stamp:
        fcntl.flock(stamp, fcntl.LOCK_EX)  # another process may build it
        if not made_of or _stamped(path) != made_of:
            stamp.truncate(0)
            _build(described, words)
            stamp.write(made_of)


def _stamped(path: str) -> str:
    """Return the hash of the sources of which a service was built last; "" if it was not."""
    try:
        with open(path) as stamp:  # noqa: PTH123
            return stamp.read()
    except OSError:
        return ""


def _build(described: service_file.Service, words: Sequence[str]) -> None:
    from bench.installation.environments import say

    if described.says.sources:  # else it is built each time, and its tools see by themselves that nothing has changed
        say(f"Building {described.name} ({words[0]}), once for its sources: this may take minutes")
    done = subprocess.run(words, cwd=described.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if done.returncode:
        said = " ".join((done.stderr or done.stdout).split())[-300:]
        needs = f"; it needs: {described.says.install}" if described.says.install else ""
        text = f"{described.file}: {' '.join(words)} failed: {said}: correct the service, or build{needs}"
        raise SystemFileError(text)


def _serve(
    described: service_file.Service, client: type["Client"], binding: Binding, options: Options, service: Service
) -> None:
    """Start the service, wait until it is ready and warm, announce it, and wait for its end."""
    port = _ports.free(binding.host)
    words = [word.replace("{port}", str(port)) for word in described.says.start]
    try:
        process = subprocess.Popen(
            words,
            cwd=described.folder,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            process_group=0,  # its workers end with it
            preexec_fn=pipes.bound_to_this(),
        )
    except OSError as reason:
        raise TransportError(f"{described.name} cannot be started ({words[0]}: {reason.strerror})") from reason
    service.adopt(process.pid)
    _wait_until_ready(described, process, binding.host, port)
    address = f"tcp://{binding.host}:{port}"
    if described.says.warm_up:
        asyncio.run(_warm(client(address, options), described.says.warm_up))
    service.announce(address, {"server": process.pid}, lambda: None)
    raise TransportError(f"{described.name} ended with status {process.wait()}")


def _wait_until_ready(
    described: service_file.Service, process: "subprocess.Popen[bytes]", host: str, port: int
) -> None:
    """Return when the service accepts connections, and answers ``ready`` if its file has that."""
    until, why = time.monotonic() + READY_S, "nothing listens there"
    while time.monotonic() < until:
        if process.poll() is not None:
            raise TransportError(f"{described.name} ended with status {process.returncode} before it was ready")
        connection = http.client.HTTPConnection(host, port, timeout=2)
        try:
            connection.connect()
            if not described.says.ready:
                return
            connection.request("GET", described.says.ready)
            status = connection.getresponse().status
            if status < 400:
                return
            why = f"{described.says.ready} has status {status}"
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        time.sleep(0.005)
    raise TransportError(f"{described.name} was not ready at port {port} within {READY_S:g} s: {why}")


async def _warm(client: "Client", requests: int) -> None:
    """Make requests one after another; TransportError for a wrong reply."""
    await client.open()
    for _ in range(requests):
        assert await client.call(b"warm-up") == b""  # what a reply is compared with does not matter: it is as expected
    await client.close()


class Reply:
    """A reply that is compared with a payload after the clock has stopped: it differs where it is not as expected."""

    __slots__ = ("body", "request", "status")

    def __init__(self, request: Prepared, status: Any, body: bytes) -> None:
        self.request, self.status, self.body = request, status, body

    def __ne__(self, payload: object) -> bool:
        """Return False for the expected reply; TransportError names the request and what is wrong."""
        _refuse(self.request, _grpc_fault(self) if self.request.proto else self.request.fault(self.status, self.body))
        return False

    def __eq__(self, payload: object) -> bool:
        return not self != payload

    __hash__ = None  # type: ignore[assignment]


def _refuse(request: Prepared, fault: str) -> None:
    """Raise TransportError, whose kind is the request's name, if there is a fault."""
    if fault:
        raise TransportError(f"{request.name} was answered wrongly: {fault}", request.name)


def _grpc_fault(reply: Reply) -> str:
    from bench.systems import _service_grpc

    return _service_grpc.fault(reply.request, reply.status, reply.body)


@functools.cache
def _prepared(file: str, seed: bytes) -> Sequence[tuple[Prepared, bytes]]:
    """Return the requests of a client whose first payload is the seed, and their bytes; again once it reconnects."""
    endless = service_file.prepared(service_file.read(file), random.Random(seed))
    requests = list(itertools.islice(endless, service_file.DISTINCT))
    if any(request.proto for request in requests):
        from bench.systems import _service_grpc

        return [(of, _service_grpc.encoded(of) if of.proto else of.body) for of in requests]
    return [(request, request.body) for request in requests]


@functools.cache
def _one(file: str, seed: bytes) -> Prepared:
    """Return the request that a payload stands for on the wire; it is asked for again with each response."""
    return next(service_file.prepared(service_file.read(file), random.Random(seed)))


class Client:
    """One session with one connection at a time. A payload only seeds which requests are made, the first one counts."""

    described: service_file.Service

    def __init__(self, address: str, options: Options) -> None:
        self._where = parse_address(address)
        self._requests: Iterator[tuple[Prepared, bytes]] | None = None
        self._channel: Any = None

    async def open(self) -> None:
        """Make the session (inside the event loop that will use it)."""
        self._base = f"http://{_http_wire.authority(self._where)}"
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0), timeout=aiohttp.ClientTimeout(total=None)
        )
        self._session._retry_connection = False  # a lost connection is an error, not a longer call
        if any(request.grpc for request in self.described.says.requests):
            from bench.systems import _service_grpc

            self._channel = _service_grpc.Channel(self._where.place)

    async def call(self, payload: bytes) -> Reply:
        """Make the next request."""
        if self._requests is None:
            self._requests = itertools.cycle(_prepared(self.described.file, payload))
        request, data = next(self._requests)
        if request.proto:
            return Reply(request, *await self._channel.call(request, data))
        try:
            async with self._session.request(
                request.method,
                self._base + request.target,
                data=data,
                headers=request.headers,
                allow_redirects=False,
            ) as reply:
                return Reply(request, reply.status, await reply.read())
        except (aiohttp.ClientError, OSError) as reason:
            kind = "connect" if isinstance(reason, aiohttp.ClientConnectorError) else "read"
            raise TransportError(f"{request.name} had no answer: {reason or type(reason).__name__}", kind) from reason

    async def close(self) -> None:
        """Disconnect."""
        await self._session.close()
        if self._channel:
            await self._channel.close()


def _wire_of(described: service_file.Service) -> Callable[[str, Options], Any]:
    """Return what makes the requests as bytes, of HTTP or of gRPC, for the load generator ``wire``."""
    of = functools.partial(_one, described.file)

    def wire(address: str, options: Options) -> Any:
        if not any(request.grpc for request in described.says.requests):
            return Wire(address, of)
        from bench.systems import _service_grpc

        return _service_grpc.Wire(address, described, of, _refuse)

    return wire


class Wire(_http_wire.Responses):
    """The HTTP requests as bytes: one for each payload."""

    def __init__(self, address: str, of: Callable[[bytes], Prepared]) -> None:
        super().__init__(address)
        self._authority = _http_wire.authority(parse_address(address))
        self._of = of

    def request(self, payload: bytes) -> bytes:
        """Return the bytes of a request."""
        request = self._of(payload)
        head = [f"{request.method} {request.target} HTTP/1.1", f"Host: {self._authority}"]
        head += [f"{name}: {value}" for name, value in request.headers.items()]
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            head.append(f"Content-Length: {len(request.body)}")
        return "\r\n".join([*head, "\r\n"]).encode("latin-1") + request.body

    def body(self, response: bytes, payload: bytes) -> bytes:
        """Return the payload if the response is as expected; TransportError if it is not."""
        head = _http_wire.read_head(response, len(response))
        assert head
        request, data = self._of(payload), _http_wire.body_of(response, head)
        _refuse(request, request.fault(head.status, data))
        return payload
