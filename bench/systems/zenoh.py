"""zenoh: queries and publications between peers, or through a zenoh router; eclipse-zenoh on all sides."""

import json
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import zenoh

from bench.contract import Binding, RouterService, Service
from bench.errors import TransportError
from bench.process.pipes import Process, python
from bench.systems import _broker, _zenoh

TRANSPORTS = ("ipc", "tcp")
START_S = 0.4
ROUTER_S = 1.0
REQUIRES = ("eclipse-zenoh",)
ROUTER_OPTION = "router"
ENCRYPTED = ("tcp",)
PATIENCE_S = 3600.0  # for a reply: this package has its own deadlines


@dataclass(frozen=True)
class Options:
    """How messages are sent. Without discovery: nothing is sent to multicast addresses.

    router: connect client and server to a zenoh router that passes messages on, instead of to each other.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: encrypt by rustls, over tcp; the client verifies the server's certificate.
    """

    router: bool = False
    codec: str = "json"
    tls: bool = False


def route(binding: Binding, options: Options, service: RouterService) -> None:
    """Run a session of the library as a router, in a process of its own, until it ends."""
    places = _broker.endpoints(binding, TRANSPORTS, ENCRYPTED, options.tls)
    ends = [_zenoh.endpoint(address, name.endswith("tls")) for name, address in places.items()]
    words = python("bench.systems.zenoh", json.dumps(ends), binding.credentials)
    router = Process(words, start_new_session=True)
    service.adopt(router.pid)
    line = router.output.readline().decode().strip()
    if line != "ready":
        raise TransportError(f"the zenoh router did not start: {line or 'it ended'}")
    service.announce({name: str(address) for name, address in places.items()}, {})
    raise TransportError(f"the zenoh router ended with status {router.wait()}")


def _ready(binding: Binding, options: Options) -> tuple[Any, str]:
    """Return the session of a server, and its address: its own, or the router's with a name behind it."""
    if options.router:
        address = _broker.announced(binding, options.tls)
        return _zenoh.connected("client", address, options.tls), address
    return _zenoh.listening("peer", binding.endpoint(), options.tls, binding.credentials)


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer queries in threads of the library, until the process ends."""
    session, address = _ready(binding, options)
    kept = _answering(session, _key(address), service.answer)
    service.announce(address)
    threading.Event().wait()
    kept.undeclare()


def _key(address: str) -> str:
    return _broker.split(address)[1]


def _answering(session: Any, key: str, answer: Callable[[bytes], bytes]) -> Any:
    """Answer queries for a key in threads of the library; return what keeps it so."""

    def handle(query: Any) -> None:
        query.reply(key, answer(query.payload.to_bytes()))
        query.drop()

    return session.declare_queryable(key, handle, complete=True)


class _End(_broker.Client):
    """One session that is connected to the server's, or to the router."""

    ERRORS = (zenoh.ZError,)
    PEER = ""  # there may be no router

    def connect(self) -> None:
        mode = "client" if self.options.router else "peer"
        self.connection = _zenoh.connected(mode, str(self.server), self.options.tls)

    def failed(self, reason: BaseException) -> TransportError:
        return TransportError(f"the call failed: {_zenoh.words(reason)}", "read")


class Client(_End):
    """The client, whose queries are calls."""

    def connect(self) -> None:
        """Connect, and wait until the server's declaration has come."""
        super().connect()
        self._querier = _zenoh.matched(self.connection.declare_querier(self.name, timeout=PATIENCE_S))

    def call(self, payload: bytes) -> bytes:
        """Send one query and return its reply."""
        return _first(self._querier.get(payload=payload))


def _first(replies: Any) -> bytes:
    """Return the first reply to a query, waiting for it; TransportError for an error, or where none comes."""
    for reply in replies:
        if reply.ok is None:
            raise TransportError(f"the call failed: {reply.err.payload.to_string()}", "read")
        return reply.ok.payload.to_bytes()
    raise TransportError("the call failed: no reply came, the server is gone", "read")


class Sender(_End):
    """The sending end of a one-way stream: a publisher that waits while the connection takes nothing."""

    def connect(self) -> None:
        """Connect, and wait until the receiver's declaration has come."""
        super().connect()
        block = zenoh.CongestionControl.BLOCK  # the default drops what does not fit
        publisher = self.connection.declare_publisher(self.name, congestion_control=block)
        self.send = _zenoh.matched(publisher).put


class Receiver:
    """The receiving end of a one-way stream: a subscriber, whose queue of 256 messages holds the sender up."""

    def __init__(self, binding: Binding, options: Options) -> None:
        self._session, self.address = _ready(binding, options)
        self._subscriber: Any = self._session.declare_subscriber(_key(self.address), zenoh.handlers.FifoChannel(256))

    def receive(self) -> bytes:
        return self._subscriber.recv().payload.to_bytes()

    def close(self) -> None:
        self._session.close()


def _run(ends: list[str], folder: str) -> None:
    """Route until the input ends."""
    try:
        session = _zenoh.routing(ends, folder)
    except TransportError as reason:
        print(reason, flush=True)
        return
    print("ready", flush=True)
    sys.stdin.buffer.read()
    session.close()


if __name__ == "__main__":
    _run(json.loads(sys.argv[1]), sys.argv[2])
