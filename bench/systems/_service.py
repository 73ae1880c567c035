"""A service of your own, described by a file: started here, or running; its own requests, every reply checked."""

import asyncio
import fcntl
import functools
import itertools
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import aiohttp
import msgspec
from yarl import URL

from bench.contract import Address, Binding, Service, is_loopback, parse_address
from bench.errors import BenchError, NotInstalledError, SystemFileError, TransportError
from bench.plan import service_file, values
from bench.plan.service_file import Prepared, refuse, too_late
from bench.plan.values import Draws
from bench.process import pipes
from bench.systems import _connections, _http_wire, _ports, _service_streams, _service_tls, _service_wire

TRANSPORTS = ("ipc", "tcp")  # of one service that of its address
REQUIRES = ("aiohttp",)
GROUP = "http"
START_S = 1.0
PLACE_BYTES = 2  # of a payload on the wire: which of the requests it stands for


@dataclass(frozen=True)
class Options:
    """A service has no options here: its file says what it is."""


class System:
    """The system that a service file describes, with the names that ``bench.contract`` lists."""

    REQUIRES, Options = REQUIRES, Options

    def __init__(self, file: str) -> None:
        described = service_file.read(file)
        self.__name__, self.TRANSPORTS = described.name, (described.transport,)
        self.Client = type("Client", (Client,), {"described": described})
        self.request_names = described.request_names
        self.has_streams = described.has_events  # and no calls; of gRPC the interface says which methods have streams
        if described.has_events or described.has_grpc:
            self.StreamClient = type("StreamClient", (StreamClient,), {"described": described})
            self.StreamWire = _stream_wire_of(described)
        _service_tls.context(described)  # refuses files that hold none
        self.serve = functools.partial(_serve, described, self)
        self.Wire = _wire_of(described)
        if described.says.http2 or not described.has_http:  # else a connection carries one call at a time
            self.Multiplexed = self.Client
        self.target = described.target if described.is_running else None
        self.prepare = functools.partial(_prepare, file)


def _prepare(file: str) -> None:
    """Build the service, and check the messages of its gRPC calls."""
    _built(file)
    if (described := service_file.read(file)).has_grpc:
        from bench.systems import _service_grpc

        _service_grpc.check(described, is_asked=False)


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
    from bench.process.environments import say

    if described.says.sources:  # else it is built each time, and its tools see by themselves that nothing has changed
        say(f"Building {described.name} ({words[0]}), once for its sources: this may take minutes")
    with tempfile.TemporaryFile() as log:  # not a pipe, which a process that goes on in the background holds open
        done = subprocess.run(words, cwd=described.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.seek(0)
        output = " ".join(log.read().decode(errors="replace").split())[-300:]
    if done.returncode:
        needs = f"; it needs: {described.says.install}" if described.says.install else ""
        text = f"{described.file}: {' '.join(words)} failed: {output}: correct the service, or build{needs}"
        raise SystemFileError(text)


def _serve(
    described: service_file.Service, system: System, binding: Binding, options: Options, service: Service
) -> None:
    """Start the service, wait until it is ready and warm, announce it, and wait for its end."""
    if described.transport == "ipc":
        address = parse_address(f"ipc://{binding.directory}/service.sock")
    else:
        named = str(described.connects_to.hostname)
        host = binding.host if binding.address or not is_loopback(named) else named
        address = Address("tcp", host, _ports.free(host), "")
    words = service_file.words_of_start(described, str(address.port), address.path)
    try:
        process = subprocess.Popen(
            words,
            cwd=described.folder,
            env={name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"},  # kernels have it here
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr,
            process_group=0,  # its workers end with it
            preexec_fn=pipes.bound_to_this(),
        )
    except OSError as reason:
        raise TransportError(f"{described.name} cannot be started ({words[0]}: {reason.strerror})") from reason
    service.adopt(process.pid)
    address = _ready_at(described, process, address)
    if described.says.warm_up and not service.warm_up(str(address), described.says.warm_up):
        client = system.StreamClient if service.is_streaming else system.Client
        asyncio.run(_warm(client(str(address), options), described.says.warm_up))
    service.announce(str(address), {"server": process.pid}, lambda: None)
    ended = _ended(described, process.wait())
    print(ended, file=sys.stderr)  # quoted, where a client reports its lost connection first
    raise TransportError(ended)


def _ended(described: service_file.Service, status: int) -> str:
    """Return how a service ended, by Popen's return code."""
    if status < 0:
        return f"{described.name} was ended by the signal {signal.Signals(-status).name}"
    return f"{described.name} ended with status {status}"


def _ready_at(described: service_file.Service, process: "subprocess.Popen[bytes]", address: Address) -> Address:
    """Return where the service accepts connections, and answers ``ready`` if its file has that, as soon as it does."""
    began, why, hosts = time.monotonic(), "", itertools.cycle(_ports.addresses(address.host))
    while (left_s := described.says.ready_s - (waited_s := time.monotonic() - began)) > 0:
        if process.poll() is not None:
            raise TransportError(f"{_ended(described, process.returncode)} before it was ready")
        address = address._replace(host=next(hosts))
        try:
            with _connections.connect(address) as connection:
                if address.transport == "tcp" and connection.getsockname() == connection.getpeername():
                    continue  # the kernel chose the very port for this end: nobody listens
            if not described.says.ready or (status := _status(described, address, left_s)) < 400:
                return address
            why = f"{described.says.ready} has status {status}"
        except _service_tls.RefusedError:  # by the certificate, which another attempt does not make better
            raise
        except TransportError as reason:
            why = str(reason)
        time.sleep(max(0.005, waited_s / 200))
    late = f"{described.name} was not ready at {address.place} within {described.says.ready_s:g} s: {why}"
    is_far = address.transport == "tcp" and not address.host.startswith(("127.", "::1"))
    there = f", and let it listen on {address.host} (0.0.0.0: everywhere)" if is_far else ""
    longer = "ready_s and timeout_s" if described.says.ready else "ready_s"
    raise TransportError(f"{late}; give it longer by {longer}, or correct start or ready{there}")


def _status(described: service_file.Service, address: Address, left_s: float) -> int:
    """Return the status of the path ``ready``; TransportError where there is no answer in its time, or in that left."""
    says = described.says
    soon = msgspec.structs.replace(described, says=msgspec.structs.replace(says, timeout_s=min(says.timeout_s, left_s)))
    draws = Draws(service_file.sources_of_values(described), random.Random())
    known = {name: f"{{{name}}}" for name in values.names_in(says.headers)} if says.recording else {}
    asked = service_file.filled(described, service_file.Request("ready", service_file.Http(says.ready)), draws, known)

    async def status() -> int:
        session = _session(soon, address)
        try:
            return int((await session.call(asked, b""))[0])
        finally:
            await session.close()

    return asyncio.run(status())


def _session(described: service_file.Service, address: Address) -> Any:
    """Return a session over the version of HTTP that a service is asked by (inside the event loop that will use it)."""
    _service_tls.verify(described, address)
    if not described.says.http2:
        return Session(described, address)
    from bench.systems import _service_http2

    return _service_http2.Session(described, address)


async def _warm(client: "Client", requests: int) -> None:
    """Make requests one after another; TransportError for a wrong reply."""
    await client.open()
    for _ in range(requests):
        if isinstance(client, StreamClient):
            async for message in client.stream(b"warm-up"):
                message.check()
        else:
            (await client.call(b"warm-up")).check()
    await client.close()


class Reply:
    """A reply that is compared with a payload after the clock has stopped: it differs where it is not as expected.

    take: what takes it then, if it is the expected one.
    """

    __slots__ = ("body", "encoding", "request", "status", "take")
    take: "Callable[[Reply], None] | None"

    def __init__(self, request: Prepared, status: Any, body: bytes, encoding: str = "") -> None:
        self.request, self.status, self.body, self.encoding, self.take = request, status, body, encoding, None

    def check(self) -> None:
        """Raise TransportError, with the request's name and what is wrong, for a reply that is not as expected."""
        request = self.request
        refuse(request, _grpc_fault(self) if request.proto else request.fault(self.status, self.body, self.encoding))
        if self.take:
            self.take(self)

    def saved(self) -> dict[str, Any]:
        """Return the values that its request saves, by their names; TransportError where the reply lacks one."""
        request = self.request
        if not request.save or self.status in request.other_statuses:
            return {}
        if request.proto:
            from bench.systems import _service_grpc

            member = functools.partial(_service_grpc.member, request, self.body)
        else:
            member = functools.partial(values.member, value=request.as_json(self.body, self.encoding))
        try:
            return {name: member(path) for name, path in request.save.items()}
        except KeyError as path:
            refuse(request, f"it has no {path.args[0]} to be saved")
            raise

    def __ne__(self, payload: object) -> bool:
        """Return False for the expected reply, after ``check``."""
        self.check()
        return False

    def __eq__(self, payload: object) -> bool:
        return not self != payload

    __hash__ = None  # type: ignore[assignment]


def _grpc_fault(reply: Reply) -> str:
    from bench.systems import _service_grpc

    return _service_grpc.fault(reply.request, reply.status, reply.body)


@functools.cache
def _requests(file: str, seed: bytes, has_stream: bool = False) -> Iterator[tuple[Prepared, bytes]]:
    """Return the requests of a process whose first payload is the seed, and their bytes, in turn and without end.

    Its callers share them, and a client that reconnects goes on behind the one that failed.
    """
    return itertools.cycle(_with_bytes(file, seed, has_stream))


@functools.cache
def _with_bytes(file: str, seed: bytes, has_stream: bool) -> list[tuple[Prepared, bytes]]:
    return [(request, _as_bytes(request, has_stream)) for request in _drawn(file, seed)]


def _as_bytes(request: Prepared, has_stream: bool = False) -> bytes:
    """Return the body of a request; b"" where a value of it is not known yet."""
    if not request.proto or request.needs:
        return request.body
    from bench.systems import _service_grpc

    return _service_grpc.encoded(request, has_stream)


_begun = itertools.count()  # callers of this process that make their requests in turn


def _in_turn(file: str, seed: bytes, has_stream: bool = False) -> Iterator[tuple[Prepared, bytes]]:
    """Return the requests of one caller, in their order and without end; another caller has other values."""
    drawn = _with_bytes(file, seed, has_stream)
    first = next(_begun) * len(service_file.read(file).mix) % len(drawn)
    return itertools.cycle(drawn[first:] + drawn[:first])


def _one(file: str, payload: bytes) -> Prepared:
    """Return the request that a payload stands for on the wire; it is asked for again with each response."""
    seed, index = payload[:-PLACE_BYTES], int.from_bytes(payload[-PLACE_BYTES:], "big")
    return _drawn(file, seed)[index]


@functools.cache
def _drawn(file: str, seed: bytes) -> list[Prepared]:
    """Return the requests of a process whose first payload is the seed, or all of a recording."""
    described = service_file.read(file)
    count = len(described.recording.requests) if described.recording else service_file.DISTINCT
    if described.says.in_turn:
        count = max(count // len(described.mix), 1) * len(described.mix)
    return list(itertools.islice(service_file.prepared(described, random.Random(seed)), count))


def stand_for(first: bytes) -> list[bytes]:
    """Return the payloads that stand on the wire for the requests of a process with this first payload."""
    return [first + index.to_bytes(PLACE_BYTES, "big") for index in range(service_file.DISTINCT)]


class Connector(aiohttp.TCPConnector):
    """Connects to one place, whatever host is in a URL: that is the one that certificates, cookies and Host name."""

    def __init__(self, place: Address, **more: Any) -> None:
        super().__init__(limit=0, **more)
        self._place = place

    async def _resolve_host(self, host: str, port: int, traces: Any = None) -> Any:
        return await super()._resolve_host(self._place.host, self._place.port, traces)


class Cookies(aiohttp.CookieJar):
    """The cookies of a caller, also those of an IP address; each value is sent back as it came."""

    def __init__(self) -> None:
        super().__init__(unsafe=True, quote_cookie=False)

    def _build_morsel(self, cookie: Any) -> Any:
        return cookie  # aiohttp would take quotation marks off


class Session:
    """A session over HTTP/1.1, with one connection at a time."""

    def __init__(self, described: service_file.Service, address: Address) -> None:
        self._described = described
        self._base = f"http{'s' * described.is_encrypted}://{described.called(address)}"
        connector: aiohttp.BaseConnector
        if address.transport == "ipc":
            connector = aiohttp.UnixConnector(address.path, limit=0)
        else:
            connector = Connector(address, ssl=_service_tls.context(described) or True)
        self._session = aiohttp.ClientSession(
            connector=connector,
            timeout=aiohttp.ClientTimeout(total=described.says.timeout_s),
            auto_decompress=False,  # off the clock, as with the load generator ``wire``
            skip_auto_headers=["Accept", "Accept-Encoding", "Content-Type", "User-Agent"],
            cookie_jar=Cookies() if described.says.cookies else aiohttp.DummyCookieJar(),
            max_line_size=_http_wire.MOST_HEAD,
            max_field_size=_http_wire.MOST_HEAD,
        )
        self._session._retry_connection = False  # a lost connection is an error, not a longer call

    async def call(self, request: Prepared, data: bytes) -> tuple[int, bytes, str]:
        """Make a request; return status, body and its encoding; TransportError where there is no answer."""
        try:
            async with self._asked(request, data) as reply:
                return reply.status, await reply.read(), reply.headers.get("Content-Encoding", "")
        except (aiohttp.ClientError, OSError) as reason:
            raise self._failed(request, reason) from reason

    async def stream(self, request: Prepared, data: bytes) -> AsyncIterator[bytes]:
        """Make a request; yield the parts of its stream of events; TransportError where there is no such answer."""
        try:
            async with self._asked(request, data) as reply:
                body = await reply.read() if reply.status >= 400 else b""
                _service_streams.refuse_no_events(request, reply.status, reply.headers, body)
                async for part in reply.content.iter_any():
                    yield part
        except (aiohttp.ClientError, OSError) as reason:
            raise self._failed(request, reason) from reason

    def _asked(self, request: Prepared, data: bytes) -> Any:
        return self._session.request(
            request.method,
            URL(self._base + request.target, encoded=True),
            data=data or None,
            headers=request.headers,
            allow_redirects=False,
        )

    def _failed(self, request: Prepared, reason: Exception) -> BenchError:
        """Return the error for a request without an answer."""
        if isinstance(reason, TimeoutError):
            return too_late(self._described, request)
        kind = "connect" if isinstance(reason, aiohttp.ClientConnectorError) else "read"
        return TransportError(f"{request.name} had no answer: {reason or type(reason).__name__}", kind)

    async def close(self) -> None:
        await self._session.close()


class Client:
    """One session with one connection at a time. A payload only seeds which requests are made, the first one counts."""

    described: service_file.Service

    def __init__(self, address: str, options: Options) -> None:
        self._address = parse_address(address)
        self._requests: Iterator[tuple[Prepared, bytes]] | None = None
        self._next: tuple[Prepared, bytes] | None = None
        self._is_late = self.described.has_late
        sources = self.described.says.values.values()
        self._is_timely = any(isinstance(source, values.Source) and source.now for source in sources)
        self._known: dict[str, Any] = {}  # values that this caller has for itself
        self._session: Any = None
        self._channel: Any = None

    async def open(self) -> None:
        """Make the session (inside the event loop that will use it), and the requests that each caller makes once."""
        if self.described.has_http:
            self._session = _session(self.described, self._address)
        if self.described.has_grpc:
            from bench.systems import _service_grpc

            self._channel = _service_grpc.Channel(self.described, self._address)
        try:
            await self._begin()
        except BaseException:
            await self.close()
            raise

    async def _begin(self) -> None:
        """Make the requests that each caller makes once; it keeps the values that are drawn for them."""
        draws = Draws(service_file.sources_of_values(self.described), random.Random(random.getrandbits(64)))
        for once in self.described.once:
            request = service_file.filled(self.described, once, draws, self._known)
            reply = await self._ask(request, _as_bytes(request))
            reply.check()
            self._known |= draws.drawn | reply.saved()

    async def call(self, payload: bytes) -> Reply:
        request, data = self._next or self._prepared(b"" if self.described.says.recording else payload)
        self._next = None
        reply = await self._ask(request, data)
        if self._is_late:
            reply.take = self._take
        return reply

    async def _ask(self, request: Prepared, data: bytes) -> Reply:
        connection = self._channel if request.proto else self._session
        return Reply(request, *await connection.call(request, data))

    def _take(self, reply: Reply) -> None:
        """Keep what a reply's request saves, and prepare the next one, while no clock runs, unless it has the time."""
        self._known |= reply.saved()
        if not self._is_timely:
            self._next = self._next or self._prepared(b"")

    def _prepared(self, seed: bytes, has_stream: bool = False) -> tuple[Prepared, bytes]:
        """Return the next request whose values are known, and its body; the first seed counts."""
        if self._requests is None:
            in_turn = self.described.says.in_turn
            self._requests = (_in_turn if in_turn else _requests)(self.described.file, seed, has_stream)
        drawn = itertools.islice(self._requests, service_file.DISTINCT)
        if (chosen := next((step for step in drawn if step[0].needs <= self._known.keys()), None)) is None:
            remedy = "give the requests that save values a larger weight, or write in_turn"
            raise SystemFileError(f"each of the next requests needs a value that none saved before: {remedy}")
        request, data = chosen
        if request.again is None:
            return request, data
        request = request.again(self._known)
        return request, _as_bytes(request, has_stream)

    async def close(self) -> None:
        for each in (self._session, self._channel):
            if each:
                await each.close()


class StreamClient(Client):
    """A client whose requests are answered by streams of messages, which are verified by their ``check``."""

    checks_messages = True

    async def stream(self, payload: bytes) -> AsyncIterator[_service_streams.Message]:
        """Make the next request; yield its messages; TransportError where they are not the expected ones."""
        request, data = self._prepared(payload, has_stream=True)
        if request.proto:
            messages = self._channel.stream(request, data)
        else:
            messages = _service_streams.of_events(request, self._session.stream(request, data))
        async for message in messages:
            yield message


def _wire_of(described: service_file.Service) -> Callable[[str, Options], Any]:
    """Return what makes the requests as bytes, of HTTP or of gRPC, for the load generator ``wire``."""
    request_of = functools.partial(_one, described.file)

    def wire(address: str, options: Options) -> Any:
        if described.says.recording:
            raise ValueError("the wire sends few different requests, and not in the order of a recording: use requests")
        _refuse_sessions(described)
        if described.has_grpc:
            from bench.systems import _service_grpc

            make: Callable[..., Any] = functools.partial(_service_grpc.Wire, address, described)
        else:
            make = functools.partial(_service_wire.WireOverHttp2 if described.says.http2 else Wire, address, described)
        made = _renewing(make, request_of) if described.names_made else make(request_of)
        made.payloads, made.name_of = stand_for, lambda payload: request_of(payload).name
        return made

    return wire


def _renewing(make: Callable[[Callable[[bytes], Prepared]], Any], request_of: Callable[[bytes], Prepared]) -> Any:
    """Return a wire that makes a request with new values each time it is sent, and compares the reply with these."""
    latest: list[Prepared] = []
    made = make(lambda payload: latest[0] if latest else request_of(payload))

    def renewed(payload: bytes) -> bytes:
        drawn = request_of(payload)
        latest[:] = [drawn.again({}) if drawn.again else drawn]
        return made.request(payload)

    made.renewed = renewed
    return made


def _refuse_sessions(described: service_file.Service) -> None:
    if described.has_sessions:
        raise ValueError("the wire sends prepared bytes, without save, once, in_turn and cookies: leave these out")


def _stream_wire_of(described: service_file.Service) -> Callable[[str, Options], Any]:
    """Return what makes the streams of a connection as bytes, for the load generator ``wire``."""
    request_of = functools.partial(_requests, described.file, has_stream=True)

    def wire(address: str, options: Options) -> Any:
        _refuse_sessions(described)
        if described.has_grpc:
            from bench.systems import _service_grpc

            return _service_grpc.StreamWire(address, described, request_of)
        kind = _service_wire.OverHttp2 if described.says.http2 else _service_wire.OverHttp1
        return _service_wire.EventStreams(kind(address, described), described, request_of)

    return wire


class Wire(_http_wire.Responses):
    """The HTTP requests as bytes: one for each payload."""

    def __init__(self, address: str, described: service_file.Service, request_of: Callable[[bytes], Prepared]) -> None:
        if any(request.http and request.http.method == "HEAD" for request in described.says.requests):
            raise ValueError("the wire expects a body where a response has a length: it makes no HEAD requests")
        super().__init__(address)
        self._host, self._request_of = described.called(self.server), request_of
        self.timeout_s = described.says.timeout_s
        self.tls = _service_tls.layer(described, address)

    def request(self, payload: bytes) -> bytes:
        return _service_wire.as_bytes(self._request_of(payload), self._host)

    def end(self, buffer: _http_wire.Buffer, length: int) -> int:
        """Do what ``Responses.end`` does; interim responses belong to the one behind them."""
        if not (begin := _http_wire.final(buffer, length)):
            return super().end(buffer, length)
        stop = super().end(buffer[begin:length], length - begin)
        return begin + stop if stop else 0

    def body(self, response: bytes, payload: bytes) -> bytes:
        response = response[_http_wire.final(response, len(response)) :]
        head = _http_wire.read_head(response, len(response))
        assert head
        request, data = self._request_of(payload), _http_wire.body_of(response, head)
        refuse(request, request.fault(head.status, data, head.value("content-encoding")))
        return payload
