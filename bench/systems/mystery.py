"""Mystery: small servers, one without a fault and each other with one; an exercise in diagnosis."""

import base64
import contextlib
import hashlib
import itertools
import json
import random
import socket
import sys
import threading
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from bench.contract import Binding, Service
from bench.errors import TransportError
from bench.systems import _client, _connections, _workers, sockets

TRANSPORTS = ("tcp",)
REQUIRES = ()
GROUP = "instrument"
START_S = 0.13

# The fault of each box, encoded so that nobody reads it by accident: look at the figures first.
_SEALED = {
    "a": "AEtrIfrJnHjTtIwGOZ13FARMrRukJeaHInYSXk7PbLHZ",
    "b": "K3BmVnuy4rI6ZxRxGGyxWU3DR/Ykmt+dDerlL1gRfJvp",
    "c": "QGHrm2WKLolGv/+D+N28JZxkYx1tRr9h7jUbP+E1c690",
    "d": "dn2LyMl6Xw+lpIH8kHsuZ7Ms2UKKytYWqesT3sXX+ouk",
    "e": "1dWz+td4h2UX7ebJFU/AOB7p+wxbZotXSZS22Zg5KK6x",
    "f": "oir4fNnxvSwt8YQ7f/v5/LccjehhimKEZ9rKhnuOgC6V",
}
BOXES = (*_SEALED, "sound")
WORK_S = 0.0005  # that the server waits for something else before it answers
PACKED = 1 << 31  # marks a length


@dataclass(frozen=True)
class Options:
    """The box to serve.

    box: a to f, or sound.
    """

    box: str = "sound"

    def __post_init__(self) -> None:
        if self.box not in BOXES:
            raise ValueError(f"box must be {', '.join(BOXES)}, not {self.box!r}")


@dataclass(frozen=True)
class Way:
    """How a box works: number of processes, how replies are sent, what a request waits for."""

    workers: int = 1
    slow: tuple[int, ...] = ()
    keep: bool = True
    pieces: int = 1
    at_once: bool = True
    alone: bool = False
    rare_ms: int = 0
    pack_from: int = 1 << 40


def way(box: str) -> Way:
    """Return how a box works."""
    if box not in _SEALED:
        return Way(workers=2)
    sealed = base64.b64decode(_SEALED[box])
    stream = b"".join(hashlib.sha256(f"roundtrip mystery {box} {number}".encode()).digest() for number in range(2))
    return Way(**json.loads(bytes(byte ^ mask for byte, mask in zip(sealed, stream, strict=False))))


def serve(binding: Binding, options: Options, service: Service) -> None:
    """Serve with one process, or two that share a port, until this one ends."""
    count, settings = way(options.box).workers, {"box": options.box}
    with _workers.Workers("bench.systems.mystery", binding.endpoint(), count, False, settings) as workers:
        service.announce(workers.address, counts=workers.counts)
        workers.wait()


class _Server:
    """One process of a box."""

    def __init__(self, number: int, how: Way) -> None:
        self._way, self._lock = how, threading.Lock()
        self._work_s = WORK_S * (5 if number in how.slow else 1)
        self._chance = random.Random()
        self._calls, self._asked = itertools.count(), 0  # its ``next`` is atomic, whatever threads answer

    def answered(self) -> int:
        """Return how many requests were answered so far."""
        self._asked += 1  # reading the counter increments it
        return next(self._calls) - self._asked + 1

    def accept(self, listener: socket.socket) -> None:
        """Answer each connection in a thread of its own."""
        _connections.serve(listener, self._answer_all)

    def _answer_all(self, connection: socket.socket) -> None:
        with connection, contextlib.suppress(OSError, TransportError):
            _, receive = sockets.stream(connection, self._way.at_once)
            while (payload := receive()) is not None:
                with self._lock if self._way.alone else contextlib.nullcontext():
                    self._work()
                next(self._calls)
                self._send(connection, payload)

    def _work(self) -> None:
        rare = self._way.rare_ms if self._chance.random() < 0.01 else 0
        time.sleep(self._work_s + rare / 1e3)

    def _send(self, connection: socket.socket, payload: bytes) -> None:
        packed = len(payload) >= self._way.pack_from
        body = zlib.compress(payload.hex().encode(), 9) if packed else payload
        head = sockets.pack(len(body) | PACKED if packed else len(body))
        for part in (head + body,) if self._way.pieces == 1 else (head, body):
            connection.sendall(part)


class Client(_client.Client):
    """The client of a box; it knows only the protocol details that it needs."""

    KIND = "call"

    def connect(self) -> None:
        self._way = way(self.options.box)
        self.connection = _connections.connect(self.server, nodelay=True)

    def call(self, payload: bytes) -> bytes:
        if not self._way.keep:
            self.close()
            self.open()
        self.connection.sendall(sockets.pack(len(payload)) + payload)
        length = sockets.unpack(self._receive(sockets.PREFIX))[0]
        body = self._receive(length & ~PACKED)
        return bytes.fromhex(zlib.decompress(body).decode()) if length & PACKED else body

    def _receive(self, size: int) -> bytes:
        chunks, receive = [], self.connection.recv
        while size > 0:
            chunks.append(receive(size))
            size -= len(chunks[-1])
            if not chunks[-1]:
                raise TransportError("the server closed the connection in the middle of a message")
        return b"".join(chunks)


def _serve(listener: socket.socket, options: dict[str, str], announce: Callable[[Callable[[], int]], None]) -> None:
    server = _Server(int(sys.argv[1].split()[1]) - 1, way(options["box"]))
    announce(server.answered)
    server.accept(listener)


if __name__ == "__main__":
    _workers.work(_serve)
