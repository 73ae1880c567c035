"""nng: brokerless message sockets, REQ/REP for calls and PUSH/PULL one way, pynng's blocking calls."""

from typing import Any

import pynng

from bench.contract import Binding
from bench.errors import TransportError
from bench.systems import _nng

TRANSPORTS = ("inproc", "ipc", "tcp")
START_S = 0.25
REQUIRES = ("pynng",)
ENCRYPTED = ("tcp",)

Options = _nng.Options
serve = _nng.serve
Wire = _nng.Wire


class _Connected:
    """A socket that connects."""

    kind: Any

    def __init__(self, address: str, options: Options) -> None:
        self._address, self._options = address, options

    def open(self) -> None:
        """Connect."""
        self._socket = _nng.connected(self.kind, self._address, self._options)
        self._send, self._receive = self._socket.send, self._socket.recv

    def close(self) -> None:
        """Disconnect."""
        self._socket.close()


class Client(_Connected):
    """One REQ socket: send, then receive. The library sends a request again when a minute passes without its reply."""

    kind = pynng.Req0

    def call(self, payload: bytes) -> bytes:
        """Send one request and return its reply."""
        try:
            self._send(payload)
            return self._receive()
        except pynng.NNGException as reason:
            raise _nng.failed(reason) from reason


class Sender(_Connected):
    """The sending end of a one-way stream: a PUSH socket, without a queue of its own beyond one message."""

    kind = pynng.Push0

    def send(self, payload: bytes) -> None:
        """Hand over one message, waiting while the connection takes none."""
        try:
            self._send(payload)
        except pynng.NNGException as reason:
            raise TransportError(f"a message could not be sent: {reason}") from reason


class Receiver:
    """The receiving end of a one-way stream: a PULL socket."""

    def __init__(self, binding: Binding, options: Options) -> None:
        self._socket, self.address = _nng.bound(pynng.Pull0, binding, options)
        self._receive: Any = self._socket.recv

    def receive(self) -> bytes:
        """Return the next message, waiting for it."""
        try:
            return self._receive()
        except RuntimeError:  # the library's own error for a message without content
            return b""

    def close(self) -> None:
        """Release the socket."""
        self._socket.close()
