"""nng: brokerless message sockets, REQ/REP for calls and PUSH/PULL one way, pynng's blocking calls."""

from typing import Any

import pynng

from bench.contract import Binding
from bench.systems import _client, _nng

TRANSPORTS = ("inproc", "ipc", "tcp")
START_S = 0.25
REQUIRES = ("pynng",)
ENCRYPTED = ("tcp",)

FOR_WIRE, serve, Wire = _nng.FOR_WIRE, _nng.serve, _nng.Wire
Options = _nng.Options


class Client(_nng.Connected, _client.Client):
    """One REQ socket: send, then receive. The library sends a request again when a minute passes without its reply."""

    kind = pynng.Req0

    def connect(self) -> None:
        self.dial()
        self._send, self._receive = self.connection.send, self.connection.recv

    def call(self, payload: bytes) -> bytes:
        self._send(payload)
        return self._receive()


class Sender(_nng.Connected, _client.Client):
    """The sending end of a one-way stream: a PUSH socket, without a queue of its own beyond one message."""

    kind = pynng.Push0

    def connect(self) -> None:
        self.dial()
        self.send = self.connection.send  # it waits while the connection takes no message


class Receiver:
    """The receiving end of a one-way stream: a PULL socket."""

    def __init__(self, binding: Binding, options: Options) -> None:
        self._socket, self.address = _nng.bound(pynng.Pull0, binding, options)
        self._receive: Any = self._socket.recv

    def receive(self) -> bytes:
        try:
            return self._receive()
        except RuntimeError:  # the library's own error for a message without content
            return b""

    def close(self) -> None:
        self._socket.close()
