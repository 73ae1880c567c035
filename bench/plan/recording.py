"""Recorded requests: HTTP archives (HAR 1.2, as browsers save them) and files with one JSON object a line.

A request is sent again with its method, path, headers and body. Headers that belong to a connection, and those that
hold secrets, are left out, unless their value names a variable of the environment.
Source of HAR: http://www.softwareishard.com/blog/har-12-spec/
"""

import base64
import functools
import itertools
import os
import re
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlencode, urlsplit

import msgspec
from msgspec import Struct

from bench.errors import SystemFileError, reason_of
from bench.plan import documents, http_parts

MOST_BYTES = 100_000_000
MOST_REQUESTS = 100_000
OF_CONNECTION = ("host", "content-length", "connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade")
SECRET = ("authorization", "cookie", "proxy-authorization")
NUMBER = re.compile(r"/\d+(?=/|$)")


class Recorded(Struct, frozen=True):
    """A recorded request. at_s: when it was sent, from the first one; status: of its reply, None if that is unknown."""

    at_s: float
    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    status: int | None

    @property
    def name(self) -> str:
        """Its method and path; numbers in the path are replaced by *, so that like requests have one name."""
        return f"{self.method} {NUMBER.sub('/*', self.target.partition('?')[0])}"


class Recording(Struct, frozen=True):
    """Requests in the order in which they were sent.

    dropped: names of secret headers that are not sent. elsewhere: how many requests went to other servers.
    """

    requests: list[Recorded]
    dropped: tuple[str, ...]
    elsewhere: int

    @property
    def gaps_s(self) -> list[float]:
        """The time from each request to the next one; after the last, until the first is sent again, their mean."""
        gaps = [later.at_s - each.at_s for each, later in itertools.pairwise(self.requests)]
        return [*gaps, sum(gaps) / max(1, len(gaps))]


class _Field(Struct):
    name: str
    value: str = ""


class _Post(Struct, rename="camel"):
    mime_type: str = ""
    text: str | None = None
    params: list[_Field] = []
    encoding: str = ""


class _Asked(Struct, rename="camel"):
    method: str
    url: str
    headers: list[_Field] = []
    post_data: _Post | None = None


class _Answered(Struct, frozen=True):
    status: int = 0


class _Entry(Struct, rename="camel"):
    request: _Asked
    started_date_time: Annotated[datetime, msgspec.Meta(tz=True)]
    response: _Answered = _Answered()


class _Log(Struct):
    entries: list[_Entry]


class _Archive(Struct):
    log: _Log


class _Line(Struct, forbid_unknown_fields=True):
    path: str
    method: str = "GET"
    at_s: float = 0.0
    headers: dict[str, str] = {}
    json: Any = msgspec.UNSET
    body: str | None = None
    status: Annotated[int, msgspec.Meta(ge=100, le=999)] | None = None


def read(file: str) -> Recording:
    """Return a recording; SystemFileError says what is wrong in its file, and where."""
    try:
        return _read(file, os.stat(file).st_mtime_ns)  # noqa: PTH116
    except (OSError, ValueError) as reason:
        raise SystemFileError(f"{file}: {reason_of(reason)}: correct the recording") from reason


@functools.cache
def _read(file: str, changed_ns: int) -> Recording:
    data = documents.read(Path(file), MOST_BYTES).removeprefix(b"\xef\xbb\xbf")  # some programs begin archives so
    requests, elsewhere = _of_archive(data) if file.endswith(".har") else (_of_lines(data), 0)
    if not requests or len(requests) > MOST_REQUESTS:
        raise ValueError(f"it holds {len(requests):,} requests; 1 to {MOST_REQUESTS:,} are possible")
    dropped: dict[str, None] = {}
    kept = [
        msgspec.structs.replace(each, headers=_sent(each.headers, dropped))
        for each in sorted(requests, key=lambda each: each.at_s)
    ]
    return Recording(kept, tuple(dropped), elsewhere)


def _sent(headers: dict[str, str], dropped: dict[str, None]) -> dict[str, str]:
    """Return the headers that are sent again; add the names of secret ones that are not."""
    sent = {}
    for name, value in headers.items():
        if name.startswith(":") or name.lower() in OF_CONNECTION:
            continue
        if name.lower() in SECRET and "{env:" not in value:
            dropped[name.title()] = None
            continue
        sent[name] = value
    return sent


def _of_archive(data: bytes) -> tuple[list[Recorded], int]:
    """Return the requests to the server of the first entry, and how many went elsewhere or had no reply."""
    entries = msgspec.json.decode(data, type=_Archive).log.entries
    origins = [urlsplit(entry.request.url)[:2] for entry in entries]
    first_origin = next((origin for origin in origins if origin[0] in ("http", "https")), None)  # not data: and blob:
    pairs = zip(entries, origins, strict=True)
    own = [entry for entry, origin in pairs if origin == first_origin and entry.response.status > 0]
    first = min((entry.started_date_time for entry in own), default=None)
    return [_recorded(entry, (entry.started_date_time - first).total_seconds()) for entry in own if first], (
        len(entries) - len(own)
    )


def _recorded(entry: _Entry, at_s: float) -> Recorded:
    asked, url = entry.request, urlsplit(entry.request.url)
    target = (url.path or "/") + (f"?{url.query}" if url.query else "")
    headers = _joined((field.name, field.value) for field in asked.headers)
    body = _posted(asked.post_data, target) if asked.post_data else b""
    return Recorded(at_s, asked.method, target, headers, body, entry.response.status)


def _joined(fields: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return headers by their names, the values of one name joined (RFC 9110, section 5.3)."""
    headers: dict[str, str] = {}
    for name, value in fields:
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def _posted(post: _Post, target: str) -> bytes:
    if post.text and post.encoding == "base64":
        try:
            return base64.b64decode("".join(post.text.split()), validate=True)
        except ValueError as reason:
            raise ValueError(f"the body of a request for {target} is no base64 ({reason}): correct it") from reason
    if post.text:
        return post.text.encode()
    if not post.params:
        return b""
    if not post.mime_type.startswith("application/x-www-form-urlencoded"):
        raise ValueError(f"the body of a request for {target} is not in the archive ({post.mime_type}): remove it")
    return urlencode([(field.name, field.value) for field in post.params]).encode()


def _of_lines(data: bytes) -> list[Recorded]:
    """Return the requests of a file with one JSON object a line."""
    requests = []
    for number, text in enumerate(data.splitlines(), 1):
        if not text.strip():
            continue
        try:
            line = msgspec.json.decode(text, type=_Line)
            requests.append(_of_line(line))
        except ValueError as reason:
            raise ValueError(f"line {number}: {reason}") from reason
    return requests


def _of_line(line: _Line) -> Recorded:
    if not line.path.startswith("/"):
        raise ValueError(f"path must begin with /, not {line.path!r}")
    headers, body = dict(line.headers), (line.body or "").encode()
    if line.json is not msgspec.UNSET:
        body, headers = http_parts.of_json(line.json, headers)
    return Recorded(line.at_s, line.method, line.path, headers, body, line.status)
