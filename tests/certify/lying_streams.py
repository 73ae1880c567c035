"""A client of model servers that is honest unless its lie is "adds", for tests of certificates of streams.

URL, connections, duration in s, lie: a thread for each connection, which makes a request and reads its events.
"""

import json
import socket
import sys
import threading
import time
from urllib.parse import urlsplit

LATE_S = 0.04  # what the lie "adds" reports more to the first token than it took
END = b"\r\n0\r\n\r\n"


def stream(connection: socket.socket) -> list[float]:
    """Make a request; return when it was sent and when its events came, in s."""
    times, have = [time.perf_counter()], b""
    connection.sendall(b"GET /v1/chat/completions HTTP/1.1\r\nHost: oracle\r\n\r\n")
    while not have.endswith(END):
        have += connection.recv(65536)
        times += [time.perf_counter()] * (have.count(b"data: {") - len(times) + 1)
    return times


def main() -> None:
    """Load, and print the report as JSON."""
    url, connections, duration_s, lie = sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), sys.argv[4]
    address, streams = (urlsplit(url).hostname, urlsplit(url).port), []
    end = time.perf_counter() + duration_s

    def run() -> None:
        connection = socket.create_connection(address)
        while time.perf_counter() < end:
            streams.append(stream(connection))

    threads = [threading.Thread(target=run) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ttft = sorted(times[1] - times[0] + LATE_S * (lie == "adds") for times in streams)
    gaps = sorted((times[-1] - times[1]) / max(1, len(times) - 2) for times in streams)
    middle = len(streams) // 2
    print(json.dumps({"requests": len(streams), "ttft": 1e3 * ttft[middle], "gap": 1e3 * gaps[middle]}))


if __name__ == "__main__":
    main()
