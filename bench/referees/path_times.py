"""What the way to the front and back adds to a response time on this machine: a plain client against the front."""

import socket
import time
from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

import numpy as np

from bench.errors import SystemFailedError
from bench.referees.arrival_checks import fitted_schedule
from bench.referees.front import Front, Service
from bench.referees.observation import PathTimes
from bench.referees.protocols import PROTOCOLS, Name
from bench.stats import Array, quantile

REQUESTS = 500
CLOSED_REQUESTS = 4000  # of a certificate: enough for p99.9 (needed_samples), whose tolerance has the longest of them
RATE = 500.0  # of the open load: its requests find the server idle


def measure(language: str = "", requests: int = CLOSED_REQUESTS, protocol: Name = "http1") -> dict[str, PathTimes]:
    """Return it for a closed and an open load of one connection, at a constant service time of 1 ms.

    A response time of the closed load counts from the sending, of the open load from when the request was due: a client
    that sleeps until then wakes up late.
    """
    return {"closed": closed(language, requests, protocol), "open": _open(language, min(requests, REQUESTS), protocol)}


def closed(language: str = "", requests: int = REQUESTS, protocol: Name = "http1") -> PathTimes:
    """Return what ``measure`` returns of a closed load."""
    with Front(Service(), language, protocol=protocol) as front:
        times_us = _response_times_us(front.url, protocol, (time.perf_counter_ns() for _ in range(requests)))
        return _added(times_us - front.end().response_us)


def _open(language: str, requests: int, protocol: Name) -> PathTimes:
    with Front(Service(), language, protocol=protocol) as front:
        times_us = _response_times_us(front.url, protocol, _instants(requests))
        found = front.end().requests
    return _added(times_us - (found["departed"] - fitted_schedule(found["arrived"])) / 1e3)


def _added(us: Array) -> PathTimes:
    return PathTimes(quantile(us, 0.5), quantile(us, 0.99), float(us.max()))


def _instants(count: int) -> Iterator[int]:
    """Yield when each request is due, in ns, once it is."""
    begin = time.perf_counter_ns()
    for number in range(count):
        due = begin + int(number * 1e9 / RATE)
        time.sleep(max(0, due - time.perf_counter_ns()) / 1e9)
        yield due


def _response_times_us(url: str, protocol: Name, begins: Iterable[int]) -> Array:
    """Return the response times of requests that follow each other, each from the instant in ns that begins it."""
    where, spoken = urlsplit(url), PROTOCOLS[protocol]
    times = []
    with socket.create_connection((where.hostname, where.port), timeout=10) as connection:
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
    return np.array(times)
