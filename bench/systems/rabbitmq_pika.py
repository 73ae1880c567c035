"""RabbitMQ: request and reply by queues of a RabbitMQ broker (AMQP 0.9.1), pika's blocking calls on both sides."""

import contextlib
import time
from typing import Any

import pika
from pika import exceptions
from pika.adapters.blocking_connection import BlockingChannel

from bench.contract import Address, Binding, RouterService, Service
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

SERVER = _rabbitmq.SERVER
FAILURES = (exceptions.AMQPError, OSError)
LOOK_S = 1.0  # between two looks whether a reply is late

Options = _rabbitmq.Options


def route(binding: Binding, options: Options, service: RouterService) -> None:
    """Run a RabbitMQ broker until it ends."""
    _rabbitmq.route(binding, options, service)


def _connect(where: Address, options: Options) -> tuple[pika.BlockingConnection, BlockingChannel]:
    """Return a connection to the broker, and a channel of it."""
    user, password = _broker.login(where) or ("guest", "guest")
    given = pika.ConnectionParameters(
        host=where.host,
        port=where.port,
        credentials=pika.PlainCredentials(user, password),
        ssl_options=pika.SSLOptions(_tls.client_context(), where.host) if options.tls else None,
        socket_timeout=_tls.HANDSHAKE_S,
        stack_timeout=_tls.HANDSHAKE_S,
        connection_attempts=1,
    )
    try:
        connection = pika.BlockingConnection(given)
        channel = connection.channel()
        if options.confirms:
            channel.confirm_delivery()
        channel.basic_qos(prefetch_count=options.prefetch)
    except FAILURES as reason:
        raise _unreachable(where, options, reason) from reason
    return connection, channel


def _unreachable(where: Address, options: Options, reason: BaseException) -> TransportError:
    """Return the error for a connection that could not be made."""
    if isinstance(reason, exceptions.AuthenticationError | exceptions.ProbableAuthenticationError):
        return _broker.refused(" ".join(str(reason).split()))
    cause: Any = reason
    while (inner := getattr(cause, "exception", None) or (cause.args and cause.args[0])) and cause is not inner:
        if not isinstance(inner, BaseException):
            break
        cause = inner
    if isinstance(cause, OSError) and _tls.is_handshake(cause, options.tls):
        return _tls.failed(cause)
    text = str(cause) or type(cause).__name__
    return _broker.cannot_connect(where, text + _tls.hint(options.tls, cause))


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Take requests from a queue and answer them, until the process ends."""
    address = _broker.announced(binding, options.tls)
    where, name = _broker.split(address)
    _, channel = _connect(where, options)

    def respond(_: Any, delivery: Any, properties: Any, request: bytes) -> None:
        given = pika.BasicProperties(correlation_id=properties.correlation_id)
        channel.basic_publish("", properties.reply_to, service.answer(request), given)
        if options.acknowledge:
            channel.basic_ack(delivery.delivery_tag)

    try:
        if options.queue == "quorum":
            channel.queue_declare(name, durable=True, arguments=_rabbitmq.QUORUM)
        else:
            channel.queue_declare(name, exclusive=True, auto_delete=True)
        channel.basic_consume(name, respond, auto_ack=not options.acknowledge)
        service.announce(address)
        channel.start_consuming()
    except FAILURES as reason:
        raise _broker.lost() from reason


class Client:
    """One connection with one channel; each call has a correlation id."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._name = _broker.split(address)
        self._options = options
        self._number = 0
        self._reply: bytes | TransportError | None = None

    def open(self) -> None:
        """Connect, and take replies."""
        self._connection, self._channel = _connect(self._where, self._options)
        try:
            self._channel.basic_consume(_rabbitmq.REPLIES, self._take, auto_ack=True)
        except FAILURES as reason:
            raise _unreachable(self._where, self._options, reason) from reason
        self._channel.add_on_return_callback(lambda *_: self._return())
        self._look()
        self._mode = 2 if self._options.queue == "quorum" else 1  # persistent, transient

    def _look(self) -> None:
        """Have ``process_data_events`` return now and then, so that a call that waits sees how late it is."""
        self._connection.call_later(LOOK_S, self._look)

    def _take(self, _: Any, __: Any, properties: Any, reply: bytes) -> None:
        if properties.correlation_id == str(self._number):
            self._reply = reply

    def _return(self) -> None:
        self._reply = TransportError(f"no server takes requests from the queue {self._name!r}", "connect")

    def call(self, payload: bytes) -> bytes:
        """Publish a request and wait for its reply."""
        self._number += 1
        self._reply = None
        given = pika.BasicProperties(
            reply_to=_rabbitmq.REPLIES, correlation_id=str(self._number), delivery_mode=self._mode
        )
        try:
            self._channel.basic_publish("", self._name, payload, given, mandatory=True)
            if self._reply is None:
                self._wait()
        except exceptions.UnroutableError:
            self._return()
        except FAILURES as reason:
            raise TransportError(f"the call failed: {str(reason) or type(reason).__name__}", "read") from reason
        if isinstance(self._reply, bytes):
            return self._reply
        raise self._reply or _broker.no_reply(self._name)

    def _wait(self) -> None:
        """Return when the reply has come, or none in time."""
        until = time.monotonic() + _broker.WAIT_S
        while self._reply is None and time.monotonic() < until:
            self._connection.process_data_events(time_limit=None)

    def close(self) -> None:
        """Disconnect."""
        with contextlib.suppress(*FAILURES):
            self._connection.close()


Wire = _amqp_wire.Wire
