"""Service files: what a user's own service is, how it starts, and which requests it gets. See docs/services.md.

A file is YAML; its schema is that of ``ServiceFile``. Each part of a request may hold ``{name}`` of the file's
``values``; ``{env:NAME}`` is a variable of the environment, whose value is stored nowhere.
"""

import base64
import functools
import glob
import hashlib
import itertools
import json
import os
import random
import re
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import SplitResult, urlsplit

import msgspec
from msgspec import Meta, Struct

from bench.contract import Address, is_loopback
from bench.errors import SystemFileError, TransportError, WrongReplyError, did_you_mean, reason_of
from bench.plan import documents, http_parts, recording, values, yaml_text
from bench.plan.values import Draws, Source, Text
from bench.redaction import hide, redacted
from bench.text import LONGEST, counted, one_line

PLACE = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\s:/@\[\]]+):(\{port\}|[1-9][0-9]{0,4})")
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # a name in HTTP (RFC 9110, 5.6.2)
FIELD = re.compile(r"[\t -~\x80-\xff]*")  # a value there
KEY, PRINTABLE = re.compile("[0-9a-z_.-]+"), re.compile("[ -~]*")  # names and values of gRPC's metadata
MAY_LOAD = "ROUNDTRIP_MAY_LOAD"  # names the one host beside this machine that services may be measured at
HTTP_CODES = range(100, 1000)
GRPC_CODES = (
    *("OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "ABORTED"),
    *("PERMISSION_DENIED", "UNAUTHENTICATED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "OUT_OF_RANGE", "INTERNAL"),
    *("UNIMPLEMENTED", "UNAVAILABLE", "DATA_LOSS"),
)
CODINGS = {"gzip", "x-gzip", "deflate", "identity", ""}  # of bodies (RFC 9110, section 8.4.1)
GZIP = b"\x1f\x8b"  # begins each member
REDIRECTS = (301, 302, 303, 307, 308)
MOST_SOURCE = 20_000_000  # bytes of a file that a service is made of
UNKNOWN = "0000"  # stands for a value that is not known yet wherever one can be, also in base64
DISTINCT = 500  # requests that a client prepares before its window and sends in turn


class Http(Struct, forbid_unknown_fields=True, frozen=True):
    """A request over HTTP. json: a value sent as JSON; body: a text; neither: no body.

    stream: sse, if it is answered by a stream of server-sent events.
    """

    path: Annotated[str, Meta(pattern="^/")]
    method: Annotated[str, Meta(pattern=r"^[A-Z-]+\Z")] = "GET"
    json: Any = msgspec.UNSET
    body: str | None = None
    headers: dict[str, str] = {}
    stream: Literal["sse"] | None = None


class Grpc(Struct, forbid_unknown_fields=True, frozen=True):
    """A gRPC call with one reply or a stream of them. method: package.Service/Method; message: protobuf's JSON of it.

    proto: the interface's file; without it, the service is asked for its interface (server reflection).
    """

    method: Annotated[str, Meta(pattern="^[^/]+/[^/]+$")]
    proto: str = ""
    message: Any = msgspec.UNSET
    headers: dict[str, str] = {}


class Expect(Struct, forbid_unknown_fields=True, frozen=True):
    """What a reply must be. status: its code, or several codes of which the first has the content; of gRPC its name.
    text: a part of it.

    json, message: members that its JSON, or the gRPC message as JSON, has with these values. schema: the file of the
    JSON Schema that its JSON has to satisfy. Each message of a stream must be so; messages: how many there are; end:
    the data of the event behind them, such as [DONE], which is no message.
    """

    status: int | str | list[int] | None = None
    json: Any = msgspec.UNSET
    schema: str = ""
    text: Text | None = None
    message: Any = msgspec.UNSET
    messages: Annotated[int, Meta(ge=1)] | None = None
    end: Text | None = None

    @property
    def of_json(self) -> bool:
        """Whether a reply has to be JSON."""
        return self.json is not msgspec.UNSET or bool(self.schema)


class Request(Struct, forbid_unknown_fields=True, frozen=True):
    """One kind of request: its name, how often it comes beside the others, what is sent, what must come back.

    save: names, and where in the reply's JSON the values are that later requests of the same caller have for them, as
    ``$.items[0].id``. once: each caller makes it when it has connected, before its other requests, and not again.
    """

    name: Text
    http: Http | None = None
    grpc: Grpc | None = None
    weight: Annotated[float, Meta(gt=0)] = 1.0
    expect: Expect = Expect()
    save: dict[str, str] = {}
    once: bool = False

    @property
    def names(self) -> set[str]:
        """The names for which values stand in it."""
        return values.names_in(msgspec.to_builtins([self.http, self.grpc, self.expect]))


class ServiceFile(Struct, forbid_unknown_fields=True, frozen=True):
    """A service. address: http://HOST:PORT, https://HOST:PORT or unix:///PATH.

    start: the words that start it, where {port} is a free port and {socket} the path of a new socket; without them it
    runs. http2: it is asked over HTTP/2, not HTTP/1.1. authority: a PEM file of the authorities that signed the
    certificate; without it, those of the system. certificate, key: PEM files of the client, where the service asks for
    them. connect_to: HOST:PORT, where connections go instead of the place in address. build: the words that make it,
    run in its folder before it is measured. sources: the files that it is made of, or patterns such as
    ``src/**/*.java``: it is built again when one of them changes; without them, each time. install: how the program
    that builds it is installed. about: a line for lists and legends.

    requests: what it is asked; or instead recording: a file of requests, .har or .jsonl, that are sent in its order.
    imports: folders that .proto files are named and imported from, beside their own folder and those above it.
    headers: of all requests. ready: a path that answers with a status below 400 when it is ready; without it, a
    connection is enough; ready_s: how long it may take. warm_up: how many requests it gets when it has started, before
    anything counts: for a server that compiles while it runs. timeout_s: a call that has no reply by then has failed.
    in_turn: each caller makes the requests in their order, over and over. cookies: each caller sends back those that it
    was given. values: for ``{name}``: a list, a file of comma-separated values with that column, or a ``Source``.
    """

    requests: list[Request] = []
    recording: str = ""
    imports: list[Text] = []
    headers: dict[str, str] = {}
    address: Text = "http://127.0.0.1:{port}"
    start: list[str] = []
    connect_to: str = ""
    authority: str = ""
    certificate: str = ""
    key: str = ""
    http2: bool = False
    timeout_s: Annotated[float, Meta(gt=0, le=30)] = 10.0
    build: list[str] = []
    sources: list[Text] = []
    install: str = ""
    ready: Annotated[str, Meta(pattern="^(/|$)")] = ""
    ready_s: Annotated[float, Meta(gt=0, le=600)] = 18.0
    warm_up: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    about: str = ""
    in_turn: bool = False
    cookies: bool = False
    values: dict[str, list[Any] | Source | Text] = {}


class Service(Struct, frozen=True, dict=True):
    """A service file that was read: its name, its path, and what it says."""

    name: str
    file: str
    says: ServiceFile

    @property
    def folder(self) -> str:
        """The folder of the file, where its service is started and its values are."""
        return os.path.dirname(os.path.abspath(self.file))  # noqa: PTH100, PTH120

    def path(self, name: str) -> str:
        """Return the path of a file that is named from its folder; "" for none."""
        return os.path.join(self.folder, name) if name else ""  # noqa: PTH118

    def error(self, fault: str) -> SystemFileError:
        """Return the error for what is wrong in the file."""
        return SystemFileError(f"{self.file}: {fault}")

    @property
    def recording(self) -> recording.Recording | None:
        """The requests that were recorded, where the file names them."""
        if not self.says.recording:
            return None
        return recording.read(self.path(self.says.recording))

    @property
    def has_http(self) -> bool:
        """Whether it is asked over HTTP."""
        return bool(self.says.recording) or any(request.http for request in self.says.requests)

    @property
    def has_grpc(self) -> bool:
        """Whether it is asked over gRPC."""
        return any(request.grpc for request in self.says.requests)

    @property
    def has_events(self) -> bool:
        """Whether it is asked over HTTP for streams of messages; of gRPC its interface says so."""
        return any(request.http and request.http.stream for request in self.says.requests)

    @property
    def once(self) -> list[Request]:
        """The requests that each caller makes when it has connected."""
        return [request for request in self.says.requests if request.once]

    @property
    def mix(self) -> list[Request]:
        """The requests that are made over and over."""
        return [request for request in self.says.requests if not request.once]

    @property
    def request_names(self) -> tuple[str, ...]:
        """The names of the mix, if it has several requests; of a recording none."""
        return tuple(request.name for request in self.mix) if len(self.mix) > 1 else ()

    @functools.cached_property
    def names_of_callers(self) -> set[str]:
        """The names whose values each caller has for itself: saved ones, and those that were drawn for ``once``."""
        saved = {name for request in self.says.requests for name in request.save}
        drawn = {name for request in self.once for name in request.names if name in self.says.values}
        return saved | drawn - self.names_made

    @functools.cached_property
    def names_made(self) -> set[str]:
        """The names whose values are made when a request is sent."""
        sources = self.says.values.items()
        return {name for name, source in sources if isinstance(source, Source) and source.is_made}

    @property
    def has_late(self) -> bool:
        """Whether values of its requests are known only when these are sent."""
        return bool(self.names_of_callers or self.names_made)

    @property
    def has_sessions(self) -> bool:
        """Whether what a caller sends depends on what it did before."""
        return bool(self.names_of_callers or self.once or self.says.in_turn or self.says.cookies)

    @property
    def is_running(self) -> bool:
        """Whether the service is not started here."""
        return not self.says.start

    @property
    def target(self) -> str:
        """The address of one that runs already."""
        address = self.connects_to
        if self.transport == "ipc":
            return f"ipc://{address.path}"
        return str(Address("tcp", str(address.hostname), address.port or (443 if self.is_encrypted else 80), ""))

    @property
    def connects_to(self) -> SplitResult:
        """Where connections go, whose port is 1 if it is a free one."""
        authority = f"//{self.says.connect_to}" if self.says.connect_to else self.says.address
        return urlsplit(authority.replace("{port}", "1"))

    @property
    def transport(self) -> str:
        """The transport by which it is reached."""
        return "ipc" if self.says.address.startswith("unix:") else "tcp"

    @property
    def is_encrypted(self) -> bool:
        """Whether it is reached by TLS."""
        return self.says.address.startswith("https:")

    @property
    def host(self) -> str:
        """The name that its certificate has to hold, and that requests are sent to."""
        return urlsplit(self.says.address.replace("{port}", "1")).hostname or "localhost"

    def called(self, address: Address) -> str:
        """Return the host of ``address``, with its port, as requests name them to a service that listens there."""
        named = urlsplit(self.says.address.replace("{port}", str(address.port))).netloc
        return "localhost" if address.transport == "ipc" else named.rpartition("@")[2]

    def interface(self, proto: str) -> tuple[str, ...]:
        """Return the path of a .proto file, then the folders that it imports from; nothing where it is not there."""
        own, roots = Path(self.folder), [Path(self.folder, root) for root in self.says.imports]
        paths = (Path(os.path.abspath(root / proto)) for root in (own, *roots))  # noqa: PTH100
        if not (file := next((path for path in paths if path.is_file()), None)):
            return ()
        above = itertools.takewhile(lambda folder: not own.is_relative_to(folder), file.parents)
        return tuple(map(str, dict.fromkeys((file, *roots, *above, os.path.commonpath((own, file))))))

    @property
    def authority(self) -> str:
        """The path of the file with the authorities of its certificate; "" for those of the system."""
        return self.path(self.says.authority)

    @property
    def own_certificate(self) -> tuple[str, str]:
        """The paths of the client's certificate and of its key, which may be one file; "" for none."""
        return self.path(self.says.certificate), self.path(self.says.key or self.says.certificate)


class Prepared(Struct, frozen=True):
    """One request with its values, and what its reply must be.

    proto: where it is a gRPC call of the method ``target`` with the ``message``, the path of the interface's file and
    the folders that it imports from, or the service's file if the service is asked for its interface. again: makes it
    with the values that a caller knows and with new ones, where it has such. needs: the names of the former. save: as
    of ``Request``.
    """

    name: str
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    expect: Expect
    proto: tuple[str, ...] = ()
    message: Any = msgspec.UNSET
    save: dict[str, str] = {}
    needs: frozenset[str] = frozenset()
    again: "Callable[[Mapping[str, Any]], Prepared] | None" = None

    def fault(self, status: int, body: bytes, encoding: str = "") -> str:
        """Return what is wrong with a reply, whose body has a content coding; "" for the expected one."""
        wanted = self.expect
        plain = decoded(body, encoding)
        if plain is None and (wanted.text is not None or wanted.of_json):
            is_known = {each.strip() for each in encoding.lower().split(",")} <= CODINGS
            fate = "but is damaged" if is_known else "which is not read here: accept gzip or none"
            return f"its body has the encoding {encoding}, {fate}"
        body = body if plain is None else plain
        if status in self.other_statuses:
            return ""
        return self.fault_of_status(status, body) or self.fault_of_content(body)

    @property
    def other_statuses(self) -> list[int]:
        """The codes that are right whatever the content is."""
        return self.expect.status[1:] if isinstance(self.expect.status, list) else []

    def as_json(self, body: bytes, encoding: str) -> Any:
        """Return the value of JSON that a reply's body holds, None if it holds none."""
        try:
            return json.loads(decoded(body, encoding) or b"null")
        except (ValueError, RecursionError):
            return None

    def fault_of_status(self, status: int, body: bytes) -> str:
        """Return what is wrong with the status of a reply, whose body is quoted; "" for the expected one."""
        wanted = self.expect.status[0] if isinstance(self.expect.status, list) else self.expect.status
        if not wanted and status in REDIRECTS:
            return StatusFault(status, "a redirect: request the path that it leads to, or expect this status")
        if status != wanted if wanted else status >= 400:
            return StatusFault(status, f"expected {wanted or 'below 400'}: {begin(body)}", wanted)
        return ""

    def fault_of_content(self, body: bytes) -> str:
        """Return what is wrong with a body, or with one message of a stream; "" for the expected one."""
        wanted = self.expect
        if wanted.text is not None and wanted.text.encode() not in body:
            return f"it does not contain {wanted.text!r}: {begin(body)}"
        if not wanted.of_json:
            return ""
        try:
            value = json.loads(body)
            wrong = "" if wanted.json is msgspec.UNSET else differs(wanted.json, value, "$")
        except ValueError:
            return f"it is no JSON: {begin(body)}"
        except RecursionError:
            return f"its JSON is nested too deeply: {begin(body)}"
        return wrong or (_unlike(wanted.schema, value) if wanted.schema else "")

    def fault_of_stream(self, messages: int, has_ended: bool) -> str:
        """Return what is wrong with a stream that is over; "" for the expected one.

        messages: how many came. has_ended: whether what is expected to end them came.
        """
        wanted = self.expect
        if wanted.end is not None and not has_ended:
            return f"its stream ended after {counted(messages, 'message')} without {wanted.end!r}"
        if wanted.messages is None:
            return "" if messages else "its stream has no message"
        return (
            ""
            if messages == wanted.messages
            else f"its stream has {counted(messages, 'message')}, not {wanted.messages:,}"
        )


@functools.cache
def _validator(file: str) -> Any:
    """Return what validates JSON against the schema in a file; SystemFileError for one that is none."""
    import jsonschema

    known = jsonschema.validators.SPECIFICATIONS  # and nothing is fetched from elsewhere
    try:
        schema = json.loads(documents.read(Path(file)))
        if not isinstance(schema, dict | bool):
            raise ValueError("a JSON Schema is an object, true or false")
        kind = jsonschema.validators.validator_for(schema, jsonschema.Draft202012Validator)
        kind.check_schema(schema)
        _resolve(schema, known)
    except (OSError, ValueError, RecursionError) as reason:
        raise SystemFileError(f"{file}: {reason_of(reason)}: correct schema") from reason
    except jsonschema.SchemaError as reason:
        raise SystemFileError(f"{file} is no JSON Schema: {reason.message}: correct it") from reason
    return kind(schema, registry=known)


def _resolve(schema: Any, registry: Any) -> None:
    """Look up what a JSON Schema refers to; ValueError for a reference to what is not in it."""
    from referencing import Resource, exceptions, jsonschema

    root = Resource.from_contents(schema, default_specification=jsonschema.DRAFT202012)
    left = [(root, registry.resolver_with_root(root))]
    while left:
        part, resolver = left.pop()
        named = part.contents.get("$ref") if isinstance(part.contents, dict) else None
        try:
            if named is not None:
                resolver.lookup(named)
        except (exceptions.Unresolvable, exceptions.Unretrievable):
            remedy = "write what it refers to in this file, under $defs"
            raise ValueError(f"its $ref {named!r} leads to nothing here: {remedy}") from None
        left += [(each, resolver.in_subresource(each)) for each in part.subresources()]


def _unlike(file: str, value: Any) -> str:
    """Return where a JSON value does not satisfy the schema in a file, and why; "" if it does."""
    try:
        error = next(_validator(file).iter_errors(value), None)
    except RecursionError as reason:
        return f"it cannot be compared with {Path(file).name}: {redacted(str(reason))[:100]}"
    if error is None:
        return ""
    return f"{error.json_path} does not satisfy {Path(file).name}: {redacted(error.message)[:100]}"


def decoded(body: bytes, encoding: str) -> bytes | None:
    """Return a body without its content codings (RFC 9110, section 8.4); None for one that is not known or broken."""
    try:
        for each in reversed(encoding.lower().split(",")):
            if each.strip() not in CODINGS:
                return None
            if each.strip() not in ("", "identity"):
                body = _inflated(body)
    except zlib.error:
        return None
    return body


def _inflated(body: bytes) -> bytes:
    """Return what a body of gzip, zlib or bare deflate holds; gzip may have several members; zlib.error if damaged."""
    try:
        zlib.decompressobj(wbits=47).decompress(body[:2])
        wbits = 47  # with a header of gzip or of zlib
    except zlib.error:
        wbits = -15
    parts: list[bytes] = []
    while body and (not parts or body.startswith(GZIP)):  # other bytes behind the end mean nothing
        member = zlib.decompressobj(wbits)
        parts.append(member.decompress(body))
        if not member.eof:
            raise zlib.error("it is not whole")
        body = member.unused_data
    return b"".join(parts)


class StatusFault(str):
    """What is wrong with the status of a reply, in words; kind: in few of them."""

    kind: str

    def __new__(cls, status: int | str, why: str, wanted: int | str | None = None) -> "StatusFault":
        """Return what to say of a status, why it is wrong, and which one the file names, if it names one."""
        made = super().__new__(cls, f"its status is {status}, {why}")
        made.kind = f"status {status}" + (f", expected {wanted}" if wanted else "")
        return made


def refuse(request: Prepared, fault: str) -> None:
    """Raise WrongReplyError if there is a fault; its kind is the request's name and the status, or what is wrong."""
    if fault:
        kind = f"wrong content: {fault}"
        if isinstance(fault, StatusFault):
            kind = fault.kind
        elif fault.startswith("$"):  # a member of JSON
            kind = fault
        kind = one_line(redacted(f"{request.name}: {kind}"), LONGEST)
        raise WrongReplyError(f"{request.name} was answered wrongly: {fault}", kind)


def too_late(service: Service, request: Prepared) -> TransportError:
    """Return the error for a call whose reply did not come in time."""
    return TransportError(f"{request.name} had no whole answer within {service.says.timeout_s:g} s", "timeout")


def differs(wanted: Any, value: Any, path: str) -> str:
    """Return where a JSON value differs from the wanted one; members that are not wanted may be there."""
    if isinstance(wanted, dict) and isinstance(value, dict):
        faults = (
            differs(part, value[name], f"{path}.{name}") if name in value else f"{path}.{name} is missing"
            for name, part in wanted.items()
        )
        return next(filter(None, faults), "")
    if isinstance(wanted, list) and isinstance(value, list) and len(wanted) == len(value):
        pairs = enumerate(zip(wanted, value, strict=True))
        return next(filter(None, (differs(*pair, f"{path}[{index}]") for index, pair in pairs)), "")
    if wanted == value and isinstance(wanted, bool) == isinstance(value, bool):  # to Python, True is 1
        return ""
    got, right = (one_line(redacted(json.dumps(each)), 60) for each in (value, wanted))
    return f"{path} is {got}, expected {right}{_of_other_kind(wanted, value)}"


def _of_other_kind(wanted: Any, value: Any) -> str:
    """Return what to write where a text has the digits of the expected number, or a number those of the text."""
    if isinstance(value, str) and type(wanted) in (int, float) and value == values.as_text(wanted):
        return " (the reply has a text: draw texts, from a CSV file or a list)"
    if isinstance(wanted, str) and type(value) in (int, float) and wanted == values.as_text(value):
        return " (the reply has a number: draw numbers, from {numbers: FILE} or a list)"
    return ""


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
        raise SystemFileError(f"{file}: {_with_known_keys(reason_of(reason))}") from reason
    service = Service(path.stem, file, says)
    for name in values.names_in(value):
        if name.startswith("env:"):
            hide(name[4:], os.environ.get(name[4:], ""))
    _check(service)
    return service


KINDS = {  # of msgspec, and what to write
    "`array`": "a list, as [a, b]",
    "`object`": "a mapping, as name: value",
    "`str` matching regex '^/'": "a path that begins with /",
    "`str` matching regex '^(/|$)'": "a path that begins with /",
    r"`str` matching regex '^[A-Z-]+\\Z'": "a method in capital letters, as GET",
    "`str`": "a text",
    "`int`": "a whole number",
    "`float`": "a number",
    "`bool`": "true or false",
}


def _in_words(reason: str) -> str:
    """Return what msgspec says of a value of another kind, in words."""
    text, _, place = reason.partition(" - at `$.")
    text, _, got = text.partition(", got ")
    wanted = KINDS.get(text.removeprefix("Expected ").replace(" | null", ""))
    if not wanted:
        return reason
    return f"{place.strip('`') or 'the file'} must be {wanted}" + f", not {got.strip('`')}" * bool(got)


def _with_known_keys(reason: str) -> str:
    """Return what msgspec says of a file; of a key that is none, which one is like it."""
    wrong = re.search(r"unknown field `(.*?)`(?: - at `(.*)`)?", reason)
    if not wrong:
        return _in_words(reason)
    keys = [key for part in (ServiceFile, Request, Http, Grpc, Expect, Source) for key in part.__struct_fields__]
    place = f" in {wrong[2]}" if wrong[2] else ""
    return f"unknown key {wrong[1]}{place}{did_you_mean(wrong[1], keys)} (all keys: docs/services.md)"


def sources_of(service: Service) -> list[str]:
    """Return the paths of its sources; SystemFileError for a pattern that no file has."""
    sources: dict[str, None] = {}
    for pattern in service.says.sources:
        paths = sorted(glob.glob(os.path.join(glob.escape(service.folder), pattern), recursive=True))  # noqa: PTH118, PTH207
        files = [os.path.normpath(path) for path in paths if os.path.isfile(path)]  # noqa: PTH113
        if not files:
            raise service.error(f"there is no {pattern} beside it: correct sources")
        sources |= dict.fromkeys(files)
    return list(sources)


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


def _check(service: Service) -> None:
    """Refuse what the schema cannot: an address that is none, a name without values, two requests of one name."""
    says = service.says
    if bool(says.requests) == bool(says.recording):
        raise service.error("write either requests or recording, the file of recorded ones: correct the file")
    for key in ("imports", "in_turn", "values"):
        if says.recording and getattr(says, key):
            raise service.error(f"{key} is for requests, not for a recording: leave it out")
    _check_address(service)
    if says.key and not says.certificate:
        raise service.error("key belongs to a certificate: write certificate, or leave key out")
    for what, each in (("authority", says.authority), ("certificate", says.certificate), ("key", says.key)):
        if each and not service.is_encrypted:
            raise service.error(f"{what} is for an address that begins with https://: correct the file")
        if each and not os.path.isfile(service.path(each)):  # noqa: PTH113
            raise service.error(f"there is no {each} beside it: correct {what}")
    for request in says.requests:
        _check_request(request, service)
    try:
        words_of_start(service, "1", "/socket")
    except SystemFileError as reason:
        raise service.error(f"start: {reason}") from reason
    if service.has_events and not all(request.http and request.http.stream for request in says.requests):
        raise service.error("streams and calls are measured apart: write a file for each kind of request")
    names = [request.name for request in says.requests]
    if twice := {name for name in names if names.count(name) > 1}:
        raise service.error(f"two requests are called {min(twice)}: give each a name of its own")
    if says.cookies and says.http2:
        raise service.error("cookies are kept over HTTP/1.1 alone: leave out http2 or cookies")
    _check_names(service)
    if says.recording:
        next(prepared(service, random.Random(0)))
    unknown, sources = dict.fromkeys(service.names_of_callers, UNKNOWN), sources_of_values(service)
    for request in says.requests:
        try:
            filled(service, request, Draws(sources, random.Random(0)), unknown)
        except SystemFileError as reason:
            raise service.error(f"request {request.name}: {reason}") from reason


def _check_names(service: Service) -> None:
    """Refuse a name that cannot stand in a request, one that none uses, and one that has no value when it is used."""
    says, saved = service.says, {name for request in service.says.requests for name in request.save}
    used = set().union(values.names_in(says.headers), *(request.names for request in says.requests))
    known = saved | says.values.keys()
    if unknown := sorted(name for name in used - known if did_you_mean(name, known)):
        like = did_you_mean(unknown[0], known)
        raise service.error(f"{{{unknown[0]}}} has no values and is not saved{like}")
    for name in [*says.values, *saved]:
        if not values.NAME.fullmatch(name):
            signs = "letters, digits, _, - and ., a letter or _ first"
            raise service.error(f"{name!r} cannot be the name of a value: write {signs}")
        if name not in used:
            key = "save" if name in saved else "values"
            raise service.error(f"no request has {{{name}}}: use it, or leave it out of {key}")
        if name in saved and name in says.values:
            raise service.error(f"{name} is saved and has values: give one of them another name")
    for name, source in says.values.items():
        kinds = isinstance(source, Source) and sum(value is not None for value in msgspec.structs.astuple(source))
        if isinstance(source, Source) and kinds != 1:
            raise service.error(f"values of {name} need one of {', '.join(Source.__struct_fields__)}")
    if values.names_in(says.ready):
        raise service.error("ready cannot have values: write a path without names in braces")
    _check_order(service, saved)


def _check_order(service: Service, saved: set[str]) -> None:
    """Refuse a request whose value no request can have saved before it."""
    in_turn = service.says.in_turn
    if not service.mix and service.once:
        raise service.error("all requests are made once: leave once out of those that are measured")
    if unused := next(
        (weighted.name for weighted in service.says.requests if weighted.weight != 1 and (weighted.once or in_turn)), ""
    ):
        raise service.error(f"the weight of {unused} has no effect with once or in_turn: leave it out")
    known, left = set[str](), [*service.once, *service.mix]
    while left:
        possible = next((request for request in left if not (request.names & saved) - known), None)
        if possible is None or ((left[0].once or in_turn) and possible is not left[0]):
            name = min((left[0].names & saved) - known)
            raise service.error(f"request {left[0].name} has {{{name}}}, which none before it saves")
        left.remove(possible)
        known |= set(possible.save)


def _check_request(request: Request, service: Service) -> None:
    """Refuse a request of no kind or two, and files that are not there or not what they should be."""
    if (request.http is None) == (request.grpc is None):
        raise service.error(f"request {request.name} needs either http or grpc: correct the file")
    if request.http and request.http.json is not msgspec.UNSET and request.http.body is not None:
        raise service.error(f"request {request.name} has json and body: write one of them")
    schema = request.expect.schema
    if request.expect.end is not None and not (request.http and request.http.stream):
        raise service.error(f"request {request.name} is answered by no events: leave end out")
    if request.expect.messages and request.http and not request.http.stream:
        raise service.error(f"request {request.name} has one reply: write stream: sse, or no messages")
    if request.grpc and request.expect.json is not msgspec.UNSET:
        raise service.error(f"the reply to {request.name} is a gRPC message: write message instead of json")
    if request.http and request.expect.message is not msgspec.UNSET:
        raise service.error(f"the reply to {request.name} is no gRPC message: write json instead of message")
    status, kind = request.expect.status, "a whole number, as 200" if request.http else "a name, as NOT_FOUND"
    if status == []:
        raise service.error(f"request {request.name} expects one of no status: write {kind}")
    if status is not None and isinstance(status, int | list) != bool(request.http):
        raise service.error(f"the status that request {request.name} expects is {status!r}: write {kind}")
    for code in status if isinstance(status, list) else [status]:
        if code is not None and code not in (HTTP_CODES if request.http else GRPC_CODES):
            like = "" if request.http else did_you_mean(code, GRPC_CODES)
            raise service.error(f"request {request.name} expects {code!r}, which is no status: write {kind}{like}")
    if request.grpc and status not in (None, "OK") and (request.save or request.expect.message is not msgspec.UNSET):
        remedy = "leave save and message out"
        raise service.error(f"the reply to {request.name} has the status {status} and thus no message: {remedy}")
    if wrong := next((path for path in request.save.values() if not values.is_path(path)), ""):
        raise service.error(f"request {request.name} saves {wrong!r}: write a path as $.items[0].id")
    if (request.once or request.save) and request.http and request.http.stream:
        raise service.error(f"request {request.name} has a stream: save and once are for one reply")
    if request.grpc:
        if request.grpc.proto and not service.interface(request.grpc.proto):
            raise service.error(f"there is no {request.grpc.proto} beside it or in imports: correct proto")
        if schema:
            raise service.error(f"request {request.name} is gRPC, described by proto: leave schema out")
    elif schema:
        _validator(service.path(schema))


def _check_address(service: Service) -> None:
    """Refuse an address that is none, that does not fit to ``start``, or that of another machine without consent."""
    says = service.says
    try:
        url = urlsplit(says.address.replace("{port}", "1").replace("{socket}", "/socket"))
        is_tcp = url.scheme in ("http", "https") and bool(url.hostname) and url.port != 0
    except ValueError:
        is_tcp = False
    is_socket = not is_tcp and url.scheme == "unix" and not url.netloc and len(url.path) > 1
    if is_tcp and (url.path not in ("", "/") or url.query or url.fragment or "@" in url.netloc):
        more = "write the path in each request's path, and credentials under headers"
        raise service.error(f"address must be SCHEME://HOST:PORT alone: {more}")
    if not (is_tcp or is_socket):
        wanted = "http://HOST:PORT, https://HOST:PORT or unix:///PATH"
        raise service.error(f"address must be {wanted}, not {says.address!r}: correct the file")
    if says.connect_to and (is_socket or not PLACE.fullmatch(says.connect_to)):
        wanted = "HOST:PORT, for an address that begins with http"
        raise service.error(f"connect_to must be {wanted}, not {says.connect_to!r}: correct the file")
    placeholder, what = ("{socket}", "path of a socket") if is_socket else ("{port}", "port")
    key, reached = ("connect_to", says.connect_to) if says.connect_to else ("address", says.address)
    if says.start and placeholder not in reached:
        raise service.error(f"a service that is started listens at a new {what}: write {placeholder} in {key}")
    if says.start and not any(placeholder in word for word in says.start):
        raise service.error(f"no word of start has {placeholder}, the {what} at which it is to listen: correct start")
    if not says.start and placeholder in says.address + reached:
        raise service.error(f"write start, the words that start it, or the {what} it listens at in {key}")
    host = str(service.connects_to.hostname)
    if is_tcp and not is_loopback(host) and os.environ.get(MAY_LOAD) != host:
        raise service.error(
            f"{host} is not this machine: load on it needs its owner's consent; if you have it, set "
            f"{MAY_LOAD}={host}, or give --i-may-load-this {host}"
        )


def words_of_start(service: Service, port: str, path: str) -> list[str]:
    """Return the words that start a service; SystemFileError for a name in braces that stands for nothing there."""
    known = {"port": port, "socket": path}

    def value_of(name: str) -> str:
        if name.startswith("env:"):
            return variable(name[4:])
        if name not in known:
            remedy = f"write {{port}}, {{socket}} or {{env:NAME}}, or {{{{{name}}}}} for braces that are passed on"
            raise SystemFileError(f"{{{name}}} has no value there: {remedy}")
        return known[name]

    return [values.word(word, value_of) for word in service.says.start]


def prepared(service: Service, chance: random.Random) -> Iterator[Prepared]:
    """Yield requests of the mix without end, with their values drawn, or the recorded ones in turn."""
    if recorded := service.recording:
        yield from itertools.cycle([_recorded_request(service, each) for each in recorded.requests])
    sources, mix = sources_of_values(service), service.mix
    weights, names = [request.weight for request in mix], [request.names for request in mix]
    of_callers, made, in_headers = service.names_of_callers, service.names_made, values.names_in(service.says.headers)
    unknown = dict.fromkeys(of_callers, UNKNOWN)
    for turn in itertools.count():
        (number,) = (turn % len(mix),) if service.says.in_turn else chance.choices(range(len(mix)), weights)
        draws = Draws(sources, chance)
        ready = filled(service, mix[number], draws, unknown)
        if (names[number] | in_headers) & (of_callers | made):
            again, needs = functools.partial(filled, service, mix[number], draws), names[number] & of_callers
            ready = msgspec.structs.replace(ready, needs=frozenset(needs), again=again)
        yield ready


def sources_of_values(service: Service) -> "dict[str, tuple[str, Sequence[Any]]]":
    """Return what the values of a service are drawn from; SystemFileError for values that are none."""
    try:
        return values.sources_of(service.says.values, service.folder)
    except SystemFileError as reason:
        raise SystemFileError(f"{service.name}: {reason}") from reason


def filled(service: Service, request: Request, draws: Draws, known: "Mapping[str, Any]") -> Prepared:
    """Return a request with the values that its caller knows, those that are drawn for it, and new ones.

    A header of the file that needs a value which the caller does not know yet is left out.
    """
    new: dict[str, Any] = {}

    def value_of(name: str) -> Any:
        if name.startswith("env:"):
            return variable(name[4:])
        if name in known:
            return known[name]
        source = service.says.values.get(name)
        if isinstance(source, Source) and source.is_made:
            if name not in new:
                new[name] = values.made(source)
            return new[name]
        try:
            return draws(name)
        except KeyError:
            remedy = f"add it to values, or write {{{{{name}}}}} for braces that are sent"
            raise SystemFileError(f"{{{name}}} has no values: {remedy}") from None

    usual = service.says.headers
    if unknown := service.names_of_callers - known.keys():
        usual = {name: text for name, text in usual.items() if not values.names_in([name, text]) & unknown}
    return _filled(service, request, usual, value_of)


def _recorded_request(service: Service, recorded: recording.Recorded) -> Prepared:
    """Return a recorded request; of the environment's variables its headers may name, and no other values."""

    def value_of(name: str) -> Any:
        return variable(name[4:]) if name.startswith("env:") else f"{{{name}}}"

    templates = http_parts.merged(recorded.headers, service.says.headers)
    headers = _of_http(_headers(templates, value_of))
    expect = Expect(recorded.status)
    return Prepared(recorded.name, recorded.method, values.quoted(recorded.target), headers, recorded.body, expect)


def _headers(templates: dict[str, str], value_of: values.Values) -> dict[str, str]:
    """Return headers with their names and values filled in."""
    return {values.text(name, value_of): values.text(text, value_of) for name, text in templates.items()}


def _of_http(headers: dict[str, str]) -> dict[str, str]:
    """Return headers; SystemFileError for one that HTTP cannot send (RFC 9110, 5.5), or that its library writes."""
    for name, text in headers.items():
        if not TOKEN.fullmatch(name):
            raise SystemFileError(f"{name!r} cannot be the name of a header: write letters, digits and -")
        if not FIELD.fullmatch(text):
            fault = "has a line break or other control character, or a sign that is not in Latin-1"
            raise SystemFileError(f"the value of the header {name} {fault}: correct it")
        if name.lower() in ("content-length", "transfer-encoding"):
            raise SystemFileError(f"the header {name} follows from the body: leave it out")
    return headers


def _metadata(headers: dict[str, str]) -> dict[str, str]:
    """Return headers as a gRPC call has them; SystemFileError for one that none can have."""
    headers = {name.lower(): text for name, text in headers.items()}
    for name, text in headers.items():
        if not KEY.fullmatch(name):
            raise SystemFileError(f"{name!r} cannot be the name of metadata: write letters, digits, _, - and .")
        if not PRINTABLE.fullmatch(text):
            remedy = "give it a name that ends with -bin, and base64 of its bytes"
            raise SystemFileError(f"the value of the metadata {name} is not printable ASCII: {remedy}")
        if name.endswith("-bin"):
            binary(text)
    return headers


def binary(text: str) -> bytes:
    """Return the bytes that base64 stands for, with padding or without it; SystemFileError for what is no base64."""
    try:
        return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), validate=True)
    except ValueError as reason:
        raise SystemFileError("metadata whose name ends with -bin is base64 of its bytes: correct it") from reason


def _filled(service: Service, request: Request, usual: dict[str, str], value_of: values.Values) -> Prepared:
    asked = request.http or request.grpc
    assert asked
    headers = _headers(http_parts.merged(usual, asked.headers), value_of)
    wanted = request.expect
    expect = msgspec.structs.replace(
        wanted,
        json=values.fill(wanted.json, value_of),
        schema=wanted.schema and service.path(wanted.schema),
        text=wanted.text and values.text(wanted.text, value_of),
        message=values.fill(wanted.message, value_of),
        end=wanted.end and values.text(wanted.end, value_of),
    )
    if isinstance(asked, Grpc):
        proto = service.interface(asked.proto) if asked.proto else (service.file,)
        message = values.fill(asked.message, value_of)
        return Prepared(request.name, "", asked.method, _metadata(headers), b"", expect, proto, message, request.save)
    body, headers = b"", _of_http(headers)
    if asked.stream:
        headers = http_parts.merged({"Accept": "text/event-stream"}, headers)
    if asked.json is not msgspec.UNSET:
        body, headers = http_parts.of_json(values.fill(asked.json, value_of), headers)
    elif asked.body is not None:
        body = values.text(asked.body, value_of).encode()
    target = values.target(asked.path, value_of)
    return Prepared(request.name, asked.method, target, headers, body, expect, save=request.save)


def variable(name: str) -> str:
    """Return a variable of the environment, and hide its value in all that is quoted; SystemFileError if not set."""
    if name not in os.environ:
        remedy = "sudo removed it: write sudo -E" if "SUDO_UID" in os.environ else "set it before measuring"
        raise SystemFileError(f"the variable {name} of the environment is not set: {remedy}")
    hide(name, os.environ[name])
    return os.environ[name]


def begin(body: bytes) -> str:
    """Return how a reply begins, to be quoted, without the values of variables: they are replaced before it is cut."""
    return repr(redacted(body.decode(errors="backslashreplace"))[:100])
