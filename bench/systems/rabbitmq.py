"""RabbitMQ: request and reply by queues of a RabbitMQ broker (AMQP 0.9.1), aio-pika (asyncio) on both sides."""

import asyncio
import contextlib
import secrets
import socket
import subprocess
import sys
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Literal

import aio_pika
import aiormq
from aio_pika.abc import AbstractIncomingMessage

from bench import credentials
from bench.contract import Address, Binding, RouterService, Service
from bench.errors import NotInstalledError, TransportError
from bench.process import pipes
from bench.systems import _broker, _broker_ends, _ports, _tls

TRANSPORTS = ("tcp",)
START_S = 0.3
ROUTER_S = 10.0
REQUIRES = ("aio-pika",)
GROUP = "broker"
LARGEST_BYTES = 64_000_000
PROGRAMS = {"rabbitmq-server": "rabbitmq-server", "epmd": "erlang-base"}
VERSION_COMMANDS = {"rabbitmq-server": "dpkg-query -W rabbitmq-server"}  # its own program starts a broker

SERVER = _broker.Program("rabbitmq-server", "rabbitmq-server", "Server startup complete", 80.0)
DEBIAN = ("/usr/sbin/rabbitmq-server", "/usr/lib/rabbitmq/bin/rabbitmq-server")  # a wrapper that becomes another user
EPMD_S = 5.0
FAILURES = (aiormq.exceptions.AMQPError, aio_pika.exceptions.AMQPException, OSError)

MOST_BYTES = 2_000_000_000  # of the broker's memory, beyond which it reads no more of those who publish

QUORUM = {"x-queue-type": "quorum", "x-expires": 60_000}  # it cannot be exclusive: it ends a minute after its reader

GUARANTEES = {
    "": {
        "delivery": "at most once: automatic acknowledgement, no confirms",
        "ordering": "in order from one channel through one queue",
        "persistence": "nothing: the queue is exclusive, its messages are transient",
        "back_pressure": (
            "the broker reads a publisher more slowly when its queues fall behind, and not beyond its memory "
            "limit (2 GB here); the sender of a one-way stream here waits for the reader's reports"
        ),
        "acknowledgement": "nobody but by the reply",
        "source": "https://www.rabbitmq.com/docs/confirms https://www.rabbitmq.com/docs/flow-control",
    },
    "acknowledge=true, confirms=true": {
        "delivery": (
            "at most once if the server fails: the queue is exclusive and ends, with what waits in it, with its "
            "server's connection; until then nothing is lost"
        ),
        "acknowledgement": "the broker confirms each message; the server acknowledges a request after its reply",
    },
    "queue=quorum, acknowledge=true, confirms=true": {
        "delivery": "at least once to the server; replies at most once",
        "ordering": "in order from one channel through one queue; what is delivered again is marked",
        "persistence": "confirmed requests (durable, Raft log on disk; of one node here)",
        "acknowledgement": (
            "the broker confirms a request when it is on disk; the server acknowledges it after its reply"
        ),
        "source": "https://www.rabbitmq.com/docs/quorum-queues https://www.rabbitmq.com/docs/confirms",
    },
}


@dataclass(frozen=True)
class Options:
    """How messages are delivered. The receiver of a one-way stream reports what it has read; the sender waits for that.

    queue: of requests. classic is in memory and ends with its server. quorum is durable and written to disk (Raft, one
        node here): with acknowledge and confirms a request is delivered at least once, also after a restart of the
        broker. Without these, or with classic, at most once. The broker keeps no replies (direct reply-to).
    acknowledge: the server acknowledges each request after its reply; else the broker forgets it when it is sent.
    prefetch: requests that the broker sends ahead to a server that acknowledges; 0: any number.
    confirms: the broker confirms each message published, and the publisher waits for that.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: TLS 1.3 between the broker and either side; both sides verify the broker's certificate.
    """

    queue: Literal["classic", "quorum"] = "classic"
    acknowledge: bool = False
    prefetch: int = 0
    confirms: bool = False
    codec: str = "json"
    tls: bool = False

    def __post_init__(self) -> None:
        if not 0 <= self.prefetch < 65536:
            raise ValueError(f"prefetch must be 0 to 65535, not {self.prefetch}")
        if self.prefetch and not self.acknowledge:
            raise ValueError("prefetch counts requests that are not acknowledged yet: give acknowledge true")


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
    lines += [f"listeners.tcp.1 = {plain.place}"] if plain else ["listeners.tcp = none"]
    if encrypted:
        lines += [
            f"listeners.ssl.1 = {encrypted.place}",
            f"ssl_options.cacertfile = {binding.credentials}/{credentials.AUTHORITY}",
            f"ssl_options.certfile = {binding.credentials}/{credentials.CERTIFICATE}",
            f"ssl_options.keyfile = {binding.credentials}/{credentials.KEY}",
            "ssl_options.verify = verify_none",
            "ssl_options.fail_if_no_peer_cert = false",
            "ssl_options.versions.1 = tlsv1.3",
        ]
    if login := _broker.asked(binding):
        lines += [f"default_user = {login[0]}", f"default_pass = {login[1]}", "loopback_users = none"]
    _broker.write(binding, "rabbitmq.conf", lines)
    return [], places


class _Connection(_broker_ends.Connection):
    """A connection and a channel of it."""

    FAILURES, HAS_TASKS = FAILURES, True
    replies = "amq.rabbitmq.reply-to"  # the broker's pseudo-queue: replies go to the connection that asked

    async def connect(self, lost: _broker_ends.Lost, refused: _broker_ends.Refused = lambda *_: None) -> None:
        """Connect."""
        options, (user, password) = self.options, _broker.login(self.where) or ("guest", "guest")
        asyncio.get_running_loop().set_exception_handler(_print)
        try:
            self._connection = await aio_pika.connect(
                host=self.where.host,
                port=self.where.port,
                login=user,
                password=password,
                ssl=options.tls,
                ssl_context=_tls.client_context() if options.tls else None,
                timeout=_tls.HANDSHAKE_S,
            )
            self._channel: Any = await self._connection.channel(publisher_confirms=options.confirms)
            await self._channel.set_qos(prefetch_count=options.prefetch)
        except (*FAILURES, TimeoutError) as reason:
            raise _unreachable(self.where, options, reason) from reason
        for end in (self._connection, self._channel):
            end.close_callbacks.add(lambda *_: lost(_broker.lost()))
        self._channel.return_callbacks.add(lambda _, returned: refused(self._nobody(), returned.correlation_id or ""))

    def _nobody(self) -> TransportError:
        """Return the error for a request that came back: there is no such queue."""
        return TransportError(f"no server takes requests from the queue {self.name!r}", "connect")

    def publish(self, name: str, payload: bytes, number: str = "", reply_to: str = "") -> Any:
        """Return what awaits that a message is published to a queue, and confirmed where the options say so."""
        is_durable = self.options.queue == "quorum" and name == self.name
        kind = aio_pika.DeliveryMode.PERSISTENT if is_durable else aio_pika.DeliveryMode.NOT_PERSISTENT
        message = aio_pika.Message(
            payload, delivery_mode=kind, correlation_id=number or None, reply_to=reply_to or None
        )
        return self._channel.default_exchange.publish(message, name)

    async def subscribe(self, name: str, take: _broker_ends.Take) -> None:
        """Have ``take`` awaited for each message in a queue of this connection."""
        acknowledges = self.options.acknowledge and name == self.name

        async def handle(message: AbstractIncomingMessage) -> None:
            await take(message.body, message.correlation_id or "", message.reply_to or "")
            if acknowledges:
                await self.acknowledge(message)

        if name == self.replies:
            queue = await self._channel.get_queue(name, ensure=False)
        elif self.options.queue == "quorum" and name == self.name:
            queue = await self._channel.declare_queue(name, durable=True, arguments=QUORUM)
        else:
            queue = await self._channel.declare_queue(name, exclusive=True, auto_delete=True)
        await queue.consume(handle, no_ack=not acknowledges)

    async def acknowledge(self, message: AbstractIncomingMessage) -> None:
        """Acknowledge a message that has been handled."""
        await message.ack()

    async def close(self) -> None:
        """Disconnect."""
        with contextlib.suppress(*FAILURES, asyncio.CancelledError):
            await self._connection.close()


def _print(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Print what failed outside any call in one line: the end of the log is quoted."""
    print(repr(context.get("exception") or context["message"]), file=sys.stderr)


def _unreachable(where: Address, options: Options, reason: BaseException) -> TransportError:
    """Return the error for a connection that could not be made."""
    text = str(reason) or type(reason).__name__
    if isinstance(reason, aiormq.exceptions.AuthenticationError) or "ACCESS_REFUSED" in text:
        return _broker.refused(" ".join(text.split()))
    cause = reason.__cause__ or reason.__context__
    for error in (reason, cause):
        if isinstance(error, OSError) and _tls.is_handshake(error, options.tls):
            return _tls.failed(error)
    return _broker.cannot_connect(where, text + _tls.hint(options.tls, cause or reason))


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Take requests from a queue and answer them, until the process ends."""
    _broker_ends.serve(_Connection, binding, options, service)


class Client(_broker_ends.Client, _Connection):
    """One connection with one channel; each call has a correlation id."""


class Multiplexed(Client):
    """One connection on which several calls are awaited at once."""


class StreamClient(_broker_ends.StreamClient, _Connection):
    """A connection for streams of replies."""


class Sender(_broker_ends.Sender, _Connection):
    """The sending end of a one-way stream."""


class Receiver(_broker_ends.Receiver, _Connection):
    """The receiving end of a one-way stream, which acknowledges a message when it is read."""

    def __init__(self, binding: Binding, options: Options) -> None:
        super().__init__(binding, options)
        self._unread: deque[AbstractIncomingMessage] = deque()

    async def acknowledge(self, message: AbstractIncomingMessage) -> None:
        """Keep a message that is to be acknowledged."""
        self._unread.append(message)

    async def receive(self) -> bytes:
        """Return the next message, waiting for it."""
        message = await super().receive()
        if self.options.acknowledge:
            try:
                await self._unread.popleft().ack()
            except FAILURES as reason:
                raise _broker.lost() from reason
        return message
