"""Parts of the HTTP requests that files describe: headers, whose names have no case, and bodies of JSON."""

import json
from typing import Any


def merged(usual: dict[str, str], own: dict[str, str]) -> dict[str, str]:
    """Return headers, of which a request's own replace usual ones of the same name, in whatever case it is written."""
    replaced = {name.lower() for name in own}
    return {name: text for name, text in usual.items() if name.lower() not in replaced} | own


def of_json(value: Any, headers: dict[str, str]) -> tuple[bytes, dict[str, str]]:
    """Return the body that holds a JSON value, and headers that name its type unless they do so already."""
    return json.dumps(value, separators=(",", ":")).encode(), merged({"Content-Type": "application/json"}, headers)
