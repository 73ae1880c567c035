"""One-way streams through brokers that never hold a sender up: the receiver reports how many messages it has read.

Without reports the broker would keep what a slow receiver does not take in its memory, or drop it. With them the sender
is never further ahead than ``AHEAD_MESSAGES`` or ``AHEAD_BYTES``; both ends compute from the first message's size after
which messages a report is due.
"""

import asyncio
from collections.abc import Awaitable, Callable

from bench.errors import TransportError
from bench.replies import END
from bench.systems import _broker

AHEAD_MESSAGES, AHEAD_BYTES = 10_000, 4_000_000


def most_ahead(size: int) -> int:
    """Return how many messages of a size (bytes) the sender may be ahead."""
    return max(2, min(AHEAD_MESSAGES, AHEAD_BYTES // max(1, size)))


class _Count:
    """How many messages have passed one end, and after which of them a report is due."""

    def __init__(self) -> None:
        self.messages = 0
        self._half = 1

    def is_due(self, payload: bytes) -> bool:
        """Count a message; return whether a report is due: after the first, each half of what may wait, the last."""
        self.messages += 1
        if self.messages == 1:
            self._half = most_ahead(len(payload)) // 2
        return self.messages % self._half == 0 or self.messages == 1 or payload == END

    def least(self, payload: bytes) -> int:
        """Return how many messages the receiver must have read, before the sender goes on after this one."""
        return self.messages - (0 if self.messages == 1 or payload == END else self._half)


class Ahead:
    """What a sender knows of its receiver."""

    def __init__(self) -> None:
        self._sent, self._read = _Count(), 0
        self._news = asyncio.Event()
        self._error: TransportError | None = None

    def reported(self, report: bytes) -> None:
        """Take a report."""
        self._read = int(report)
        self._news.set()

    def failed(self, error: TransportError) -> None:
        """End the wait for reports."""
        self._error = error
        self._news.set()

    async def sent(self, payload: bytes) -> None:
        """Count a message, and wait where the receiver is far behind; TransportError if it stays there."""
        if not self._sent.is_due(payload):
            return
        least = self._sent.least(payload)
        try:
            async with asyncio.timeout(_broker.WAIT_S):
                while self._read < least and not self._error:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise TransportError(
                f"the receiver has read {self._read:,} of {self._sent.messages:,} messages, and no more within "
                f"{_broker.WAIT_S:g} s: the broker has lost the others, or the receiver has stopped",
                "read",
            ) from None
        if self._error:
            raise self._error


class Behind:
    """What a receiver has read, and reports."""

    def __init__(self, report: Callable[[bytes], Awaitable[object]]) -> None:
        self._read, self._report = _Count(), report

    async def took(self, payload: bytes) -> None:
        """Count a message, and report where a report is due."""
        if self._read.is_due(payload):
            await self._report(b"%d" % self._read.messages)
