"""Values that are stored nowhere: in texts that leave a process their names stand instead."""

import json
import re

SHORT = 4  # characters: fewer are replaced only where they are a word, so that they are not taken out of others
_names: dict[str, str] = {}  # by each way in which a value is written


def hide(name: str, value: str) -> None:
    """Let the name of an environment's variable stand for its value in all texts, also where that is encoded."""
    from urllib.parse import quote

    if value:
        ways = (value, quote(value, safe=""), quote(value), json.dumps(value)[1:-1], repr(value)[1:-1])
        _names.update(dict.fromkeys(ways, f"{{env:{name}}}"))


def redacted(text: str) -> str:
    """Return a text in which the names of variables stand for their values."""
    if not _names:
        return text
    ways = sorted(_names, key=len, reverse=True)  # one may be a part of another
    parts = (re.escape(way) if len(way) >= SHORT else rf"(?<!\w){re.escape(way)}(?!\w)" for way in ways)
    return re.sub("|".join(parts), lambda way: _names[way[0]], text)
