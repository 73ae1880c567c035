"""NATS: request and reply by subjects of a NATS server, nats-py (asyncio) on both sides."""

import contextlib
import functools
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from nats import errors
from nats.aio.client import Client as Connection
from nats.aio.msg import Msg
from nats.js.api import RetentionPolicy, StreamConfig

from bench.contract import Binding
from bench.errors import TransportError
from bench.process import event_loops
from bench.systems import _broker, _broker_ends, _nats_wire, _tls

TRANSPORTS = ("tcp",)
START_S = 0.4
ROUTER_S = 1.0
REQUIRES = ("nats-py",)
GROUP = "broker"
LARGEST_BYTES = 8_388_608  # the broker advises against a max_payload above
PROGRAMS = {"nats-server": "nats-server"}

FOR_WIRE = {"tls": False, "jetstream": False}
SERVER = _broker.Program("nats-server", "nats-server", "Server is ready")
QUEUE = "servers"  # of the servers under one subject, each request is given to one
CONNECT_S = 3.0
NUMBER, REPLY_TO = "Roundtrip-Number", "Roundtrip-Reply-To"  # headers of requests that go through a stream


@dataclass(frozen=True)
class Options:
    """How messages travel. The receiver of a one-way stream reports what it has read; the sender waits for that.

    jetstream: false is core NATS: a message goes to those who listen now, at most once. true sends requests through a
        stream on disk (JetStream, retention WorkQueue): the client waits until the broker has stored its request, a
        push consumer delivers it to the server, which acknowledges it after its reply: at least once. A message that a
        consumer delivers names its acknowledgement's subject as reply subject, so that where the reply goes is in a
        header. Replies are core NATS either way.
    codec: how structured messages become bytes; not used for opaque bytes.
    event_loop: asyncio or uvloop, in client and server.
    tls: TLS 1.3 between the broker and either side; both sides verify the broker's certificate.
    """

    jetstream: bool = False
    codec: str = "json"
    event_loop: event_loops.EventLoop = "asyncio"
    tls: bool = False


def _configured(binding: Binding, options: Options) -> _broker.Start:
    """Write the broker's configuration: one port, for connections with and without TLS where a run has both."""
    places = _broker.endpoints(binding, TRANSPORTS, (), options.tls)
    (address,) = places.values()
    lines = [
        f'host: "{address.host}"',
        f"port: {address.port}",
        f"max_payload: {LARGEST_BYTES + 1000}",  # headers count too
        f"max_pending: {16 * LARGEST_BYTES}",
        f'jetstream {{ store_dir: "{binding.directory}/jetstream", max_file: 2GB }}',
    ]
    if binding.credentials:
        certificate, key = _tls.files(binding.credentials)
        lines += [f'tls {{ cert_file: "{certificate}", key_file: "{key}" }}']
        if not binding.is_named:
            lines += ["allow_non_tls: true"]
            places[_broker.endpoint("tcp", True)] = address
    if login := _broker.asked(binding):
        lines += [f'authorization {{ user: "{login[0]}", password: "{login[1]}" }}']
    return ["--config", _broker.write(binding, "nats.conf", lines)], places


route = _broker.router(SERVER, _configured)


class _Connection(_broker_ends.Connection):
    """A connection that is not made anew when it is lost."""

    ERRORS = (errors.Error, OSError)  # TimeoutError too
    ENDED = (errors.SecureConnRequiredError, errors.SecureConnWantedError, errors.SecureConnFailedError)

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address, options)
        self.connection = Connection()
        self._stream = self.connection.jetstream()
        self.replies = self.connection.new_inbox()
        self._complaint: Exception | None = None  # the first of the library

    async def attach(self, lost: _broker_ends.Lost, refused: _broker_ends.Refused = lambda *_: None) -> None:
        async def complain(reason: Exception) -> None:
            self._complaint = self._complaint or reason
            print(f"{type(reason).__name__}: {reason}", file=sys.stderr)

        async def end() -> None:
            lost(_broker.lost())

        tls, (user, password) = self.options.tls, self.login
        secure: dict[str, Any] = {"tls": _tls.client_context(), "tls_hostname": self.server.host} if tls else {}
        await self.connection.connect(
            f"{'tls' if tls else 'nats'}://{self.server.place}",
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

    def unreachable(self, reason: BaseException) -> TransportError:
        return super().unreachable(self._complaint or reason)

    def publish(self, name: str, payload: bytes, number: str = "", reply_to: str = "") -> Any:
        """Return what awaits that a message is published; through a stream, that the broker has stored it."""
        if not self.options.jetstream:
            return self.connection.publish(name, payload, reply_to)
        headers = {key: value for key, value in ((NUMBER, number), (REPLY_TO, reply_to)) if value} or None
        if name == self.name:
            return self._stream.publish(name, payload, _broker.WAIT_S, headers=headers)
        return self.connection.publish(name, payload, headers=headers)

    async def subscribe(self, name: str, take: _broker_ends.Take) -> None:
        async def handle(message: Msg) -> None:
            await take(message.data, "", message.reply)

        async def handle_with_headers(message: Msg) -> None:
            headers = message.headers or {}
            await take(message.data, headers.get(NUMBER, ""), headers.get(REPLY_TO, ""))
            if name == self.name:
                await self.acknowledge(message)

        if self.options.jetstream:
            if name == self.name:
                await self._consume(handle_with_headers)
            else:
                await self.connection.subscribe(name, cb=handle_with_headers)
                await self.connection.flush()
            return
        await self.connection.subscribe(name, queue=QUEUE if name == self.name else "", cb=handle)
        await self.connection.flush()

    async def _consume(self, handle: Callable[[Msg], Awaitable[None]]) -> None:
        """Have ``handle`` awaited for each message of a stream that keeps it until it is acknowledged."""
        stream = self.name.replace(".", "-")
        kept = StreamConfig(name=stream, subjects=[self.name], retention=RetentionPolicy.WORK_QUEUE)
        await self._stream.add_stream(kept)
        await self._stream.subscribe(self.name, queue=QUEUE, durable=QUEUE, stream=stream, cb=handle, manual_ack=True)

    def failed(self, reason: BaseException) -> TransportError:
        if isinstance(reason, errors.NoRespondersError):
            return TransportError(f"no server takes requests under {self.name!r}", "connect")
        if isinstance(reason, errors.MaxPayloadError):
            text = f"the broker takes messages of up to {LARGEST_BYTES:,} B: the payload is larger"
            return TransportError(text, "size")
        return super().failed(reason)


serve = functools.partial(_broker_ends.serve, _Connection)


class Client(_broker_ends.Client, _Connection):
    """One connection to the broker; replies come to an inbox that the library subscribes to with the first call.

    Of a request that goes through a stream, the reply comes to an inbox of this client's: it has the request's number.
    """

    async def connect(self) -> None:
        await (super().connect() if self.options.jetstream else self.attach(lambda *_: None))

    async def call(self, payload: bytes) -> bytes:
        if self.options.jetstream:
            return await super().call(payload)
        return (await self.connection.request(self.name, payload, _broker.WAIT_S)).data


Multiplexed = Client  # several calls are awaited at once
StreamClient, Sender, _ = _broker_ends.ends(_Connection)


class Receiver(_broker_ends.Receiver, _Connection):
    """The receiving end of a one-way stream, which acknowledges a message of a stream on disk when it is read."""

    async def close(self) -> None:
        """Send what is still to be sent, and disconnect."""
        with contextlib.suppress(errors.Error):
            await self.connection.drain()


Wire = _nats_wire.Wire
