"""The oracle's HTTP front in Python, for machines without a compiler: words, rules and record of _oracle_front.h.

It serves about a tenth of the requests that the program in C can, and its departures are later.
"""

import heapq
import itertools
import os
import re
import selectors
import socket
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bench import systems
from bench.referees.record import CONNECTION, FAULTS, MAGIC, REQUEST, SECOND, SUMMARY

ROUNDED_S = 0.001  # select() rounds up to whole milliseconds: the last one before a departure is spun
MOST_HEAD = 16_384  # bytes
MOST_CONNECTIONS = 1 << 20
FIRST_LINE = re.compile(rb"(\S+) \S+ HTTP/1\.([01])$")
STATUS = {"status": "500 Internal Server Error"}


@dataclass(eq=False)
class Client:
    """One connection."""

    socket: socket.socket
    number: int
    data: bytes = b""
    last_due: int = 0
    is_last: bool = False  # no further request is read
    output: bytes = b""


@dataclass(order=True)
class Departure:
    """An answer that is due."""

    due: int
    order: int
    client: Client = field(compare=False)
    record: int = field(compare=False)
    fault: int = field(compare=False)
    is_head: bool = field(compare=False)
    leaves: bool = field(compare=False)
    is_old: bool = field(compare=False)


class Front:
    """The server, its clients and its record."""

    def __init__(self, listener: socket.socket, words: list[str]) -> None:
        law, mean_us, freeze_ms, seed, workers, fault, every, spared, most, *_ = words  # one event: it has no streams
        oracle: Any = systems.load("oracle")
        options = oracle.Options(law=law, mean_us=max(1, round(float(mean_us))))
        scale = 1000 * float(mean_us) / options.mean_us
        self._service_ns: Iterator[int] = (int(scale * us) for us in oracle.service_times(options, int(seed)))
        self._freeze, self._fault = int(1e6 * float(freeze_ms)), FAULTS.index(fault)
        self._every, self._spared = int(every) if self._fault else 0, int(spared)
        self._free_at = [0] * int(workers)
        self._listener, self._selector = listener, selectors.DefaultSelector()
        self._requests = np.zeros(int(most), REQUEST)
        self._connections: list[list[int]] = []
        self._numbers = itertools.count(1)
        self._waiting: list[Departure] = []
        self._clients: dict[int, Client] = {}
        self._used = self._not_recorded = self._not_admitted = self._refused = self._first_freeze = 0

    def serve(self) -> None:
        """Serve until the input ends."""
        self._selector.register(0, selectors.EVENT_READ)
        self._selector.register(self._listener, selectors.EVENT_READ)
        while True:
            self._depart_due()
            patience = None
            if self._waiting:
                patience = max(0.0, (self._waiting[0].due - time.monotonic_ns()) / SECOND - ROUNDED_S)
            for key, events in self._selector.select(patience):
                if key.fd == 0:
                    return
                if key.fileobj is self._listener:
                    self._admit()
                elif key.data.number in self._clients:
                    self._hear(key.data, events)
                self._depart_due()

    def write(self) -> None:
        """Write the record to the output."""
        counts = (self._used, self._not_recorded, len(self._connections), self._not_admitted, self._refused)
        values = (int.from_bytes(MAGIC, "little"), *counts, self._first_freeze, len(self._requests))
        connections = np.array([tuple(times) for times in self._connections], CONNECTION)
        for part in (np.array([values], SUMMARY), self._requests[: self._used], connections):
            sys.stdout.buffer.write(part.tobytes())
        sys.stdout.buffer.flush()

    def _admit(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return
        if len(self._connections) == MOST_CONNECTIONS:
            self._not_admitted += 1
            connection.close()
            return
        connection.setblocking(False)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = Client(connection, len(self._connections))
        self._connections.append([time.monotonic_ns(), 0])
        self._clients[client.number] = client
        self._selector.register(connection, selectors.EVENT_READ, client)

    def _leave(self, client: Client) -> None:
        self._connections[client.number][1] = time.monotonic_ns()
        del self._clients[client.number]
        self._selector.unregister(client.socket)
        client.socket.close()

    def _hear(self, client: Client, events: int) -> None:
        try:
            if events & selectors.EVENT_WRITE and not self._put(client, b""):
                self._leave(client)
                return
            if not events & selectors.EVENT_READ:
                return
            got = client.socket.recv(65536)
        except BlockingIOError:
            return
        except OSError:
            got = b""
        client.data += got
        if not got or not self._understand(client):
            self._leave(client)

    def _understand(self, client: Client) -> bool:
        """Take in all whole requests; return whether the rest can become one."""
        while not client.is_last:
            head, end, rest = client.data.partition(b"\r\n\r\n")
            if not end:
                self._refused += len(client.data) > MOST_HEAD
                return len(client.data) <= MOST_HEAD
            first, *lines = head.split(b"\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
            length = headers.get(b"content-length", b"0")
            match = FIRST_LINE.match(first)
            if not match or b"transfer-encoding" in headers or not length.isdigit():
                self._refused += 1
                return False
            if len(rest) < int(length):
                return True
            client.data = rest[int(length) :]
            kept = headers.get(b"connection", b"").lower()
            is_old = match[2] == b"0"
            leaves = b"close" in kept or (is_old and b"keep-alive" not in kept)
            self._arrive(client, match[1] == b"HEAD", leaves, is_old)
        return True

    def _arrive(self, client: Client, is_head: bool, leaves: bool, is_old: bool) -> None:
        now, number = time.monotonic_ns(), next(self._numbers)
        if number == 1:
            self._first_freeze = now + SECOND // 2
        client.last_due = due = max(self._due(now, next(self._service_ns)), client.last_due)
        client.is_last = leaves
        fault = self._fault if self._every and number > self._spared and number % self._every == 0 else 0
        record = -1
        if self._used < len(self._requests):
            record, self._used = self._used, self._used + 1
            self._requests[record] = (now, due, 0, 0, 0, client.number, fault)
        else:
            self._not_recorded += 1
        heapq.heappush(self._waiting, Departure(due, number, client, record, fault, is_head, leaves, is_old))

    def _due(self, arrived: int, service: int) -> int:
        if not self._free_at:
            return self.served(arrived, service)
        end = self.served(max(arrived, self._free_at[0]), service)
        heapq.heapreplace(self._free_at, end)
        return end

    def served(self, start: int, service: int) -> int:
        """Return when a service of this length ends that may begin at ``start``: freezes interrupt it."""
        while self._freeze:
            until = self._first_freeze
            if start >= until:
                phase = (start - until) % SECOND
                start, phase = (start + self._freeze - phase, self._freeze) if phase < self._freeze else (start, phase)
                until = start + SECOND - phase
            if start + service < until:
                break
            service, start = service - (until - start), until
        return start + service

    def _depart_due(self) -> None:
        while self._waiting and self._waiting[0].due <= time.monotonic_ns():
            self._depart(heapq.heappop(self._waiting))

    def _depart(self, leaving: Departure) -> None:
        client, is_there = leaving.client, leaving.client.number in self._clients
        if leaving.record >= 0:
            now, record = time.monotonic_ns(), self._requests[leaving.record]
            record["departed"] = now if is_there else -1
            if is_there:
                record["first"], record["late"] = now, now - leaving.due
        if not is_there:
            return
        fault = FAULTS[leaving.fault]
        kept = "Connection: close\r\n" if leaving.leaves else "Connection: keep-alive\r\n" if leaving.is_old else ""
        body = "" if leaving.is_head else "no" if fault == "body" else "ok"
        status = STATUS.get(fault, "200 OK")
        answer = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n{kept}\r\n{body}".encode()
        if fault == "close" or not self._put(client, answer) or (leaving.leaves and not client.output):
            self._leave(client)

    def _put(self, client: Client, answer: bytes) -> bool:
        """Send, and keep what the kernel does not take; return whether the connection still stands."""
        had, client.output = client.output, client.output + answer
        try:
            client.output = client.output[client.socket.send(client.output) :]
        except BlockingIOError:
            pass
        except OSError:
            return False
        if bool(had) != bool(client.output):
            writes = selectors.EVENT_WRITE if client.output else 0
            self._selector.modify(client.socket, selectors.EVENT_READ | writes, client)
        return len(client.output) <= MOST_HEAD


def main() -> None:
    """Serve as the words of the command line say."""
    _, _, listener, *words = sys.argv
    front = Front(socket.socket(fileno=os.dup(int(listener))), words)
    print("ready", flush=True)
    front.serve()
    front.write()


if __name__ == "__main__":
    main()
