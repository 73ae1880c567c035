"""RabbitMQ: request and reply by queues of a RabbitMQ broker (AMQP 0.9.1), aio-pika (asyncio) on both sides."""

import asyncio
import contextlib
import functools
import sys
from dataclasses import dataclass
from typing import Any

import aio_pika
import aiormq
from aio_pika.abc import AbstractIncomingMessage

from bench.errors import TransportError
from bench.process import event_loops
from bench.systems import _amqp_wire, _broker, _broker_ends, _rabbitmq, _tls

TRANSPORTS = ("tcp",)
START_S = 0.3
ROUTER_S = 10.0
REQUIRES = ("aio-pika",)
GROUP = "broker"
LARGEST_BYTES = 64_000_000
PROGRAMS = {"rabbitmq-server": "rabbitmq-server", "epmd": "erlang-base"}
VERSION_COMMANDS = {"rabbitmq-server": "dpkg-query -W rabbitmq-server"}  # its own program starts a broker

FOR_WIRE, SERVER = _rabbitmq.FOR_WIRE, _rabbitmq.SERVER


@dataclass(frozen=True)
class Options(_rabbitmq.Options):
    """Of a one-way stream the receiver reports what it has read, and the sender waits for that.

    event_loop: asyncio or uvloop, in client and server.
    """

    event_loop: event_loops.EventLoop = "asyncio"


route = _rabbitmq.route


class _Connection(_broker_ends.Connection):
    """A connection and a channel of it."""

    ERRORS, HAS_TASKS = (aiormq.exceptions.AMQPError, aio_pika.exceptions.AMQPException, OSError), True  # TimeoutError
    replies = _rabbitmq.REPLIES

    async def attach(self, lost: _broker_ends.Lost, refused: _broker_ends.Refused = lambda *_: None) -> None:
        options, (user, password) = self.options, self.login
        asyncio.get_running_loop().set_exception_handler(_print)
        self.connection = await aio_pika.connect(
            host=self.server.host,
            port=self.server.port,
            login=user or "guest",
            password=password or "guest",
            ssl=options.tls,
            ssl_context=_tls.client_context() if options.tls else None,
            timeout=_tls.HANDSHAKE_S,
        )
        self._channel: Any = await self.connection.channel(publisher_confirms=options.confirms)
        await self._channel.set_qos(prefetch_count=options.prefetch)
        for end in (self.connection, self._channel):
            end.close_callbacks.add(lambda *_: lost(_broker.lost()))
        self._channel.return_callbacks.add(lambda _, message: refused(self._nobody(), message.correlation_id or ""))

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
        acknowledges = self.options.acknowledge and name == self.name

        async def handle(message: AbstractIncomingMessage) -> None:
            await take(message.body, message.correlation_id or "", message.reply_to or "")
            if acknowledges:
                await self.acknowledge(message)

        if name == self.replies:
            queue = await self._channel.get_queue(name, ensure=False)
        elif self.options.queue == "quorum" and name == self.name:
            queue = await self._channel.declare_queue(name, durable=True, arguments=_rabbitmq.QUORUM)
        else:
            queue = await self._channel.declare_queue(name, exclusive=True, auto_delete=True)
        await queue.consume(handle, no_ack=not acknowledges)

    async def close(self) -> None:
        """Disconnect, also where the connection is lost."""
        with contextlib.suppress(*self.ERRORS, asyncio.CancelledError):
            await self.connection.close()


def _print(_: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Print what failed outside any call in one line: the end of the log is quoted."""
    print(repr(context.get("exception") or context["message"]), file=sys.stderr)


serve = functools.partial(_broker_ends.serve, _Connection)


class Client(_broker_ends.Client, _Connection):
    """One connection with one channel; each call has a correlation id."""


Multiplexed = Client  # several calls are awaited at once
StreamClient, Sender, Receiver = _broker_ends.ends(_Connection)
Wire = _amqp_wire.Wire
