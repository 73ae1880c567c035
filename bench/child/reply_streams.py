"""The load ``reply_stream`` of a process: streams side by side, each a request and its replies, again until the end.

Streams are threads, or tasks of one event loop where the system's ``stream`` is ``async``. A reply's time is taken
first and the reply is verified after it, at once: number, size and every byte. A stream that breaks is a failed
request: its replies are kept, marked as of a stream that is not complete. One that brings too many or too few ends
the start.
"""

import functools
import inspect
import time
from array import array
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

from bench import replies
from bench.child import timed_loops
from bench.child.caller import Failures, done, failed, renewed, renewed_async
from bench.child.limits import allow_many_files
from bench.contract import LoadReport
from bench.errors import TransportError
from bench.process.spec import ClientSpec
from bench.replies import Ask, mark_of

STACK_BYTES = 256 * 1024  # of each thread, where there are many
AT_ONCE = 32  # connections that are made at the same time
RETRY_S = 0.01  # between a stream that broke and the next, so that a broken server is not asked without pause


class Record:
    """What one caller's streams brought, in the order of their requests; all times in ns.

    sent, complete, sizes: for each request its sending time, 1 if it was complete, how many replies it had. received,
    due, handed: for each reply when it came, when it was due at the server and when the server handed it over.
    """

    def __init__(self) -> None:
        self.sent, self.complete, self.sizes = array("q"), array("q"), array("q")
        self.received, self.due, self.handed = array("q"), array("q"), array("q")

    def end(self, sent_ns: int, before: int, is_complete: bool) -> None:
        """Keep a request whose replies are those after the first ``before``."""
        self.sent.append(sent_ns)
        self.complete.append(is_complete)
        self.sizes.append(len(self.received) - before)


def receive(stream: Callable[[bytes], Iterator[bytes]], request: bytes, ask: Ask, record: Record) -> None:
    """Send one request and receive its replies; record them, complete or not."""
    clock, fixed, number, before = time.perf_counter_ns, replies.rest(ask.reply_bytes), 0, len(record.received)
    received, due, handed = record.received.append, record.due.append, record.handed.append
    is_complete, t_send = False, clock()
    try:
        for reply in stream(request):
            t_recv = clock()
            if len(reply) != ask.reply_bytes or number >= ask.replies:
                raise replies.wrong(reply, number, ask)
            which, was_due, was_handed = mark_of(reply)
            if which != number or reply[replies.LEAST_REPLY :] != fixed:
                raise replies.wrong(reply, number, ask)
            received(t_recv)
            due(was_due)
            handed(was_handed)
            number += 1
        if number < ask.replies:
            raise replies.too_few(number, ask)
        is_complete = True
    finally:
        record.end(t_send, before, is_complete)


async def receive_async(
    stream: Callable[[bytes], AsyncIterator[bytes]], request: bytes, ask: Ask, record: Record
) -> None:
    """Do what ``receive`` does, for a client whose replies are awaited."""
    clock, fixed, number, before = time.perf_counter_ns, replies.rest(ask.reply_bytes), 0, len(record.received)
    received, due, handed = record.received.append, record.due.append, record.handed.append
    is_complete, t_send = False, clock()
    try:
        async for reply in stream(request):
            t_recv = clock()
            if len(reply) != ask.reply_bytes or number >= ask.replies:
                raise replies.wrong(reply, number, ask)
            which, was_due, was_handed = mark_of(reply)
            if which != number or reply[replies.LEAST_REPLY :] != fixed:
                raise replies.wrong(reply, number, ask)
            received(t_recv)
            due(was_due)
            handed(was_handed)
            number += 1
        if number < ask.replies:
            raise replies.too_few(number, ask)
        is_complete = True
    finally:
        record.end(t_send, before, is_complete)


class Streams:
    """One caller: a client, its requests, what they brought, and its failures."""

    def __init__(self, make: Callable[[], Any], requests: list[bytes], ask: Ask) -> None:
        self._make, self._requests, self._ask = make, requests, ask
        self.client = make()
        self.record, self.failures = Record(), Failures()

    def _next(self) -> bytes:
        return self._requests[len(self.record.sent) % len(self._requests)]

    def run(self, until_ns: int) -> None:
        """Send a request, receive its replies, again until an instant; a stream that has begun is received whole."""
        while time.perf_counter_ns() < until_ns:
            try:
                receive(self.client.stream, self._next(), self._ask, self.record)
            except TransportError as error:
                self.failures.add(error)
                time.sleep(RETRY_S)
                self.client = renewed(self._make, self.client, error)

    async def run_async(self, until_ns: int) -> None:
        """Do what ``run`` does, for a client whose replies are awaited."""
        from asyncio import sleep

        while time.perf_counter_ns() < until_ns:
            try:
                await receive_async(self.client.stream, self._next(), self._ask, self.record)
            except TransportError as error:
                self.failures.add(error)
                await sleep(RETRY_S)
                self.client = await renewed_async(self._make, self.client, error)


def report_of(records: list[Record], errors: int, numbers: Any) -> LoadReport:
    """Return how many replies came, the columns of each record, and what failed."""
    columns = ("sent", "complete", "sizes", "received", "due", "handed")
    times = [getattr(record, name) for record in records for name in columns]
    return LoadReport(sum(len(record.received) for record in records), times, errors, numbers)


class ReplyStreams:
    """The streams of a process, ``spec.case.callers`` at once."""

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        allow_many_files()
        ask = Ask(spec.case.replies, spec.case.reply_bytes, 1000 * spec.case.gap_us)
        fillers = timed_loops.make_payloads(spec.case.payload_bytes, spec.seed)
        make = functools.partial(system.StreamClient, address, options)
        requests = [replies.request(ask, filler) for filler in fillers]
        self._streams = [Streams(make, requests, ask) for _ in range(spec.case.callers)]
        self._first = Ask(1, spec.case.reply_bytes, 0)
        self._first_request = replies.request(self._first, fillers[0])
        self._stagger_ns = min(ask.replies * ask.gap_ns, int(spec.window_s * 1e9)) // spec.case.callers
        self._is_async = inspect.isasyncgenfunction(system.StreamClient.stream)
        self._runner: Any = None
        if self._is_async:
            import asyncio

            self._runner = asyncio.Runner()

    def first(self) -> int:
        """Connect every caller and let it receive a stream of one reply; return the time of the first in ns."""
        if self._is_async:
            return int(self._await(self._first_async()))
        first_ns = self._first_of(self._streams[0])
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(AT_ONCE) as threads:
            list(threads.map(self._first_of, self._streams[1:]))
        return first_ns

    def _await(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return self._runner.run(coroutine)

    def _first_of(self, one: Streams) -> int:
        one.client.open()
        began, record = time.perf_counter_ns(), Record()
        receive(one.client.stream, self._first_request, self._first, record)
        return record.received[0] - began

    async def _first_async(self) -> int:
        import asyncio

        async def first_of(one: Streams) -> int:
            await done(one.client.open())
            began, record = time.perf_counter_ns(), Record()
            await receive_async(one.client.stream, self._first_request, self._first, record)
            return record.received[0] - began

        first_ns = await first_of(self._streams[0])
        for place in range(1, len(self._streams), AT_ONCE):
            await asyncio.gather(*map(first_of, self._streams[place : place + AT_ONCE]))
        return first_ns

    def load(self, at_ns: int, until_ns: int) -> None:
        """Run all streams; paced ones begin one after another, spread over the length of a stream."""
        if self._is_async:
            self._await(self._load_async(at_ns, until_ns))
            return
        import threading
        from concurrent.futures import ThreadPoolExecutor

        def run(place: int) -> None:
            time.sleep(max(0, at_ns + place * self._stagger_ns - time.perf_counter_ns()) / 1e9)
            self._streams[place].run(until_ns)

        threading.stack_size(STACK_BYTES)
        with ThreadPoolExecutor(len(self._streams)) as threads:
            list(threads.map(run, range(len(self._streams))))

    async def _load_async(self, at_ns: int, until_ns: int) -> None:
        import asyncio

        async def run(place: int) -> None:
            await asyncio.sleep(max(0, at_ns + place * self._stagger_ns - time.perf_counter_ns()) / 1e9)
            await self._streams[place].run_async(until_ns)

        await asyncio.gather(*map(run, range(len(self._streams))))

    def report(self) -> LoadReport:
        """Return how many replies came, the columns of each caller's record, and what failed."""
        errors, numbers = failed([one.failures for one in self._streams])
        return report_of([one.record for one in self._streams], errors, numbers)

    def close(self) -> None:
        """Disconnect."""
        if self._is_async:
            self._await(self._close_async())
            return
        for one in self._streams:
            one.client.close()

    async def _close_async(self) -> None:
        for one in self._streams:
            await done(one.client.close())
