"""Generator files: how a load generator is started, and how its report is read.

A file is YAML; its schema is that of ``Description``. Those of common generators are in ``generators/``. A report is
read strictly: one that is not as described is refused, so that another version's report is never taken for this one's.
"""

import math
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from bench import documents
from bench.errors import NotInstalledError, SystemFailedError, UsageError, unknown
from bench.plan import yaml_text
from bench.referees.protocols import PROTOCOLS
from bench.referees.protocols import Name as ProtocolName
from bench.text import listed, one_line, quoted

FOLDER = Path(__file__).parent / "generators"
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
PLACEHOLDERS = (
    "url", "host", "port", "rate", "rate_per_connection", "connections", "duration", "requests", "resolution",
    "folder", "python",
)  # fmt: skip
TIMES_US = {
    "ns": 1e-3, "us": 1.0, "µs": 1.0, "μs": 1.0, "ms": 1e3, "s": 1e6, "m": 60e6, "min": 60e6, "h": 3600e6,
}  # fmt: skip
RATES = {"1/s": 1.0, "1/min": 1 / 60}
NUMBER = re.compile(r"(\d+|\d{1,3}(,\d{3})+)(\.\d*)?([eE][+-]?\d+)?|\.\d+", re.ASCII)
LEAST_SERVICE_US, TENTH = 100.0, 10e6  # of a server that answers at once; from us to tenths in s
STREAM_TIMES = ("ttft", "gap")
MOST_REPORT = 10_000_000  # characters of a report, bytes of each output

Text = Annotated[str, Meta(min_length=1)]
Words = Annotated[list[Text], Meta(min_length=1)]
Load = Literal["closed", "open"]


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


class SaysTimes(Struct, forbid_unknown_fields=True, frozen=True):
    """What a report holds of the times in a stream: their quantiles and their mean."""

    p50: Value | None = None
    p90: Value | None = None
    p95: Value | None = None
    p99: Value | None = None
    mean: Value | None = None


class Says(Struct, forbid_unknown_fields=True, frozen=True):
    """What a report holds. requests: how many were answered. rate: of these, per second. errors: requests that failed.

    dropped: requests of an open load that it did not send. p50 to p99.9, mean and max are response times; duration: how
    long it counted; connections: how many it opened. Of streams: ttft, times to first token; gap, times between tokens
    (inter-token latency), of each token or averaged over each stream.
    """

    requests: Value | None = None
    rate: Value | None = None
    p50: Value | None = None
    p90: Value | None = None
    p95: Value | None = None
    p99: Value | None = None
    p99_9: Value | None = msgspec.field(name="p99.9", default=None)
    mean: Value | None = None
    max: Value | None = None
    errors: Value | None = None
    duration: Value | None = None
    connections: Value | None = None
    dropped: Value | None = None
    ttft: SaysTimes | None = None
    gap: SaysTimes | None = None


class Description(Struct, forbid_unknown_fields=True, frozen=True):
    """A load generator. command: the words that start it; or closed and open: those of each load.

    In the words, {url} is what to load, {host} and {port} are parts of it, {connections} how many connections to open,
    {duration} how long to load in s, {folder} the folder of this file, {python} the interpreter that runs this. Of an
    open load, {rate} is requests per second of all connections together, {rate_per_connection} of each; of a closed
    load both are 0. {resolution} is a tenth of the server's mean service time, in s. {requests}, for a closed load of a
    program that takes no duration, is how many requests to make. loads: which it can make. protocol: which it speaks,
    in plain text. share: what the {connections} requests under way at once share: nothing, each has a connection; or
    connections, of which they are streams. schedule: what has constant gaps in an open load, the load, each of its
    connections, or each of its workers, which share them; or poisson. program: what has to be installed, if it is not
    the first word. install: the command that installs it. version: the words that print its version. tried: the version
    whose report was read with this file; "" for a file written from documentation. warm_up: requests of each connection
    that its documentation leaves out of its numbers, where no pause follows them. says: where the values of its report
    are. percentiles: what its percentiles and its rate count, from its documentation, with the address.
    """

    name: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9._-]*$")]
    loads: Annotated[list[Load], Meta(min_length=1, max_length=2)]
    install: Text
    says: Says
    percentiles: Text
    command: list[Text] = []
    closed: list[Text] = []
    open: list[Text] = []
    protocol: ProtocolName = "http1"
    share: Literal["nothing", "connections"] = "nothing"
    schedule: Literal["constant", "connections", "workers", "limit", "poisson"] = "constant"
    program: str = ""
    version: list[Text] = []
    tried: str = ""
    warm_up: int = 0


@dataclass(frozen=True)
class ReportedTimes:
    """The times in a stream that a generator reports; None as of ``Reported``."""

    p50_us: float | None = None
    p90_us: float | None = None
    p95_us: float | None = None
    p99_us: float | None = None
    mean_us: float | None = None


@dataclass(frozen=True)
class Reported:
    """What a generator reports; None for a value that its file does not describe or that it leaves out."""

    requests: float | None = None
    rate_per_s: float | None = None
    p50_us: float | None = None
    p90_us: float | None = None
    p95_us: float | None = None
    p99_us: float | None = None
    p99_9_us: float | None = None
    mean_us: float | None = None
    max_us: float | None = None
    errors: float | None = None
    duration_s: float | None = None
    connections: float | None = None
    dropped: float | None = None
    ttft: ReportedTimes | None = None
    gap: ReportedTimes | None = None


@dataclass(frozen=True)
class GeneratorFile:
    """A generator file that was read, with absolute paths."""

    file: str
    says: Description

    @property
    def name(self) -> str:
        """The generator's name."""
        return self.says.name

    @property
    def loads(self) -> tuple[Load, ...]:
        """The loads that it can make."""
        return tuple(self.says.loads)

    @property
    def program(self) -> str:
        """The path of the first word of its command; NotInstalledError with the line that installs what is missing."""
        first = _command(self.says, self.says.loads[0])[0]
        found = [shutil.which(word) for word in self._filled([first, self.says.program or first], {})]
        if found[0] and found[1]:
            return found[0]
        raise NotInstalledError(f"{self.name} is not installed; install it: {self.says.install}")

    @property
    def version_words(self) -> list[str]:
        """The words that print its version; empty if there are none."""
        return self._filled(self.says.version, {})

    def words(
        self,
        load: Load,
        url: str,
        rate: float | None,
        connections: int,
        duration_s: float,
        requests: int = 0,
        service_us: float = 0.0,
    ) -> list[str]:
        """Return the words that start it; UsageError for a load that it cannot make.

        rate: of an open load, in 1/s. requests: of a closed load, for a program that takes no duration. service_us: the
        mean service time, for one that takes a resolution.
        """
        if load not in self.loads:
            raise UsageError(f"{self.name} makes no {load} load, only {listed(self.loads)}: choose another one")
        if load == "open" and not rate:
            raise UsageError(f"an open load of {self.name} needs a rate: give requests per second")
        asked = rate if load == "open" and rate else 0.0
        numbers = {"rate": asked, "rate_per_connection": asked / connections, "duration": duration_s}
        numbers["resolution"] = max(service_us, LEAST_SERVICE_US) / TENTH
        filled = {name: _decimal(number) for name, number in numbers.items()}
        where = urlsplit(url)
        filled |= {"url": url, "host": str(where.hostname), "port": str(where.port)}
        filled |= {"connections": str(connections), "requests": str(requests)}
        return self._filled(_command(self.says, load), filled)

    def is_counted(self, load: Load) -> bool:
        """Return whether its load ends after a number of requests, not after a duration."""
        return "duration" not in _placeholders(_command(self.says, load))

    def read(self, stdout: str, stderr: str = "") -> Reported:
        """Return the values of a report; SystemFailedError quotes one that is not as the file describes it.

        Patterns are looked for in both outputs, JSON is the whole of stdout.
        """
        report = _Report(self, stdout, stderr)
        found: dict[str, Any] = {}
        ttft, gap = dict[str, Any](), dict[str, Any]()
        places = {"": found, "ttft": ttft, "gap": gap}
        for group, name, wanted in _values(self.says.says):
            place, scales = _kind(name)
            places[group][place] = report.value(_named(group, name), wanted, scales)
        of_streams = [ReportedTimes(**times) if times else None for times in (ttft, gap)]
        return Reported(**found, ttft=of_streams[0], gap=of_streams[1])

    def _filled(self, words: list[str], values: dict[str, str]) -> list[str]:
        known = values | {"folder": str(Path(self.file).parent), "python": sys.executable}
        return [PLACEHOLDER.sub(lambda found: known[found[1]], word) for word in words]


def names() -> list[str]:
    """Return the names of the generators that have files here."""
    return sorted(file.stem for file in FOLDER.glob("*.yaml"))


def load(path_or_name: str) -> GeneratorFile:
    """Return a generator file, by its path or by a name of ``names()``; UsageError says what is wrong in it."""
    path = Path(path_or_name)
    if not (path.suffix in (".yaml", ".yml") or "/" in path_or_name):
        if path_or_name not in names():
            raise unknown("load generator", path_or_name, [*names(), "or the path of a file NAME.yaml"])
        path = FOLDER / f"{path_or_name}.yaml"
    try:
        says = msgspec.convert(yaml_text.value_of(documents.read(path).decode()), Description)
        _check(says)
    except (OSError, ValueError) as reason:  # msgspec's errors and those of letters are ValueErrors
        raise UsageError(f"{path}: {getattr(reason, 'strerror', None) or reason}: correct the file") from reason
    return GeneratorFile(str(path.absolute()), says)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of generator files, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(Description)}


def _command(says: Description, load: Load) -> list[str]:
    return (says.open if load == "open" else says.closed) or says.command


def _check(says: Description) -> None:
    """Refuse what the schema cannot, by a ValueError: words that are missing or unknown, values that cannot be read."""
    for load in says.loads:
        if not (words := _command(says, load)):
            raise ValueError(f"loads has {load}, but there is no command: write command or {load}")
        used = _placeholders(words)
        if wrong := used - set(PLACEHOLDERS):
            known = listed(f"{{{name}}}" for name in PLACEHOLDERS)
            raise ValueError(f"its command has {{{min(wrong)}}}, which is none of {known}")
        needed = [("url", "port"), ("duration", "requests") if load == "closed" else ("duration",)]
        needed += [("rate", "rate_per_connection")] if load == "open" else []
        for names in needed:
            if not used & set(names):
                raise ValueError(f"the command of its {load} load does not have {{{'} or {'.join(names)}}}")
    if wrong := _placeholders([*says.version, says.program]) - {"folder", "python"}:
        raise ValueError(f"version and program cannot have {{{min(wrong)}}}, only {{folder}} and {{python}}")
    if not (says.says.requests or says.says.rate):
        raise ValueError("says has neither requests nor rate: a certificate needs at least one of them")
    if not PROTOCOLS[says.protocol].has_streams and (says.says.ttft or says.says.gap):
        raise ValueError(f"says has times of streams, and over {PROTOCOLS[says.protocol].title} there are none here")
    for group, name, wanted in _values(says.says):
        _check_value(_named(group, name), wanted, _kind(name)[1])


def _values(says: Says | SaysTimes, group: str = "") -> Iterator[tuple[str, str, Value]]:
    """Yield each value that is described: ttft or gap, or "" for one of no stream; its field; where it is."""
    for field in msgspec.structs.fields(says):
        wanted = getattr(says, field.name)
        if isinstance(wanted, SaysTimes):
            yield from _values(wanted, field.name)
        elif wanted is not None:
            yield group, field.name, wanted


def _named(group: str, name: str) -> str:
    """Return the name of a value as files write it."""
    return f"{group}.{name}" if group else name.replace("p99_9", "p99.9")


def _placeholders(words: list[str]) -> set[str]:
    return {name for word in words for name in PLACEHOLDER.findall(word)}


def _check_value(name: str, wanted: Value, scales: dict[str, float] | None) -> None:
    """Refuse a value that names no place in the report, or whose unit is not known."""
    if (wanted.pattern is None) == (wanted.json is None):
        raise ValueError(f"says.{name} needs either pattern or json")
    if wanted.sum and (wanted.pattern is None or scales is TIMES_US):
        raise ValueError(f"says.{name} has sum, which is for patterns of counts and rates")
    if wanted.optional and (wanted.pattern is None or wanted.sum):
        raise ValueError(f"says.{name} has optional, which is for patterns without sum")
    try:
        groups = re.compile(wanted.pattern or "()").groups
    except re.error as reason:
        raise ValueError(f"the pattern of says.{name} is no regular expression: {reason}") from reason
    most = 2 if scales else 1
    if not 1 <= groups <= most:
        raise ValueError(f"the pattern of says.{name} has {groups} groups, not 1{' or 2' * (most == 2)}: use (?:...)")
    if scales is None:
        if wanted.unit is not None:
            raise ValueError(f"says.{name} is a number without unit: leave unit out")
    elif (wanted.unit is None) == (groups == 1):
        where = "unit, or a second group for it" if groups == 1 else "no unit beside the second group"
        raise ValueError(f"says.{name} needs {where}: one of {listed(scales)}")
    elif wanted.unit is not None and wanted.unit not in scales:
        raise ValueError(f"the unit of says.{name} is {quoted(wanted.unit)}, which is none of {listed(scales)}")


def _kind(name: str) -> tuple[str, dict[str, float] | None]:
    """Return the field of ``Reported`` of a value of ``Says``, and the scales of its units; None if it has none."""
    if name in ("requests", "errors", "dropped", "connections"):
        return name, None
    if name == "rate":
        return "rate_per_s", RATES
    return ("duration_s" if name == "duration" else f"{name}_us"), TIMES_US


def _decimal(number: float) -> str:
    """Return a number without an exponent, which few command lines read, and without trailing zeros."""
    return f"{number:.9f}".rstrip("0").rstrip(".")


class _Report:
    """One report, in which values are looked for."""

    def __init__(self, generator: GeneratorFile, stdout: str, stderr: str) -> None:
        self._name, tried = generator.name, generator.says.tried
        self._advice = f"look whether it failed, or is another version{f' than {tried}' if tried else ''}"
        self._stdout = stdout
        self._text = f"{stdout}\n{stderr}"
        self._begin = stdout if stdout.strip() else stderr
        self._json: Any = None
        if len(self._text) > MOST_REPORT:
            raise SystemFailedError(f"the report of {self._name} is longer than {MOST_REPORT:,} characters: print less")

    def value(self, name: str, wanted: Value, scales: dict[str, float] | None) -> float | None:
        """Return a value: a time in us, of ``duration`` in s, a rate in 1/s, or a count; None if it is null."""
        found = self._of_json(name, wanted) if wanted.json else self._of_pattern(name, wanted, scales)
        if found is None:
            return None
        scale = scales[wanted.unit] if scales and wanted.unit else 1.0
        return found * scale / (1e6 if name == "duration" else 1.0)

    def _of_pattern(self, name: str, wanted: Value, scales: dict[str, float] | None) -> float | None:
        matches = list(re.finditer(wanted.pattern or "", self._text, re.M))
        if wanted.optional and not matches:
            return None
        if len(matches) != 1 and not wanted.sum:
            raise self._strange(
                name, f"the pattern {wanted.pattern} matches {len(matches)} times, not once", self._begin
            )
        return sum(self._scaled(name, match, scales) for match in matches)

    def _scaled(self, name: str, match: re.Match[str], scales: dict[str, float] | None) -> float:
        digits, *units = match.groups()
        if not scales or not units:
            return self._number(name, digits)
        if units[0] not in scales:
            raise self._strange(name, f"its unit is none of {listed(scales)}", match[0])
        return self._number(name, digits) * scales[units[0]]

    def _number(self, name: str, digits: str | None) -> float:
        if not digits or not NUMBER.fullmatch(digits):
            raise self._strange(name, "it is no number", str(digits))
        return self._plausible(name, float(digits.replace(",", "")))

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

    def _strange(self, name: str, why: str, where: str) -> SystemFailedError:
        return SystemFailedError(
            f"the report of {self._name} has no {name} as its file describes it: {why}, in {quoted(where.strip())}; "
            f"{self._advice}"
        )
