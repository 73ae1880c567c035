"""The oracle's HTTP front in Python, for machines without a compiler: words, rules and record of _oracle_front.h.

It serves about a tenth of the requests that the program in C can, and its departures are later.
"""

import asyncio
import heapq
import itertools
import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench import systems
from certify.record import CONNECTION, FAULTS, MAGIC, REQUEST, SECOND, SUMMARY

ROUNDED_S = 0.001  # epoll rounds up to whole milliseconds: the last one before a departure is spun
MOST_HEAD = 16_384  # bytes
BACKLOG = 4096  # connections that wait to be accepted
FIRST_LINE = re.compile(rb"(\S+) \S+ HTTP/1\.([01])$")
STATUS = {"status": "500 Internal Server Error"}


class Front:
    """The server's requests, in service and answered, and its record."""

    def __init__(self, words: list[str]) -> None:
        law, mean_us, freeze_ms, seed, workers, fault, every, spared, most, *_ = words  # one event: it has no streams
        oracle: Any = systems.load("oracle")
        options = oracle.Options(law=law, mean_us=max(1, round(float(mean_us))))
        scale = 1000 * float(mean_us) / options.mean_us
        self._service_ns: Iterator[int] = (int(scale * us) for us in oracle.service_times(options, int(seed)))
        self._freeze, self._fault = int(1e6 * float(freeze_ms)), fault
        self._every, self._spared = int(every) if fault != "none" else 0, int(spared)
        self._free_at = [0] * int(workers)
        self._requests = np.zeros(int(most), REQUEST)
        self._numbers = itertools.count(1)
        self._waiting: list[tuple[int, int, Client, int, bytes, bool]] = []  # as of ``_depart``, behind due and number
        self._used = self._not_recorded = self._first_freeze = 0
        self._timer: asyncio.Handle | None = None
        self.connections: list[list[int]] = []
        self.refused = 0

    def write(self) -> None:
        """Write the record to the output."""
        counts = (self._used, self._not_recorded, len(self.connections), 0, self.refused)
        values = (int.from_bytes(MAGIC, "little"), *counts, self._first_freeze, len(self._requests))
        connections = np.array([tuple(times) for times in self.connections], CONNECTION)
        for part in (np.array([values], SUMMARY), self._requests[: self._used], connections):
            sys.stdout.buffer.write(part.tobytes())
        sys.stdout.buffer.flush()

    def arrive(self, client: "Client", is_head: bool, leaves: bool, is_old: bool) -> None:
        """Take in a request: its answer is due when its service ends, and not before those before it."""
        now, number = time.monotonic_ns(), next(self._numbers)
        if number == 1:
            self._first_freeze = now + SECOND // 2
        client.last_due = due = max(self._due(now, next(self._service_ns)), client.last_due)
        is_spared = not self._every or number <= self._spared or number % self._every
        fault, record = "none" if is_spared else self._fault, -1
        if self._used < len(self._requests):
            record, self._used = self._used, self._used + 1
            self._requests[record] = (now, due, 0, 0, 0, client.number, FAULTS.index(fault))
        else:
            self._not_recorded += 1
        answer = b"" if fault == "close" else _answer(fault, is_head, leaves, is_old)
        heapq.heappush(self._waiting, (due, number, client, record, answer, leaves))

    def _due(self, arrived: int, service: int) -> int:
        if not self._free_at:
            return self._served(arrived, service)
        end = self._served(max(arrived, self._free_at[0]), service)
        heapq.heapreplace(self._free_at, end)
        return end

    def _served(self, start: int, service: int) -> int:
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

    def depart_due(self) -> None:
        """Let all answers depart that are due, and wait for the next one."""
        while self._waiting and self._waiting[0][0] <= time.monotonic_ns():
            due, _, client, record, answer, leaves = heapq.heappop(self._waiting)
            self._depart(due, client, record, answer, leaves)
        if self._timer:
            self._timer.cancel()
        if self._waiting:
            patience_s = (self._waiting[0][0] - time.monotonic_ns()) / SECOND - ROUNDED_S
            self._timer = asyncio.get_running_loop().call_later(max(0.0, patience_s), self.depart_due)

    def _depart(self, due: int, client: "Client", record: int, answer: bytes, leaves: bool) -> None:
        """Answer a request, if its client is there; without an answer, end the connection."""
        is_there = not client.transport.is_closing()
        if record >= 0:
            now, row = time.monotonic_ns(), self._requests[record]
            row["departed"] = now if is_there else -1
            if is_there:
                row["first"], row["late"] = now, now - due
        if is_there and answer:
            client.transport.write(answer)
        if leaves and answer:
            client.transport.close()  # once all of it is sent
        elif not answer or client.transport.get_write_buffer_size() > MOST_HEAD:
            client.transport.abort()


def _answer(fault: str, is_head: bool, leaves: bool, is_old: bool) -> bytes:
    kept = "Connection: close\r\n" if leaves else "Connection: keep-alive\r\n" if is_old else ""
    body = "" if is_head else "no" if fault == "body" else "ok"
    status = STATUS.get(fault, "200 OK")
    return f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n{kept}\r\n{body}".encode()


class Client(asyncio.Protocol):
    """One connection. last_due: when its latest answer is due: answers keep the order of requests."""

    transport: asyncio.Transport

    def __init__(self, front: Front) -> None:
        self._front, self._data, self._is_last = front, b"", False
        self.number, self.last_due = len(front.connections), 0
        front.connections.append([time.monotonic_ns(), 0])

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, reason: Exception | None) -> None:
        """Record the end of the connection."""
        self._front.connections[self.number][1] = time.monotonic_ns()

    def data_received(self, data: bytes) -> None:
        """Take in all whole requests; end a connection on which something else comes."""
        self._data += data
        if not self._understands():
            self._front.refused += 1
            self.transport.abort()
        self._front.depart_due()

    def _understands(self) -> bool:
        """Return whether what is left can become a request; behind the last one of a connection, none is read."""
        while not self._is_last:
            head, end, rest = self._data.partition(b"\r\n\r\n")
            if not end:
                return len(self._data) <= MOST_HEAD
            first, *lines = head.split(b"\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
            length = headers.get(b"content-length", b"0")
            match = FIRST_LINE.match(first)
            if not match or b"transfer-encoding" in headers or not length.isdigit():
                return False
            if len(rest) < int(length):
                return True
            self._data = rest[int(length) :]
            kept, is_old = headers.get(b"connection", b"").lower(), match[2] == b"0"
            self._is_last = b"close" in kept or (is_old and b"keep-alive" not in kept)
            self._front.arrive(self, match[1] == b"HEAD", self._is_last, is_old)
        return True


async def main() -> None:
    """Serve as the words of the command line say, until the input ends; then write the record."""
    _, _, listener, *words = sys.argv
    front, loop, ended = Front(words), asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(0, ended.set)
    listening = socket.socket(fileno=os.dup(int(listener)))
    await loop.create_server(lambda: Client(front), sock=listening, backlog=BACKLOG)
    print("ready", flush=True)
    await ended.wait()
    front.write()


if __name__ == "__main__":
    asyncio.run(main())
