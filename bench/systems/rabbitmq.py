"""RabbitMQ: request and reply by queues of a RabbitMQ broker (AMQP 0.9.1), aio-pika (asyncio) on both sides."""

import asyncio
import contextlib
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

import aio_pika
import aiormq
from aio_pika.abc import AbstractIncomingMessage

from bench import credentials
from bench.contract import Address, Binding, RouterService, Service
from bench.errors import NotInstalledError, TransportError
from bench.process import pipes
from bench.replies import END
from bench.systems import _broker, _one_way, _ports, _tls

TRANSPORTS = ("tcp",)
START_S = 0.3
ROUTER_S = 10.0
REQUIRES = ("aio-pika",)
GROUP = "broker"
LARGEST_BYTES = 64_000_000
PROGRAMS = {"rabbitmq-server": "rabbitmq-server", "epmd": "erlang-base"}
VERSION_COMMANDS = {"rabbitmq-server": "dpkg-query -W rabbitmq-server"}  # its own program starts a broker

SERVER = _broker.Program(
    "rabbitmq-server", "rabbitmq-server", (3, 8), r"Starting RabbitMQ (\d+(?:\.\d+)*)", "Server startup complete", 80.0
)
DEBIAN = ("/usr/sbin/rabbitmq-server", "/usr/lib/rabbitmq/bin/rabbitmq-server")  # a wrapper that becomes another user
REPORTS = ".read"  # behind the name of a one-way stream's queue: where its receiver reports
DIRECT = "amq.rabbitmq.reply-to"  # the broker's pseudo-queue: replies go to the connection that asked
EPMD_S = 5.0
FAILURES = (aiormq.exceptions.AMQPError, aio_pika.exceptions.AMQPException, OSError)

MOST_BYTES = 2_000_000_000  # of the broker's memory, beyond which it reads no more of those who publish


@dataclass(frozen=True)
class Options:
    """How messages are delivered. The receiver of a one-way stream reports what it has read; the sender waits for that.

    reply_to: direct, replies go to the asking connection without a queue; queue, to a queue of the client's own.
    acknowledge: the server acknowledges each request after its reply; else the broker forgets it when it is sent.
    prefetch: requests that the broker sends ahead to a server that acknowledges; 0: any number.
    confirms: the broker confirms each message published, and the publisher waits for that.
    most_queued: requests that wait in the server's queue at most; a publisher that waits for confirms gets an error
        for those refused; 0: any number.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: TLS 1.3 between the broker and either side; both sides verify the broker's certificate.
    """

    reply_to: Literal["direct", "queue"] = "direct"
    acknowledge: bool = False
    prefetch: int = 0
    confirms: bool = False
    most_queued: int = 0
    codec: str = "json"
    tls: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.prefetch < 65536:
            raise ValueError(f"prefetch must be 0 to 65535, not {self.prefetch}")
        if self.prefetch and not self.acknowledge:
            raise ValueError("prefetch counts requests that are not acknowledged yet: give acknowledge true")
        if not 0 <= self.most_queued < 2**31:
            raise ValueError(f"most_queued must be at least 0, and below 2**31, not {self.most_queued}")
        if self.most_queued and not self.confirms:
            raise ValueError("only a publisher that waits for confirms hears of refused messages: give confirms true")


def route(binding: Binding, options: Options, service: RouterService) -> None:
    """Run a RabbitMQ broker, an Erlang node, until it ends; and the port mapper that the node needs, before it."""
    path = SERVER.path()
    port = _port_mapper(binding, service)
    variables = _variables(binding, port)
    path = DEBIAN[1] if path == DEBIAN[0] else path
    _broker.run(SERVER, binding, service, lambda: _configured(binding, options), variables, path)


def _port_mapper(binding: Binding, service: RouterService) -> int:
    """Start Erlang's port mapper at a port of its own, in the foreground, so that it ends with the router.

    A node that finds none starts one, which outlives it and serves all nodes of the host.
    """
    program = pipes.program("epmd")
    if program is None:
        raise NotInstalledError("there is no epmd; install it: apt-get install erlang-base", ["erlang-base"])
    for _ in range(_broker.ATTEMPTS):
        port = _ports.free()
        words = [program, "-port", str(port), "-address", "127.0.0.1"]
        variables = _broker.configured({"HOME": binding.directory})
        mapper = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=sys.stderr, stderr=sys.stderr, env=variables, process_group=0
        )
        service.adopt(mapper.pid)
        end = time.monotonic() + EPMD_S
        while time.monotonic() < end and mapper.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port), EPMD_S).close()
                return port
            time.sleep(0.01)
    raise TransportError("Erlang's port mapper epmd does not start")


def _variables(binding: Binding, port: int) -> dict[str, str]:
    """Return the environment of the node: nothing is read or written outside the private directory."""
    folder = binding.directory
    return {
        "ERL_EPMD_PORT": str(port),
        "ERL_EPMD_ADDRESS": "127.0.0.1",
        "ERL_AFLAGS": "-start_epmd false",
        "RABBITMQ_NODENAME": f"roundtrip-{secrets.token_hex(4)}@localhost",
        "RABBITMQ_DIST_PORT": str(_ports.free()),
        "RABBITMQ_CONF_ENV_FILE": _broker.write(binding, "rabbitmq-env.conf", []),
        "RABBITMQ_CONFIG_FILE": f"{folder}/rabbitmq.conf",
        "RABBITMQ_ADVANCED_CONFIG_FILE": _broker.write(binding, "advanced.config", ["[]."]),
        "RABBITMQ_ENABLED_PLUGINS_FILE": _broker.write(binding, "enabled_plugins", ["[]."]),
        "RABBITMQ_MNESIA_BASE": f"{folder}/mnesia",
        "RABBITMQ_GENERATED_CONFIG_DIR": f"{folder}/generated",
        "RABBITMQ_LOG_BASE": f"{folder}/log",
        "RABBITMQ_LOGS": "-",
        "RABBITMQ_PID_FILE": f"{folder}/pid",
        "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
    }


def _configured(binding: Binding, options: Options) -> _broker.Start:
    """Write the broker's configuration: its ports, and who may log in."""
    places = _broker.endpoints(binding, TRANSPORTS, TRANSPORTS, options.tls)
    lines = ["log.console = true", "log.console.level = info", "log.file = false", "disk_free_limit.absolute = 50MB"]
    lines += [f"vm_memory_high_watermark.absolute = {MOST_BYTES}"]
    plain, encrypted = places.get("tcp"), places.get("tcp tls")
    lines += [f"listeners.tcp.1 = {_place(plain)}"] if plain else ["listeners.tcp = none"]
    if encrypted:
        lines += [
            f"listeners.ssl.1 = {_place(encrypted)}",
            f"ssl_options.cacertfile = {binding.credentials}/{credentials.AUTHORITY}",
            f"ssl_options.certfile = {binding.credentials}/{credentials.CERTIFICATE}",
            f"ssl_options.keyfile = {binding.credentials}/{credentials.KEY}",
            "ssl_options.verify = verify_none",
            "ssl_options.fail_if_no_peer_cert = false",
            "ssl_options.versions.1 = tlsv1.3",
        ]
    if login := _broker.login():
        lines += [f"default_user = {login[0]}", f"default_pass = {login[1]}", "loopback_users = none"]
    _broker.write(binding, "rabbitmq.conf", lines)
    return [], places


def _place(where: Address) -> str:
    """Return an address as the broker's configuration has it."""
    return f"[{where.host}]:{where.port}" if ":" in where.host else f"{where.host}:{where.port}"


class _Connected:
    """A connection and a channel of it."""

    connection: Any
    channel: Any

    async def connect(self, where: Address, options: Options) -> None:
        """Connect; TransportError where that is not possible."""
        user, password = _broker.login() or ("guest", "guest")
        try:
            self.connection = await aio_pika.connect(
                host=where.host,
                port=where.port,
                login=user,
                password=password,
                ssl=options.tls,
                ssl_context=_tls.client_context() if options.tls else None,
                timeout=_tls.HANDSHAKE_S,
            )
            self.channel = await self.connection.channel(publisher_confirms=options.confirms)
            await self.channel.set_qos(prefetch_count=options.prefetch)
        except (*FAILURES, TimeoutError) as reason:
            raise _unreachable(where, options, reason) from reason

    def publish(self, name: str, body: bytes, **fields: Any) -> Any:
        """Return what awaits that a message is published to a queue, and confirmed where the options say so."""
        message = aio_pika.Message(body, delivery_mode=aio_pika.DeliveryMode.NOT_PERSISTENT, **fields)
        return self.channel.default_exchange.publish(message, name)

    async def consume(self, name: str, take: Any, options: Options) -> None:
        """Declare a queue of this connection, and have ``take(message)`` awaited for each message."""
        limit: dict[str, Any] = {"x-max-length": options.most_queued, "x-overflow": "reject-publish"}
        try:
            queue = await self.channel.declare_queue(
                name, exclusive=True, auto_delete=True, arguments=limit if options.most_queued else None
            )
            await queue.consume(take, no_ack=not options.acknowledge)
        except FAILURES as reason:
            raise TransportError(f"the broker refuses the queue {name}: {reason}") from reason

    async def disconnect(self) -> None:
        """Close the connection."""
        with contextlib.suppress(*FAILURES, asyncio.CancelledError):
            await self.connection.close()


def _unreachable(where: Address, options: Options, reason: BaseException) -> TransportError:
    """Return the error for a connection that could not be made."""
    text = str(reason) or type(reason).__name__
    if isinstance(reason, aiormq.exceptions.AuthenticationError) or "ACCESS_REFUSED" in text:
        return _broker.refused(" ".join(text.split()))
    cause = reason.__cause__ or reason.__context__
    for one in (reason, cause):
        if isinstance(one, OSError) and _tls.is_handshake(one, options.tls):
            return _tls.failed(one)
    return _broker.cannot_connect(where, text + _tls.hint(options.tls, cause or reason))


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Declare a queue and answer its requests, until the process ends."""
    asyncio.run(_serve(binding, options, service))


def _print(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Print what failed outside any call in one line: the end of the log is quoted."""
    print(repr(context.get("exception") or context["message"]), file=sys.stderr)


async def _serve(binding: Binding, options: Options, service: Service) -> None:
    address = _broker.announced(binding, options.tls)
    where, name = _broker.split(address)
    broker, gone = _Connected(), asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(_print)
    await broker.connect(where, options)
    broker.connection.close_callbacks.add(lambda *_: gone.set())
    answer, publish = service.answer, broker.publish

    async def respond(request: AbstractIncomingMessage) -> None:
        await publish(request.reply_to or "", answer(request.body), correlation_id=request.correlation_id)
        if options.acknowledge:
            await request.ack()

    async def stream(request: AbstractIncomingMessage) -> None:
        async for reply in service.replies_async(request.body):
            await publish(request.reply_to or "", reply)
        await publish(request.reply_to or "", END)
        if options.acknowledge:
            await request.ack()

    take = stream if getattr(service, "is_streaming", False) else respond
    await broker.consume(name, take, options)
    service.announce(address)
    await gone.wait()
    raise _broker.lost()


def _failed(reason: BaseException, name: str) -> TransportError:
    """Return the error for a call that failed."""
    if isinstance(reason, aio_pika.exceptions.DeliveryError):
        return TransportError(f"the broker refuses the request: the queue {name!r} is full", "full")
    return TransportError(f"the call failed: {str(reason) or type(reason).__name__}", "read")


def _nobody(name: str) -> TransportError:
    """Return the error for a request that came back: there is no such queue."""
    return TransportError(f"no server takes requests from the queue {name!r}", "connect")


class Client(_Connected):
    """One connection with one channel; several calls may be awaited at once, each with a correlation id."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._name = _broker.split(address)
        self._options = options
        self._waiting: dict[str, asyncio.Future[bytes]] = {}
        self._number = 0

    async def open(self) -> None:
        """Connect, and consume replies."""
        await self.connect(self._where, self._options)
        self._new = asyncio.get_running_loop().create_future
        self.connection.close_callbacks.add(self._give_up)
        self.channel.close_callbacks.add(self._give_up)
        self.channel.return_callbacks.add(self._refuse)
        try:
            if self._options.reply_to == "direct":
                queue = await self.channel.get_queue(DIRECT, ensure=False)
            else:
                queue = await self.channel.declare_queue(exclusive=True, auto_delete=True)
            self._replies = queue.name
            await queue.consume(self._take, no_ack=True)
        except FAILURES as reason:
            raise _failed(reason, self._name) from reason

    async def _take(self, reply: AbstractIncomingMessage) -> None:
        waiting = self._waiting.get(reply.correlation_id or "")
        if waiting is not None and not waiting.done():
            waiting.set_result(reply.body)

    def _refuse(self, _: Any, returned: AbstractIncomingMessage) -> None:
        """End a call whose request came back."""
        waiting = self._waiting.get(returned.correlation_id or "")
        if waiting is not None and not waiting.done():
            waiting.set_exception(_nobody(self._name))

    def _give_up(self, _: Any, reason: BaseException | None = None) -> None:
        """End the calls under way when the connection is lost."""
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(_failed(reason or ConnectionError("the connection was closed"), self._name))

    async def call(self, payload: bytes) -> bytes:
        """Publish a request and wait for its reply."""
        self._number += 1
        number = str(self._number)
        waiting = self._waiting[number] = self._new()
        try:
            await self.publish(self._name, payload, correlation_id=number, reply_to=self._replies)
            async with asyncio.timeout(_broker.WAIT_S):
                return await waiting
        except TimeoutError:
            raise _broker.no_reply(self._name) from None
        except FAILURES as reason:
            raise _failed(reason, self._name) from reason
        finally:
            del self._waiting[number]

    async def close(self) -> None:
        """Disconnect."""
        await self.disconnect()


class Multiplexed(Client):
    """One connection on which several calls are awaited at once."""


class StreamClient(Client):
    """A connection whose replies are those of its one stream; an empty message follows the last."""

    async def open(self) -> None:
        """Connect, and consume replies."""
        self._inbox: asyncio.Queue[bytes | TransportError] = asyncio.Queue()
        await super().open()

    async def _take(self, reply: AbstractIncomingMessage) -> None:
        self._inbox.put_nowait(reply.body)

    def _give_up(self, _: Any, reason: BaseException | None = None) -> None:
        self._inbox.put_nowait(_failed(reason or ConnectionError("the connection was closed"), self._name))

    def _refuse(self, _: Any, returned: AbstractIncomingMessage) -> None:
        self._inbox.put_nowait(_nobody(self._name))

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        """Publish a request and yield its replies."""
        try:
            await self.publish(self._name, payload, reply_to=self._replies)
        except FAILURES as reason:
            raise _failed(reason, self._name) from reason
        while reply := await self._inbox.get():
            if isinstance(reply, TransportError):
                raise reply
            yield reply


class Sender(_Connected):
    """The sending end of a one-way stream: it publishes to the receiver's queue, and waits for its reports."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._name = _broker.split(address)
        self._options = options

    async def open(self) -> None:
        """Connect, and consume the reports."""
        ahead = self._ahead = _one_way.Ahead()
        await self.connect(self._where, self._options)
        self.connection.close_callbacks.add(lambda *_: ahead.failed(_broker.lost()))
        self.channel.return_callbacks.add(lambda *_: ahead.failed(_nobody(self._name)))

        async def take(report: AbstractIncomingMessage) -> None:
            ahead.reported(report.body)

        await self.consume(self._name + REPORTS, take, Options())

    async def send(self, payload: bytes) -> None:
        """Publish a message; with the option ``confirms`` wait until the broker has it."""
        try:
            await self.publish(self._name, payload)
        except FAILURES as reason:
            raise _failed(reason, self._name) from reason
        await self._ahead.sent(payload)

    async def close(self) -> None:
        """Disconnect."""
        await self.disconnect()


class Receiver(_Connected):
    """The receiving end of a one-way stream: a queue and its consumer."""

    def __init__(self, binding: Binding, options: Options) -> None:
        self.address = _broker.announced(binding, options.tls)
        self._options = options

    async def open(self) -> None:
        """Connect, declare the queue and consume it."""
        where, name = _broker.split(self.address)
        inbox: asyncio.Queue[AbstractIncomingMessage | None] = asyncio.Queue()
        await self.connect(where, self._options)
        self.connection.close_callbacks.add(lambda *_: inbox.put_nowait(None))
        self._get, self._acknowledges = inbox.get, self._options.acknowledge
        self._behind = _one_way.Behind(lambda count: self.publish(name + REPORTS, count))
        await self.consume(name, inbox.put, self._options)

    async def receive(self) -> bytes:
        """Return the next message, waiting for it; with the option ``acknowledge`` acknowledge it."""
        if (message := await self._get()) is None:
            raise _broker.lost()
        try:
            if self._acknowledges:
                await message.ack()
            await self._behind.took(message.body)
        except FAILURES as reason:
            raise _broker.lost() from reason
        return message.body

    async def close(self) -> None:
        """Disconnect."""
        await self.disconnect()
