"""RabbitMQ: request and reply by queues of a RabbitMQ broker (AMQP 0.9.1), pika's blocking calls on both sides."""

import contextlib
import time
from typing import Any

import pika
from pika import exceptions

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.systems import _amqp_wire, _broker, _rabbitmq, _tls

TRANSPORTS = ("tcp",)
START_S = 0.3
ROUTER_S = 10.0
REQUIRES = ("pika",)
GROUP = "broker"
LARGEST_BYTES = 64_000_000
PROGRAMS = {"rabbitmq-server": "rabbitmq-server", "epmd": "erlang-base"}
VERSION_COMMANDS = {"rabbitmq-server": "dpkg-query -W rabbitmq-server"}  # its own program starts a broker

FOR_WIRE, SERVER, route = _rabbitmq.FOR_WIRE, _rabbitmq.SERVER, _rabbitmq.route
Options = _rabbitmq.Options
LOOK_S = 1.0  # between two looks whether a reply is late


class _Connection(_broker.Client):
    """A connection to the broker, and a channel of it."""

    ERRORS = (exceptions.AMQPError, OSError)

    def connect(self) -> None:
        options = self.options
        user, password = _broker.login(self.server) or ("guest", "guest")
        settings = pika.ConnectionParameters(
            host=self.server.host,
            port=self.server.port,
            credentials=pika.PlainCredentials(user, password),
            ssl_options=pika.SSLOptions(_tls.client_context(), self.server.host) if options.tls else None,
            socket_timeout=_tls.HANDSHAKE_S,
            stack_timeout=_tls.HANDSHAKE_S,
            connection_attempts=1,
        )
        self.connection = pika.BlockingConnection(settings)
        self.channel = self.connection.channel()
        if options.confirms:
            self.channel.confirm_delivery()
        self.channel.basic_qos(prefetch_count=options.prefetch)

    def close(self) -> None:
        with contextlib.suppress(*self.ERRORS):
            super().close()


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Take requests from a queue and answer them, until the process ends."""
    address = _broker.announced(binding, options.tls)
    broker = _Connection(address, options)
    broker.open()
    channel = broker.channel

    def respond(_: Any, delivery: Any, properties: Any, request: bytes) -> None:
        reply = pika.BasicProperties(correlation_id=properties.correlation_id)
        channel.basic_publish("", properties.reply_to, service.answer(request), reply)
        if options.acknowledge:
            channel.basic_ack(delivery.delivery_tag)

    try:
        if options.queue == "quorum":
            channel.queue_declare(broker.name, durable=True, arguments=_rabbitmq.QUORUM)
        else:
            channel.queue_declare(broker.name, exclusive=True, auto_delete=True)
        channel.basic_consume(broker.name, respond, auto_ack=not options.acknowledge)
        service.announce(address)
        channel.start_consuming()
    except broker.ERRORS as reason:
        raise _broker.lost() from reason


class Client(_Connection):
    """One connection with one channel; each call has a correlation id."""

    def connect(self) -> None:
        """Connect, and take replies."""
        super().connect()
        self._number = 0
        self._reply: bytes | TransportError | None = None
        self.channel.basic_consume(_rabbitmq.REPLIES, self._take, auto_ack=True)
        self.channel.add_on_return_callback(lambda *_: self._return())
        self._look()
        self._mode = 2 if self.options.queue == "quorum" else 1  # persistent, transient

    def _look(self) -> None:
        """Have ``process_data_events`` return now and then, so that a call that waits sees how late it is."""
        self.connection.call_later(LOOK_S, self._look)

    def _take(self, _: Any, __: Any, properties: Any, reply: bytes) -> None:
        if properties.correlation_id == str(self._number):
            self._reply = reply

    def _return(self) -> None:
        self._reply = TransportError(f"no server takes requests from the queue {self.name!r}", "connect")

    def call(self, payload: bytes) -> bytes:
        self._number += 1
        self._reply = None
        about = pika.BasicProperties(
            reply_to=_rabbitmq.REPLIES, correlation_id=str(self._number), delivery_mode=self._mode
        )
        try:
            self.channel.basic_publish("", self.name, payload, about, mandatory=True)
        except exceptions.UnroutableError:
            self._return()
        if self._reply is None:
            self._wait()
        if isinstance(self._reply, bytes):
            return self._reply
        raise self._reply or _broker.no_reply(self.name)

    def _wait(self) -> None:
        """Return when the reply has come, or none in time."""
        until = time.monotonic() + _broker.WAIT_S
        while self._reply is None and time.monotonic() < until:
            self.connection.process_data_events(time_limit=None)


Wire = _amqp_wire.Wire
