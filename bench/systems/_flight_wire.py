"""Actions of Arrow Flight as bytes: gRPC calls with one message each way, for the load generator ``wire``.

Source: https://arrow.apache.org/docs/format/Flight.html, its messages Action (type, body) and Result (body).
"""

from typing import Any

from bench.contract import parse_address
from bench.errors import TransportError
from bench.systems import _grpc_wire, _http_wire, _mqtt_wire, _tls

METHOD = "arrow.flight.protocol.FlightService/DoAction"
MOST_BYTES = 2**31 - 1
TYPE, BODY, RESULT = b"\x0a", b"\x12", b"\x0a"  # of fields that are lengths and bytes: the first, the second


class Wire(_grpc_wire.Calls):
    """Actions on a connection, as ``contract.Conversation`` defines."""

    def __init__(self, address: str, options: Any) -> None:
        at = parse_address(address)
        tls = _tls.Layer(at, protocol="h2") if options.tls else None
        super().__init__(address, METHOD, _http_wire.authority(at), (), MOST_BYTES, tls)

    def request(self, payload: bytes) -> bytes:
        """Return the body of a request: an Action with this payload."""
        return _grpc_wire.request_of(field(TYPE, b"echo") + field(BODY, payload))

    def body(self, response: Any, payload: bytes) -> bytes:
        """Return the payload in a whole response: its one Result's; TransportError for an error response."""
        status, details = _grpc_wire.status_of(response)
        if status != "OK":
            raise TransportError(f"the call failed: {status}: {details}", status)
        message = _grpc_wire.message_of(response)
        content = message[len(message) - len(payload) :]
        if message != field(RESULT, content):
            raise TransportError(f"a response is no Result with {len(payload)} bytes: {message[:40]!r}", "body")
        return content


def field(tag: bytes, content: bytes) -> bytes:
    """Return a field of bytes, as Protocol Buffers encode it."""
    return tag + _mqtt_wire.varint(len(content)) + content
