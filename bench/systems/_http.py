"""The resources of the HTTP systems' servers, and the verification of their responses."""

import functools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.contract import parse_address
from bench.errors import TransportError
from bench.systems import _http_wire

TARGETS = {"echo": "/echo", "bytes": "/resource?count={count}", "json": "/json", "static": "/"}
JSON = {"param1": "foobar", "param2": [1, 2, 3], "param3": {"awesome": True, "nifty": "yes"}}
STATIC = Path(__file__).with_name("_http_static.html")
MOST_BYTES = 128 * 1024 * 1024

Fault = Callable[[bytes, bytes], str]  # of the body that answers the request made with a payload; "" is none


@functools.lru_cache(maxsize=8)
def content(count: int) -> bytes:
    """Return the body of ``/resource?count=COUNT``: the bytes 0 to 255, repeated."""
    return (bytes(range(256)) * (count // 256 + 1))[:count]


def requested(count: str) -> bytes | None:
    """Return the body for a count as a URL has it; None for what is no number up to 128 MiB."""
    return content(int(count)) if re.fullmatch("[0-9]{1,9}", count) and int(count) <= MOST_BYTES else None


def fault_of(resource: str) -> Fault:
    """Return the function that finds the fault in a response; echoes are verified by the timed loop."""
    page = STATIC.read_bytes()
    faults: dict[str, Fault] = {
        "echo": lambda body, payload: "",
        "bytes": lambda body, payload: _difference(body, content(len(payload))),
        "json": lambda body, payload: _wrong_value(body),
        "static": lambda body, payload: _difference(body, page),
    }
    return faults[resource]


def url(address: str, options: Any, payload_bytes: int) -> str:
    """Return the URL of a resource for load generators; ValueError for options that they do not support."""
    if options.tls:
        raise ValueError("this load generator does not encrypt or does not verify certificates: give tls false")
    if options.resource == "echo":
        raise ValueError("an echo needs a request body, which a URL has not: give resource bytes, json or static")
    target = TARGETS[options.resource].format(count=payload_bytes)
    return f"http://{_http_wire.authority(parse_address(address))}{target}"


class Wire(_http_wire.Responses):
    """Requests for a resource and their responses, for the load generator ``wire``; one instance per connection."""

    def __init__(self, address: str, options: Any) -> None:
        super().__init__(address, options)
        self._resource, self._fault = options.resource, fault_of(options.resource)

    def request(self, payload: bytes) -> bytes:
        host = _http_wire.authority(self.server)
        if self._resource == "echo":
            return _http_wire.request("POST", TARGETS["echo"], payload, host)
        target = TARGETS[self._resource].format(count=len(payload))
        return f"GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()

    def body(self, response: bytes, payload: bytes) -> bytes:
        """Return the payload, as sent by the server or implied by a correct response; TransportError otherwise."""
        content = _http_wire.content(response)
        if fault := self._fault(content, payload):
            raise TransportError(f"{TARGETS[self._resource]} was answered wrongly: {fault}", "body")
        return content if self._resource == "echo" else payload


def _difference(body: bytes, wanted: bytes) -> str:
    if body == wanted:
        return ""
    both = enumerate(zip(body, wanted, strict=False))
    same = next((index for index, (ours, other) in both if ours != other), min(len(body), len(wanted)))
    return f"{len(body)} bytes instead of {len(wanted)}, which differ from byte {same} on"


def _wrong_value(body: bytes) -> str:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as reason:
        return f"its body is no JSON ({reason})"
    return "" if value == JSON else f"its value is {str(value)[:200]}"
