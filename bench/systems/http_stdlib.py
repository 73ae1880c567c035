"""HTTP/1.1: a plain handler of Python's http.server, a thread for each connection; http.client."""

import http.client
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from bench.contract import Binding, Service, parse_address
from bench.errors import TransportError
from bench.systems import _connections, _http_wire, _tls

TRANSPORTS = ("tcp",)
REQUIRES = ()
GROUP = "http"


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


class Client:
    """One persistent connection."""

    def __init__(self, address: str, options: Options) -> None:
        self._where = parse_address(address)
        self._options = options

    def open(self) -> None:
        """Connect."""
        options = self._options
        self._connection = _connections.connect(self._where, options.client_nodelay, options.tls, options.tls_session)
        self._ask = self._write
        if options.client == "library":
            self._library = http.client.HTTPConnection(self._where.host, self._where.port)
            self._library.sock = self._connection
            self._library.auto_open = 0  # a lost connection is an error, not a longer call
            self._ask = self._post

    def _post(self, payload: bytes) -> http.client.HTTPResponse:
        self._library.request("POST", "/", payload)
        return self._library.getresponse()

    def _write(self, payload: bytes) -> http.client.HTTPResponse:
        head = b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % len(payload)
        for part in (head + payload,) if self._options.writes == 1 else (head, payload):
            self._connection.sendall(part)
        response = http.client.HTTPResponse(self._connection, method="POST")
        response.begin()
        return response

    def call(self, payload: bytes) -> bytes:
        """Post the payload and return the body of the response."""
        try:
            response = self._ask(payload)
            body = response.read()
        except (OSError, http.client.HTTPException) as reason:
            text = _tls.hint(self._options.tls, reason)
            raise TransportError(f"the call failed: {reason or type(reason).__name__}{text}", "read") from reason
        if response.status != 200:
            text = f"the server answered with HTTP status {response.status} {response.reason}"
            raise TransportError(text, f"status {response.status}")
        return body

    @property
    def resumed(self) -> bool | None:
        """Whether the connection resumed a TLS session; None without TLS."""
        return _tls.was_resumed(self._connection)

    def close(self) -> None:
        """Disconnect."""
        if self._options.tls:
            _tls.keep_session(self._connection, self._where)
        self._connection.close()


class Wire(_http_wire.Responses):
    """The same requests for the load generator ``wire``; one instance for each connection: it keeps its position."""

    def __init__(self, address: str, options: Options) -> None:
        super().__init__(address, options.client_nodelay)
        if options.writes != 1:
            raise ValueError("the engine wire sends each request in one write: give writes 1")
        self.tls = _tls.Layer(self._where, options.tls_session) if options.tls else None

    def request(self, payload: bytes) -> bytes:
        """Return a request with this body."""
        return _http_wire.request("POST", "/", payload, _http_wire.authority(self._where))

    def body(self, response: bytes, payload: bytes) -> bytes:
        """Return the body of a whole response; TransportError for any status but 200."""
        return _http_wire.content(response)
