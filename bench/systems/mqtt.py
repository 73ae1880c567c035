"""MQTT 5: request and reply by topics of a Mosquitto broker, aiomqtt (asyncio) on both sides."""

import asyncio
import base64
import contextlib
import functools
import hashlib
import os
import secrets
import socket
from dataclasses import dataclass
from typing import Any, Literal

import aiomqtt
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties

from bench.contract import Binding
from bench.process import event_loops
from bench.systems import _broker, _broker_ends, _mqtt_wire, _tls

TRANSPORTS = ("ipc", "tcp")
START_S = 0.2
ROUTER_S = 1.0
REQUIRES = ("aiomqtt",)
GROUP = "broker"
LARGEST_BYTES = 64_000_000
PROGRAMS = {"mosquitto": "mosquitto"}
VERSION_COMMANDS = {"mosquitto": "mosquitto -h"}
ENCRYPTED = ("tcp",)

FOR_WIRE = {"tls": False, "qos": 0}
SERVER = _broker.Program("mosquitto", "mosquitto", r"version \S+ running")
ROUNDS = 101  # of the hash of a password, as mosquitto_passwd makes it
MOST_QUEUED = 100_000  # messages for one subscriber, of the qualities that wait
MOST_BYTES = 2_000_000_000  # of the broker's memory: who publishes or subscribes beyond it loses the connection


@dataclass(frozen=True)
class Options:
    """How messages are delivered. The receiver of a one-way stream reports what it has read; the sender waits for that.

    qos: the quality of service of all messages: 0, at most once; 1, at least once, with an acknowledgement by
        the broker and by the receiver; 2, exactly once, with two exchanges each. Within a session, which ends with its
        connection here.
    codec: how structured messages become bytes; not used for opaque bytes.
    event_loop: asyncio or uvloop, in client and server.
    tls: TLS 1.3 between the broker and either side, over tcp; both sides verify the broker's certificate. Of messages
        above 1.6 MB the library (paho-mqtt 2.2) may leave one unhandled, which it has read in 100 pieces: such a call
        fails after 10 s and is counted as an error.
    """

    qos: Literal[0, 1, 2] = 0
    codec: str = "json"
    event_loop: event_loops.EventLoop = "asyncio"
    tls: bool = False


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
    if login := _broker.asked(binding):
        lines += ["allow_anonymous false", f"password_file {_broker.write(binding, 'passwords', [_hashed(*login)])}"]
    else:
        lines += ["allow_anonymous true"]
    for name, address in places.items():
        is_file = address.transport == "ipc"
        lines += [f"listener 0 {address.path}" if is_file else f"listener {address.port} {address.host}"]
        if name.endswith(" tls"):
            certificate, key = _tls.files(binding.credentials)
            lines += [f"certfile {certificate}", f"keyfile {key}", "tls_version tlsv1.3"]
    return ["-c", _broker.write(binding, "mosquitto.conf", lines)], places


route = _broker.router(SERVER, _configured)


def _user() -> str:
    """Return who the broker runs as: started by root it would become another, who cannot read the directory."""
    import pwd

    return pwd.getpwuid(os.geteuid()).pw_name


def _hashed(user: str, password: str) -> str:
    """Return a line of a password file: PBKDF2 of SHA-512."""
    salt = secrets.token_bytes(12)
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ROUNDS)
    return f"{user}:$7${ROUNDS}${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


class _Connection(_broker_ends.Connection):
    """A connection, whose messages are read by a task."""

    ERRORS = (aiomqtt.MqttError, OSError, ValueError)  # TimeoutError too
    ENDED = (TimeoutError,)

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address, options)
        self.replies = f"{_broker.SERVICE}/{secrets.token_hex(8)}"
        self._reader: asyncio.Task[None] | None = None

    async def attach(self, lost: _broker_ends.Lost, refused: _broker_ends.Refused = lambda *_: None) -> None:
        self._lost, (user, password), is_tcp = lost, self.login, self.server.transport == "tcp"
        client = self.connection = aiomqtt.Client(
            self.server.host if is_tcp else self.server.path,
            self.server.port or 1,
            transport="tcp" if is_tcp else "unix",
            protocol=aiomqtt.ProtocolVersion.V5,
            username=user,
            password=password,
            socket_options=((socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),) if is_tcp else (),
            tls_context=_tls.client_context() if self.options.tls else None,
            timeout=_broker.WAIT_S,
        )
        client.pending_calls_threshold = 1 << 30  # of calls under way: they are meant, not a mistake to be warned of
        await asyncio.wait_for(client.__aenter__(), _tls.HANDSHAKE_S)

    def publish(self, name: str, payload: bytes, number: str = "", reply_to: str = "") -> Any:
        """Return what awaits that a message is published; with the qualities 1 and 2 the broker has it then."""
        properties = _properties(number, reply_to) if number or reply_to else None
        return self.connection.publish(name, payload, self.options.qos, properties=properties)

    async def subscribe(self, name: str, take: _broker_ends.Take) -> None:
        await self.connection.subscribe(name, self.options.qos)
        if self.options.qos:  # until a message is acknowledged, others are handled
            take = functools.partial(_broker_ends.begin, take)
        self._reader = asyncio.create_task(self._read(take))

    async def _read(self, take: _broker_ends.Take) -> None:
        try:
            async for message in self.connection.messages:
                about: Any = message.properties
                number = getattr(about, "CorrelationData", b"").decode()
                await take(message.payload, number, getattr(about, "ResponseTopic", ""))
        except aiomqtt.MqttError:
            self._lost(_broker.lost())

    async def close(self) -> None:
        """Disconnect, also where the connection is lost."""
        if self._reader is not None:
            self._reader.cancel()
        with contextlib.suppress(aiomqtt.MqttError):
            await self.connection.__aexit__(None, None, None)


def _properties(number: str, reply_to: str) -> Any:
    """Return the properties of a message."""
    properties = Properties(PacketTypes.PUBLISH)
    if number:
        properties.CorrelationData = number.encode()
    if reply_to:
        properties.ResponseTopic = reply_to
    return properties


serve = functools.partial(_broker_ends.serve, _Connection)


class Client(_Connection):
    """One connection to the broker, and a topic of its own for replies, which are awaited in turn, without a task."""

    async def connect(self) -> None:
        await self.attach(lambda *_: None)
        await self.connection.subscribe(self.replies, self.options.qos)
        self._properties, self._messages = _properties("", self.replies), self.connection.messages

    async def call(self, payload: bytes) -> bytes:
        await self.connection.publish(self.name, payload, self.options.qos, properties=self._properties)
        async with asyncio.timeout(_broker.WAIT_S):
            return (await anext(self._messages)).payload


class Multiplexed(_broker_ends.Client, _Connection):
    """One connection on which several calls are awaited at once: correlation data name the one that a reply is for."""


StreamClient, Sender, Receiver = _broker_ends.ends(_Connection)
Wire = _mqtt_wire.Wire
