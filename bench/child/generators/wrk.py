"""wrk: one thread, an epoll loop, keep-alive HTTP/1.1; report of version 4.1.

What its numbers are (its source, src/wrk.c): it takes whole seconds, and stops up to 0.1 s later; its rate is over the
time that it really took. Percentiles, average and maximum are of a histogram of microseconds into which it puts back
requests that a caller paced by the mean cycle would have sent during long ones: above the median they are larger than
those of the requests made. It reads statuses (4xx and 5xx are counted), but no body; a connection that the server
ends is opened again without a word, and a request that is never answered is counted nowhere.
"""

import math

from bench.child.generators import Lines, Number, Report, none_answered, strange

PACKAGE = "wrk"

QUANTILES = (50, 75, 90, 99)
SOCKET = ("connect", "read", "write", "timeout")

TIMES_US = {"us": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6}
BYTES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
COUNTS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
# Tables have columns of fixed width, values with short units a space behind them: a digit that is lost shows.
ROW, WIDE = r"(?=.{18}$)", r"(?=.{50}$)"
TIME, SIZE, COUNT = r"(\d+\.\d\d)(us|ms|s|m)", r"(\d+\.\d\d)([KMGT]?)B", r"(\d+\.\d\d)([kMGT]?)"
PERCENT = r"(\d+\.\d\d)%"


def command(connections: int, window_s: float, url: str) -> list[str]:
    """Return the program's words; a window is rounded up to whole seconds, at least one."""
    return ["wrk", "-t", "1", "-c", str(connections), "-d", f"{seconds(window_s)}s", "--latency", url]


def seconds(window_s: float) -> int:
    """Return how long the program will run, in s."""
    return max(1, math.ceil(window_s))


def read(output: str, complained: str, connections: int) -> Report:
    """Return what the program printed; SystemFailedError quotes a line that is not as expected."""
    if complained:
        raise strange("wrk", repr(complained.splitlines()[0][:200]))
    lines = Lines("wrk", output)
    lines.take(r"Running \d+[smh] test @ http://\S+")
    lines.take(rf"  1 threads and {connections} connections")
    lines.take(r"  Thread Stats +Avg +Stdev +Max +\+/- Stdev")
    numbers = _spread(lines, "rtt", "Latency", TIME, TIMES_US, "us")
    numbers |= _spread(lines, "thread_rate", "Req/Sec", COUNT, COUNTS, "1/s")
    lines.take("  Latency Distribution")
    for p in QUANTILES:
        numbers[f"rtt_p{p}"] = _amount(lines.take(rf"{ROW} +{p}% +{TIME} *"), TIMES_US), "us"
    count, took, unit, size, scale = lines.take(rf"  (\d+) requests in {TIME}, {SIZE} read")
    errors = _errors(lines)
    (rate,) = lines.take(r"Requests/sec: +(\d+\.\d\d)")
    transfer = _amount(lines.take(rf"Transfer/sec: +{SIZE}"), BYTES)
    lines.end()
    calls = int(count)
    if not calls:
        raise none_answered("wrk", errors)
    window_s = calls / float(rate) if float(rate) else math.inf
    numbers |= {"requests": (calls, "1"), "window": (window_s, "s"), "rate": (float(rate), "1/s")}
    numbers |= {"read": (_amount((size, scale), BYTES), "B"), "transfer": (transfer, "B/s")}
    _agree(numbers, (_amount((took, unit), TIMES_US) / 1e6, 0.006 * TIMES_US[unit] / 1e6))
    return Report(calls, window_s, numbers, errors)


def _amount(groups: tuple[str, ...], scales: dict[str, float] | dict[str, int]) -> float:
    digits, unit = groups
    return float(digits) * scales[unit]


def _spread(lines: Lines, name: str, title: str, amount: str, scales: dict[str, float], unit: str) -> dict[str, Number]:
    """Return mean, standard deviation, maximum, and the share within one standard deviation."""
    groups = lines.take(rf"{WIDE}    {title} +{amount} +{amount} +{amount} +{PERCENT}")
    values = [_amount(groups[at : at + 2], scales) for at in (0, 2, 4)]
    reported = {f"{name}_{what}": (value, unit) for what, value in zip(("mean", "sd", "max"), values, strict=True)}
    return reported | {f"{name}_within_sd": (float(groups[6]), "%")}


def _errors(lines: Lines) -> dict[str, int]:
    """Return how many requests failed, by kind; lines without any are not printed."""
    groups = lines.maybe("  Socket errors: " + ", ".join(rf"{kind} (\d+)" for kind in SOCKET)) or ("0",) * len(SOCKET)
    (status,) = lines.maybe(r"  Non-2xx or 3xx responses: (\d+)") or ("0",)
    return {**{kind: int(count) for kind, count in zip(SOCKET, groups, strict=True)}, "status": int(status)}


def _agree(numbers: dict[str, Number], took: tuple[float, float]) -> None:
    """Refuse numbers that contradict each other by more than their rounding; ``took``: seconds, and how rounded."""
    value = {name: number for name, (number, _) in numbers.items()}
    rounding_s = took[1] + value["window"] * 0.006 / max(value["rate"], 0.006)
    if not abs(value["window"] - took[0]) <= rounding_s:
        raise strange("wrk", f"{value['requests']:g} requests in {took[0]:g} s are not {value['rate']:g} a second")
    if not math.isclose(value["read"], value["transfer"] * value["window"], rel_tol=0.02, abs_tol=0.02):
        raise strange("wrk", f"{value['read']:g} B in {took[0]:g} s are not {value['transfer']:g} B a second")
    rising = [*(value[f"rtt_p{p}"] for p in QUANTILES), value["rtt_max"] * 1.006]
    if rising != sorted(rising):
        raise strange("wrk", f"its percentiles do not rise: {rising} us")
