"""Pipes: messages through two pipes of the kernel, as between a program and a child by standard input and output."""

import os
import threading
from dataclasses import dataclass
from typing import Any

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.systems import _client, _connections, _pipes

TRANSPORTS = ("ipc",)
REQUIRES = ()

HEADER_BYTES = 4  # before each message: its length, big-endian


@dataclass(frozen=True)
class Options:
    """What carries the messages, each a length of 4 bytes and the payload, in one write; the server has threads.

    through: pipe, two pipes, one for each direction; or socketpair, one pair of connected Unix sockets.
    """

    through: _pipes.Kind = "pipe"


class Messages:
    """The messages of one client or server, read through a buffer as Python's own ``sys.stdin.buffer`` does."""

    def __init__(self, ends: _pipes.Ends) -> None:
        self._ends = ends
        self._reader: Any = os.fdopen(ends.read, "rb", closefd=False)

    def send(self, payload: bytes) -> None:
        """Write one message; OSError if nobody reads any more."""
        message = len(payload).to_bytes(HEADER_BYTES, "big") + payload
        written = os.write(self._ends.write, message)
        while written < len(message):  # a signal came in between
            written += os.write(self._ends.write, memoryview(message)[written:])

    def receive(self) -> bytes:
        """Return the next message; EOFError if the other side has left."""
        length = int.from_bytes(self._exactly(HEADER_BYTES), "big")
        return self._exactly(length)

    def _exactly(self, length: int) -> bytes:
        data: bytes = self._reader.read(length)
        if len(data) < length:
            raise EOFError("the other side has closed its end")
        return data

    def close(self) -> None:
        self._ends.close()


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Take the pipes of clients at a socket file, and answer each client in a thread of its own."""
    listener, address = _connections.bound(binding)
    service.announce(address)
    while True:
        if ends := _pipes.accept(listener):
            threading.Thread(target=_answer_all, args=(Messages(ends), service), daemon=True).start()


def _answer_all(messages: Messages, service: Service) -> None:
    """Serve one client until it leaves."""
    try:
        while True:
            messages.send(service.answer(messages.receive()))
    except (EOFError, OSError):
        messages.close()


class Client(_client.Client):
    """Two pipes to the server, and from it."""

    ERRORS = (EOFError, OSError)

    def connect(self) -> None:
        self.connection = Messages(_pipes.connect(self.server, self.options.through))

    def call(self, payload: bytes) -> bytes:
        self.connection.send(payload)
        return self.connection.receive()


class Sender(_client.Client):
    """A pipe to the receiver; writing waits while it is full."""

    def connect(self) -> None:
        self.connection = Messages(_pipes.connect(self.server, self.options.through))
        self.send = self.connection.send


class Receiver:
    """The receiver of one sender."""

    def __init__(self, binding: Binding, options: Options) -> None:
        self._listener, self.address = _connections.bound(binding)
        self._messages: Messages | None = None

    def receive(self) -> bytes:
        while self._messages is None:
            if ends := _pipes.accept(self._listener):
                self._messages = Messages(ends)
        try:
            return self._messages.receive()
        except (EOFError, OSError) as reason:
            raise TransportError(f"no further message came: {reason}", "read") from reason

    def close(self) -> None:
        if self._messages:
            self._messages.close()
