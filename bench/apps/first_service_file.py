"""A first service file for a service that runs: its address, and a request for each operation that it describes."""

import http.client
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import yaml

from bench import documents, systems
from bench.errors import DataError, TransportError, UsageError
from bench.text import quoted

DESCRIPTIONS = ("/openapi.json", "/swagger.json", "/v3/api-docs")
METHODS = ("get", "post", "put", "patch")  # what deletes is left to the user
MOST_BYTES = 5_000_000
USUAL = {"string": "text", "integer": 1, "number": 1.5, "boolean": True}
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the service itself, not a proxy
DEEPEST = 8  # references inside each other


def text(url: str) -> str:
    """Return the file's text; UsageError for what is no such URL, DataError where nothing answers there.

    A service over gRPC is asked for its interface, also where its address begins with http.
    """
    where = urlsplit(url)
    if where.scheme not in ("http", "https", "grpc") or not where.hostname:
        raise UsageError(
            f"{quoted(url)} is no address of a service: write http://127.0.0.1:8000 or grpc://127.0.0.1:50051"
        )
    base = f"{where.scheme}://{where.netloc}"
    try:
        requests = None if where.scheme == "grpc" else _of_http(base, where.path)
    except http.client.HTTPException as reason:  # what answers does not speak HTTP/1.1
        if where.scheme == "https":
            raise DataError(f"{base} does not answer over HTTP/1.1 ({reason!r}): write the file by hand") from reason
        requests = None
    if requests is None:
        base, requests = f"http://{where.netloc}", _of_grpc(where.netloc)
    made = {"address": base, "requests": requests}
    head = "# Check paths, values and weights, and say under expect what a right reply holds (docs/services.md).\n"
    return head + yaml.safe_dump(made, sort_keys=False, allow_unicode=True).rstrip()


def _of_http(base: str, path: str) -> list[dict[str, Any]]:
    """Return a request for each operation of a service's OpenAPI description, or one for the path.

    A file has no streams beside calls: operations that answer with streams of events are taken if all do.
    """
    described = next(filter(None, (_read(base + path) for path in DESCRIPTIONS)), None)
    requests = list(_requests(described)) if described else []
    calls = [request for request in requests if "stream" not in request["http"]]
    return calls or requests or [{"name": "root", "http": {"path": path or "/"}, "expect": {"status": 200}}]


def _of_grpc(place: str) -> list[dict[str, Any]]:
    """Return a request for each method with one reply, or else with a stream of them.

    DataError for a service that does not describe itself, or has no such methods.
    """
    try:
        requests = systems.grpc_requests(place)
    except TransportError as reason:
        raise DataError(str(reason)) from reason
    if not requests:
        raise DataError(f"{place} has only methods that take streams, which are not called")
    return requests


def _read(url: str) -> dict[str, Any] | None:
    """Return the JSON object at a URL; None if there is none, DataError if nothing answers."""
    try:
        with DIRECT.open(url, timeout=5) as response:
            value = documents.from_json(response.read(MOST_BYTES))
    except urllib.error.HTTPError:
        return None
    except OSError as reason:
        raise DataError(
            f"nothing answers at {url} ({getattr(reason, 'reason', reason)}): start the service"
        ) from reason
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _requests(described: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a request for each operation of an OpenAPI description that this file can express."""
    for path, operations in (described.get("paths") or {}).items():
        for method in METHODS:
            operation = operations.get(method) if isinstance(operations, dict) else None
            if isinstance(operation, dict):
                yield _request(described, path, method, operation)


def _request(described: dict[str, Any], path: str, method: str, operation: dict[str, Any]) -> dict[str, Any]:
    query = []
    for given in operation.get("parameters", []):
        value = _example(described, given.get("schema", given))
        if given.get("in") == "path":
            path = path.replace(f"{{{given['name']}}}", str(value))
        elif given.get("in") == "query" and given.get("required"):
            query.append(f"{given['name']}={value}")
    http: dict[str, Any] = {"method": method.upper(), "path": path + ("?" + "&".join(query) if query else "")}
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if content:
        http["json"] = content.get("example", _example(described, content.get("schema", {})))
    answers = {
        code: answer for code, answer in operation.get("responses", {}).items() if re.fullmatch("2[0-9]{2}", code)
    }
    if any("text/event-stream" in (answer.get("content") or {}) for answer in answers.values()):
        http["stream"] = "sse"
    name = operation.get("operationId") or f"{method} {path}"
    status = min(map(int, answers), default=200)
    return {"name": re.sub(r"[^\w.-]+", "_", name).strip("_"), "http": http, "expect": {"status": status}}


def _example(described: dict[str, Any], schema: dict[str, Any], depth: int = 0) -> Any:
    """Return a value that a schema allows: its example or default, or the simplest one of its type."""
    for name in ("example", "default", "const"):
        if name in schema:
            return schema[name]
    for name in ("examples", "enum"):
        if isinstance(schema.get(name), list) and schema[name]:
            return schema[name][0]
    if depth > DEEPEST:
        return None
    if "$ref" in schema:
        value: Any = described
        for part in str(schema["$ref"]).removeprefix("#/").split("/"):
            value = value.get(part, {}) if isinstance(value, dict) else {}
        return _example(described, value, depth + 1)
    for name in ("anyOf", "oneOf", "allOf"):
        if schema.get(name):
            return _example(described, schema[name][0], depth + 1)
    kind = schema.get("type")
    if kind == "object" or "properties" in schema:
        needed = schema.get("required", schema.get("properties", {}))
        return {name: _example(described, schema["properties"][name], depth + 1) for name in needed}
    if kind == "array":
        return [_example(described, schema.get("items", {}), depth + 1)]
    usual = USUAL.get(str(kind), "text")
    return max(schema.get("minimum", usual), usual) if kind in ("integer", "number") else usual
