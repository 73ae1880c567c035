"""The interface between a system's file and the laboratory.

A file in ``bench/systems`` is one system; its stem is the system's name. It defines:

===========================  ============================================================================
the docstring's first line   what it is: the legend's and ``bench list``'s text
``TRANSPORTS``               a tuple out of ``"inproc"``, ``"ipc"``, ``"tcp"``
``REQUIRES``                 distributions to install for it, a tuple (may be empty)
``Options``                  a frozen dataclass: field = option, with type and default
``serve``                    ``serve(binding, options, service)``: bind, ``service.announce(address)``, then
                             answer each request with ``service.answer(payload)`` until the process ends
``Client``                   ``Client(address, options)``, then ``open()``, ``call(payload) -> bytes``
                             (exactly what is timed), ``close()``
``Receiver``, ``Sender``     for one-way streams, if it has them: ``Receiver(binding, options)`` with
                             ``address``, ``receive() -> bytes``, ``close()``; ``Sender(address, options)``
                             with ``open()``, ``send(payload)``, ``close()``
``route``                    for a system with a router: ``route(binding, options, service)`` starts it,
                             ``service.announce(addresses, pids)``, and returns when it has ended
``Load``                     a program that makes the calls itself, used for closed loads if it is there:
                             ``Load(address, options, payloads, callers, most_calls)`` with the methods of
                             ``bench.child.callers.Callers`` (``report`` returns a ``LoadReport``), and ``pids``,
                             its processes: their CPU time is the client's
``Wire``                     requests and responses as bytes, for the engine ``wire``, if it is to have it (see below)
``url``                      ``url(options, address, payload_bytes) -> str``: what external load generators request
                             (``bench.child.generators``), over tcp; ValueError for options that a URL cannot carry
``Options.codec``            an option of this name: the system carries structured messages as bytes, which a codec of
                             ``bench.codecs`` makes around ``call`` and in ``service.answer``; its type names the codecs
``coder``                    ``coder(options) -> bench.codecs.Coder``, for a system whose library encodes values itself:
                             with a structured message, ``call`` and ``service.answer`` take and return dictionaries;
                             ``encode`` and ``decode`` are the library's own, to be timed alone
``FOR_MESSAGES``             options, a dictionary, that structured messages need; others are refused with them
``prepare``                  ``prepare()`` makes what must be there before any process is started, such as a
                             program to compile; it is called often, and quick when there is nothing to do
``ENVIRONMENT``              if the router or the server needs a Python environment of its own: its name; its lock
                             is ``requirements/NAME.txt``. It is made when it is missing, and its folder named in the
                             binding; ``serve`` of such a system has a private directory for any transport
``START_S``                  seconds that each process takes to start, for estimates and deadlines (optional)
===========================  ============================================================================

``open``, ``call`` and ``close`` are all plain or all ``async def``: the timed loop of that kind is used.
For ``inproc``, ``serve`` or the ``Receiver`` lives in a thread of the client's process. A router is a process of its
own that outlives its servers: the cases of an experiment share it, and ``serve`` finds its addresses in the binding.
Imported by servers and clients: keep this module light.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from bench.errors import UsageError

TRANSPORTS = ("inproc", "ipc", "tcp")


class Address(NamedTuple):
    """Where a server listens: ``tcp://host:port``, ``ipc:///path`` or ``inproc://name``."""

    transport: str
    host: str
    port: int
    path: str


def parse_address(text: str) -> Address:
    """Split an address into its parts; UsageError says what form is wanted."""
    try:
        parts = urlsplit(text)
        port = parts.port
    except ValueError as reason:
        raise UsageError(f"address {text!r}: {reason}; write tcp://HOST:PORT or ipc:///PATH") from reason
    complete = {
        "tcp": bool(parts.hostname) and port is not None,
        "ipc": bool(parts.path) and not parts.netloc,
        "inproc": bool(parts.netloc),
    }
    if not complete.get(parts.scheme, False):
        raise UsageError(f"address {text!r} is incomplete; write tcp://HOST:PORT or ipc:///PATH")
    return Address(parts.scheme, parts.hostname or "", port or 0, parts.path)


@dataclass(frozen=True)
class Binding:
    """Where a server shall listen.

    Without an ``address`` from the user it listens on the loopback interface at a port that the system
    picks, or at a socket file in ``directory``, which is private (mode 0700) and removed at the end.
    ``router`` holds what the system's router announced, ``environment`` the folder of the environment that it or the
    server needs. ``message``: what requests carry, ``bytes`` or a kind of ``bench.messages``.
    """

    transport: str
    directory: str
    address: str | None = None
    router: Mapping[str, str] = field(default_factory=dict)
    environment: str = ""
    message: str = "bytes"

    def endpoint(self) -> str:
        """Return the address to bind, with port 0 where the system shall pick one."""
        if self.address is not None:
            return self.address
        places = {
            "inproc": "inproc://echo",
            "ipc": f"ipc://{self.directory}/echo.sock",
            "tcp": "tcp://127.0.0.1:0",
        }
        return places[self.transport]


@dataclass(frozen=True)
class LoadReport:
    """What a load made in its window.

    calls: answered, or sent one way. times: for each caller its send and receive times (and due times of an open load),
    int64 in ns, one buffer after the other; of a stream the sender's marks. errors: calls that failed. numbers: name,
    value and unit of what a load generator reported. scheduled: how many calls an open load was to make. window_s: as a
    generator took it. sessions: whole client processes, in the order of running. codec: what the codec of structured
    messages took alone, ``bench.child.carrying.Alone`` by name.
    """

    calls: int
    times: Sequence[Any] = ()
    errors: int = 0
    numbers: Sequence[tuple[str, float, str]] = ()
    scheduled: int | None = None
    window_s: float | None = None
    sessions: Sequence[Any] = ()
    codec: Mapping[str, float] = field(default_factory=dict)


class Service(Protocol):
    """What ``serve`` is given: the application behind the system, and how to say "I listen"."""

    answer: Callable[[Any], Any]  # from bytes to bytes; with ``coder`` and a structured message, of dictionaries

    def adopt(self, pid: int) -> None:
        """Take care that a process group, begun with this process, ends when the server's process does."""

    def announce(
        self, address: str, pids: Mapping[str, int] | None = None, counts: Callable[[], Sequence[int]] | None = None
    ) -> None:
        """Report that requests are accepted at ``address``; ``pids`` names helper processes by role.

        The CPU time of a helper and of its children is kept apart, as that role's. ``counts`` is for servers whose
        requests are not answered through ``answer`` in this process (native programs, worker processes): a function
        that returns how many requests each of its workers has answered so far. It is called in another thread, once
        when all clients are ready and once when they are done.
        """


class RouterService(Protocol):
    """What ``route`` is given."""

    def adopt(self, pid: int) -> None:
        """Take care that a process group, begun with this process, ends when the router's process does."""

    def announce(self, addresses: Mapping[str, str], pids: Mapping[str, int]) -> None:
        """Report that the router is ready, where, and which of its processes have a role apart from ``router``.

        The keys of ``addresses`` are for the system's own ``serve``.
        """


class Wire(Protocol):
    """What a system's ``Wire`` offers: ``Wire(options, address)``, one instance for each connection.

    It may remember how far it has read a response that is not complete; ``request`` and ``body`` depend on nothing.
    The constructor does not connect, and raises ValueError for options that cannot be carried out this way.
    """

    last: bool  # whether the server ends the connection after the response that ``end`` found last

    def connect(self) -> Any:
        """Return a connected ``socket.socket``; TransportError where that is not possible."""

    def request(self, payload: bytes) -> bytes:
        """Return the bytes of one request."""

    def end(self, buffer: bytes | bytearray, length: int) -> int:
        """Return how many of the first ``length`` bytes the first response takes, 0 if it is not complete.

        The buffer grows between calls until one is complete. TransportError for what is malformed or too large.
        """

    def body(self, response: bytes, payload: bytes) -> bytes:
        """Return the payload in a complete response; TransportError for an error response.

        ``payload`` is the request's, for responses that are right without holding it: then it is returned.
        """


class System(Protocol):
    """A system's module, as the rest of the package sees it."""

    __name__: str
    TRANSPORTS: tuple[str, ...]
    REQUIRES: tuple[str, ...]
    Options: type[Any]
    Client: type[Any]

    def serve(self, binding: Binding, options: Any, service: Service) -> None:
        """Listen and answer until the process ends."""
