"""A load generator's report: where its file says that the values are, and how they are read.

A report is read strictly: one that is not as described is refused, so that another version's report is never taken for
this one's.
"""

import math
import re
from collections.abc import Iterator
from typing import Annotated, Any, Generic, TypeVar

import msgspec
from msgspec import Meta, Struct

from bench.child.generators import TIMES_US, Scales, amount, once
from bench.errors import SystemFailedError
from bench.plan import documents
from bench.text import listed, one_line, quoted

TIMES_S: Scales = {unit: us / 1e6 for unit, us in TIMES_US.items()}
RATES: Scales = {"1/s": 1.0, "1/min": 1 / 60}
STREAM_TIMES = ("ttft", "gap")
MOST_REPORT = 10_000_000  # characters of a report, bytes of each output
NAMES = {"rate_per_s": "rate", "duration_s": "duration", "p99_9_us": "p99.9"} | {
    f"{name}_us": name for name in ("p50", "p90", "p95", "p99", "mean", "max")
}  # of the fields, in generator files

Text = Annotated[str, Meta(min_length=1)]
Words = Annotated[list[Text], Meta(min_length=1)]
T = TypeVar("T")


class Value(Struct, forbid_unknown_fields=True, frozen=True):
    """Where a value is in a report.

    pattern: a regular expression (^ and $ match at lines) that matches once; its first group is the number, its
    second, if there is one, the unit.
    json: the path of the number in a report that is JSON: names, or positions from 0, with dots between them, or a
    list of names if one contains a dot. unit: of a time or a rate whose pattern has no second group. sum: the pattern
    may match any number of times, and the numbers are added. optional: it may not match, and then nothing is reported.
    """

    pattern: Text | None = None
    json: Text | Words | None = None
    unit: Text | None = None
    sum: bool = False
    optional: bool = False


class StreamTimes(Struct, Generic[T], forbid_unknown_fields=True, frozen=True, rename=NAMES):
    """What a report holds of the times in a stream: their quantiles and their mean."""

    p50_us: T | None = None
    p90_us: T | None = None
    p95_us: T | None = None
    p99_us: T | None = None
    mean_us: T | None = None


class Values(Struct, Generic[T], forbid_unknown_fields=True, frozen=True, rename=NAMES):
    """What a report holds. requests: how many were answered. rate: of these, per second. errors: requests that failed.

    dropped: requests of an open load that it did not send. p50 to p99.9, mean and max are response times; duration: how
    long it counted; connections: how many it opened. Of streams: ttft, times to first token; gap, times between tokens
    (inter-token latency), of each token or averaged over each stream.
    """

    requests: T | None = None
    rate_per_s: T | None = None
    p50_us: T | None = None
    p90_us: T | None = None
    p95_us: T | None = None
    p99_us: T | None = None
    p99_9_us: T | None = None
    mean_us: T | None = None
    max_us: T | None = None
    errors: T | None = None
    duration_s: T | None = None
    connections: T | None = None
    dropped: T | None = None
    ttft: StreamTimes[T] | None = None
    gap: StreamTimes[T] | None = None


Says = Values[Value]  # of a generator file
Reported = Values[float]  # None for a value that the file does not describe or that the report leaves out
ReportedTimes = StreamTimes[float]


def described(says: Says | StreamTimes[Value]) -> dict[str, Any]:
    """Return the fields that a generator file describes, each with its ``Value`` or its ``StreamTimes``."""
    return {name: wanted for name, wanted in msgspec.structs.asdict(says).items() if wanted is not None}


def as_dict(reported: Reported) -> dict[str, Any]:
    """Return what is reported as JSON takes it."""
    return {
        name: msgspec.structs.asdict(value) if isinstance(value, StreamTimes) else value
        for name, value in msgspec.structs.asdict(reported).items()
    }


def read(says: Says, generator: str, tried: str, stdout: str, stderr: str = "") -> Reported:
    """Return the values of a report; SystemFailedError quotes one that is not as the file describes it.

    Patterns are looked for in both outputs, JSON is the whole of stdout. tried: the version that the file is for.
    """
    report = _Report(generator, tried, stdout, stderr)

    def values(description: Says | StreamTimes[Value], group: str = "") -> dict[str, Any]:
        return {
            field: StreamTimes(**values(wanted, f"{field}."))
            if isinstance(wanted, StreamTimes)
            else report.value(group + NAMES.get(field, field), wanted, _scales(field))
            for field, wanted in described(description).items()
        }

    return Reported(**values(says))


def check(says: Says | StreamTimes[Value], group: str = "") -> None:
    """Refuse values that name no place in a report, or whose unit is not known, by a ValueError."""
    for field, wanted in described(says).items():
        if isinstance(wanted, StreamTimes):
            check(wanted, f"{field}.")
        else:
            for problem in _problems(wanted, _scales(field)):
                raise ValueError(f"says.{group}{NAMES.get(field, field)}: {problem}")


def _scales(field: str) -> Scales | None:
    """Return the units of a field; None of a count."""
    kinds = {"us": TIMES_US, "duration_s": TIMES_S, "rate_per_s": RATES}
    return kinds.get(field) or kinds.get(field.rpartition("_")[2])


def _problems(wanted: Value, scales: Scales | None) -> Iterator[str]:
    """Yield what is wrong with a value."""
    if (wanted.pattern is None) == (wanted.json is None):
        yield "it needs either pattern or json"
    if wanted.sum and (wanted.pattern is None or scales in (TIMES_US, TIMES_S)):
        yield "sum is for patterns of counts and rates"
    if wanted.optional and (wanted.pattern is None or wanted.sum):
        yield "optional is for patterns without sum"
    try:
        groups = re.compile(wanted.pattern or "()").groups
    except re.error as reason:
        yield f"its pattern is no regular expression: {reason}"
        return
    limit = 2 if scales else 1
    if not 1 <= groups <= limit:
        yield f"its pattern has {groups} groups, not 1{' or 2' * (limit == 2)}: use (?:...)"
    if scales is None:
        if wanted.unit is not None:
            yield "it is a number without unit: leave unit out"
    elif (wanted.unit is None) == (groups == 1):
        yield f"it needs {'unit, or a second group for it' if groups == 1 else 'no unit'}: one of {listed(scales)}"
    elif wanted.unit is not None and wanted.unit not in scales:
        yield f"its unit is {quoted(wanted.unit)}, which is none of {listed(scales)}"


class _Report:
    """One report, in which values are looked for."""

    def __init__(self, generator: str, tried: str, stdout: str, stderr: str) -> None:
        self._name = generator
        self._advice = f"look whether it failed, or is another version{f' than {tried}' if tried else ''}"
        self._stdout = stdout
        self._text = f"{stdout}\n{stderr}"
        self._begin = stdout if stdout.strip() else stderr
        self._json: Any = None
        if len(self._text) > MOST_REPORT:
            raise SystemFailedError(f"the report of {generator} is longer than {MOST_REPORT:,} characters: print less")

    def value(self, name: str, wanted: Value, scales: Scales | None) -> float | None:
        """Return a value in the unit of its field; None if it is null, or optional and not there."""
        if not wanted.json:
            return self._of_pattern(name, wanted, scales)
        number = self._of_json(name, wanted)
        return number if number is None or not (scales and wanted.unit) else number * scales[wanted.unit]

    def _of_pattern(self, name: str, wanted: Value, scales: Scales | None) -> float | None:
        pattern = wanted.pattern or ""
        if wanted.optional and not re.search(pattern, self._text, re.M):
            return None
        try:
            matches = re.finditer(pattern, self._text, re.M) if wanted.sum else [once(pattern, self._text)]
        except ValueError as reason:
            raise self._strange(name, str(reason), self._begin) from reason
        return sum(self._scaled(name, match, wanted.unit, scales) for match in matches)

    def _scaled(self, name: str, match: re.Match[str], unit: str | None, scales: Scales | None) -> float:
        digits, *units = match.groups()
        try:
            return amount(digits or "", units[0] if units else unit, scales)
        except ValueError as reason:
            raise self._strange(name, str(reason), match[0]) from reason

    def _of_json(self, name: str, wanted: Value) -> float | None:
        path = wanted.json.split(".") if isinstance(wanted.json, str) else wanted.json or []
        value = self._document(name)
        for at, part in enumerate(path):
            if isinstance(value, dict) and part in value:
                value = value[part]
            elif isinstance(value, list) and part.isdecimal() and int(part) < len(value):
                value = value[int(part)]
            else:
                raise self._strange(name, f"there is no {'.'.join(path[: at + 1])}", self._begin)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self._strange(name, f"{'.'.join(path)} is no number", str(value))
        return self._plausible(name, float(value))

    def _document(self, name: str) -> Any:
        if self._json is None:
            try:
                self._json = documents.from_json(self._stdout)
            except ValueError as reason:
                raise self._strange(name, f"it is no JSON ({one_line(str(reason), 100)})", self._begin) from reason
        return self._json

    def _plausible(self, name: str, number: float) -> float:
        if not (math.isfinite(number) and number >= 0):
            raise self._strange(name, "it is no number from 0 on", str(number))
        return number

    def _strange(self, name: str, why: str, excerpt: str) -> SystemFailedError:
        return SystemFailedError(
            f"the report of {self._name} has no {name} as its file describes it: {why}, in {quoted(excerpt.strip())}; "
            f"{self._advice}"
        )
