"""The application behind a stream of replies: a paced source that stands for a model, or one without pauses.

Reply k is due at the request's arrival + k gaps: an absolute schedule, so that a late reply does not delay the next.
"""

import time
from collections.abc import AsyncIterator, Callable, Iterator

from bench import replies


def sleep_until(instant_ns: int) -> None:
    """Return at a time of ``perf_counter_ns`` or soon after; never spin: other threads have to run."""
    while (remaining := instant_ns - time.perf_counter_ns()) > 0:
        time.sleep(remaining / 1e9)


class Source:
    """Makes the replies of each request, and counts them."""

    def __init__(self, count: Callable[[], object]) -> None:
        self._count = count

    def replies(self, payload: bytes, gaps_ns: Iterator[int] | None = None) -> Iterator[bytes]:
        """Yield the replies to a request, each when it is due: the thread sleeps until then.

        ``gaps_ns`` replaces the request's gap: the time before each reply after the one before was due.
        """
        ask = replies.asked(payload)
        fixed, clock = replies.rest(ask.reply_bytes), time.perf_counter_ns
        due, is_paced = clock(), bool(ask.gap_ns or gaps_ns is not None)
        for number in range(ask.replies):
            if gaps_ns is not None:
                due += next(gaps_ns)
            elif number:
                due += ask.gap_ns
            if is_paced:
                sleep_until(due)
            self._count()
            handed = clock()
            yield replies.reply(number, due if is_paced else handed, handed, fixed)

    async def replies_async(self, payload: bytes) -> AsyncIterator[bytes]:
        """Yield the replies to a request, each when it is due: the event loop's own timer wakes its task."""
        from asyncio import sleep  # not at the top: servers of threads start sooner without it

        ask = replies.asked(payload)
        fixed, clock = replies.rest(ask.reply_bytes), time.perf_counter_ns
        begin = clock()
        for number in range(ask.replies):
            due = begin + number * ask.gap_ns
            while ask.gap_ns and (remaining := due - clock()) > 0:
                await sleep(remaining / 1e9)
            self._count()
            handed = clock()
            yield replies.reply(number, due if ask.gap_ns else handed, handed, fixed)
