"""ZeroMQ: brokerless message sockets, REQ/REP for calls and PUSH/PULL for one-way streams."""

from dataclasses import dataclass

import zmq

from bench.contract import Binding, Service
from bench.errors import TransportError

TRANSPORTS = ("inproc", "ipc", "tcp")
REQUIRES = ("pyzmq",)


@dataclass(frozen=True)
class Options:
    """How pyzmq handles messages.

    copy: hand message bytes over by copying; False uses zero-copy frames (pays off for large messages).
    high_water_mark: messages queued on each side of a one-way stream before its sender has to wait.
    """

    copy: bool = True
    high_water_mark: int = 1000

    def __post_init__(self) -> None:
        """Refuse what would mean "unlimited" to the library."""
        if self.high_water_mark < 1:
            raise ValueError("high_water_mark must be at least 1")


def _socket(kind: int, options: Options) -> "zmq.Socket[bytes]":
    """Return a socket of the process's one context (inproc needs it to be shared)."""
    socket = zmq.Context.instance().socket(kind)
    socket.set_hwm(options.high_water_mark)
    return socket


def _bind(socket: "zmq.Socket[bytes]", binding: Binding) -> str:
    """Bind, and return the address that clients connect to."""
    try:
        socket.bind(binding.endpoint())
    except zmq.ZMQError as reason:
        raise TransportError(f"cannot listen at {binding.endpoint()}: {reason}") from reason
    return socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0")


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer requests with one REP socket."""
    socket = _socket(zmq.REP, options)
    service.announce(_bind(socket, binding))
    receive, send, answer = socket.recv, socket.send, service.answer
    if options.copy:
        while True:
            send(answer(receive()))
    while True:
        send(answer(receive(copy=False).bytes), copy=False)


class _Connection:
    """A connected socket of one kind."""

    kind: int

    def __init__(self, address: str, options: Options) -> None:
        self._address = address
        self._options = options
        self._socket = _socket(self.kind, options)

    def open(self) -> None:
        """Connect; the library does so in the background and keeps trying."""
        try:
            self._socket.connect(self._address)
        except zmq.ZMQError as reason:
            raise TransportError(f"cannot connect to {self._address}: {reason}") from reason


class Client(_Connection):
    """One REQ socket: send, then receive, in lock step."""

    kind = zmq.REQ

    def call(self, payload: bytes) -> bytes:
        """Send one request and return its reply."""
        copy = self._options.copy
        self._socket.send(payload, copy=copy)
        reply = self._socket.recv(copy=copy)
        return reply if copy else reply.bytes

    def close(self) -> None:
        """Disconnect at once; nothing is waited for."""
        self._socket.close(linger=0)


class Sender(_Connection):
    """The sending end of a one-way stream: a PUSH socket."""

    kind = zmq.PUSH

    def open(self) -> None:
        """Connect."""
        super().open()
        self._send = self._socket.send

    def send(self, payload: bytes) -> None:
        """Queue one message; waits while the queue is full."""
        self._socket.send(payload, copy=self._options.copy)

    def close(self) -> None:
        """Disconnect once everything queued has left."""
        self._socket.close(linger=-1)


class Receiver:
    """The receiving end of a one-way stream: a PULL socket."""

    def __init__(self, binding: Binding, options: Options) -> None:
        """Bind; ``address`` is where senders connect."""
        self._socket = _socket(zmq.PULL, options)
        self.address = _bind(self._socket, binding)
        self._copy = options.copy

    def receive(self) -> bytes:
        """Return the next message; waits for it."""
        return self._socket.recv() if self._copy else self._socket.recv(copy=False).bytes

    def close(self) -> None:
        """Release the socket."""
        self._socket.close(linger=0)
