"""One caller: a client, its buffers of times, and its failures.

A failed call is counted by kind, and excluded from times and rates. After a wrong reply the connection is kept; after
another failure the client reconnects. Where it cannot, or where many connections are lost, the start fails.
"""

import bisect
import contextlib
import inspect
import random
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from types import CoroutineType
from typing import Any, TypeVar

from bench.child import memory, request_names, timed_loops
from bench.errors import BenchError, Kinds, TransportError, WrongReplyError

MOST_LOST = 1000  # connections per caller and window: each keeps a port for a minute, of 28,000 that a machine has

PATIENCE_S = 0.3  # until a first call has the expected reply

Found = TypeVar("Found")
Buffer = Any  # array("q"), or a part of one


class Failures:
    """Failed calls of a window, counted by kind."""

    def __init__(self) -> None:
        self.kinds = Kinds()
        self._lost = 0

    def add(self, error: TransportError) -> None:
        """Count one failure; TransportError when too many were lost, SystemFailedError for one that took the memory."""
        memory.refuse(error)
        self.kinds.add(error.kind)
        self._lost += not isinstance(error, WrongReplyError)
        if self._lost >= MOST_LOST:
            more = self.kinds.total() - 1
            raise TransportError(f"{error} (and {more} more calls of this caller failed)", error.kind) from error


def failed(callers: Iterable[Any]) -> tuple[int, list[tuple[str, float, str]]]:
    """Return the number of failed calls of all that have ``failures``, and (name, count, unit) of each kind."""
    kinds = Kinds()
    for caller in callers:
        for kind, count in caller.failures.kinds.items():
            kinds.add(kind, count)
    return kinds.total(), [(f"error_{kind}", count, "1") for kind, count in kinds.items()]


def answered(received: Buffer) -> int:
    """Return how many calls a loop made before one failed: their times are set, the others are 0."""
    return bisect.bisect_left(range(len(received)), True, key=lambda number: received[number] == 0)


def patiently(first: Callable[[], Found]) -> Found:
    """Return what a first call returns; it may be refused for a while, as other clients make theirs at that time."""
    until_s = time.monotonic() + PATIENCE_S
    while True:
        try:
            return first()
        except WrongReplyError:
            if time.monotonic() >= until_s:
                raise
            time.sleep(random.uniform(0.001, 0.02))


@contextlib.contextmanager
def translating(client: Any) -> Iterator[None]:
    """Raise TransportError for what a client's library raises, around a loop of calls and not in it.

    The client's ``ERRORS`` are such exceptions, and its ``failed`` returns the error for one of them; of a client
    around another one, its ``inner_client``, that one's.
    """
    while (inner := getattr(client, "inner_client", None)) is not None:
        client = inner
    try:
        yield
    except BenchError:
        raise
    except getattr(client, "ERRORS", ()) as reason:
        raise client.failed(reason) from reason


def beyond_repair(error: TransportError, reason: TransportError) -> TransportError:
    """Return the error for a failed call whose client could not connect again, for a reason."""
    if str(reason) in str(error):
        return error
    return TransportError(f"{error}; then no connection could be made again: {reason}", error.kind)


async def renew(make: Callable[[], Any], old: Any, error: TransportError) -> Any:
    """Close a client that failed, and return a new one that is open; where it cannot connect, raise both errors."""
    with contextlib.suppress(TransportError, OSError), translating(old):
        await resolve(old.close())
    fresh = make()
    try:
        await resolve(fresh.open())
    except TransportError as reason:
        raise beyond_repair(error, reason) from reason
    return fresh


async def resolve(result: Any) -> Any:
    """Return what a method returned, awaited where it is ``async``."""
    return await result if inspect.isawaitable(result) else result


def is_async(kind: Any, verb: str = "call") -> bool:
    """Return whether a method of a kind of client is ``async def``; one that is set when it connects is plain."""
    return inspect.iscoroutinefunction(getattr(kind, verb, None))


def run_plain(result: Any) -> Any:
    """Return what a blocking client's method returned; run a coroutine that awaits only such methods to its end."""
    if not isinstance(result, CoroutineType):
        return result
    try:
        result.send(None)
    except StopIteration as end:
        return end.value
    raise RuntimeError("a blocking client's coroutine waits for an event loop")


def runner_of(has_loop: bool, options: Any) -> Any:
    """Return what runs a coroutine to its end: the event loop that options name, where a client is ``async``."""
    if not has_loop:
        return run_plain
    import asyncio

    from bench.process import event_loops

    runner = asyncio.Runner(loop_factory=event_loops.factory(options))
    return lambda result: runner.run(resolve(result))


class Caller:
    """A client and its buffers.

    run: what ``runner_of`` returned. The methods that make calls are coroutines for both kinds of clients; only the
    timed loops in them are written twice.
    """

    def __init__(self, make: Callable[[], Any], payloads: list[Any], size: int, run: Callable[[Any], Any]) -> None:
        self._make, self._payloads, self.run = make, payloads, run
        self._is_async = run is not run_plain
        self._client = make()
        self.sent, self.received = timed_loops.zeros(size), timed_loops.zeros(size)
        self.failures = Failures()
        self.calls = 0

    def first(self) -> int:
        """Connect and make one verified call; return its time in ns."""
        self.run(self._client.open())
        return patiently(self._first)

    def _first(self) -> int:
        with translating(self._client):
            began = time.perf_counter_ns()
            reply = self.run(self._client.call(self._payloads[0]))
            took = time.perf_counter_ns() - began
        if self._payloads[0] != reply:
            raise timed_loops.wrong_answer(self._payloads[0], reply, 0)
        return took

    async def closed(self, until_ns: int) -> None:
        """Call, wait, call again until an instant or until the buffers are full."""
        loop: Any = timed_loops.closed_async if self._is_async else timed_loops.closed
        while room := self._room(until_ns):
            try:
                with translating(self._client):
                    calls = loop(self._client.call, self._payloads, *room, until_ns)
                    self.calls += await calls if self._is_async else calls
                return
            except TransportError as error:
                await self._renew(error, room[1])

    async def opened(self, due: "array[int]", until_ns: int) -> None:
        """Call when requests are due; remove failed requests from ``due``, but not unsent ones."""
        loop: Any = timed_loops.opened_async if self._is_async else timed_loops.opened
        while room := self._room(until_ns):
            try:
                with translating(self._client):
                    calls = loop(self._client.call, self._payloads, due[self.calls :], *room, until_ns)
                    self.calls += await calls if self._is_async else calls
                return
            except TransportError as error:
                await self._renew(error, room[1])
                due.pop(self.calls)

    @property
    def columns(self) -> list[Any]:
        """The times of its calls, sent and received; then which request each made, where a service has several."""
        times = [memoryview(column)[: self.calls] for column in (self.sent, self.received)]
        return times + request_names.noted_by(self._payloads, self.calls)

    def _room(self, until_ns: int) -> tuple[Buffer, Buffer] | None:
        """Return the unused part of the buffers; None if they are full, or if the window ended after a failure."""
        if self.failures.kinds and time.perf_counter_ns() >= until_ns:
            return None
        if not self.calls:
            return self.sent, self.received
        if self.calls >= len(self.sent):
            return None
        return memoryview(self.sent)[self.calls :], memoryview(self.received)[self.calls :]

    def _count(self, error: TransportError, received: Buffer) -> None:
        """Count a failure, behind the calls that were answered before it."""
        self.calls += answered(received)
        self.failures.add(error)

    async def _renew(self, error: TransportError, received: Buffer) -> None:
        """Count a failure; reconnect unless it is a wrong reply. Where that fails, the server has ended: raise it."""
        self._count(error, received)
        if not isinstance(error, WrongReplyError):
            self._client = await renew(self._make, self._client, error)

    def close(self) -> None:
        with translating(self._client):
            self.run(self._client.close())
