"""Redis: request and reply by lists of a Redis server, redis-py on both sides."""

import secrets
import threading
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, RedisError, ResponseError
from redis.retry import Retry

from bench import credentials
from bench.contract import Address, Binding, RouterService, Service
from bench.errors import TransportError
from bench.replies import END
from bench.systems import _broker, _broker_ends, _tls

TRANSPORTS = ("ipc", "tcp")
START_S = 0.3
ROUTER_S = 1.0
REQUIRES = ("redis",)
GROUP = "broker"
LARGEST_BYTES = 64_000_000
PROGRAMS = {"redis-server": "redis-server"}
ENCRYPTED = ("tcp",)  # a Redis server's socket file does not encrypt

SERVER = _broker.Program("redis-server", "redis-server", "Ready to accept")
KEY_BYTES = 16  # of a client's key, at the beginning of each request in a list
AHEAD_BYTES = 4_000_000  # of replies of a stream that wait in their list, before the server waits
PAUSES_S = (0.001, 0.05)  # between two looks at a list that is long: the first pause, and the longest
TOGETHER, TOGETHER_BYTES = 64, 1_000_000  # of a one-way stream, pushed or taken by one command with ``pipelining``
COMMANDS = "+blpop +blmpop +rpush +llen +del +hello +auth +ping +client +select"


@dataclass(frozen=True)
class Options:
    """How messages are sent: a request is pushed to the server's list, its reply to the client's (RPUSH, BLPOP).

    pipelining: send commands that follow each other in one write, without waiting for the first one's reply: what is
        pushed, and the wait for the next message. In a one-way stream, one command pushes up to 64 messages, of at
        most 1 MB together, and one command takes up to 64.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: TLS 1.3 between the broker and either side, over tcp; both sides verify the broker's certificate.
    """

    pipelining: bool = False
    codec: str = "json"
    tls: bool = False


def route(binding: Binding, options: Options, service: RouterService) -> None:
    """Run a Redis server until it ends."""
    _broker.run(SERVER, binding, service, lambda: _configured(binding, options))


def _configured(binding: Binding, options: Options) -> _broker.Start:
    """Write the broker's configuration; it keeps nothing on disk, and obeys the commands that are needed alone."""
    places = _broker.endpoints(binding, TRANSPORTS, ENCRYPTED, options.tls)
    ports = {name: where.port for name, where in places.items() if where.transport == "tcp"}
    lines = [
        f"port {ports.get('tcp', 0)}",
        f"bind {binding.host}",
        f"dir {binding.directory}",
        "protected-mode no",  # the addresses are loopback, or named by the user
        'save ""',
        "appendonly no",
        "daemonize no",
        "databases 1",
        "maxmemory 2gb",
        "maxmemory-policy noeviction",
        'logfile ""',
    ]
    if "ipc" in places:
        lines += [f"unixsocket {places['ipc'].path}", "unixsocketperm 700"]
    if "tcp tls" in ports:
        lines += [
            f"tls-port {ports['tcp tls']}",
            f"tls-cert-file {binding.credentials}/{credentials.CERTIFICATE}",
            f"tls-key-file {binding.credentials}/{credentials.KEY}",
            f"tls-ca-cert-file {binding.credentials}/{credentials.AUTHORITY}",
            "tls-auth-clients no",
            "tls-protocols TLSv1.3",
        ]
    lines += _users(binding)
    return [_broker.write(binding, "redis.conf", lines)], places


def _users(binding: Binding) -> list[str]:
    """Return who may do what: the user that the login names, or without a login anybody who reaches the server."""
    rights = f"~* &* -@all {COMMANDS}"
    if (login := _broker.asked(binding)) is None:
        return [f"user default on nopass {rights}"]
    user, password = login
    others = [] if user == "default" else ["user default off"]
    return [*others, f"user {user} on >{password} {rights}"]


def _connect(where: Address, options: Options) -> Any:
    """Return a client of the broker that has one connection, never retries, and waits as long as a command does."""
    place: dict[str, Any] = {"host": where.host, "port": where.port}
    if where.transport == "ipc":
        place = {"unix_socket_path": where.path}
    elif options.tls:
        authority = credentials.text(credentials.AUTHORITY)
        place |= {"ssl": True, "ssl_ca_data": authority, "ssl_cert_reqs": "required", "ssl_check_hostname": True}
        place |= {"ssl_min_version": _tls.client_context().minimum_version}
    user, password = _broker.login(where) or (None, None)
    client = redis.Redis(
        **place,
        username=user,
        password=password,
        protocol=2,
        socket_timeout=None,
        socket_connect_timeout=_tls.HANDSHAKE_S,
        retry=Retry(NoBackoff(), 0),
        single_connection_client=False,
    )
    try:
        client.ping()
    except AuthenticationError as reason:
        raise _broker.refused(reason) from reason
    except RedisError as reason:
        raise _unreachable(where, options, reason) from reason
    return client


def _unreachable(where: Address, options: Options, reason: RedisError) -> TransportError:
    """Return the error for a connection that could not be made, or whose first command failed."""
    if "NOAUTH" in str(reason) or "WRONGPASS" in str(reason):
        return _broker.refused(reason)
    cause = reason.__context__ or reason
    if isinstance(cause, OSError) and _tls.is_handshake(cause, options.tls) and where.transport == "tcp":
        return _tls.failed(cause)
    return _broker.cannot_connect(where, f"{reason}{_tls.hint(options.tls, cause)}")


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Take requests from a list of the broker and push their replies, until the process ends."""
    where, name = _broker.split(_broker.announced(binding, options.tls))
    client = _connect(where, options)
    try:
        client.delete(name)
        service.announce(_broker.announced(binding, options.tls))
        if service.is_streaming:
            _serve_replies(client, name, service)
        else:
            _serve_calls(client, name, options, service)
    except RedisError as reason:
        raise _failed("the server cannot go on", reason) from reason


def _serve_calls(client: Any, name: str, options: Options, service: Service) -> None:
    """Answer the requests in a list: a client's key, and the payload."""
    answer, push, pop = service.answer, client.rpush, client.blpop
    if not options.pipelining:
        while True:
            _, request = pop(name, 0)
            push(request[:KEY_BYTES], answer(request[KEY_BYTES:]))
    _, request = pop(name, 0)
    while True:
        commands = client.pipeline(transaction=False)
        commands.rpush(request[:KEY_BYTES], answer(request[KEY_BYTES:]))
        commands.blpop(name, 0)
        _, (_, request) = commands.execute()


def _serve_replies(client: Any, name: str, service: Service) -> None:
    """Answer each request in a list with many replies, in a thread and on a connection of its own, and an empty one.

    Redis has no flow control between the two sides. But it answers each RPUSH with the list's length: where too much
    waits there, the client does not read, and its server waits until it has read half of it.
    """

    def answer(key: bytes, payload: bytes) -> None:
        for reply in service.replies(payload):
            most = max(2, AHEAD_BYTES // len(reply))
            if client.rpush(key, reply) > most:
                _wait_until_read(client, key, most // 2)
        client.rpush(key, END)

    while True:
        _, request = client.blpop(name, 0)
        threading.Thread(target=answer, args=(request[:KEY_BYTES], request[KEY_BYTES:]), daemon=True).start()


def _wait_until_read(client: Any, key: bytes | str, length: int) -> None:
    """Return when a list is no longer than this; the pauses grow, as of a client that has stopped reading."""
    pause_s, longest_s = PAUSES_S
    while client.llen(key) > length:
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, longest_s)


def _failed(what: str, reason: Exception) -> TransportError:
    """Return the error for a command that failed."""
    if isinstance(reason, ResponseError) and "maxmemory" in str(reason):
        return TransportError(f"{what}: the broker's memory is full: {reason}", "full")
    return TransportError(f"{what}: {reason}", "read" if isinstance(reason, redis.ConnectionError) else "call")


class Client:
    """One connection to the broker, and a list of its own for replies."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._name = _broker.split(address)
        self._options = options

    def open(self) -> None:
        """Connect."""
        self._redis = _connect(self._where, self._options)
        self._key = secrets.token_hex(KEY_BYTES // 2).encode()
        self._exchange = self._at_once if self._options.pipelining else self._in_turn

    def call(self, payload: bytes) -> bytes:
        """Push a request and wait for its reply."""
        try:
            reply = self._exchange(payload)
        except RedisError as reason:
            raise _failed("the call failed", reason) from reason
        if reply is None:
            raise _broker.no_reply(self._name)
        return reply

    def _in_turn(self, payload: bytes) -> bytes | None:
        self._redis.rpush(self._name, self._key + payload)
        popped = self._redis.blpop(self._key, _broker.WAIT_S)
        return popped and popped[1]

    def _at_once(self, payload: bytes) -> bytes | None:
        commands = self._redis.pipeline(transaction=False)
        commands.rpush(self._name, self._key + payload)
        commands.blpop(self._key, _broker.WAIT_S)
        popped = commands.execute()[1]
        return popped and popped[1]

    def close(self) -> None:
        """Remove the replies that nobody read, and disconnect."""
        try:
            self._redis.delete(self._key)
        except RedisError as reason:
            raise _failed("the connection cannot be closed in order", reason) from reason
        finally:
            self._redis.close()


class StreamClient(Client):
    """A connection whose requests are answered by many replies in its list."""

    def stream(self, payload: bytes) -> Iterator[bytes]:
        """Push a request and yield its replies."""
        try:
            self._redis.rpush(self._name, self._key + payload)
            while reply := self._redis.blpop(self._key, 0)[1]:
                yield reply
        except RedisError as reason:
            raise _failed("the stream failed", reason) from reason


class Sender:
    """The sending end of a one-way stream: it pushes messages to the receiver's list, and waits where it is long."""

    def __init__(self, address: str, options: Options) -> None:
        self._where, self._name = _broker.split(address)
        self._options = options
        self._waiting: list[bytes] = []
        self._together = 1  # the first message goes at once: the receiver waits for it

    def open(self) -> None:
        """Connect."""
        self._redis = _connect(self._where, self._options)

    def send(self, payload: bytes) -> None:
        """Push a message, at once or together with those that follow it; the last, an empty one, at once."""
        self._waiting.append(payload)
        if len(self._waiting) < self._together and payload != END:
            return
        size = max(1, len(self._waiting[0]))
        if self._options.pipelining:
            self._together = max(1, min(TOGETHER, TOGETHER_BYTES // size))
        most = _broker_ends.most_ahead(size)
        try:
            if self._redis.rpush(self._name, *self._waiting) > most:
                _wait_until_read(self._redis, self._name, most // 2)
        except RedisError as reason:
            raise _failed("a message could not be sent", reason) from reason
        self._waiting.clear()

    def close(self) -> None:
        """Disconnect."""
        self._redis.close()


class Receiver:
    """The receiving end of a one-way stream: it takes messages from its list, one by one or as many as are there."""

    def __init__(self, binding: Binding, options: Options) -> None:
        self.address = _broker.announced(binding, options.tls)
        where, self._name = _broker.split(self.address)
        self._redis = _connect(where, options)
        self._redis.delete(self._name)
        self._together = TOGETHER if options.pipelining else 1
        self._taken: deque[bytes] = deque()

    def receive(self) -> bytes:
        """Return the next message, waiting for it."""
        if not self._taken:
            try:
                _, messages = self._redis.blmpop(0, 1, self._name, direction="LEFT", count=self._together)
            except RedisError as reason:
                raise _failed("no message could be received", reason) from reason
            self._taken.extend(messages)
        return self._taken.popleft()

    def close(self) -> None:
        """Disconnect."""
        self._redis.close()
