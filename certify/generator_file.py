"""Generator files: how a load generator is started, and how its report is read.

A file is YAML; its schema is that of ``Description``. Those of common generators are in ``generators/``.
"""

import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from bench.errors import NotInstalledError, UsageError, reason_of, unknown
from bench.plan import documents, yaml_text
from bench.text import listed
from certify import report
from certify.protocols import PROTOCOLS
from certify.protocols import Name as ProtocolName
from certify.report import Reported, Says, Text

FOLDER = Path(__file__).parent / "generators"
PLACEHOLDER = re.compile(r"\{([a-z_]+)\}")
OF_HERE = ("folder", "python")
PLACEHOLDERS = (
    "url", "host", "port", "rate", "rate_per_connection", "connections", "duration", "requests", "resolution", *OF_HERE,
)  # fmt: skip
LEAST_SERVICE_US, TENTH = 100.0, 10e6  # of a server that answers at once; from us to tenths in s

Load = Literal["closed", "open"]


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

    def _paths(self) -> list[str | None]:
        first = _command(self.says, self.says.loads[0])[0]
        return [shutil.which(word) for word in self._filled([first, self.says.program or first], {})]

    @property
    def is_installed(self) -> bool:
        """Whether its program, and the one that starts it, are here."""
        return all(self._paths())

    @property
    def program(self) -> str:
        """The path of the first word of its command; NotInstalledError with the line that installs what is missing."""
        path, other = self._paths()
        if path and other:
            return path
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
        """Return the words that start one of its loads.

        rate: of an open load, in 1/s. requests: of a closed load, for a program that takes no duration. service_us: the
        mean service time, for one that takes a resolution.
        """
        asked, address = (rate or 0.0) if load == "open" else 0.0, urlsplit(url)
        numbers = {"rate": asked, "rate_per_connection": asked / connections, "duration": duration_s}
        numbers |= {"connections": connections, "requests": requests}
        numbers["resolution"] = max(service_us, LEAST_SERVICE_US) / TENTH
        filled = {name: _decimal(number) for name, number in numbers.items()}
        filled |= {"url": url, "host": str(address.hostname), "port": str(address.port)}
        return self._filled(_command(self.says, load), filled)

    def is_counted(self, load: Load) -> bool:
        """Return whether its load ends after a number of requests, not after a duration."""
        return "duration" not in _placeholders(_command(self.says, load))

    def read(self, stdout: str, stderr: str = "") -> Reported:
        """Return the values of a report; SystemFailedError quotes one that is not as the file describes it."""
        return report.read(self.says.says, self.name, self.says.tried, stdout, stderr)

    def _filled(self, words: list[str], values: dict[str, str]) -> list[str]:
        known = values | {"folder": str(Path(self.file).parent), "python": sys.executable}
        return [PLACEHOLDER.sub(lambda match: known[match[1]], word) for word in words]


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
        raise UsageError(f"{path}: {reason_of(reason)}: correct the file") from reason
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
    if wrong := _placeholders([*says.version, says.program]) - set(OF_HERE):
        raise ValueError(f"version and program cannot have {{{min(wrong)}}}, only {{folder}} and {{python}}")
    if not (says.says.requests or says.says.rate_per_s):
        raise ValueError("says has neither requests nor rate: a certificate needs at least one of them")
    if not PROTOCOLS[says.protocol].has_streams and (says.says.ttft or says.says.gap):
        raise ValueError(f"says has times of streams, and over {PROTOCOLS[says.protocol].title} there are none here")
    report.check(says.says)


def _placeholders(words: list[str]) -> set[str]:
    return {name for word in words for name in PLACEHOLDER.findall(word)}


def _decimal(number: float) -> str:
    """Return a number without an exponent, which few command lines read, and without trailing zeros."""
    return f"{number:.9f}".rstrip("0").rstrip(".")
