"""RPyC: transparent remote objects of Python, a server with a thread for each connection."""

import logging
from collections.abc import Iterator
from dataclasses import dataclass

import rpyc
from rpyc.core.channel import Channel
from rpyc.core.stream import SocketStream
from rpyc.utils.server import ThreadedServer

from bench.contract import Binding, Service
from bench.systems import _client, _connections, _rpyc_wire

TRANSPORTS = ("ipc", "tcp")
START_S = 0.3
REQUIRES = ("rpyc",)
FOR_WIRE = {"tls": False}
CONFIG = {"sync_request_timeout": None}  # this package has its own deadlines; the library's default is 30 s


@dataclass(frozen=True)
class Options:
    """How messages are sent: bytes by copying; other objects would be references, used by more calls.

    The method is looked up once, and messages above 3 000 bytes are compressed by zlib at level 1, as by default.

    nodelay: set TCP_NODELAY on both sides, as the other systems do; the library's connect and servers do not. A
        message above 64 kB is sent in several writes, the last of one byte, which without it may wait for a delayed
        acknowledgement. Not on ipc.
    codec: how structured messages become bytes; pickle is what the library's own copying (obtain, deliver) uses.
    tls: TLS 1.3 by Python's ssl; the client verifies the server's certificate.
    """

    nodelay: bool = True
    codec: str = "pickle"
    tls: bool = False


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Accept connections and answer them in threads."""

    class Echo(rpyc.Service):
        exposed_call = staticmethod(service.answer)
        exposed_stream = staticmethod(service.replies)

    silent = logging.getLogger("roundtrip.rpyc")
    silent.disabled = True  # it reports each client that leaves
    server = ThreadedServer(Echo(), hostname="127.0.0.1", protocol_config=dict(CONFIG), logger=silent)
    server.listener.close()  # RPyC polls its own every 0.5 s
    server.listener, address = _connections.bound(binding, options.tls, nodelay=options.nodelay)
    service.announce(address)
    server.start()


class Client(_client.Client):
    """One connection; a call is the server's method, looked up once."""

    ERRORS = (Exception,)  # the library raises what its steps raise, and what the other side raised
    ENDED = (EOFError,)

    def connect(self) -> None:
        stream = SocketStream(_connections.connect(self.server, self.options.nodelay, self.options.tls))
        self.connection = rpyc.connect_channel(Channel(stream), config=CONFIG)
        self.call = self.connection.root.call

    def stream(self, payload: bytes) -> Iterator[bytes]:
        """Call a method that returns a generator of the server, and yield its replies: each is fetched by a call."""
        yield from self.connection.root.stream(payload)


StreamClient = Client
Wire = _rpyc_wire.Wire
