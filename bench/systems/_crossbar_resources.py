"""Twisted Web resources for Crossbar.io's Web service, and a count of requests.

Loaded by the node's workers in their own environment, so it imports nothing of this package.
"""

import functools
import mmap
import os
import re
from pathlib import Path
from struct import pack_into
from typing import Any

from twisted.web import server
from twisted.web.resource import Resource

COUNT_BYTES = 8


class _Count:
    """Number of requests that this worker has answered, in a file that other processes read."""

    def __init__(self, directory: str) -> None:
        file = Path(directory, f"requests-{os.getpid()}")
        file.write_bytes(bytes(COUNT_BYTES))
        with file.open("r+b") as opened:
            self._shown = mmap.mmap(opened.fileno(), COUNT_BYTES)
        self._requests = 0

    def add(self) -> None:
        self._requests += 1
        pack_into("<q", self._shown, 0, self._requests)


def _count_all(directory: str) -> None:
    """Count each request of this worker before its service answers it."""
    count, process = _Count(directory), server.Request.process

    def counted(request: server.Request) -> None:
        count.add()
        process(request)

    server.Request.process = counted


@functools.lru_cache(maxsize=8)
def content(count: int) -> bytes:
    """Return the bytes 0 to 255, over and over."""
    return (bytes(range(256)) * (count // 256 + 1))[:count]


class Bytes(Resource):
    """GET ``?count=N`` is answered with as many bytes; status 400 if that is not a number up to the most."""

    isLeaf = True  # noqa: N815 - Twisted's name

    def __init__(self, extra: dict[str, Any]) -> None:
        """Keep how many bytes are the most; count this worker's requests, and keep it on its CPU, if it has one.

        (The node's own setting for CPUs needs a package that its requirements lack.)
        """
        super().__init__()
        self._most = extra["most_bytes"]
        _count_all(extra["directory"])
        if extra["cpus"]:
            os.sched_setaffinity(0, extra["cpus"])

    def render_GET(self, request: server.Request) -> bytes:  # noqa: N802 - Twisted's name
        """Answer."""
        count = request.args.get(b"count", [b""])[0]
        if not re.fullmatch(b"[0-9]{1,8}", count) or int(count) > self._most:
            request.setResponseCode(400)
            return b"count must be 0 to %d" % self._most
        request.setHeader(b"content-type", b"application/octet-stream")
        return content(int(count))


class Echo(Resource):
    """POST is answered with the body."""

    isLeaf = True  # noqa: N815

    def __init__(self, extra: dict[str, Any]) -> None:
        super().__init__()

    def render_POST(self, request: server.Request) -> bytes:  # noqa: N802
        """Answer."""
        request.setHeader(b"content-type", b"application/octet-stream")
        return request.content.read()
