"""Bytes on their way to a connection that does not block: the kernel takes what it has room for, the rest waits."""

import os
from collections.abc import Callable

from bench.errors import TransportError


class Outgoing:
    """What one connection has still to send; true while a part of it waits for room."""

    def __init__(self, fd: int, failed: Callable[[OSError], TransportError]) -> None:
        """Take the connection's descriptor, and what makes the error where sending fails."""
        self._fd, self._failed = fd, failed
        self._waiting = memoryview(b"")

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def send(self, content: bytes = b"") -> None:
        """Send what waits, and then this, as far as the kernel takes it now; TransportError where that fails."""
        whole = memoryview(bytes(self._waiting) + content if self._waiting else content)
        self._waiting = whole[send(self._fd, whole, self._failed) :]


def send(fd: int, content: bytes | memoryview, failed: Callable[[OSError], TransportError]) -> int:
    """Send what the kernel takes now; return how many bytes; the error that ``failed`` makes where that fails."""
    try:
        return os.write(fd, content)
    except BlockingIOError:
        return 0
    except OSError as reason:
        raise failed(reason) from reason
