"""wrk: one thread, an epoll loop, keep-alive HTTP/1.1; report of version 4.1.

What its numbers are (its source, src/wrk.c): it takes whole seconds, and stops up to 0.1 s later; its rate is over the
time that it really took. Percentiles, average and maximum are of a histogram of microseconds into which it puts back
requests that a caller paced by the mean cycle would have sent during long ones: above the median they are larger than
those of the requests made. It reads statuses (4xx and 5xx are counted), but no body; a connection that the server
ends is opened again without a word, and a request that is never answered is counted nowhere.
"""

import math

from bench.child import generators
from bench.child.generators import Report, none_answered, strange

PACKAGE = "wrk"

SOCKET = ("connect", "read", "write", "timeout")
COUNTS = ", ".join(rf"{kind} (?P<{kind}>\d+)" for kind in SOCKET)
TIME = r"\d+\.\d\d(?:us|ms|s|m)"
# Tables have columns of fixed width, values with short units a space behind them: a digit that is lost shows.
ROW, WIDE = r"(?=.{18}$)", r"(?=.{50}$)"
PATTERNS = (
    r"^  Thread Stats +Avg +Stdev +Max +\+/- Stdev\n"
    rf"{WIDE}    Latency +(?P<rtt_mean>{TIME}) +{TIME} +(?P<rtt_max>{TIME}) ",
    "^  Latency Distribution" + "".join(rf"\n{ROW} +{p}% +(?P<rtt_p{p}>{TIME}) *" for p in (50, 75, 90, 99)) + "$",
    rf"^  (?P<calls>\d+) requests in (?P<took>{TIME}), \S+ read\n"
    rf"(?:  Socket errors: {COUNTS}\n)?"
    r"(?:  Non-2xx or 3xx responses: (?P<status>\d+)\n)?"
    r"Requests/sec: +(?P<rate>\d+\.\d\d)$",
)


def command(connections: int, window_s: float, url: str) -> list[str]:
    """Return the program's words; a window is rounded up to whole seconds, at least one."""
    return ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds(window_s)}s", "--latency", url]


def seconds(window_s: float) -> int:
    """Return how long the program will run, in s."""
    return max(1, math.ceil(window_s))


def read(output: str, complained: str, connections: int) -> Report:
    """Return what the program printed; SystemFailedError says what is not as expected."""
    if complained:
        raise strange("wrk", repr(complained.splitlines()[0][:200]))
    values = generators.numbers("wrk", output, (rf"^  1 threads and {connections} connections$", *PATTERNS))
    errors = {kind: int(values.pop(kind)) for kind in (*SOCKET, "status")}
    calls, took_s, rate = int(values.pop("calls")), values.pop("took") / 1e6, values["rate"]
    if not calls:
        raise none_answered("wrk", errors)
    window_s = calls / rate if rate else math.inf
    if not math.isclose(window_s, took_s, rel_tol=0.006 + 0.006 / max(rate, 0.006)):  # both are rounded
        raise strange("wrk", f"{calls} requests in {took_s:g} s are not {rate:g} a second")
    return Report(calls, window_s, values, errors)
