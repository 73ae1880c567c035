"""ZeroMQ: brokerless message sockets, REQ/REP for calls and PUSH/PULL for one-way streams."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

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
    codec: how structured messages become bytes; not used for opaque bytes.
    """

    copy: bool = True
    high_water_mark: int = 1000
    codec: str = "json"

    def __post_init__(self) -> None:
        """Raise ValueError for 0, which means "unlimited" to the library."""
        if self.high_water_mark < 1:
            raise ValueError("high_water_mark must be at least 1")


def _socket(kind: int, options: Options, address: str) -> Any:
    """Return a socket of the process's one context (inproc needs it to be shared)."""
    socket: Any = zmq.Context.instance().socket(kind)
    socket.set_hwm(options.high_water_mark)
    socket.setsockopt(zmq.IPV6, "[" in address)
    return socket


def _bind(socket: Any, binding: Binding) -> str:
    """Bind, and return the address that clients connect to."""
    try:
        socket.bind(binding.endpoint())
    except zmq.ZMQError as reason:
        raise TransportError(f"cannot listen at {binding.endpoint()}: {reason}") from reason
    return str(socket.getsockopt_string(zmq.LAST_ENDPOINT).rstrip("\0"))


def _verbs(socket: Any, options: Options) -> tuple[Callable[[bytes], object], Callable[[], bytes]]:
    """Return the socket's send and receive, or their zero-copy variants."""
    if options.copy:
        return socket.send, socket.recv
    return partial(socket.send, copy=False), lambda: socket.recv(copy=False).bytes


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Answer requests with one REP socket."""
    socket = _socket(zmq.REP, options, binding.endpoint())
    service.announce(_bind(socket, binding))
    answer = service.answer
    send, receive = _verbs(socket, options)
    while True:
        send(answer(receive()))


class _Connection:
    """A socket that connects."""

    kind: int
    linger: int  # ms that close() waits for messages still to be sent

    def __init__(self, address: str, options: Options) -> None:
        self._address = address
        self._socket = _socket(self.kind, options, address)
        self._send, self._receive = _verbs(self._socket, options)

    def open(self) -> None:
        """Connect; the library does so in the background and keeps trying."""
        try:
            self._socket.connect(self._address)
        except zmq.ZMQError as reason:
            raise TransportError(f"cannot connect to {self._address}: {reason}") from reason

    def close(self) -> None:
        """Disconnect."""
        self._socket.close(linger=self.linger)


class Client(_Connection):
    """One REQ socket: send, then receive, in lock step."""

    kind = zmq.REQ
    linger = 0

    def call(self, payload: bytes) -> bytes:
        """Send one request and return its reply."""
        try:
            self._send(payload)
            return self._receive()
        except zmq.ZMQError as reason:
            raise TransportError(f"the call failed: {reason}") from reason


class Sender(_Connection):
    """The sending end of a one-way stream: a PUSH socket."""

    kind = zmq.PUSH
    linger = -1  # until all messages have been sent

    @property
    def send(self) -> Callable[[bytes], object]:
        """Queue one message, waiting while the queue is full: the library's own call, nothing around it."""
        return self._send


class Receiver:
    """The receiving end of a one-way stream: a PULL socket."""

    def __init__(self, binding: Binding, options: Options) -> None:
        """Bind; ``address`` is where senders connect."""
        self._socket = _socket(zmq.PULL, options, binding.endpoint())
        self.address = _bind(self._socket, binding)
        self._receive = _verbs(self._socket, options)[1]

    @property
    def receive(self) -> Callable[[], bytes]:
        """Return the next message, waiting for it: the library's own call, nothing around it."""
        return self._receive

    def close(self) -> None:
        """Release the socket."""
        self._socket.close(linger=0)
