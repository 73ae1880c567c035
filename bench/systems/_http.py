"""What the HTTP systems' servers have to give, and what is wrong with what a client got."""

import functools
import json
from collections.abc import Callable
from pathlib import Path

RESOURCES = ("echo", "bytes", "json", "static")
JSON = {"param1": "foobar", "param2": [1, 2, 3], "param3": {"awesome": True, "nifty": "yes"}}
STATIC = Path(__file__).with_name("_http_static.html")
MOST_BYTES = 64 * 1024 * 1024

Fault = Callable[[bytes, bytes], str]  # of the body that answers the request made with a payload; "" is none


@functools.lru_cache(maxsize=8)
def content(count: int) -> bytes:
    """Return the bytes of which ``/resource?count=COUNT`` consists: 0 to 255, over and over."""
    return (bytes(range(256)) * (count // 256 + 1))[:count]


def fault_of(resource: str) -> Fault:
    """Return what finds the fault in an answer; that of an echo is found by the timed loop."""
    page = STATIC.read_bytes()
    faults: dict[str, Fault] = {
        "echo": lambda body, payload: "",
        "bytes": lambda body, payload: _difference(body, content(len(payload))),
        "json": lambda body, payload: _wrong_value(body),
        "static": lambda body, payload: _difference(body, page),
    }
    return faults[resource]


def _difference(body: bytes, wanted: bytes) -> str:
    if body == wanted:
        return ""
    both = enumerate(zip(body, wanted, strict=False))
    same = next((place for place, (one, other) in both if one != other), min(len(body), len(wanted)))
    return f"{len(body)} bytes instead of {len(wanted)}, which differ from byte {same} on"


def _wrong_value(body: bytes) -> str:
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as reason:
        return f"its body is no JSON ({reason})"
    return "" if value == JSON else f"its value is {str(value)[:200]}"
