"""A first service file for a service that runs: its address, and a request for each operation that it describes."""

import http.client
import itertools
import json
import re
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote, urlencode, urljoin, urlsplit

import yaml

from bench import systems
from bench.errors import DataError, TransportError, UsageError
from bench.plan import documents, service_file, values, yaml_text
from bench.text import counted, one_line, quoted

DESCRIPTIONS = (
    *("", "/openapi.json", "/swagger.json", "/v3/api-docs", "/v2/api-docs", "/api-json", "/swagger/v1/swagger.json"),
    *("/openapi/v1.json", "/api/openapi.json", "/api/v1/openapi.json", "/api/v2/openapi.json", "/api/v3/openapi.json"),
)
METHODS = ("get", "post", "put", "patch")  # what deletes is left to the user
FORM = "application/x-www-form-urlencoded"
HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
MOST_BYTES = 5_000_000
MOST_WRITTEN = 60_000  # characters of requests, fewer than a service file may hold
FORMATS = {"uuid": "123e4567-e89b-42d3-a456-426614174000", "email": "ada@example.org", "uri": "https://example.org/"}
FORMATS |= {"date": "2026-01-31", "date-time": "2026-01-31T12:00:00Z"}


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Return None: a redirect is an answer, as it is to the requests of a service file."""


DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the service itself, not a proxy
AS_IT_ANSWERS = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects)
DEEPEST, FEW = 8, 3  # references inside each other, and how deep values have more than what is required
ENDLESS = object()  # stands for a value that has no end
ELSEWHERE = ("accept", "content-type", "authorization")  # what OpenAPI describes otherwise than as parameters


def text(url: str, headers: Sequence[str] = ()) -> str:
    """Return the file's text; UsageError for what is no such URL, DataError where nothing answers there.

    A service over gRPC is asked for its interface, also where its address begins with http. headers: of every request,
    as "Name: value", which are sent and written; {env:NAME} in a value is filled in when it is sent.
    """
    named = dict(map(_header, headers))
    address = urlsplit(url)
    if address.scheme not in ("http", "https", "grpc") or not address.hostname:
        raise UsageError(
            f"{quoted(url)} is no address of a service: write http://127.0.0.1:8000 or grpc://127.0.0.1:50051"
        )
    user, _, place = address.netloc.rpartition("@")
    base, notes = f"{address.scheme}://{place}", list[str]()
    if user:
        notes.append("The URL has credentials, which are not written here: give them under headers.")
    try:
        requests = None if address.scheme == "grpc" else _of_http(base, address.path, address.query, named, notes)
    except http.client.HTTPException as reason:  # what answers does not speak HTTP/1.1
        if address.scheme == "https":
            raise DataError(f"{base} does not answer over HTTP/1.1 ({reason!r}): write the file by hand") from reason
        requests = None
    if requests is None:
        if named:
            raise UsageError("headers are sent over HTTP only: write those of a gRPC service into its file")
        base, requests = f"http://{place}", _of_grpc(place)
    if not (written := "".join(_written(requests, notes))):
        raise DataError(f"{base} describes no request that can be written: {(notes or ['it has no paths'])[0]}")
    notes.insert(
        0, "Check paths, values and weights, and say under expect what a right reply holds (docs/services.md)."
    )
    shared = yaml.safe_dump({"headers": named}, sort_keys=False) if named else ""
    return (
        "".join(f"# {one_line(line)}\n" for line in notes) + f"address: {base}\n{shared}requests:\n{written}".rstrip()
    )


def _header(line: str) -> tuple[str, str]:
    """Return the name and the value of a header; UsageError for a line that is none."""
    name, colon, value = line.partition(":")
    if not colon or not HEADER_NAME.fullmatch(name) or not (value.isprintable() and value.isascii()):
        raise UsageError(f'{quoted(line)} is no header: write --header "X-Api-Token: {{env:TOKEN}}"')
    return name, value.strip()


def _asked(url: str, headers: Mapping[str, str]) -> urllib.request.Request:
    """Return a request for a URL with these headers, which are not sent on to where it is redirected.

    SystemFileError for a variable of the environment that is not set.
    """
    request = urllib.request.Request(url)
    for name, template in headers.items():
        request.add_unredirected_header(name, values.text(template, _variable_of))
    return request


def _variable_of(name: str) -> str:
    return service_file.variable(name[4:]) if name.startswith("env:") else f"{{{name}}}"


def _written(requests: list[dict[str, Any]], notes: list[str]) -> Iterator[str]:
    """Yield requests as YAML, each with a name of its own; say which cannot be written."""
    names, left = set[str](), MOST_WRITTEN
    for request in requests:
        name = re.sub(r"[^\w.-]+", "_", request["name"]).strip("_") or "request"
        while name in names:
            name += "_2"
        plain = json.loads(
            json.dumps([request | {"name": name}], default=lambda endless: None)
        )  # in which no part stands in two places
        part = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True)
        part = values.PLACE.sub(r"{\g<0>}", part)  # texts in braces are sent as they are
        try:
            yaml_text.value_of(part)
        except ValueError as reason:
            notes.append(f"Not written: {name}: {reason}")
            continue
        if len(part) > left:
            notes.append(f"Not written: {name} and all behind it: the file would be too long")
            return
        yield part
        names, left = names | {name}, left - len(part)


def _of_http(base: str, path: str, query: str, headers: Mapping[str, str], notes: list[str]) -> list[dict[str, Any]]:
    """Return a request for each operation of a service's OpenAPI description, or one for the path.

    A file has no streams beside calls: operations that answer with streams of events are taken if all do.
    """
    target = (path or "/") + f"?{query}" * bool(query)
    urls = (base + (path.rstrip("/") + each if each else target) for each in DESCRIPTIONS)
    descriptions = (
        (url, value) for url in urls if isinstance((value := _read(_asked(url, headers)) or {}).get("paths"), dict)
    )
    if not (described := next(descriptions, None)):
        if (status := _status(_asked(base + target, headers))) >= 400:
            remedy = "give the URL of an OpenAPI description, or of a path"
            if status in (401, 403):
                remedy = 'give the header that it asks for, such as --header "X-Api-Token: {env:TOKEN}"'
            raise DataError(f"{base}{target} answers with status {status}: {remedy}")
        notes.append("No OpenAPI description was found: give its URL, or write the requests.")
        if status >= 300:
            notes.append(
                f"{target} answers with status {status}, which is expected here: write a path that is measured."
            )
        return [{"name": "root", "http": {"path": target}, "expect": {"status": status}}]
    requests = list(_requests(*described, notes))
    if _has_security(described[1]) and not headers:
        notes.append(
            'Some requests need a login: headers: {Authorization: "Bearer {env:TOKEN}"}, or as the service has it.'
        )
    calls = [request for request in requests if "stream" not in request["http"]]
    if 0 < len(calls) < len(requests):
        notes.append(
            f"Not written: {counted(len(requests) - len(calls), 'stream')}: describe streams in a file of their own"
        )
    return calls or requests


def _has_security(described: dict[str, Any]) -> bool:
    """Return whether a description says that some of its operations need credentials."""
    operations = (
        operation for item in described["paths"].values() if isinstance(item, dict) for operation in item.values()
    )
    return any(isinstance(each, dict) and each.get("security") for each in (described, *operations))


def _of_grpc(address: str) -> list[dict[str, Any]]:
    """Return a request for each method with one reply, or else with a stream of them.

    DataError for a service that does not describe itself, or has no such methods.
    """
    try:
        requests = systems.grpc_requests(address)
    except TransportError as reason:
        raise DataError(str(reason)) from reason
    if not requests:
        raise DataError(f"{address} has only methods that take streams, which are not called")
    return requests


def _status(request: urllib.request.Request) -> int:
    """Return the status of the reply to a request; DataError if nothing answers."""
    url = request.full_url
    try:
        with AS_IT_ANSWERS.open(request, timeout=5) as response:
            return int(response.status)
    except urllib.error.HTTPError as error:
        return error.code
    except OSError as reason:
        raise _silent(url, reason) from reason


def _silent(url: str, reason: OSError) -> DataError:
    """Return the error for a URL without an answer."""
    cause = getattr(reason, "reason", reason)
    if isinstance(cause, ConnectionRefusedError):
        return DataError(f"nothing answers at {url} ({cause}): start the service")
    return DataError(f"{url} has no answer ({cause}): correct the URL, or look at the service's log")


def _read(request: urllib.request.Request) -> dict[str, Any] | None:
    """Return the JSON object that a request gets; None if none, DataError if nothing listens, or it is too large.

    A service that runs may fail, drop the connection or be slow where nobody has asked before: then there is none.
    """
    url = request.full_url
    try:
        with DIRECT.open(request, timeout=5) as response:
            content = response.read(MOST_BYTES + 1)
            if response.headers.get("Content-Encoding", "").lower() in ("gzip", "deflate"):
                content = zlib.decompressobj(wbits=47).decompress(content, MOST_BYTES + 1)
            if len(content) > MOST_BYTES and content.lstrip().startswith(b"{"):
                raise DataError(f"{url} is larger than {MOST_BYTES:,} B: write the file by hand (docs/services.md)")
            value = documents.from_json(content)
    except (urllib.error.HTTPError, http.client.IncompleteRead):
        return None
    except OSError as reason:
        cause = getattr(reason, "reason", reason)
        if isinstance(cause, ConnectionResetError | BrokenPipeError | TimeoutError):
            return None
        raise _silent(url, reason) from reason
    except (ValueError, zlib.error):
        return None
    return value if isinstance(value, dict) else None


def _requests(url: str, described: dict[str, Any], notes: list[str]) -> Iterator[dict[str, Any]]:
    """Yield a request for each operation of the OpenAPI description at a URL; say which cannot be written."""
    for (path, item), method in itertools.product(described["paths"].items(), METHODS):
        try:
            shared = _at(described, item)
            if (operation := shared.get(method)) is not None:
                parameters = [
                    _at(described, each) for part in (shared, operation) for each in part.get("parameters", [])
                ]
                yield _request(url, described, path, method, shared | operation | {"parameters": parameters})
        except ValueError as reason:
            notes.append(f"Not written: {method.upper()} {path}: {reason}")
        except (AttributeError, IndexError, KeyError, TypeError):
            notes.append(f"Not written: {method.upper()} {path}: it is not described as OpenAPI has it")


def _request(url: str, described: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    """Return a request for an operation, with what all of its path have; ValueError says what cannot be written."""
    locations = ("path", "query", "header", "formData", "body", "cookie")
    places: dict[str, dict[str, Any]] = {location: {} for location in locations}
    for each in operation["parameters"]:  # those of the operation itself come last
        if each.get("required") or each["in"] in ("path", "formData"):
            places[each["in"]][each["name"]] = each
    values, query, headers, cookies = (
        {name: _example(described, each) for name, each in places[location].items()}
        for location in ("path", "query", "header", "cookie")
    )
    target = re.sub(r"\{(.+?)\}", lambda name: quote(_text(values.get(name[1], 1)), safe=""), path.partition("#")[0])
    if pairs := [pair for name, value in query.items() for pair in _pairs(name, value, places["query"][name])]:
        target += ("&" if "?" in target else "?") + urlencode(pairs, quote_via=quote)
    http: dict[str, Any] = {"method": method.upper(), "path": _prefix(url, described, operation) + target}
    headers |= {"Cookie": "; ".join(f"{name}={_text(value)}" for name, value in cookies.items())} if cookies else {}
    headers = {name: _text(value) for name, value in headers.items() if name.lower() not in ELSEWHERE}
    http |= _body(described, _content(described, operation, places), headers)
    http |= {"headers": headers} if headers else {}
    answers = {str(code): _at(described, answer) for code, answer in operation.get("responses", {}).items()}
    kinds = [kind for code, answer in answers.items() if code[0] in "2d" for kind in answer.get("content") or ()]
    if "text/event-stream" in [*kinds, *operation.get("produces", ())]:
        http["stream"] = "sse"
    codes = [code for code in answers if code[0] == "2"] or [code for code in answers if code[0] == "3"]
    expect = {"expect": {"status": int(codes[0])}} if len(codes) == 1 and codes[0].isdecimal() else {}
    return {"name": operation.get("operationId") or f"{method} {path}", "http": http, **expect}


def _at(described: dict[str, Any], part: Any) -> Any:
    """Return a part of a description, or what it refers to; ValueError for what is not there."""
    for _ in range(DEEPEST):
        if "$ref" not in part:
            return part
        document, _, names = part["$ref"].partition("#/")
        if document:
            raise ValueError(f"it refers to another document, {document}")
        part = described
        for name in names.split("/"):
            part = part[unquote(name).replace("~1", "/").replace("~0", "~")]
    raise ValueError("its references lead to each other")


def _prefix(url: str, described: dict[str, Any], operation: dict[str, Any]) -> str:
    """Return the path of the server that is at the URL, or of the first one."""
    servers = operation.get("servers") or described.get("servers") or [{"url": described.get("basePath", "/")}]
    server = min(servers, key=lambda each: urlsplit(url).netloc not in each["url"])
    address = re.sub(r"\{(.+?)\}", lambda name: server["variables"][name[1]]["default"], server["url"])
    return urlsplit(urljoin(url, address or "/")).path.rstrip("/")


def _pairs(name: str, value: Any, parameter: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the names and values of a parameter in a query or a form."""
    if isinstance(value, dict):
        named = f"{name}[{{}}]" if parameter.get("style") == "deepObject" else "{}"
        return [(named.format(key), _text(each)) for key, each in value.items()]
    are_apart = parameter.get("explode", "schema" in parameter or parameter.get("collectionFormat") == "multi")
    return [(name, _text(each)) for each in (value if isinstance(value, list) and are_apart else [value])]


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(_text, value))
    return values.as_text(value)


def _content(described: dict[str, Any], operation: dict[str, Any], places: dict[str, Any]) -> dict[str, Any]:
    """Return what the body of an operation can be, by its kind; also of Swagger 2."""
    kinds = operation.get("consumes") or described.get("consumes") or []
    if fields := places["formData"]:
        schema = {"properties": {name: each for name, each in fields.items() if each.get("required")} or fields}
        has_file = any(each.get("type") == "file" for each in fields.values())
        return {kind: {"schema": schema} for kind in (["multipart/form-data"] if has_file else kinds or [FORM])}
    body = {kind: each for each in places["body"].values() for kind in kinds or ["application/json"]}
    return body or _at(described, operation.get("requestBody", {})).get("content", {})


def _body(described: dict[str, Any], content: dict[str, Any], headers: dict[str, str]) -> dict[str, Any]:
    """Return the body of a request, of the kind that is written best, which headers get to name."""
    kinds = {kind.partition(";")[0].strip().lower(): kind for kind in content}
    for kind in sorted(kinds, key=lambda kind: not kind.endswith("json")):
        if kind in (FORM, "*/*") or kind.endswith("json") or kind.startswith("text/"):
            value = _example(described, content[kinds[kind]])
            if kinds[kind] not in ("application/json", "*/*"):
                headers["Content-Type"] = kinds[kind]
            if kind == FORM:
                pairs = [pair for name, each in value.items() for pair in _pairs(name, each, {"explode": True})]
                return {"body": urlencode(pairs)}
            return {"json": value} if kind == "*/*" or kind.endswith("json") else {"body": _text(value)}
    if kinds:
        raise ValueError(f"its body is {' or '.join(kinds)}")
    return {}


def _example(described: dict[str, Any], schema: dict[str, Any], seen: tuple[str, ...] = ()) -> Any:
    """Return a value that a schema, or what has one, allows: its example or default, or a simple one of its type.

    ENDLESS for a schema that every value of its own would hold again. seen: the references that led there.
    """
    for name in ("example", "default", "const"):
        if name in schema:
            return schema[name]
    for name in ("examples", "enum"):
        if some := schema.get(name):
            return some[0] if isinstance(some, list) else _at(described, next(iter(some.values())))["value"]
    if "schema" in schema:
        return _example(described, schema["schema"])
    if "content" in schema:
        return json.dumps(_example(described, next(iter(schema["content"].values()))))
    if "$ref" in schema:
        is_endless = schema["$ref"] in seen or len(seen) > DEEPEST
        return ENDLESS if is_endless else _example(described, _at(described, schema), (*seen, schema["$ref"]))
    parts = [_example(described, each, seen) for each in schema.get("allOf", ())]
    for name in ("anyOf", "oneOf"):
        if others := [_example(described, each, seen) for each in schema.get(name, ())]:
            parts.append(min(others, key=lambda each: 2 * (each is ENDLESS) + (each is None)))
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = min(kind, key=lambda each: each == "null")
    if kind == "object" or "properties" in schema:
        named = schema.get("properties", {})
        needed = {name: named.get(name, {}) for name in schema.get("required", named if len(seen) < FEW else ())}
        made = {name: _example(described, each, seen) for name, each in needed.items() if not each.get("readOnly")}
        parts.append({name: value for name, value in made.items() if value is not ENDLESS})
    if objects := [each for each in parts if isinstance(each, dict)]:
        return {name: value for each in objects for name, value in each.items()}
    if parts:
        return parts[0]
    if kind == "array":
        item = _example(described, schema.get("items", {}), seen)
        return [] if item is ENDLESS else [item] * max(1, schema.get("minItems", 1))
    if kind in ("integer", "number"):
        number, limits = 1.5, {name: each for name, each in schema.items() if not isinstance(each, bool)}
        number = max(number, limits.get("minimum", number), limits.get("exclusiveMinimum", number - 1) + 1)
        number = min(number, limits.get("maximum", number), limits.get("exclusiveMaximum", number + 1) - 1)
        return int(number) if kind == "integer" else number
    usual = FORMATS.get(schema.get("format", ""), "text").ljust(schema.get("minLength", 0), "x")
    return {"boolean": True, "null": None}.get(str(kind), usual[: schema.get("maxLength")])
