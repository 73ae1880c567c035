"""Service files: what a user's own service is, how it starts, and which requests it gets. See docs/services.md.

A file is YAML; its schema is that of ``ServiceFile``. Each part of a request may hold ``{name}`` of the file's
``values``; ``{env:NAME}`` is a variable of the environment, whose value is stored nowhere.
"""

import csv
import functools
import glob
import hashlib
import ipaddress
import json
import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from bench import documents
from bench.errors import SystemFileError
from bench.plan import yaml_text

NAME = re.compile(r"\{([a-z_][a-z0-9_]*|env:[A-Za-z_][A-Za-z0-9_]*)\}")
MAY_LOAD = "ROUNDTRIP_MAY_LOAD"  # names the one host beside this machine that services may be measured at
MOST_ROWS = 100_000  # of a file of values
MOST_SOURCE = 20_000_000  # bytes of a file that a service is made of
DISTINCT = 500  # requests that a client prepares before its window and sends in turn

Text = Annotated[str, Meta(min_length=1)]


class Http(Struct, forbid_unknown_fields=True, frozen=True):
    """A request over HTTP/1.1. json: a value sent as JSON; body: a text; neither: no body."""

    path: Annotated[str, Meta(pattern="^/")]
    method: Text = "GET"
    json: Any = None
    body: str | None = None
    headers: dict[str, str] = {}


class Grpc(Struct, forbid_unknown_fields=True, frozen=True):
    """A unary gRPC call. proto: the interface's file; method: package.Service/Method; message: its fields as JSON."""

    proto: Text
    method: Annotated[str, Meta(pattern="^[^/]+/[^/]+$")]
    message: dict[str, Any] = {}
    headers: dict[str, str] = {}


class Expect(Struct, forbid_unknown_fields=True, frozen=True):
    """What a reply must be. status: its code, of gRPC its name. text: a part of it.

    json, message: members that its JSON, or the gRPC message as JSON, has with these values.
    """

    status: int | str | None = None
    json: Any = msgspec.UNSET
    text: str | None = None
    message: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET


class Request(Struct, forbid_unknown_fields=True, frozen=True):
    """One kind of request: its name, how often it comes beside the others, what is sent, what must come back."""

    name: Text
    http: Http | None = None
    grpc: Grpc | None = None
    weight: Annotated[float, Meta(gt=0)] = 1.0
    expect: Expect = Expect()


class Uniform(Struct, forbid_unknown_fields=True, frozen=True):
    """Whole numbers from the first to the second, all equally likely."""

    uniform: tuple[int, int]


class ServiceFile(Struct, forbid_unknown_fields=True, frozen=True):
    """A service. address: http://HOST:PORT; {port} is a free one. start: the words that start it; without it, it runs.

    build: the words that make it, run in its folder before it is measured. sources: the files that it is made of, or
    patterns such as ``src/**/*.java``: it is built again when one of them changes; without them, each time.
    install: how the program that builds it is installed. about: a line for lists and legends.

    ready: a path that answers with a status below 400 when it is ready; without it, a connection is enough. warm_up:
    how many requests it gets when it has started, before anything counts: for a server that compiles while it runs.
    values: for ``{name}``: a list, ``{uniform: [low, high]}``, or a file of comma-separated values with that column.
    """

    requests: Annotated[list[Request], Meta(min_length=1)]
    address: Text = "http://127.0.0.1:{port}"
    start: list[str] = []
    build: list[str] = []
    sources: list[Text] = []
    install: str = ""
    ready: str = ""
    warm_up: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    about: str = ""
    values: dict[str, list[Any] | Uniform | Text] = {}


class Service(Struct, frozen=True):
    """A service file that was read: its name, its path, and what it says."""

    name: str
    file: str
    says: ServiceFile

    @property
    def folder(self) -> str:
        """The folder of the file, where its service is started and its values are."""
        return os.path.dirname(os.path.abspath(self.file))  # noqa: PTH100, PTH120

    @property
    def is_running(self) -> bool:
        """Whether the service is not started here."""
        return not self.says.start

    @property
    def target(self) -> str:
        """The address of one that runs already."""
        where = urlsplit(self.says.address)
        return f"tcp://{where.hostname}:{where.port or 80}"


class Prepared(Struct, frozen=True):
    """One request with its values, and what its reply must be.

    proto: the path of the interface's file, where it is a gRPC call of the method ``target`` with the ``message``.
    """

    name: str
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    expect: Expect
    proto: str = ""
    message: dict[str, Any] = {}

    def fault(self, status: int, body: bytes) -> str:
        """Return what is wrong with a reply; "" for the expected one."""
        wanted = self.expect
        if status != wanted.status if wanted.status else status >= 400:
            return f"its status is {status}, not {wanted.status or 'below 400'}: {body[:100]!r}"
        if wanted.text is not None and wanted.text.encode() not in body:
            return f"it does not contain {wanted.text!r}: {body[:100]!r}"
        if wanted.json is not msgspec.UNSET:
            try:
                value = json.loads(body)
            except ValueError:
                return f"it is no JSON: {body[:100]!r}"
            return differs(wanted.json, value, "$")
        return ""


def differs(wanted: Any, value: Any, where: str) -> str:
    """Return where a JSON value differs from the wanted one; members that are not wanted may be there."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        faults = (
            differs(part, value[name], f"{where}.{name}") if name in value else f"{where}.{name} is missing"
            for name, part in wanted.items()
        )
        return next(filter(None, faults), "")
    return "" if wanted == value else f"{where} is {json.dumps(value)[:60]}, not {json.dumps(wanted)[:60]}"


def read(file: str) -> Service:
    """Return a service file; read it again if it has changed; SystemFileError says what is wrong in it, and where."""
    try:
        return _read(file, os.stat(file).st_mtime_ns)  # noqa: PTH116
    except OSError as reason:
        raise SystemFileError(f"{file}: {reason.strerror}: give the path of a service file") from reason


@functools.cache
def _read(file: str, changed_ns: int) -> Service:
    path = Path(file)
    try:
        value = yaml_text.value_of(documents.read(path).decode())
        says = msgspec.convert(value, ServiceFile)
    except (OSError, ValueError) as reason:  # msgspec's errors and those of letters are ValueErrors
        raise SystemFileError(f"{file}: {getattr(reason, 'strerror', None) or reason}: correct the file") from reason
    service = Service(path.stem, file, says)
    _check(service, file)
    return service


def sources_of(service: Service) -> list[str]:
    """Return the paths of its sources; SystemFileError for a pattern that no file has."""
    found: dict[str, None] = {}
    for pattern in service.says.sources:
        paths = sorted(glob.glob(os.path.join(glob.escape(service.folder), pattern), recursive=True))  # noqa: PTH118, PTH207
        files = [os.path.normpath(path) for path in paths if os.path.isfile(path)]  # noqa: PTH113
        if not files:
            raise SystemFileError(f"{service.file}: there is no {pattern} beside it: correct sources")
        found |= dict.fromkeys(files)
    return list(found)


def sources_hash(service: Service) -> str:
    """Return a hash of how it is built and of its sources; "" for one that names none."""
    if not service.says.sources:
        return ""
    digest = hashlib.blake2b(json.dumps(service.says.build).encode())
    for path in sources_of(service):
        content = documents.read(Path(path), MOST_SOURCE)
        name = os.path.relpath(path, service.folder)
        digest.update(json.dumps([name, len(content)]).encode() + content)
    return digest.hexdigest()


def schema() -> dict[str, Any]:
    """Return the JSON Schema of service files, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **msgspec.json.schema(ServiceFile)}


def is_here(host: str) -> bool:
    """Return whether a host is this machine's loopback interface."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _check(service: Service, file: str) -> None:
    """Refuse what the schema cannot: an address that is none, a name without values, two requests of one name."""
    says = service.says
    where = urlsplit(says.address.replace("{port}", "1"))
    if where.scheme != "http" or not where.hostname:
        raise SystemFileError(f"{file}: address must be http://HOST:PORT, not {says.address!r}: correct the file")
    if says.start and "{port}" not in says.address:
        raise SystemFileError(f"{file}: a service that is started listens at a free port: write {{port}} in address")
    if not says.start and "{port}" in says.address:
        raise SystemFileError(f"{file}: write start, the words that start it, or the port at which it runs in address")
    if not is_here(str(where.hostname)) and os.environ.get(MAY_LOAD) != where.hostname:
        raise SystemFileError(
            f"{file}: {where.hostname} is not this machine: load on it needs its owner's consent; if you have it, set "
            f"{MAY_LOAD}={where.hostname}, or give --i-may-load-this {where.hostname}"
        )
    for request in says.requests:
        if (request.http is None) == (request.grpc is None):
            raise SystemFileError(f"{file}: request {request.name} needs either http or grpc: correct the file")
        if request.grpc and not os.path.isfile(os.path.join(service.folder, request.grpc.proto)):  # noqa: PTH113, PTH118
            raise SystemFileError(f"{file}: there is no {request.grpc.proto} beside it: correct proto")
    names = [request.name for request in says.requests]
    if twice := {name for name in names if names.count(name) > 1}:
        raise SystemFileError(f"{file}: two requests are called {min(twice)}: give each a name of its own")
    next(prepared(service, random.Random(0)))


def prepared(service: Service, chance: random.Random) -> Iterator[Prepared]:
    """Yield requests of the mix without end, with their values drawn."""
    requests, sources = service.says.requests, {name: _values(service, name) for name in service.says.values}
    weights = [request.weight for request in requests]
    while True:
        (request,) = chance.choices(requests, weights)
        drawn: dict[str, Any] = {}

        def value_of(name: str, drawn: dict[str, Any] = drawn) -> Any:
            if name.startswith("env:"):
                return _variable(name[4:])
            if name not in sources:
                raise SystemFileError(f"{service.name}: {{{name}}} has no values: add it to values")
            if name not in drawn:
                drawn[name] = _draw(sources[name], chance)
            return drawn[name]

        yield _filled(service, request, value_of)


def _filled(service: Service, request: Request, value_of: Any) -> Prepared:
    asked = request.http or request.grpc
    assert asked
    headers = {name: str(_fill(text, value_of)) for name, text in asked.headers.items()}
    wanted = request.expect
    expect = Expect(
        wanted.status,
        wanted.json if wanted.json is msgspec.UNSET else _fill(wanted.json, value_of),
        wanted.text if wanted.text is None else str(_fill(wanted.text, value_of)),
        wanted.message if wanted.message is msgspec.UNSET else _fill(wanted.message, value_of),
    )
    if isinstance(asked, Grpc):
        proto, message = os.path.join(service.folder, asked.proto), _fill(asked.message, value_of)  # noqa: PTH118
        return Prepared(request.name, "", asked.method, headers, b"", expect, proto, message)
    body = b""
    if asked.json is not None:
        body = json.dumps(_fill(asked.json, value_of), separators=(",", ":")).encode()
        headers = {"Content-Type": "application/json"} | headers
    elif asked.body is not None:
        body = str(_fill(asked.body, value_of)).encode()
    return Prepared(request.name, asked.method, str(_fill(asked.path, value_of)), headers, body, expect)


def _fill(part: Any, value_of: Any) -> Any:
    """Return a value with its names filled in; a text that is one name alone becomes the value, of its own type."""
    if isinstance(part, dict):
        return {name: _fill(value, value_of) for name, value in part.items()}
    if isinstance(part, list):
        return [_fill(value, value_of) for value in part]
    if not isinstance(part, str):
        return part
    if whole := NAME.fullmatch(part):
        return value_of(whole[1])
    return NAME.sub(lambda found: str(value_of(found[1])), part)


def _variable(name: str) -> str:
    if name not in os.environ:
        raise SystemFileError(f"the variable {name} of the environment is not set: set it before measuring")
    return os.environ[name]


def _draw(source: Uniform | list[Any], chance: random.Random) -> Any:
    return chance.randint(*source.uniform) if isinstance(source, Uniform) else chance.choice(source)


def _values(service: Service, name: str) -> Uniform | list[Any]:
    """Return what a name's values are drawn from; SystemFileError for a file that does not have them."""
    source = service.says.values[name]
    if not isinstance(source, str):
        if not isinstance(source, Uniform) and not source:
            raise SystemFileError(f"{service.name}: values of {name} are an empty list: give at least one")
        return source
    return _column(os.path.join(service.folder, source), name)  # noqa: PTH118


@functools.cache
def _column(file: str, name: str) -> list[str]:
    try:
        rows = csv.DictReader(documents.read(Path(file), 20_000_000).decode().splitlines())
        found = [row[name] for _, row in zip(range(MOST_ROWS), rows, strict=False)]
    except KeyError:
        raise SystemFileError(f"{file} has no column {name}: its first line names the columns") from None
    except (OSError, ValueError, csv.Error) as reason:
        raise SystemFileError(f"{file}: {getattr(reason, 'strerror', None) or reason}") from reason
    if not found:
        raise SystemFileError(f"{file} has no values of {name}: give at least one row below the names of the columns")
    return found
