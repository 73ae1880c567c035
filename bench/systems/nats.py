"""NATS: request and reply by subjects of a NATS server, nats-py (asyncio) on both sides."""

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from nats import errors
from nats.aio.client import Client as Connection
from nats.aio.msg import Msg

from bench import credentials
from bench.contract import Address, Binding, RouterService, Service
from bench.errors import TransportError
from bench.replies import END
from bench.systems import _broker, _one_way, _tls

TRANSPORTS = ("tcp",)
START_S = 0.4
ROUTER_S = 1.0
REQUIRES = ("nats-py",)
GROUP = "broker"
LARGEST_BYTES = 8_388_608  # the broker advises against a max_payload above
PROGRAMS = {"nats-server": "nats-server"}

SERVER = _broker.Program("nats-server", "nats-server", (2, 2), r"Version:\s+v?(\d+(?:\.\d+)*)", "Server is ready")
QUEUE = "servers"  # of the servers under one subject, each request is given to one
REPORTS = ".read"  # behind the subject of a one-way stream: where its receiver reports
CONNECT_S = 3.0


@dataclass(frozen=True)
class Options:
    """How messages travel. The receiver of a one-way stream reports what it has read; the sender waits for that.

    codec: how structured messages become bytes; not used for opaque bytes.
    tls: TLS 1.3 between the broker and either side; both sides verify the broker's certificate.
    """

    codec: str = "json"
    tls: bool = False


def route(binding: Binding, options: Options, service: RouterService) -> None:
    """Run a NATS server until it ends."""
    _broker.run(SERVER, binding, service, lambda: _configured(binding, options))


def _configured(binding: Binding, options: Options) -> _broker.Start:
    """Write the broker's configuration: one port, for connections with and without TLS where a run has both."""
    places = _broker.endpoints(binding, TRANSPORTS, (), options.tls)
    (where,) = places.values()
    lines = [
        f'host: "{where.host}"',
        f"port: {where.port}",
        f"max_payload: {LARGEST_BYTES}",
        f"max_pending: {16 * LARGEST_BYTES}",
    ]
    if binding.credentials:
        files = (
            f'cert_file: "{binding.credentials}/{credentials.CERTIFICATE}"',
            f'key_file: "{binding.credentials}/{credentials.KEY}"',
        )
        lines += [f"tls {{ {', '.join(files)} }}"]
        if not binding.is_named:
            lines += ["allow_non_tls: true"]
            places[_broker.endpoint("tcp", True)] = where
    if login := _broker.login():
        lines += [f'authorization {{ user: "{login[0]}", password: "{login[1]}" }}']
    return ["--config", _broker.write(binding, "nats.conf", lines)], places


async def _connect(where: Address, options: Options, gone: Callable[[], None] = lambda: None) -> Connection:
    """Return a connection that is not made anew when it is lost; ``gone`` is called when it has ended."""
    connection, first = Connection(), asyncio.get_running_loop().create_future()

    async def complain(reason: Exception) -> None:
        if not first.done():
            first.set_result(reason)
        print(f"{type(reason).__name__}: {reason}", file=sys.stderr)

    async def end() -> None:
        gone()

    secure: dict[str, Any] = {}
    if options.tls:
        secure = {"tls": _tls.client_context(), "tls_hostname": where.host}
    user, password = _broker.login() or (None, None)
    try:
        await connection.connect(
            f"{'tls' if options.tls else 'nats'}://{where.host}:{where.port}",
            error_cb=complain,
            closed_cb=end,
            allow_reconnect=False,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            connect_timeout=int(CONNECT_S),
            user=user,
            password=password,
            **secure,
        )
    except (TimeoutError, errors.Error, OSError) as reason:
        raise _unreachable(where, options, first.result() if first.done() else reason) from reason
    return connection


def _unreachable(where: Address, options: Options, reason: BaseException) -> TransportError:
    """Return the error for a connection that could not be made."""
    text = str(reason) or type(reason).__name__
    if "authorization" in text.lower():
        return _broker.refused(text)
    if isinstance(reason, OSError) and _tls.is_handshake(reason, options.tls):
        return _tls.failed(reason)
    return _broker.cannot_connect(where, text + _tls.IF * (not options.tls and "secure" in text.lower()))


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Subscribe to a subject and answer its requests, until the process ends."""
    asyncio.run(_serve(binding, options, service))


async def _serve(binding: Binding, options: Options, service: Service) -> None:
    address = _broker.announced(binding, options.tls)
    where, subject = _broker.split(address)
    connection = await _connect(where, options)
    answer, publish = service.answer, connection.publish

    async def respond(request: Msg) -> None:
        await publish(request.reply, answer(request.data))

    async def stream(request: Msg) -> None:
        async for reply in service.replies_async(request.data):
            await publish(request.reply, reply)
        await publish(request.reply, END)

    streams: set[asyncio.Task[None]] = set()

    async def begin(request: Msg) -> None:
        task = asyncio.create_task(stream(request))
        streams.add(task)
        task.add_done_callback(streams.discard)

    await connection.subscribe(subject, queue=QUEUE, cb=begin if getattr(service, "is_streaming", False) else respond)
    await connection.flush()
    service.announce(address)
    while connection.is_connected:
        await asyncio.sleep(0.5)
    raise _broker.lost()


def _failed(reason: Exception, subject: str) -> TransportError:
    """Return the error for a call that failed."""
    if isinstance(reason, errors.NoRespondersError):
        return TransportError(f"no server takes requests under {subject!r}", "connect")
    if isinstance(reason, errors.TimeoutError | asyncio.TimeoutError):
        return _broker.no_reply(subject)
    if isinstance(reason, errors.MaxPayloadError):
        return TransportError(f"the broker takes messages of up to {LARGEST_BYTES:,} B: the payload is larger", "size")
    text = str(reason) or type(reason).__name__
    return TransportError(f"the call failed: {text.removeprefix('nats: ')}", "read")


class Client:
    """One connection to the broker; replies come to an inbox that it subscribes to with the first call."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._subject = _broker.split(address)
        self._options = options

    async def open(self) -> None:
        """Connect."""
        self._connection = await _connect(self._where, self._options)
        self._request = self._connection.request

    async def call(self, payload: bytes) -> bytes:
        """Publish a request and return its reply."""
        try:
            return (await self._request(self._subject, payload, _broker.WAIT_S)).data
        except (TimeoutError, errors.Error, OSError) as reason:
            raise _failed(reason, self._subject) from reason

    async def close(self) -> None:
        """Disconnect."""
        await self._connection.close()


class Multiplexed(Client):
    """One connection on which several calls are awaited at once."""


class StreamClient(Client):
    """A connection with an inbox of its own for each stream; an empty message follows the last reply."""

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        """Publish a request and yield its replies."""
        inbox = self._connection.new_inbox()
        try:
            replies = await self._connection.subscribe(inbox)
            try:
                await self._connection.publish(self._subject, payload, inbox)
                while reply := (await replies.next_msg(None)).data:
                    yield reply
            finally:
                await replies.unsubscribe()
        except (TimeoutError, errors.Error, OSError) as reason:
            raise _failed(reason, self._subject) from reason


class Sender:
    """The sending end of a one-way stream: a publisher, which waits for its receiver's reports."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._subject = _broker.split(address)
        self._options = options

    async def open(self) -> None:
        """Connect, and subscribe to the reports."""
        ahead = self._ahead = _one_way.Ahead()

        async def take(report: Msg) -> None:
            ahead.reported(report.data)

        self._connection = await _connect(self._where, self._options, lambda: ahead.failed(_broker.lost()))
        self._publish = self._connection.publish
        await self._connection.subscribe(self._subject + REPORTS, cb=take)

    async def send(self, payload: bytes) -> None:
        """Publish a message."""
        try:
            await self._publish(self._subject, payload)
        except (errors.Error, OSError) as reason:
            raise _failed(reason, self._subject) from reason
        await self._ahead.sent(payload)

    async def close(self) -> None:
        """Disconnect."""
        await self._connection.close()


class Receiver:
    """The receiving end of a one-way stream: a subscriber, whose callback fills a queue."""

    def __init__(self, binding: Binding, options: Options) -> None:
        self.address = _broker.announced(binding, options.tls)
        self._options = options

    async def open(self) -> None:
        """Connect and subscribe."""
        inbox: asyncio.Queue[bytes | None] = asyncio.Queue()
        where, subject = _broker.split(self.address)

        async def take(message: Msg) -> None:
            inbox.put_nowait(message.data)

        connection = self._connection = await _connect(where, self._options, lambda: inbox.put_nowait(None))
        self._get = inbox.get
        self._behind = _one_way.Behind(lambda count: connection.publish(subject + REPORTS, count))
        await connection.subscribe(subject, cb=take)
        await connection.flush()

    async def receive(self) -> bytes:
        """Return the next message, waiting for it."""
        if (message := await self._get()) is None:
            raise _broker.lost()
        try:
            await self._behind.took(message)
        except (errors.Error, OSError) as reason:
            raise _broker.lost() from reason
        return message

    async def close(self) -> None:
        """Send what is still to be sent, and disconnect."""
        with contextlib.suppress(errors.Error):
            await self._connection.drain()
