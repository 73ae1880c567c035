"""Values that are stored nowhere: in texts that leave a process their names stand instead."""

import json

_names: dict[str, str] = {}  # by each way in which a value is written


def hide(name: str, value: str) -> None:
    """Let the name of an environment's variable stand for its value in all texts, also where that is encoded."""
    from urllib.parse import quote

    if value:
        ways = (value, quote(value, safe=""), quote(value), json.dumps(value)[1:-1], repr(value)[1:-1])
        _names.update(dict.fromkeys(ways, f"{{env:{name}}}"))


def redacted(text: str) -> str:
    """Return a text in which the names of variables stand for their values."""
    for way in sorted(_names, key=len, reverse=True):  # one may be a part of another
        text = text.replace(way, _names[way])
    return text
