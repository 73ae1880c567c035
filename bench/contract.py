"""The interface between a system's file and the laboratory.

A file in ``bench/systems`` is one system; its stem is the system's name. This is a whole one; ``Client``
inherits ``open`` and ``close``, and ``docs/adding-a-system.md`` writes one step by step::

    '''ZeroMQ: REQ and REP sockets.'''

    from dataclasses import dataclass

    import zmq

    from bench.contract import Binding, Service
    from bench.systems import _client

    TRANSPORTS = ("ipc",)
    REQUIRES = ("pyzmq",)


    @dataclass(frozen=True)
    class Options:
        '''None.'''


    def serve(binding: Binding, options: Options, service: Service) -> None:
        server = zmq.Context.instance().socket(zmq.REP)
        server.bind(binding.endpoint())
        service.announce(binding.endpoint())
        while True:
            server.send(service.answer(server.recv()))


    class Client(_client.Client):
        ERRORS = (zmq.ZMQError,)

        def connect(self) -> None:
            self.connection = zmq.Context.instance().socket(zmq.REQ)
            self.connection.connect(str(self.server))

        def call(self, payload: bytes) -> bytes:
            self.connection.send(payload)
            return self.connection.recv()

Each file must define:

===========================  ============================================================================
the docstring's first line   what the system is: text of legends and of ``bench list``
``TRANSPORTS``               a tuple of ``"inproc"``, ``"ipc"``, ``"tcp"``, or some of them
``REQUIRES``                 distributions to install for it, a tuple (may be empty)
``Options``                  a frozen dataclass: one field for each option, with type and default. A value that is not
                             of the type, or is none of a ``Literal``, is refused before ``Options`` is called; what
                             only the system knows is refused in ``__post_init__``, by ValueError
``serve``                    ``serve(binding, options, service)``: bind, ``service.announce(address)``, then
                             answer each request with ``service.answer(payload)`` until the process ends. One that
                             is ``async def`` runs in the event loop that the options name
``Client``                   ``Client(address, options)``, then ``open()``, ``call(payload) -> bytes``
                             (exactly what is timed), ``close()``; ``bench/systems/_client.py`` has a base class for
                             clients of blocking libraries and one for those of asyncio's
===========================  ============================================================================

All else is optional. Client and connections:

===========================  ============================================================================
``Client.ERRORS``            the exceptions by which the library says that a call failed; ``Client.failed(reason)``
                             returns the TransportError for one, around the timed loop and not in it (without
                             them ``call`` raises TransportError itself)
``LARGEST_BYTES``            the largest payload that it carries (without it any that can be asked for). A
                             larger one is refused before anything is measured, and no test sends one
``ENCRYPTED``                transports over which ``tls`` or ``curve`` is offered (without it all but inproc)
``credentials``              ``credentials() -> Mapping[str, str]``: names and texts of files with keys of the system's
                             own, made for each run beside the certificates; names as in ``bench.plan.credentials``
``GROUP``                    ``"direct"`` (the default), ``"broker"``, ``"http"``, ``"native"`` (client and server are
                             no Python) or ``"instrument"`` (no RPC system): where lists and figures show it
===========================  ============================================================================

Programs, and what must be there before:

===========================  ============================================================================
``PROGRAMS``                 programs that the router or the server needs, each with its Debian package:
                             ``{"redis-server": "redis-server"}``. Its path is
                             ``bench.process.pipes.program(name)``. If one is missing, the system counts as not
                             installed, except for a ``target``
``VERSION_COMMANDS``         commands whose output holds a version number, by the name to store it under,
                             ``python`` being this interpreter. For a program that is not named here it is
                             ``PROGRAM --version``
``prepare``                  ``prepare()`` makes what must exist before any process is started, such as a compiled
                             program; it is called often, so it must be fast when nothing is missing
``ENVIRONMENT``              the name of the Python environment that the router or the server needs; its lock
                             is ``requirements/NAME.txt``. It is installed when missing, and the binding names its
                             folder; ``serve`` of such a system has a private directory for any transport
===========================  ============================================================================

Router:

===========================  ============================================================================
``route``                    for a system with a router: ``route(binding, options, service)`` starts the router,
                             calls ``service.announce(addresses, pids)``, and returns when the router has ended
``ROUTER_OPTION``            the name of a boolean option. The router is started for the cases in which this option is
                             true; without ``ROUTER_OPTION`` it is started for every case
===========================  ============================================================================

Streams:

===========================  ============================================================================
``Receiver``, ``Sender``     for one-way streams: ``Receiver(binding, options)`` with
                             ``address``, ``receive() -> bytes``, ``close()``; ``Sender(address, options)``
                             with ``open()``, ``send(payload)``, ``close()``. The sender waits while the
                             receiver does not read, and no message is lost. All methods of an end are plain or all
                             ``async def``; a ``Receiver`` of the latter kind has an ``open()`` too, awaited first
``StreamClient``             if a request can have many replies: a class as ``Client``, or that class itself, with
                             ``stream(payload)``, a generator of bytes, plain or ``async``. Where
                             ``service.is_streaming`` says so, ``serve`` takes the replies from
                             ``service.replies(payload)``, or in an event loop from ``service.replies_async(payload)``,
                             and waits while the client does not read. That of a service file has
                             ``checks_messages``: it yields objects whose ``check()`` verifies them
===========================  ============================================================================

Structured messages:

===========================  ============================================================================
``Options.codec``            an option of this name: the system carries structured messages as bytes, which a codec of
                             ``bench.codecs`` makes around ``call`` and in ``service.answer``
``coder``                    ``coder(options, kind) -> bench.codecs.Coder | None``, for a system whose library encodes
                             values itself: with a structured message of this kind ("" for a user's own), ``call`` and
                             ``service.answer`` take and return what its ``natural`` makes: dictionaries, or objects of
                             the library; ``encode`` and ``decode`` are the library's own, to be timed alone. None where
                             the option ``codec`` names a codec of ``bench.codecs``; UsageError for a kind without types
``FOR_MESSAGES``             options, a dictionary, that structured messages need; others are refused with them
===========================  ============================================================================

Loads that its client does not make:

===========================  ============================================================================
``Load``                     a program that makes the calls itself, used for closed loads:
                             ``Load(address, options, payloads, callers, most_calls)`` with the methods of
                             ``bench.child.loads.Callers`` (``report`` returns a ``LoadReport``), and ``pids``,
                             its processes: their CPU time is the client's. With an option ``client`` that has the
                             value ``python``, ``Client`` makes the calls
``Wire``                     requests and responses as bytes, for the load generator ``wire``, class ``Wire`` below;
                             ``bench/systems/_wire.py`` has a base class
``FOR_WIRE``                 a dictionary of options with the values for which ``Wire`` knows the bytes. A case of the
                             load generator ``wire`` with another value is refused
``StreamWire``               the streams of a service file as bytes, for ``wire``: class ``StreamWire`` below
``Multiplexed``              a connection that carries several calls at once, if the library has one
``FOR_MULTIPLEXED``          options, a dictionary, that ``Multiplexed`` needs; others are refused with it
``MultiplexedWire``          a ``Wire`` of a connection that carries several calls at once: ``SeveralConversation``
``url``                      ``url(address, options, payload_bytes) -> str``: the URL that external load generators
                             (``bench.child.generators``) request, over tcp; ValueError for options no URL expresses
===========================  ============================================================================

Estimates and limits:

===========================  ============================================================================
``START_S``                  seconds that each process takes to start, for estimates and deadlines
``ROUTER_S``                 seconds that a router takes to start, for estimates
``AWAKE``                    whether its processes use more than 1 % of a CPU while nobody calls (heartbeats,
                             polling): then it takes no turns with others
``CONNECTION_THREADS``       threads that the library starts for each connection, for the limit of a client's memory
``RESERVES_BYTES``           bytes of memory that the library's allocator takes at once without using them, for the
                             same limit (``bench.child.memory``)
===========================  ============================================================================

What a system guarantees of a message is data beside it, in ``guarantees.yaml``: the fields ``GUARANTEES`` below.
``open``, ``call`` and ``close`` are all plain or all ``async def``: the timed loop of that kind is used.
``close`` may be called in another thread than ``open`` and ``call``, but never while one of them runs there, and in
another task: a client of a library on anyio enters and leaves it in a task of its own, as ``mcp.py`` does.
A payload is random bytes that do not compress, of any value, as many as ``payload_bytes`` says, never none; each
client calls with up to 16 different ones in turn, and compares every reply with its request. The contract tests send
1 B to 2 MB, or ``LARGEST_BYTES``. With a structured message and an option ``codec`` a payload is what the codec
makes of it.
For ``inproc``, ``serve`` or the ``Receiver`` runs in a thread of the client's process. A router is a process of its
own that outlives its servers: the cases of an experiment share it, and ``serve`` finds its addresses in the binding.
Imported by servers and clients: keep this module light.
"""

import ipaddress
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from bench.errors import BenchError, UsageError
from bench.text import one_line, quoted

TRANSPORTS = ("inproc", "ipc", "tcp")
GUARANTEES = {  # the fields of a system's guarantees: what each says
    "delivery": "how often a request or message is delivered when a process or a connection fails",
    "acknowledgement": "who acknowledges a message, and when",
    "persistence": "what survives a restart of the broker or server",
    "ordering": "which messages arrive in the order in which they were sent",
    "back_pressure": "what happens to a sender that is faster than the receiver",
    "source": "addresses of the documentation that says so",
}
GROUPS = ("direct", "broker", "http", "native", "instrument")


class Address(NamedTuple):
    """Where a server listens: ``tcp://host:port``, ``ipc:///path`` or ``inproc://name``."""

    transport: str
    host: str
    port: int
    path: str

    @property
    def place(self) -> str:
        """The path of a socket file, a name, or host and port, an IPv6 host in brackets."""
        if self.transport == "ipc":
            return self.path
        if self.transport == "inproc":
            return self.host
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.transport}://{self.place}"


def is_host(name: str) -> bool:
    """Return whether a host can have this name or address: at most 253 characters, and 63 between dots (RFC 1035)."""
    try:
        labels = (name if name.isascii() else name.encode("idna").decode()).removesuffix(".").split(".")
    except UnicodeError:
        return False
    return len(name) <= 253 and all(0 < len(label) <= 63 for label in labels)


def is_loopback(host: str) -> bool:
    """Return whether a host's name or address stands for this machine alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def parse_address(text: str) -> Address:
    """Split an address into its parts; UsageError states the expected form."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as reason:
        raise UsageError(
            f"address {quoted(text)}: {one_line(str(reason), 100)}; write tcp://HOST:PORT or ipc:///PATH"
        ) from reason
    complete = {
        "tcp": bool(parts.hostname) and port is not None,
        "ipc": bool(parts.path) and not parts.netloc,
        "inproc": bool(parts.netloc),
    }
    if not complete.get(parts.scheme, False) or (parts.scheme == "tcp" and not is_host(parts.hostname or "")):
        raise UsageError(
            f"address {quoted(text)} is incomplete, or no host can have this name; write tcp://HOST:PORT or ipc:///PATH"
        )
    return Address(parts.scheme, parts.hostname or "", port or 0, parts.path)


@dataclass(frozen=True)
class Binding:
    """Where a server has to listen.

    Without an ``address`` it listens on the loopback interface at a port that the system picks, or at a socket file in
    ``directory``, which is private (mode 0700) and removed at the end. An ``address`` with port 0, ``tcp://HOST:0``,
    names the interface only, as for a server that another machine has to reach.
    ``router`` holds the addresses that the system's router announced, ``environment`` the folder of the Python
    environment that the router or the server needs, ``message`` what requests carry (``bytes`` or a kind of
    ``bench.codecs.message_types``), ``credentials`` the folder of certificate and keys (``bench.plan.credentials``
    names the files) where the options ask for encryption.
    """

    transport: str
    directory: str
    address: str | None = None
    router: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""
    message: str = "bytes"
    credentials: str = ""

    @property
    def is_named(self) -> bool:
        """Whether the user names the whole address: with its port, or a socket file."""
        return self.address is not None and not self.address.endswith(":0")

    @property
    def host(self) -> str:
        """The host of the interface to listen on over tcp."""
        return (parse_address(self.address).host if self.address else "") or "127.0.0.1"

    def endpoint(self) -> str:
        """Return the address to bind, with port 0 where the system picks one."""
        if self.address is not None:
            return self.address
        places = {
            "inproc": "inproc://echo",
            "ipc": f"ipc://{self.directory}/echo.sock",
            "tcp": "tcp://127.0.0.1:0",
        }
        return places[self.transport]


PACING = "pacing_cpu"  # among a report's numbers: CPU time in us that a client spent spinning until requests were due


@dataclass(frozen=True)
class LoadReport:
    """Result of a load in one window.

    - calls: answered calls, or one-way messages sent.
    - times: for each caller its send and receive times (for an open load also its scheduled send times), int64 in ns,
      one buffer after the other; for a stream the sender's marks.
    - errors: failed calls.
    - numbers: name, value and unit of each number that a load generator reported; the client's process adds ``PACING``
      to those of an open load.
    - scheduled: number of calls in the schedule of an open load.
    - window_s: window measured by a load generator.
    - sessions: whole client processes, in the order of running.
    - codec: times of the codec of structured messages alone, ``bench.child.structured_messages.CodecTimes`` by name.
    - requests: the names of a service's requests, if it has several; the last buffer of each caller is then which of
      them each call made.
    """

    calls: int
    times: Sequence[Any] = ()
    errors: int = 0
    numbers: Sequence[tuple[str, float, str]] = ()
    scheduled: int | None = None
    window_s: float | None = None
    sessions: Sequence[Any] = ()
    codec: Mapping[str, float] = field(default_factory=dict)
    requests: Sequence[str] = ()


class Service(Protocol):
    """Argument of ``serve``: the application behind the system, and the way to announce an address."""

    answer: Callable[[Any], Any]  # from bytes to bytes; with ``coder`` and a structured message, of its objects
    is_streaming: bool  # whether requests are answered by streams of replies

    def replies(self, payload: bytes, gaps_ns: Iterator[int] | None = None) -> Iterator[bytes]:
        """Yield the replies to a request, each when it is due; TransportError for bytes that are no request."""

    def replies_async(self, payload: bytes) -> AsyncIterator[bytes]:
        """Do what ``replies`` does in an event loop, whose timers pace it."""

    def adopt(self, pid: int) -> None:
        """End the process group that this process leads when the server's process ends."""

    def warm_up(self, address: str, requests: int) -> bool:
        """Make requests of a service by the engine wire, several at once; return whether wire can make them."""

    def announce(
        self,
        address: str,
        pids: Mapping[str, int] | None = None,
        counts: Callable[[], Sequence[int] | None] | None = None,
    ) -> None:
        """Report that requests are accepted at ``address``; ``pids`` names helper processes by role.

        The CPU time of a helper and of its children counts for that role: ``server``, ``router`` or ``controller``.
        With a helper ``server`` this process only starts the server, and is left out. ``counts`` is for servers whose
        requests are not answered through ``answer`` in this process (native programs, worker processes): a function
        that returns how many requests each of its workers has answered so far, None if nobody counts. It is called in
        another thread, once when all clients are ready and once when they are done.
        """


class RouterService(Protocol):
    """Argument of ``route``."""

    def adopt(self, pid: int) -> None:
        """End the process group that this process leads when the router's process ends."""

    def announce(self, addresses: Mapping[str, str], pids: Mapping[str, int]) -> None:
        """Report that the router is ready, its addresses, and its processes that have another role than ``router``.

        The system's own ``serve`` reads the keys of ``addresses``.
        """


class Client(Protocol):
    """Interface of a system's ``Client``, ``StreamClient``, ``Sender`` and ``Receiver``: some of these verbs.

    All are plain or all ``async def``, but ``stream``, which is a generator of either kind. ``address``: of a receiver,
    what its sender connects to.
    """

    def open(self) -> None:
        """Connect; TransportError where that is not possible."""

    def call(self, payload: bytes) -> bytes:
        """Send one request and return its reply: what is timed."""

    def stream(self, payload: bytes) -> Iterator[bytes]:
        """Send one request and yield its replies."""

    def send(self, payload: bytes) -> None:
        """Send one message of a one-way stream, waiting while the receiver does not read."""

    def receive(self) -> bytes:
        """Return the next message of a one-way stream, waiting for it."""

    def close(self) -> None:
        """Disconnect, when all that was sent one way has left."""


class Load(Protocol):
    """Interface of the load of a client's process: ``bench.child.loads.Callers``, others there, a system's ``Load``."""

    def first(self) -> int:
        """Connect, and make one verified call over each connection; return the time of the first in ns."""

    def schedule_from(self, at_ns: int) -> None:
        """Put the schedule of an open load after *go*, shortly before it comes; other loads have none."""

    def load(self, at_ns: int, until_ns: int) -> None:
        """Make the calls of the window, or of one slice of it."""

    def report(self) -> LoadReport:
        """Return what the calls of all windows brought."""

    def close(self) -> None:
        """Close the connection."""


class Wire(Protocol):
    """Interface of a system's ``Wire``: ``Wire(address, options)``, one instance for each connection.

    It may remember how far it has read an incomplete response; ``request`` and ``body`` keep no state.
    A call fails that is not answered within ``timeout_s``, 20 s if it has none.
    If ``has_streams`` is true, the replies of a stream are responses too, and an empty body follows the last.
    If it has ``renewed``, that returns the bytes of a payload's request each time it is sent, and each response is
    verified. If it has ``takes_leave``, that returns whether bytes that came without a request announce the end of the
    connection; otherwise they are an error. The constructor does not connect; it raises ValueError for what it cannot
    carry out beside ``FOR_WIRE``.
    """

    last: bool  # whether the server ends the connection after the response that ``end`` found last

    def connect(self) -> Any:
        """Return a connected ``socket.socket``; TransportError where that is not possible."""

    def request(self, payload: bytes) -> bytes:
        """Return the bytes of one request."""

    def end(self, buffer: bytes | bytearray, length: int) -> int:
        """Return how many of the first ``length`` bytes the first response takes, 0 if it is not complete.

        The buffer grows between calls until one is complete. TransportError if it is malformed or too large.
        """

    def body(self, response: bytes, payload: bytes) -> bytes:
        """Return the payload in a complete response; TransportError for an error response.

        ``payload`` is the request's; it is returned for correct responses that do not contain it.
        """


class Conversation(Protocol):
    """What a ``Wire`` offers instead of ``end`` where what is sent and received depends on what was before (HTTP/2).

    ``connect`` begins anew. ``body`` takes a response as ``receive`` returned it.
    outgoing: bytes to be sent beside requests, such as acknowledgements; the caller empties it.
    """

    outgoing: bytearray

    @property
    def last(self) -> bool:
        """Whether the server takes no more requests on this connection."""

    def begin(self, index: int, request: bytes) -> bytes:
        """Return what begins the next call, with what ``request`` returned; ``outgoing`` gets what has to wait.

        ``index``: the number of the payload, by which a response that is ``known`` is recognized.
        """

    def receive(self, data: bytes) -> Any:
        """Take in what has come; return the response if it is complete, True for one that is known, None otherwise.

        A response that is bytes is recognized when the same bytes come again, on any connection.
        TransportError for what must not come; between two calls nothing but the protocol's own messages may.
        """

    def known(self, index: int) -> None:
        """Recognize the response that came last, found right by the caller, when it comes again to that payload."""


class StreamWire(Protocol):
    """What a service file offers for its streams of messages: ``StreamWire(address, options)``, one per connection.

    outgoing: bytes to be sent; the caller empties it. A stream that has not ended within ``timeout_s`` fails.
    """

    outgoing: bytearray
    last: bool  # whether the server takes no more requests on this connection
    is_over: bool  # whether the stream under way is whole
    timeout_s: float

    def connect(self) -> Any:
        """Return a connected ``socket.socket``, on which all begins anew; TransportError where that is not possible."""

    def begin(self, payload: bytes) -> None:
        """Put the next request into ``outgoing``; the first payload seeds which requests are made."""

    def receive(self, data: bytes) -> Iterator[Any]:
        """Take in what has come, b"" for the connection's end; yield the messages that are complete by it.

        The ``check()`` of a message verifies it. TransportError where the stream is not as expected.
        """


class SeveralConversation(Protocol):
    """What a ``MultiplexedWire`` offers beside ``connect``, ``request`` and ``body`` where responses come in any order.

    Without them it is a ``Wire`` whose responses come in the order of the requests. The constructor raises ValueError
    for options with which a connection carries one call at a time. outgoing: as in ``Conversation``.
    """

    outgoing: bytearray

    def begin(self, index: int, request: bytes, number: int) -> bytes:
        """Do what ``Conversation.begin`` does, for the call of this number, which is that of no other under way."""

    def receive_all(self, data: bytes) -> Sequence[tuple[int, Any, Any]]:
        """Take in what has come; return the number and the response of each call that is answered by it.

        The response is True for one that is known. The third item is for ``recognize``. TransportError for what must
        not come.
        """

    def recognize(self, index: int, known: Any) -> None:
        """Recognize a response, found right by the caller, when it comes again to that payload."""


class Layer(Protocol):
    """Encryption of one connection apart from its socket: ``tls`` of a ``Wire``, None without encryption.

    is_ready: whether the handshake is over.
    """

    is_ready: bool

    def start(self) -> None:
        """Begin a new connection."""

    def shake(self, data: bytes | None) -> bytes:
        """Take in what came of the handshake, None for the end; return what to send; TransportError if it failed."""

    def failed(self, reason: BaseException) -> BenchError:
        """Return the error for a connection that failed in its handshake."""

    def encrypt(self, data: bytes) -> bytes:
        """Return what carries some bytes."""

    def decrypt(self, data: bytes) -> bytes:
        """Return what came in these bytes and in the beginnings of earlier ones; b"" if it is not whole."""


class Multiplexed(Protocol):
    """What a system's ``Multiplexed`` offers: ``Multiplexed(address, options)``, one instance for each connection.

    The constructor does not connect, and raises ValueError for options with which a connection carries one call at a
    time. Of an asynchronous library it is a ``Client`` whose ``call`` several tasks await at once. Of a blocking one:
    """

    def open(self) -> None:
        """Connect; TransportError where that is not possible."""

    def send(self, number: int, payload: bytes) -> None:
        """Begin a call without waiting for its reply; its number is that of no other call under way."""

    def receive(self) -> tuple[int, bytes]:
        """Return the number and the reply of the next call that is answered, waiting for it, in any order.

        TransportError where one fails: then no call that is under way is waited for any more.
        """

    def close(self) -> None:
        """Disconnect; calls under way are dropped."""


class System(Protocol):
    """A system's module, as the rest of the package sees it."""

    __name__: str
    TRANSPORTS: tuple[str, ...]
    REQUIRES: tuple[str, ...]
    Options: type[Any]
    Client: type[Any]

    def serve(self, binding: Binding, options: Any, service: Service) -> None:
        """Listen and answer until the process ends."""
