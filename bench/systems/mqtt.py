"""MQTT 5: request and reply by topics of a Mosquitto broker, aiomqtt (asyncio) on both sides."""

import asyncio
import base64
import contextlib
import hashlib
import os
import secrets
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any, Literal

import aiomqtt
from aiomqtt.exceptions import MqttConnectError
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from bench import credentials
from bench.contract import Address, Binding, RouterService, Service
from bench.errors import TransportError
from bench.replies import END
from bench.systems import _broker, _one_way, _tls

TRANSPORTS = ("ipc", "tcp")
START_S = 0.2
ROUTER_S = 1.0
REQUIRES = ("aiomqtt",)
GROUP = "broker"
LARGEST_BYTES = 64_000_000
PROGRAMS = {"mosquitto": "mosquitto"}
VERSION_COMMANDS = {"mosquitto": "mosquitto -h"}
ENCRYPTED = ("tcp",)
REPORTS = "/read"  # behind the topic of a one-way stream: where its receiver reports

SERVER = _broker.Program("mosquitto", "mosquitto", (2,), r"mosquitto version (\d+(?:\.\d+)*)", r"version \S+ running")
ROUNDS = 101  # of the hash of a password, as mosquitto_passwd makes it
MOST_QUEUED = 100_000  # messages for one subscriber, of the qualities that wait
MOST_BYTES = 2_000_000_000  # of the broker's memory: who publishes or subscribes beyond it loses the connection


@dataclass(frozen=True)
class Options:
    """How messages are delivered. The receiver of a one-way stream reports what it has read; the sender waits for that.

    qos: the quality of service of all messages: 0, at most once; 1, at least once, with an acknowledgement by
        the broker and by the receiver; 2, exactly once, with two exchanges each.
    nodelay: TCP_NODELAY at both sides' connections, over tcp; the broker's own connections always have it.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: TLS 1.3 between the broker and either side, over tcp; both sides verify the broker's certificate. Of messages
        above 1.6 MB the library (paho-mqtt 2.2) may leave one unhandled, which it has read in 100 pieces: such a call
        fails after 10 s and is counted as an error.
    """

    qos: Literal[0, 1, 2] = 0
    nodelay: bool = True
    codec: str = "json"
    tls: bool = False


def route(binding: Binding, options: Options, service: RouterService) -> None:
    """Run a Mosquitto broker until it ends."""
    _broker.run(SERVER, binding, service, lambda: _configured(binding, options))


def _configured(binding: Binding, options: Options) -> _broker.Start:
    """Write the broker's configuration: a listener for each endpoint, nothing kept on disk, large messages allowed."""
    places = _broker.endpoints(binding, TRANSPORTS, ENCRYPTED, options.tls)
    lines = [
        "persistence false",
        "log_dest stderr",
        "log_type error",
        "log_type warning",
        "log_type information",
        "log_type notice",
        "connection_messages false",
        "set_tcp_nodelay true",
        f"max_queued_messages {MOST_QUEUED}",
        f"memory_limit {MOST_BYTES}",
        f"user {_user()}",
    ]
    if login := _broker.login():
        lines += ["allow_anonymous false", f"password_file {_broker.write(binding, 'passwords', [_hashed(*login)])}"]
    else:
        lines += ["allow_anonymous true"]
    for name, where in places.items():
        lines += [f"listener 0 {where.path}" if where.transport == "ipc" else f"listener {where.port} {where.host}"]
        if name.endswith(" tls"):
            lines += [
                f"certfile {binding.credentials}/{credentials.CERTIFICATE}",
                f"keyfile {binding.credentials}/{credentials.KEY}",
                "tls_version tlsv1.3",
            ]
    return ["-c", _broker.write(binding, "mosquitto.conf", lines)], places


def _user() -> str:
    """Return who the broker runs as: started by root it would become another, who cannot read the directory."""
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def _hashed(user: str, password: str) -> str:
    """Return a line of a password file: PBKDF2 of SHA-512."""
    salt = secrets.token_bytes(12)
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ROUNDS)
    return f"{user}:$7${ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


async def _connect(where: Address, options: Options) -> aiomqtt.Client:
    """Return a connected client."""
    user, password = _broker.login() or (None, None)
    is_tcp = where.transport == "tcp"
    client = aiomqtt.Client(
        where.host if is_tcp else where.path,
        where.port or 1,
        transport="tcp" if is_tcp else "unix",
        protocol=aiomqtt.ProtocolVersion.V5,
        username=user,
        password=password,
        socket_options=((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),) if is_tcp and options.nodelay else (),
        tls_context=_tls.client_context() if options.tls else None,
        timeout=_broker.WAIT_S,
    )
    client.pending_calls_threshold = 1 << 30  # of calls under way: they are meant, not a mistake to be warned of
    try:
        await asyncio.wait_for(client.__aenter__(), _tls.HANDSHAKE_S)
    except MqttConnectError as reason:
        if "uthori" in str(reason):
            raise _broker.refused(reason) from reason
        raise _broker.cannot_connect(where, reason) from reason
    except (aiomqtt.MqttError, OSError) as reason:  # TimeoutError too
        cause = reason.__context__ or reason
        if isinstance(cause, OSError) and _tls.is_handshake(cause, options.tls):
            raise _tls.failed(cause) from reason
        text = str(reason) or f"no greeting came within {_tls.HANDSHAKE_S:g} s"
        raise _broker.cannot_connect(where, text + _tls.IF * (not options.tls and not str(reason))) from reason
    return client


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Subscribe to a topic and answer its requests, until the process ends."""
    asyncio.run(_serve(binding, options, service))


async def _serve(binding: Binding, options: Options, service: Service) -> None:
    address = _broker.announced(binding, options.tls)
    where, topic = _broker.split(address)
    client = await _connect(where, options)
    answer, publish, qos = service.answer, client.publish, options.qos
    tasks: set[asyncio.Task[None]] = set()

    async def respond(request: aiomqtt.Message) -> None:
        given: Any = request.properties
        properties = _properties()
        if number := getattr(given, "CorrelationData", b""):
            properties.CorrelationData = number
        await publish(given.ResponseTopic, answer(request.payload), qos, properties=properties)

    async def stream(request: aiomqtt.Message) -> None:
        given: Any = request.properties
        async for reply in service.replies_async(request.payload):
            await publish(given.ResponseTopic, reply, qos)
        await publish(given.ResponseTopic, END, qos)

    many = getattr(service, "is_streaming", False)
    try:
        await client.subscribe(topic, qos)
        service.announce(address)
        async for request in client.messages:
            if not (qos or many):
                await respond(request)
                continue
            work = stream(request) if many else respond(request)
            task = asyncio.create_task(work)  # until it is acknowledged, others are answered
            tasks.add(task)
            task.add_done_callback(tasks.discard)
    except aiomqtt.MqttError as reason:
        raise _broker.lost() from reason


def _properties() -> Any:
    """Return the properties of a message to be published, without any."""
    return Properties(PacketTypes.PUBLISH)


def _failed(reason: Exception) -> TransportError:
    """Return the error for a call that failed."""
    return TransportError(f"the call failed: {str(reason) or type(reason).__name__}", "read")


async def _subscribe(client: aiomqtt.Client, topic: str, qos: int) -> None:
    """Subscribe to a topic; TransportError where that fails."""
    try:
        await client.subscribe(topic, qos)
    except aiomqtt.MqttError as reason:
        raise _failed(reason) from reason


async def _disconnect(client: aiomqtt.Client) -> None:
    """Disconnect, also where the connection is lost."""
    with contextlib.suppress(aiomqtt.MqttError):
        await client.__aexit__(None, None, None)


class Client:
    """One connection to the broker, and a topic of its own for replies."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._topic = _broker.split(address)
        self._options, self._qos = options, options.qos

    async def open(self) -> None:
        """Connect, and subscribe to the topic for replies."""
        self._mqtt = await _connect(self._where, self._options)
        self._replies = f"{_broker.SERVICE}/{secrets.token_hex(8)}"
        self._properties = _properties()
        self._properties.ResponseTopic = self._replies
        await _subscribe(self._mqtt, self._replies, self._qos)
        self._publish, self._messages = self._mqtt.publish, self._mqtt.messages

    async def call(self, payload: bytes) -> bytes:
        """Publish a request and wait for its reply."""
        try:
            await self._publish(self._topic, payload, self._qos, properties=self._properties)
            async with asyncio.timeout(_broker.WAIT_S):
                return (await anext(self._messages)).payload
        except TimeoutError:
            raise _broker.no_reply(self._topic) from None
        except (aiomqtt.MqttError, ValueError) as reason:
            raise _failed(reason) from reason

    async def close(self) -> None:
        """Disconnect."""
        await _disconnect(self._mqtt)


class StreamClient(Client):
    """A connection with a topic of its own for the replies of its streams; an empty message follows the last."""

    async def stream(self, payload: bytes) -> AsyncIterator[bytes]:
        """Publish a request and yield its replies."""
        try:
            await self._publish(self._topic, payload, self._qos, properties=self._properties)
            while reply := (await anext(self._messages)).payload:
                yield reply
        except (aiomqtt.MqttError, ValueError) as reason:
            raise _failed(reason) from reason


class Multiplexed(Client):
    """One connection on which several calls are awaited at once: correlation data name the one that a reply is for."""

    async def open(self) -> None:
        """Connect, and hand out replies as they come."""
        await super().open()
        self._waiting: dict[bytes, asyncio.Future[bytes]] = {}
        self._number = 0
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            async for reply in self._messages:
                given: Any = reply.properties
                waiting = self._waiting.pop(given.CorrelationData, None)
                if waiting is not None and not waiting.done():
                    waiting.set_result(reply.payload)
        except aiomqtt.MqttError as reason:
            for one in self._waiting.values():
                if not one.done():
                    one.set_exception(_failed(reason))

    async def call(self, payload: bytes) -> bytes:
        """Publish a request and wait for its reply."""
        self._number += 1
        number = self._number.to_bytes(8, "big")
        properties = _properties()
        properties.ResponseTopic, properties.CorrelationData = self._replies, number
        waiting = self._waiting[number] = asyncio.get_running_loop().create_future()
        try:
            await self._publish(self._topic, payload, self._qos, properties=properties)
            async with asyncio.timeout(_broker.WAIT_S):
                return await waiting
        except TimeoutError:
            raise _broker.no_reply(self._topic) from None
        except (aiomqtt.MqttError, ValueError) as reason:
            raise _failed(reason) from reason
        finally:
            self._waiting.pop(number, None)

    async def close(self) -> None:
        """Disconnect."""
        self._reader.cancel()
        await super().close()


class Sender:
    """The sending end of a one-way stream: a publisher, which waits for its receiver's reports."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._topic = _broker.split(address)
        self._options, self._qos = options, options.qos

    async def open(self) -> None:
        """Connect, and subscribe to the reports."""
        self._ahead = _one_way.Ahead()
        self._mqtt = await _connect(self._where, self._options)
        self._publish = self._mqtt.publish
        await _subscribe(self._mqtt, self._topic + REPORTS, self._qos)
        self._reader = asyncio.create_task(self._read())

    async def _read(self) -> None:
        try:
            async for report in self._mqtt.messages:
                self._ahead.reported(report.payload)
        except aiomqtt.MqttError:
            self._ahead.failed(_broker.lost())

    async def send(self, payload: bytes) -> None:
        """Publish a message; of the qualities 1 and 2 wait until the broker has it."""
        try:
            await self._publish(self._topic, payload, self._qos)
        except (aiomqtt.MqttError, ValueError) as reason:
            raise _failed(reason) from reason
        await self._ahead.sent(payload)

    async def close(self) -> None:
        """Disconnect."""
        self._reader.cancel()
        await _disconnect(self._mqtt)


class Receiver:
    """The receiving end of a one-way stream: a subscriber."""

    def __init__(self, binding: Binding, options: Options) -> None:
        self.address = _broker.announced(binding, options.tls)
        self._options = options

    async def open(self) -> None:
        """Connect and subscribe."""
        where, topic = _broker.split(self.address)
        self._mqtt = await _connect(where, self._options)
        self._messages = self._mqtt.messages
        self._behind = _one_way.Behind(lambda count: self._mqtt.publish(topic + REPORTS, count, self._options.qos))
        await _subscribe(self._mqtt, topic, self._options.qos)

    async def receive(self) -> bytes:
        """Return the next message, waiting for it."""
        try:
            message: bytes = (await anext(self._messages)).payload
            await self._behind.took(message)
        except aiomqtt.MqttError as reason:
            raise _broker.lost() from reason
        return message

    async def close(self) -> None:
        """Disconnect."""
        await _disconnect(self._mqtt)
