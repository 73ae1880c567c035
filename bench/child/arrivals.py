"""When data arrived at a socket, by the kernel's clock: also where the process that reads them was busy or asleep.

The kernel stamps the segments of TCP connections (Linux, SO_TIMESTAMPNS). Where it does not, as for Unix domain
sockets, the instant is that of the read.
"""

import struct
import sys
import time
from typing import Any

LEVEL, STAMPED = 1, 35  # SOL_SOCKET; SO_TIMESTAMPNS, and the type of its messages: asm-generic/socket.h
SPACE = 64  # bytes for one such message with its header
TRIES = 5  # of reading both clocks: the pair that was read fastest counts
EVERY_NS = 100_000_000  # the offset between the clocks changes, if the wall clock is being adjusted

_stamp = struct.Struct("qq")  # struct timespec


def watch(connection: Any) -> bool:
    """Let the kernel stamp what arrives; return whether it does."""
    if sys.platform != "linux" or sys.maxsize < 2**32 or connection.family.name == "AF_UNIX":
        return False
    try:
        connection.setsockopt(LEVEL, STAMPED, 1)
    except OSError:
        return False
    return True


def offset_ns() -> int:
    """Return how far the wall clock is ahead of ``time.perf_counter_ns``, in ns."""
    pairs = []
    for _ in range(TRIES):
        before, wall, after = time.perf_counter_ns(), time.time_ns(), time.perf_counter_ns()
        pairs.append((after - before, wall - (before + after) // 2))
    return min(pairs)[1]


class Arrivals:
    """Reader of connections that ``watch`` returned True for, with the clocks' offset."""

    def __init__(self) -> None:
        self._offset_ns, self._until_ns = offset_ns(), time.perf_counter_ns() + EVERY_NS

    def read(self, connection: Any, max_bytes: int) -> tuple[bytes, int]:
        """Return what has come, and when the last of it arrived, in ns of ``time.perf_counter_ns``."""
        data, messages, _, _ = connection.recvmsg(max_bytes, SPACE)
        now = time.perf_counter_ns()
        if now > self._until_ns:
            self._offset_ns, self._until_ns = offset_ns(), now + EVERY_NS
        for level, kind, content in messages:
            if (level, kind) == (LEVEL, STAMPED) and len(content) == _stamp.size:
                seconds, ns = _stamp.unpack(content)
                return data, min(now, seconds * 1_000_000_000 + ns - self._offset_ns)
        return data, now
