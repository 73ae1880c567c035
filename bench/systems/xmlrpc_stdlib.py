"""XML-RPC: Python's own xmlrpc over HTTP, a server with a thread for each connection."""

import http.client
import xmlrpc.client
import xmlrpc.server
from dataclasses import dataclass
from socketserver import ThreadingMixIn
from typing import Any

from bench import codecs
from bench.contract import Address, Binding, Service
from bench.errors import TransportError
from bench.systems import _client, _connections, _http_wire, _xmlrpc

TRANSPORTS = ("ipc", "tcp")
START_S = 0.12
REQUIRES = ()
GROUP = "http"


@dataclass(frozen=True)
class Options:
    """How documents are sent: by HTTP/1.1, which keeps the connection; the library's own default is 1.0.

    tls: HTTPS with TLS 1.3; the client verifies the server's certificate.
    """

    tls: bool = False


def coder(options: Options, kind: str) -> codecs.Coder:
    """Return how the library encodes and decodes a value, in the document of a reply."""
    return codecs.values(_xmlrpc.encode, _xmlrpc.decode, kind)


class _Server(ThreadingMixIn, xmlrpc.server.SimpleXMLRPCServer):
    """The library's server with a thread for each connection."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore that a client disconnected."""


def _handler(transport: str) -> type[xmlrpc.server.SimpleXMLRPCRequestHandler]:
    """Return the class that handles a connection's requests."""

    class Handler(xmlrpc.server.SimpleXMLRPCRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = transport == "tcp"
        encode_threshold: Any = None  # never compress replies

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    return Handler


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Accept connections and answer each in a thread of its own."""
    listener, address = _connections.bound(binding, options.tls)
    server = _Server(
        ("", 0),
        _handler(binding.transport),
        logRequests=False,
        bind_and_activate=False,
        use_builtin_types=True,
    )
    server.socket.close()
    server.socket = listener  # the library's own allows five pending connections and one address family
    answer: Any = service.answer
    server.register_function(answer, _xmlrpc.METHOD)
    service.announce(address)
    server.serve_forever(poll_interval=3600)


class _Connection(http.client.HTTPConnection):
    """A connection for HTTP to a port or a socket file, with TLS that trusts the run's authority alone."""

    def __init__(self, address: Address, tls: bool) -> None:
        super().__init__("localhost")
        self._address, self._is_encrypted = address, tls

    def connect(self) -> None:
        self.sock = _connections.connect(self._address, nodelay=True, tls=self._is_encrypted)


class _Transport(xmlrpc.client.Transport):
    """The library's transport, to one server that may be at a Unix domain socket."""

    def __init__(self, address: Address, options: Options) -> None:
        super().__init__(use_builtin_types=True)
        self.accept_gzip_encoding = False
        self._address = address
        self._is_encrypted = options.tls

    def make_connection(self, host: Any) -> http.client.HTTPConnection:
        """Return the connection, made if there is none."""
        connection = self._connection[1] or _Connection(self._address, self._is_encrypted)
        self._connection = host, connection
        return connection


class Client(_client.Client):
    """One client of the library's, with its connection."""

    ERRORS = (Exception,)  # beside its own errors the library lets through what its steps raise on bad input

    def connect(self) -> None:
        authority = _http_wire.authority(self.server)
        self.connection = _Transport(self.server, self.options)
        self.connection.make_connection(authority).connect()
        url = f"http://{authority}/RPC2"
        server = xmlrpc.client.ServerProxy(url, transport=self.connection, use_builtin_types=True)
        self.call = getattr(server, _xmlrpc.METHOD)

    def failed(self, reason: BaseException) -> TransportError:
        return _xmlrpc.failed(reason, self.hint(reason))


class Wire(_http_wire.Responses):
    """Calls and their replies over HTTP/1.1; one instance for each connection: it keeps its position."""

    def request(self, payload: bytes) -> bytes:
        authority = _http_wire.authority(self.server)
        return _http_wire.request("POST", "/RPC2", _xmlrpc.request(payload), authority, "text/xml")

    def body(self, response: bytes, payload: bytes) -> bytes:
        return _xmlrpc.result(_http_wire.content(response))
