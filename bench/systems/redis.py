"""Redis: request and reply by lists or streams of a Redis server, redis-py on both sides."""

import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import redis
from redis._parsers import Encoder, _RESP3Parser
from redis.backoff import NoBackoff
from redis.connection import PythonRespSerializer
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.plan import credentials
from bench.plan.replies import END
from bench.systems import _broker, _broker_ends, _redis_wire, _tls
from bench.systems._redis_wire import FIELD, KEY_BYTES

TRANSPORTS = ("ipc", "tcp")
START_S = 0.3
ROUTER_S = 1.0
REQUIRES = ("redis", "hiredis")
GROUP = "broker"
LARGEST_BYTES = 64_000_000
PROGRAMS = {"redis-server": "redis-server"}
ENCRYPTED = ("tcp",)  # a Redis server's socket file does not encrypt

FOR_WIRE = {"tls": False}
SERVER = _broker.Program("redis-server", "redis-server", "Ready to accept")
AHEAD_BYTES = 4_000_000  # of replies of a stream that wait in their list, before the server waits
PAUSES_S = (0.001, 0.05)  # between two looks at a list that is long: the first pause, and the longest
MOST_CONNECTIONS = 10_240  # its default is 10,000: as many as callers of the wire, and servers connect too
TOGETHER, TOGETHER_BYTES = 64, 1_000_000  # of a one-way stream, pushed or taken by one command with ``pipelining``
COMMANDS = (
    "+blpop +blmpop +rpush +llen +del +hello +auth +ping +client +select "
    "+xadd +xlen +xgroup|create +xreadgroup +xack +xdel +multi +exec"
)
WORKERS = "workers"  # the consumer group that reads a stream: each entry is given to one of its members
ENCODER = Encoder("utf-8", "strict", False)  # of the arguments of commands


@dataclass(frozen=True)
class Options:
    """How messages are sent: RESP3 to the broker, on one connection that a client keeps.

    queue: list pushes a request to the server's list (RPUSH, BLPOP): at most once, for the broker forgets a message
        that it hands out. stream appends it to a stream that servers read as a group (XADD, XREADGROUP): at least once,
        for it stays pending until the server acknowledges it, in one transaction with its reply (XACK, XDEL). Replies
        are pushed to the client's list either way.
    parser: hiredis, in C, reads and writes the protocol, as redis-py recommends for speed; python is its own code.
    pipelining: send commands that follow each other in one write, without waiting for the first one's reply: what is
        pushed, and the wait for the next message. In a one-way stream, one command pushes up to 64 messages, of at
        most 1 MB together, and one command takes up to 64. Only with lists. For each such write, as for a transaction,
        redis-py takes a connection from its pool.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: TLS 1.3 between the broker and either side, over tcp; both sides verify the broker's certificate.
    """

    queue: Literal["list", "stream"] = "list"
    parser: Literal["hiredis", "python"] = "hiredis"
    pipelining: bool = False
    codec: str = "json"
    tls: bool = False

    def __post_init__(self) -> None:
        if self.pipelining and self.queue == "stream":
            raise ValueError("pipelining is for lists: give queue list, or pipelining false")


def _configured(binding: Binding, options: Options) -> _broker.Start:
    """Write the broker's configuration; it keeps nothing on disk, and obeys the commands that are needed alone."""
    places = _broker.endpoints(binding, TRANSPORTS, ENCRYPTED, options.tls)
    ports = {name: address.port for name, address in places.items() if address.transport == "tcp"}
    lines = [
        f"port {ports.get('tcp', 0)}",
        f"bind {binding.host}",
        f"dir {binding.directory}",
        "protected-mode no",  # the addresses are loopback, or named by the user
        'save ""',
        "appendonly no",
        "daemonize no",
        "databases 1",
        f"maxclients {MOST_CONNECTIONS}",
        "maxmemory 2gb",
        "maxmemory-policy noeviction",
        'logfile ""',
    ]
    if "ipc" in places:
        lines += [f"unixsocket {places['ipc'].path}", "unixsocketperm 700"]
    if "tcp tls" in ports:
        certificate, key = _tls.files(binding.credentials)
        lines += [
            f"tls-port {ports['tcp tls']}",
            f"tls-cert-file {certificate}",
            f"tls-key-file {key}",
            f"tls-ca-cert-file {binding.credentials}/{credentials.AUTHORITY}",
            "tls-auth-clients no",
            "tls-protocols TLSv1.3",
        ]
    lines += _users(binding)
    return [_broker.write(binding, "redis.conf", lines)], places


route = _broker.router(SERVER, _configured)


def _users(binding: Binding) -> list[str]:
    """Return who may do what: the user that the login names, or without a login anybody who reaches the server."""
    rights = f"~* &* -@all {COMMANDS}"
    if (login := _broker.asked(binding)) is None:
        return [f"user default on nopass {rights}"]
    user, password = login
    others = [] if user == "default" else ["user default off"]
    return [*others, f"user {user} on >{password} {rights}"]


class _Connection(_broker.Client):
    """A connection to the broker that never retries, and waits as long as a command does.

    It keeps one connection, unless several threads use it or commands are pipelined: then it has a pool.
    """

    ERRORS = (RedisError,)
    has_threads = False

    def connect(self) -> None:
        options, settings = self.options, self._settings()
        kind: Any = redis.UnixDomainSocketConnection if self.server.transport == "ipc" else redis.Connection
        if options.tls and self.server.transport == "tcp":
            kind = redis.SSLConnection
            authority = credentials.text(credentials.AUTHORITY)
            settings |= {"ssl_ca_data": authority, "ssl_cert_reqs": "required", "ssl_check_hostname": True}
            settings |= {"ssl_min_version": _tls.client_context().minimum_version}
        if options.parser == "python":
            settings |= {"parser_class": _RESP3Parser, "command_packer": PythonRespSerializer(6000, ENCODER.encode)}
        pool = redis.ConnectionPool(connection_class=kind, **settings)
        is_single = not (self.has_threads or options.pipelining)
        self.connection = redis.Redis(connection_pool=pool, single_connection_client=is_single)
        self.connection.auto_close_connection_pool = True
        self.connection.ping()

    def _settings(self) -> dict[str, Any]:
        user, password = _broker.login(self.server) or (None, None)
        is_file = self.server.transport == "ipc"
        return {
            "username": user,
            "password": password,
            "protocol": 3,
            "legacy_responses": False,
            "socket_timeout": None,
            "socket_connect_timeout": _tls.HANDSHAKE_S,
            "retry": Retry(NoBackoff(), 0),
        } | ({"path": self.server.path} if is_file else {"host": self.server.host, "port": self.server.port})

    def failed(self, reason: BaseException) -> TransportError:
        if isinstance(reason, ResponseError) and "maxmemory" in str(reason):
            return TransportError(f"the call failed: the broker's memory is full: {reason}", "full")
        return TransportError(
            f"the call failed: {reason}", "read" if isinstance(reason, redis.ConnectionError) else "call"
        )


class _Server(_Connection):
    """The connection of a server whose threads share it."""

    has_threads = True


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Take requests from a list or a stream of the broker and push their replies, until the process ends."""
    address, is_stream = _broker.announced(binding, options.tls), options.queue == "stream"
    broker = (_Server if service.is_streaming or is_stream else _Connection)(address, options)
    broker.open()
    client, name = broker.connection, broker.name
    try:
        _prepare(client, name, options)
        service.announce(address)
        if service.is_streaming:
            _serve_replies(client, name, options, service)
        elif is_stream:
            _serve_acknowledged(client, name, service)
        else:
            _serve_calls(client, name, options, service)
    except RedisError as reason:
        raise broker.failed(reason) from reason


def _prepare(client: Any, name: str, options: Options) -> None:
    """Make a list or a stream that is empty, the latter with a group of readers."""
    client.delete(name)
    if options.queue == "stream":
        client.xgroup_create(name, WORKERS, mkstream=True)


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


def _serve_acknowledged(client: Any, name: str, service: Service) -> None:
    """Answer the requests in a stream; the reply and the acknowledgement are one transaction."""
    while True:
        ((number, request),) = _read(client, name, 1)
        commands = client.pipeline(transaction=True)
        commands.rpush(request[:KEY_BYTES], service.answer(request[KEY_BYTES:]))
        _acknowledge(commands, name, [number])
        commands.execute()


def _read(client: Any, name: str, max_count: int) -> list[tuple[bytes, bytes]]:
    """Return the next entries of a stream, waiting for one: their numbers and their messages."""
    entries = client.xreadgroup(WORKERS, WORKERS, {name: ">"}, count=max_count, block=0)
    return [(number, fields[FIELD]) for number, fields in entries[name.encode()]]


def _acknowledge(client: Any, name: str, numbers: Sequence[bytes]) -> None:
    """Acknowledge entries of a stream and remove them: a stream keeps what was acknowledged."""
    client.xack(name, WORKERS, *numbers)
    client.xdel(name, *numbers)


def _push(client: Any, name: str, messages: Sequence[bytes], options: Options) -> int:
    """Push messages to a list or append them to a stream; return how many wait there."""
    if options.queue == "list":
        return client.rpush(name, *messages)
    commands = client.pipeline(transaction=False)
    for message in messages:
        commands.xadd(name, {FIELD: message})
    commands.xlen(name)
    return commands.execute()[-1]


def _serve_replies(client: Any, name: str, options: Options, service: Service) -> None:
    """Answer each request with many replies, in a thread and on a connection of its own, and an empty one.

    Redis has no flow control between the two sides. But it answers each RPUSH with the list's length: where too much
    waits there, the client does not read, and its server waits until it has read half of it.
    """

    def answer(key: bytes, payload: bytes, number: bytes) -> None:
        for reply in service.replies(payload):
            max_ahead = max(2, AHEAD_BYTES // len(reply))
            if client.rpush(key, reply) > max_ahead:
                _wait_until_read(client.llen, key, max_ahead // 2)
        client.rpush(key, END)
        if number:
            _acknowledge(client, name, [number])

    while True:
        if options.queue == "stream":
            ((number, request),) = _read(client, name, 1)
        else:
            number, (_, request) = b"", client.blpop(name, 0)
        threading.Thread(target=answer, args=(request[:KEY_BYTES], request[KEY_BYTES:], number), daemon=True).start()


def _wait_until_read(length_of: Callable[[Any], int], key: bytes | str, length: int) -> None:
    """Return when what waits is no longer than this; the pauses grow, as of a client that has stopped reading."""
    pause_s, longest_s = PAUSES_S
    while length_of(key) > length:
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, longest_s)


class Client(_Connection):
    """One connection to the broker, and a list of its own for replies."""

    def connect(self) -> None:
        super().connect()
        self._key = secrets.token_hex(KEY_BYTES // 2).encode()
        self._exchange = self._at_once if self.options.pipelining else self._in_turn
        self._ask = self._append if self.options.queue == "stream" else self.connection.rpush

    def call(self, payload: bytes) -> bytes:
        """Push or append a request and wait for its reply."""
        reply = self._exchange(payload)
        if reply is None:
            raise _broker.no_reply(self.name)
        return reply

    def _append(self, name: str, request: bytes) -> None:
        self.connection.xadd(name, {FIELD: request})

    def _in_turn(self, payload: bytes) -> bytes | None:
        self._ask(self.name, self._key + payload)
        popped = self.connection.blpop(self._key, _broker.WAIT_S)
        return popped and popped[1]

    def _at_once(self, payload: bytes) -> bytes | None:
        commands = self.connection.pipeline(transaction=False)
        commands.rpush(self.name, self._key + payload)
        commands.blpop(self._key, _broker.WAIT_S)
        popped = commands.execute()[1]
        return popped and popped[1]

    def close(self) -> None:
        """Remove the replies that nobody read, and disconnect."""
        try:
            self.connection.delete(self._key)
        finally:
            super().close()


class StreamClient(Client):
    """A connection whose requests are answered by many replies in its list."""

    def stream(self, payload: bytes) -> Iterator[bytes]:
        """Push a request and yield its replies."""
        self._ask(self.name, self._key + payload)
        while reply := self.connection.blpop(self._key, 0)[1]:
            yield reply


class Sender(_Connection):
    """The sending end of a one-way stream: it pushes messages to the receiver, and waits where many are unread."""

    def connect(self) -> None:
        super().connect()
        self._waiting: list[bytes] = []
        self._together = 1  # the first message goes at once: the receiver waits for it

    def send(self, payload: bytes) -> None:
        """Push a message, at once or together with those that follow it; the last, an empty one, at once."""
        self._waiting.append(payload)
        if len(self._waiting) < self._together and payload != END:
            return
        size = max(1, len(self._waiting[0]))
        if self.options.pipelining:
            self._together = max(1, min(TOGETHER, TOGETHER_BYTES // size))
        max_ahead = _broker_ends.most_ahead(size)
        if _push(self.connection, self.name, self._waiting, self.options) > max_ahead:
            length_of = self.connection.xlen if self.options.queue == "stream" else self.connection.llen
            _wait_until_read(length_of, self.name, max_ahead // 2)
        self._waiting.clear()


class Receiver(_Connection):
    """The receiving end of a one-way stream: it takes messages, one by one or as many as are there.

    Entries of a stream are taken as many as are there, and acknowledged when the next ones are asked for.
    """

    def __init__(self, binding: Binding, options: Options) -> None:
        self.address = _broker.announced(binding, options.tls)
        super().__init__(self.address, options)
        self.open()
        _prepare(self.connection, self.name, options)
        self._take = self._of_stream if options.queue == "stream" else self._of_list
        self._together = TOGETHER if options.pipelining else 1
        self._taken: deque[bytes] = deque()
        self._numbers: list[bytes] = []  # of the entries that are not acknowledged

    def receive(self) -> bytes:
        if not self._taken:
            self._taken.extend(self._take())
        return self._taken.popleft()

    def _of_list(self) -> Sequence[bytes]:
        return self.connection.blmpop(0, 1, self.name, direction="LEFT", count=self._together)[1]

    def _of_stream(self) -> Sequence[bytes]:
        if self._numbers:
            _acknowledge(self.connection, self.name, self._numbers)
        entries = _read(self.connection, self.name, TOGETHER)
        self._numbers = [number for number, _ in entries]
        return [message for _, message in entries]


Wire = _redis_wire.Wire
