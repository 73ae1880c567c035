"""HTTP/1.1: a plain handler of Python's http.server, a thread for each connection; http.client."""

import http.client
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from bench.contract import Binding, Service
from bench.systems import _client, _connections, _http_wire, _tls

TRANSPORTS = ("tcp",)
REQUIRES = ()
GROUP = "http"
FOR_WIRE = {"writes": 1}


@dataclass(frozen=True)
class Options:
    """How requests and responses are handed to the kernel.

    client: library makes requests by http.client, which always sends head and body in a write each; bare writes the
        bytes of a request itself, and has http.client read the response.
    client_nodelay, server_nodelay: set TCP_NODELAY there; the library's own server does not.
    writes: 1 sends head and body in one write, 2 in one each, as the library's own server does: of the server, and of
        the bare client.
    codec: how structured messages become bytes; not used for opaque bytes.
    tls: HTTPS with TLS 1.3; the client verifies the server's certificate.
    tls_session: resumed lets each connection but the first resume the TLS session of the one before it.
    """

    client: Literal["library", "bare"] = "library"
    client_nodelay: bool = True
    server_nodelay: bool = True
    writes: Literal[1, 2] = 1
    codec: str = "json"
    tls: bool = False
    tls_session: Literal["new", "resumed"] = "new"

    def __post_init__(self) -> None:
        _tls.refuse_session(self.tls, self.tls_session)


def _handler(options: Options, service: Service) -> type[BaseHTTPRequestHandler]:
    """Return the class that handles a connection's requests."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = options.server_nodelay
        wbufsize = -1 if options.writes == 1 else 0

        def do_POST(self) -> None:
            """Send the body back."""
            body = service.answer(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response_only(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    return Handler


class _Server(ThreadingHTTPServer):
    """The library's server; it ignores disconnecting clients."""

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore the error."""


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Accept connections and answer each in a thread of its own."""
    listener, address = _connections.bound(binding, options.tls)
    server = _Server(("", 0), _handler(options, service), bind_and_activate=False)
    server.socket.close()
    server.socket = listener
    service.announce(address)
    server.serve_forever(poll_interval=3600)


class Client(_client.SocketClient):
    """One persistent connection."""

    ERRORS = (OSError, http.client.HTTPException)

    def connect(self) -> None:
        options = self.options
        self.connection = _connections.connect(self.server, options.client_nodelay, options.tls, options.tls_session)
        self._ask = self._write
        if options.client == "library":
            self._library = http.client.HTTPConnection(self.server.host, self.server.port)
            self._library.sock = self.connection
            self._library.auto_open = 0  # a lost connection is an error, not a longer call
            self._ask = self._post

    def _post(self, payload: bytes) -> http.client.HTTPResponse:
        self._library.request("POST", "/", payload)
        return self._library.getresponse()

    def _write(self, payload: bytes) -> http.client.HTTPResponse:
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(payload)
        for part in (head + payload,) if self.options.writes == 1 else (head, payload):
            self.connection.sendall(part)
        response = http.client.HTTPResponse(self.connection, method="POST")
        response.begin()
        return response

    def call(self, payload: bytes) -> bytes:
        """Post the payload and return the body of the response."""
        response = self._ask(payload)
        body = response.read()
        if response.status != 200:
            raise _http_wire.refused(response.status, response.reason)
        return body


class Wire(_http_wire.Responses):
    """The same requests for the load generator ``wire``; one instance for each connection: it keeps its position."""

    def request(self, payload: bytes) -> bytes:
        return _http_wire.request("POST", "/", payload, _http_wire.authority(self.server))
