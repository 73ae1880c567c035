"""Documents that others wrote: files and JSON, bounded, so that reading one ends soon and in little memory.

Imported by servers and clients: standard library only.
"""

import errno
import json
import math
import os
import stat
from typing import TYPE_CHECKING, Any

from bench.text import quoted

if TYPE_CHECKING:
    from pathlib import Path  # slow to import

MOST_BYTES = 100_000  # of a file that a person writes by hand
MOST_DIGITS = 300  # of a whole number: more are no number to a codec, to YAML or to a floating-point unit


def open_regular(file: "Path", flags: int = os.O_RDONLY) -> int:
    """Return a descriptor of a regular file, without a wait; OSError for a folder, a pipe or a device.

    flags: those of ``os.open``; with ``O_NOFOLLOW`` a link is an OSError too.
    """
    try:
        descriptor = os.open(file, flags | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except OSError as reason:
        if flags & os.O_NOFOLLOW and reason.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link, not a regular file") from reason
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file")
    return descriptor


def read(file: "Path", max_bytes: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file, or of one that a link leads to.

    OSError says why it cannot be read: it is larger than ``max_bytes``, or a folder, a pipe or a device, where reading
    might wait or never end.
    """
    with os.fdopen(open_regular(file), "rb") as content:
        data = content.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {max_bytes:,} B")
    return data


def from_json(text: bytes | str) -> Any:
    """Return the value of a JSON text whose objects have each name once, and whose numbers are finite.

    ValueError says what is wrong with it.
    """
    try:
        return json.loads(
            text, object_pairs_hook=_each_name_once, parse_constant=_refused, parse_float=_finite, parse_int=_whole
        )
    except RecursionError as reason:
        raise ValueError("it is nested too deeply") from reason


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    mapping = dict(pairs)
    if len(mapping) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the name {quoted(twice)} occurs twice in one object")
    return mapping


def _refused(text: str) -> Any:
    raise ValueError(f"{quoted(text)} is not a finite number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refused(text)


def _whole(text: str) -> int:
    if len(text) > MOST_DIGITS:
        raise ValueError(f"{quoted(text)} has more than {MOST_DIGITS} digits")
    return int(text)
