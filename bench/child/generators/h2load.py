"""h2load: one thread, an event loop, keep-alive HTTP/1.1 (HTTP/2 is not asked for); report of nghttp2 1.52.

Its numbers: it counts the requests answered within its window, and divides by the window; it reports no percentile of
the round trip, only the smallest, the largest and the mean. A redirection is a success to it and an error here. It
does not reopen a connection that has ended, and does not report it: the connections' rates show it.
"""

import math
import re

from bench.child import generators
from bench.child.generators import Report, none_answered, strange
from bench.errors import SystemFailedError

PACKAGE = "nghttp2-client"

TIME, REAL = r"(?:\d+us|\d+\.\d\d(?:ms|s))", r"\d+\.\d\d"
WIDE = r"(?=.{74}$)"  # the table's columns have fixed widths: a digit that is lost shows
REQUESTS = ("total", "started", "done", "succeeded", "failed", "errored", "timeout")
STATUSES = ("2xx", "3xx", "4xx", "5xx")
OF_REQUESTS = ", ".join(rf"(?P<{name}>\d+) {name}" for name in REQUESTS)
OF_STATUSES = ", ".join(rf"(?P<of_{name}>\d+) {name}" for name in STATUSES)
PATTERNS = (
    rf"^finished in (?P<finished>{TIME}), (?P<rate>{REAL}) req/s, \S+B/s\n"
    rf"requests: {OF_REQUESTS}\n"
    rf"status codes: {OF_STATUSES}$",
    r"^ +min +max +mean +sd +\+/- sd\n"
    rf"{WIDE}time for request: +(?P<rtt_min>{TIME}) +(?P<rtt_max>{TIME}) +(?P<rtt_mean>{TIME}) .*\n"
    r"time for connect: .*\n"
    r"time to 1st byte: .*\n"
    rf"{WIDE}req/s +: +{REAL} +{REAL} +(?P<of_connection>{REAL}) ",
)
MOST_APART = 1.25  # the sum of the connections' rates over that of all requests, before connections ended early


def command(connections: int, window_s: float, url: str) -> list[str]:
    """Return the program's words; a window is rounded up to whole milliseconds."""
    length = f"{round(seconds(window_s) * 1e3)}ms"
    return ["h2load", "-t", "1", "-c", str(connections), "-D", length, "--h1", url]


def seconds(window_s: float) -> float:
    """Return how long the program will run, in s."""
    return math.ceil(round(window_s * 1e3, 6)) / 1e3


def read(output: str, complained: str, connections: int) -> Report:
    """Return what the program printed; SystemFailedError says what is not as expected."""
    spawned = rf"^spawning thread #0: {connections} total client\(s\)\. Timing-based test with 0s of warm-up time "
    values = generators.numbers("h2load", output, (spawned, *PATTERNS))
    errors = _errors(values, complained)
    done, rate = int(values["done"]), values["rate"]
    if not done:
        raise none_answered("h2load", errors)
    window_s = done / rate if rate else math.inf
    if not window_s <= 1.01 * values["finished"] / 1e6 + 0.01:
        raise strange("h2load", f"{done} requests in {values['finished'] / 1e6:g} s are not {rate:g} a second")
    if (together := connections * values["of_connection"]) > MOST_APART * rate:
        raise SystemFailedError(
            f"connections ended before the window did: their own rates add up to {together:,.0f}/s, but all requests "
            f"to {rate:,.0f}/s, and h2load does not connect again: look at the server"
        )
    reported = ("rate", "rtt_min", "rtt_max", "rtt_mean")
    return Report(done, window_s, {name: values[name] for name in reported}, errors)


def _errors(values: dict[str, float], complained: str) -> dict[str, int]:
    """Return how many requests failed, by kind: each is in one kind only. Complaints are counted, if understood."""
    complaints = complained.splitlines()
    for line in complaints:
        if not re.fullmatch(r"\[ERROR\] HTTP parse error: .*", line):
            raise SystemFailedError(f"h2load failed: {line[:200]}")
    done, started, failed, errored, timeout = (
        int(values[name]) for name in ("done", "started", "failed", "errored", "timeout")
    )
    answered, statuses = int(values["succeeded"]) + failed, int(sum(values[f"of_{name}"] for name in STATUSES))
    if not answered - errored <= done <= answered:
        raise strange("h2load", f"of {done} requests {answered} succeeded or failed")
    if not answered - errored <= statuses <= started:  # of heads, body or none
        raise strange("h2load", f"{done} requests had {statuses} statuses")
    kinds = {"status": failed - errored + int(values["of_3xx"]), "network": errored - timeout}
    return kinds | {"timeout": timeout, "parse": len(complaints)}
