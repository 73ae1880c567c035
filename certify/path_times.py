"""What the way to the front and back adds to a response time on this machine: a plain client against the front."""

import socket
import time
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

import numpy as np

from bench.errors import SystemFailedError
from bench.stats import Array, quantile
from certify import schedules
from certify.observation import PathTimes
from certify.protocol_front import Front
from certify.protocols import PROTOCOLS, Name
from certify.record import Record
from certify.service import Service

REQUESTS = 500
CLOSED_REQUESTS = 4000  # of a certificate: enough for p99.9 (needed_samples), whose tolerance has the longest of them
RATE = 500.0  # of the open load: its requests find the server idle


def measure(requests: int = CLOSED_REQUESTS, protocol: Name = "http1") -> dict[str, PathTimes]:
    """Return it for a closed and an open load of one connection, at a constant service time of 1 ms.

    A response time of the closed load counts from the sending, of the open load from when the request was due: a client
    that sleeps until then wakes up late.
    """
    times_us, record = _loaded(protocol, _instants(min(requests, REQUESTS)))
    due = schedules.fitted(record.requests["arrived"])
    opened = _added(times_us - (record.requests["departed"] - due) / 1e3)
    return {"closed": closed(requests, protocol), "open": opened}


def closed(requests: int = REQUESTS, protocol: Name = "http1") -> PathTimes:
    """Return what ``measure`` returns of a closed load."""
    times_us, record = _loaded(protocol, (time.perf_counter_ns() for _ in range(requests)))
    return _added(times_us - record.response_us)


def _added(us: Array) -> PathTimes:
    return PathTimes(quantile(us, 0.5), quantile(us, 0.99), float(us.max()))


def _instants(count: int) -> Iterator[int]:
    """Yield when each request is due, in ns, once it is."""
    begin = time.perf_counter_ns()
    for number in range(count):
        due = begin + int(number * 1e9 / RATE)
        time.sleep(max(0, due - time.perf_counter_ns()) / 1e9)
        yield due


def _loaded(protocol: Name, begins: Iterable[int]) -> tuple[Array, Record]:
    """Return the response times, in us, of requests that follow each other, each from the instant in ns that begins it.

    Also what the front recorded of them.
    """
    spoken, times = PROTOCOLS[protocol], []
    with Front(Service(), protocol=protocol) as front:
        address = urlsplit(front.url)
        with socket.create_connection((address.hostname, address.port), timeout=10) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.sendall(spoken.opening)
            for number, begin in enumerate(begins):
                connection.sendall(spoken.request(number))
                answer = b""
                while not answer.endswith(spoken.ending):
                    some = connection.recv(1024)
                    if not some:
                        raise SystemFailedError("the oracle's front did not answer a plain client: please report it")
                    answer += some
                times.append((time.perf_counter_ns() - begin) / 1e3)
        return np.array(times), front.end()
