"""h2load: one thread, an event loop, keep-alive HTTP/1.1 (HTTP/2 is not asked for); report of nghttp2 1.52.

Its numbers: it counts the requests answered within its window, and divides by the window; it reports no percentile of
the round trip, only the smallest, the largest and the mean. A redirection is a success to it and an error here. It
does not reopen a connection that has ended, and does not report it: the connections' rates show it.
"""

import math
import re

from bench.child.generators import Lines, Number, Report, none_answered, strange
from bench.errors import SystemFailedError

PACKAGE = "nghttp2-client"

SCALES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
TIMES_US = {"us": 1.0, "ms": 1e3, "s": 1e6}
TIME, SIZE = r"(\d+(?=us)|\d+\.\d\d(?!us))(us|ms|s)", r"(\d+|\d+\.\d\d(?=[KMG]))([KMG]?)B"
WIDE = r"(?=.{74}$)"  # the table's columns have fixed widths: a digit that is lost shows
PERCENT, REAL = r"(\d+\.\d\d)%", r"(\d+\.\d\d)"
REQUESTS = ("total", "started", "done", "succeeded", "failed", "errored", "timeout")
STATUSES = ("2xx", "3xx", "4xx", "5xx")
BYTES = ("total", "headers", "data")
TIMED = {"rtt": "time for request", "connect": "time for connect", "first_byte": "time to 1st byte"}
SPREAD = ("min", "max", "mean", "sd")
PROGRESS = "|".join(
    (
        r"Application protocol: http/1\.1",
        r"progress: \d+% of clients started",
        r"Warm-up started for thread #0\.",
        r"Warm-up phase is over for thread #0\.",
        r"Main benchmark duration is started for thread #0\.",
        r"Main benchmark duration is over for thread #0\. Stopping all clients\.",
        r"Stopped all clients for thread #0",
    )
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
    """Return what the program printed; SystemFailedError quotes a line that is not as expected."""
    lines = Lines("h2load", output)
    _begin(lines, connections)
    *finished, rate, _, _ = lines.take(rf"finished in {TIME}, {REAL} req/s, {SIZE}/s")
    requests = _counts(lines, "requests: ", REQUESTS)
    statuses = _counts(lines, "status codes: ", STATUSES)
    traffic = lines.take(
        rf"traffic: {SIZE} \((\d+)\) total, {SIZE} \((\d+)\) headers "
        rf"\(space savings -?\d+\.\d\d%\), {SIZE} \((\d+)\) data"
    )
    numbers: dict[str, Number] = {f"requests_{name}": (count, "1") for name, count in requests.items()}
    numbers |= {f"status_{name}": (count, "1") for name, count in statuses.items()}
    numbers |= {f"bytes_{name}": (_bytes(traffic[at : at + 3]), "B") for name, at in zip(BYTES, (0, 3, 6), strict=True)}
    numbers |= _spreads(lines)
    lines.end()
    errors = _errors(requests, statuses, complained)
    if not requests["done"]:
        raise none_answered("h2load", errors)
    window_s = requests["done"] / float(rate) if float(rate) else math.inf
    numbers |= {"window": (window_s, "s"), "rate": (float(rate), "1/s"), "finished": (_time_us(finished) / 1e6, "s")}
    _agree(numbers, connections)
    return Report(requests["done"], window_s, numbers, errors)


def _begin(lines: Lines, connections: int) -> None:
    """Read the lines before the results."""

    lines.take(r"starting benchmark\.\.\.")
    lines.take(
        rf"spawning thread #0: {connections} total client\(s\)\. Timing-based test with 0s of warm-up time "
        r"and \d+(?:\.\d+)?s of main duration for measurements\."
    )
    while lines.maybe(PROGRESS) is not None:
        pass
    lines.take("")


def _counts(lines: Lines, title: str, names: tuple[str, ...]) -> dict[str, int]:
    groups = lines.take(title + ", ".join(rf"(\d+) {name}" for name in names))
    return {name: int(count) for name, count in zip(names, groups, strict=True)}


def _time_us(groups: "tuple[str, ...] | list[str]") -> float:
    digits, unit = groups
    return float(digits) * TIMES_US[unit]


def _bytes(groups: tuple[str, ...]) -> int:
    """Return a number of bytes that is printed twice, rounded and exact."""
    short, unit, full = groups
    if abs(float(short) - int(full) / SCALES[unit]) > 0.011:
        raise strange("h2load", f"{short}{unit}B are not {full} B")
    return int(full)


def _spreads(lines: Lines) -> dict[str, Number]:
    """Return the table of times, and that of the rates of the connections."""
    lines.take(r" +min +max +mean +sd +\+/- sd")
    reported: dict[str, Number] = {}
    for name, title in TIMED.items():
        groups = lines.take(rf"{WIDE}{title}: +{TIME} +{TIME} +{TIME} +{TIME} +{PERCENT}")
        reported |= {f"{name}_{what}": (_time_us(groups[2 * at : 2 * at + 2]), "us") for at, what in enumerate(SPREAD)}
        reported[f"{name}_within_sd"] = float(groups[8]), "%"
    rates = lines.take(rf"{WIDE}req/s +: +{REAL} +{REAL} +{REAL} +{REAL} +{PERCENT}")
    reported |= {f"connection_rate_{what}": (float(rates[at]), "1/s") for at, what in enumerate(SPREAD)}
    return reported | {"connection_rate_within_sd": (float(rates[4]), "%")}


def _errors(requests: dict[str, int], statuses: dict[str, int], complained: str) -> dict[str, int]:
    """Return how many requests failed, by kind: each is in one kind only. Complaints are counted, if understood."""
    complaints = complained.splitlines()
    for line in complaints:
        if not re.fullmatch(r"\[ERROR\] HTTP parse error: .*", line):
            raise SystemFailedError(f"h2load failed: {line[:200]}")
    network = requests["errored"] - requests["timeout"]
    kinds = {"status": requests["failed"] - requests["errored"] + statuses["3xx"], "network": network}
    return kinds | {"timeout": requests["timeout"], "parse": len(complaints)}


def _agree(numbers: dict[str, Number], connections: int) -> None:
    """Refuse numbers that contradict each other, or that show connections that ended early."""
    value = {name: number for name, (number, _) in numbers.items()}
    done, statuses = value["requests_done"], sum(value[f"status_{name}"] for name in STATUSES)
    answered = value["requests_succeeded"] + value["requests_failed"]
    if not answered - value["requests_errored"] <= done <= min(answered, value["requests_total"]):
        raise strange("h2load", f"of {done:g} requests {answered:g} succeeded or failed")
    if not answered - value["requests_errored"] <= statuses <= value["requests_started"]:  # of heads, body or none
        raise strange("h2load", f"{done:g} requests had {statuses:g} statuses")
    if not done <= value["requests_started"] or value["requests_timeout"] > value["requests_errored"]:
        raise strange("h2load", f"{value['requests_started']:g} requests were started, {done:g} done")
    if not value["window"] <= 1.01 * value["finished"] + 0.01:
        raise strange("h2load", f"{done:g} requests in {value['finished']:g} s are not {value['rate']:g} a second")
    if not value["rtt_min"] <= value["rtt_mean"] <= value["rtt_max"]:
        raise strange("h2load", "the mean of its times is not between the least and the largest")
    if (together := connections * value["connection_rate_mean"]) > MOST_APART * value["rate"]:
        raise SystemFailedError(
            f"connections ended before the window did: their own rates add up to {together:,.0f}/s, but all requests "
            f"to {value['rate']:,.0f}/s, and h2load does not connect again: look at the server"
        )
