"""An HTTP load generator that is honest unless ``--lie`` names what it does wrong, for tests of certificates.

One thread waits for its connections and its schedule with select, whose timeout has microseconds. A response time of
an open load counts from when the request was due.
"""

import argparse
import json
import math
import select
import socket
import subprocess
import sys
import time
from collections import deque
from urllib.parse import urlsplit

LIES = (
    "drops-slow",  # leaves the slowest tenth out of its times
    "closes-loop",  # waits for each reply before it sends the next request of an open load
    "planned-rate",  # reports the rate that was asked for, and the requests that this makes
)
FAULTS = (
    "hangs",  # writes its report and does not end, nor does a process that it started
    "fails-with-0",  # sends nothing, says so, and ends with status 0
)
QUANTILES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}
DRAIN_S = 2.0  # for the last replies


class Connection:
    """One connection, which has at most one request without a reply."""

    def __init__(self, url: str) -> None:
        url_parts = urlsplit(url)
        self._request = f"GET {url_parts.path or '/'} HTTP/1.1\r\nHost: {url_parts.netloc}\r\n\r\n".encode()
        self.socket = socket.create_connection((url_parts.hostname, url_parts.port), timeout=5)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._have = b""

    def send(self, due: float) -> None:
        """Send a request that was due at that time."""
        self.due = due
        self.socket.sendall(self._request)

    def receive(self) -> bool | None:
        """Return whether the reply, whose body has two bytes, is a success; None if it has not come whole."""
        self._have += self.socket.recv(65536)
        head, _, body = self._have.partition(b"\r\n\r\n")
        if len(body) < 2:
            return None
        self._have = b""
        return head.split(b" ", 2)[1] == b"200"


class Load:
    """What was sent and came back: for each reply when it was due and came, in s, and whether it is a success."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._free = deque(Connection(options.url) for _ in range(options.connections))
        self._busy: dict[socket.socket, Connection] = {}
        self.replies: list[tuple[float, float, bool]] = []
        self.begin = self.last = time.perf_counter()
        self._next = 0  # of the schedule

    def run(self) -> None:
        """Send for the duration, then wait for the last replies."""
        end = self.begin + self._options.duration
        while (now := time.perf_counter()) < end:
            self._send(now)
            self._receive(min(end, self._due() if self._free else end) - time.perf_counter())
        while self._busy and time.perf_counter() < end + DRAIN_S:
            self._receive(0.01)

    def _due(self) -> float:
        """Return when the next request is due; of a closed load, always."""
        return self.begin + self._next / self._options.rate if self._options.rate else 0.0

    def _send(self, now: float) -> None:
        closes = self._options.lie == "closes-loop"
        while self._free and self._due() <= now and not (closes and self._busy):
            connection = self._free.popleft()
            connection.send(self._due() if self._options.rate and not closes else now)
            self._busy[connection.socket] = connection
            self._next += 1
            self.last = now

    def _receive(self, timeout_s: float) -> None:
        for ready in select.select(list(self._busy), [], [], max(timeout_s, 0.0))[0]:
            connection = self._busy[ready]
            if (success := connection.receive()) is not None:
                self.replies.append((connection.due, time.perf_counter(), success))
                del self._busy[ready]
                self._free.append(connection)


def report(load: Load, options: argparse.Namespace) -> dict[str, object]:
    """Return what is reported of a load, with the lie."""
    lie, times = options.lie, sorted(came - due for due, came, _ in load.replies)
    if lie == "drops-slow":
        times = times[: len(times) * 9 // 10]
    shown = {name: 1e3 * times[math.ceil(p * len(times)) - 1] for name, p in QUANTILES.items()}
    window_s, count = load.last - load.begin, len(load.replies)
    totals = {"requests": count, "rate": count / window_s}
    if lie == "planned-rate" and options.rate:
        totals = {"requests": options.rate * options.duration, "rate": options.rate}
    errors = sum(not success for _, _, success in load.replies)
    return totals | {"duration": window_s, "errors": errors, "max": 1e3 * times[-1], "times": shown}


def main() -> int:
    """Load, and print the report as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--rate", type=float, default=0.0, help="requests per second; 0: a closed load")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--duration", type=float, default=2.0, help="in s")
    parser.add_argument("--lie", choices=("", *LIES, *FAULTS), default="")
    options = parser.parse_args()
    if options.lie == "fails-with-0":
        print("connect: connection refused", file=sys.stderr)
        return 0
    load = Load(options)
    load.run()
    print(json.dumps(report(load, options)), flush=True)
    if options.lie == "hangs":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        print(child.pid, file=sys.stderr, flush=True)
        time.sleep(600)
    return 0


if __name__ == "__main__":
    sys.exit(main())
