"""The load ``reply_stream`` of a process: streams side by side, each a request and its replies, again until the end.

Streams are threads, or tasks of one event loop where the system's ``stream`` is ``async``. A reply's time is taken
first and the reply is verified after it, at once: number, size and every byte. A stream that breaks is a failed
request: its replies are kept, marked as of a stream that is not complete. One that brings too many or too few ends
the start.
"""

import contextlib
import functools
import inspect
import threading
import time
from array import array
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator, Sequence
from typing import Any

from bench.child import timed_loops
from bench.child.caller import Failures, failed, renew, resolve, runner_of, translating
from bench.child.open_files import allow_many_files
from bench.contract import LoadReport
from bench.errors import TransportError
from bench.plan import replies
from bench.plan.replies import Ask, mark_of
from bench.process.spec import ClientSpec

STACK_BYTES = 256 * 1024  # of each thread, where there are many
AT_ONCE = 32  # connections that are made at the same time
RETRY_S = 0.01  # between a stream that broke and the next, so that a broken server is not asked without pause


class Record:
    """What one caller's streams brought, in the order of their requests; all times in ns.

    sent, complete, sizes: for each request its sending time, 1 if it was complete, how many replies it had. received,
    due, handed: for each reply when it came, when it was due at the server and when the server handed it over; the
    last two are empty for messages that do not say so.
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


async def receive_checked(
    stream: Callable[[bytes], AsyncGenerator[Any]], request: bytes, ask: Ask, record: Record
) -> None:
    """Do what ``receive_async`` does, for a user's service: each message verifies itself, and says no time."""
    clock, before, is_complete, t_send = time.perf_counter_ns, len(record.received), False, time.perf_counter_ns()
    try:
        async with contextlib.aclosing(stream(request)) as messages:
            async for message in messages:
                t_recv = clock()
                message.check()
                record.received.append(t_recv)
        is_complete = True
    finally:
        record.end(t_send, before, is_complete)


class Streams:
    """One caller: a client, its requests, what they brought, and its failures."""

    def __init__(self, make: Callable[[], Any], requests: list[bytes], ask: Ask, is_async: bool) -> None:
        self._make, self._requests, self._ask, self._is_async = make, requests, ask, is_async
        self.client = make()
        self.record, self.failures = Record(), Failures()

    async def first(self, ask: Ask, request: bytes) -> int:
        """Connect and receive a stream of one reply; return its time in ns."""
        await resolve(self.client.open())
        began, record = time.perf_counter_ns(), Record()
        await self._receive(ask, request, record)
        return record.received[0] - began

    async def run(self, until_ns: int) -> None:
        """Send a request, receive its replies, again until an instant; a stream that has begun is received whole."""
        while time.perf_counter_ns() < until_ns:
            request = self._requests[len(self.record.sent) % len(self._requests)]
            try:
                await self._receive(self._ask, request, self.record)
            except TransportError as error:
                self.failures.add(error)
                await self.pause(RETRY_S)
                self.client = await renew(self._make, self.client, error)

    async def _receive(self, ask: Ask, request: bytes, record: Record) -> None:
        with translating(self.client):
            if self._is_async:
                receive_all = receive_checked if getattr(self.client, "checks_messages", False) else receive_async
                await receive_all(self.client.stream, request, ask, record)
            else:
                receive(self.client.stream, request, ask, record)

    async def pause(self, seconds: float) -> None:
        """Let time pass."""
        if self._is_async:
            from asyncio import sleep

            await sleep(seconds)
        else:
            time.sleep(seconds)


def report_of(callers: Sequence[Any]) -> LoadReport:
    """Return how many replies came, the columns of each caller's record, and what failed."""
    columns = ("sent", "complete", "sizes", "received", "due", "handed")
    times = [getattr(caller.record, name) for caller in callers for name in columns]
    return LoadReport(sum(len(caller.record.received) for caller in callers), times, *failed(callers))


class ReplyStreams:
    """The streams of a process, ``spec.case.callers`` at once."""

    TIMED = receive, receive_async, receive_checked

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        allow_many_files()
        ask = Ask(spec.case.replies, spec.case.reply_bytes, 1000 * spec.case.gap_us)
        fillers = timed_loops.make_payloads(spec.case.payload_bytes, spec.seed)
        make = functools.partial(system.StreamClient, address, options)
        self._is_async = inspect.isasyncgenfunction(system.StreamClient.stream)
        requests = [replies.request(ask, filler) for filler in fillers]
        self._run = runner_of(self._is_async, options)
        self._streams = [Streams(make, requests, ask, self._is_async) for _ in range(spec.case.callers)]
        first = Ask(1, spec.case.reply_bytes, 0)
        self._first = first, replies.request(first, fillers[0])
        self._stagger_ns = min(ask.replies * ask.gap_ns, int(spec.window_s * 1e9)) // spec.case.callers

    def first(self) -> int:
        """Connect every caller and let it receive a stream of one reply; return the time of the first in ns."""
        first_ns = int(self._run(self._streams[0].first(*self._first)))
        for index in range(1, len(self._streams), AT_ONCE):
            streams = self._streams[index : index + AT_ONCE]
            self._side_by_side([stream.first(*self._first) for stream in streams])
        return first_ns

    def _side_by_side(self, work: list[Coroutine[Any, Any, Any]]) -> None:
        """Run coroutines of streams, each in a task of one event loop or in a thread."""
        if self._is_async:
            self._run(_gather(work))
            return
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(work)) as threads:
            list(threads.map(self._run, work))

    def load(self, at_ns: int, until_ns: int) -> None:
        """Run all streams; paced ones begin one after another, spread over the length of a stream."""

        async def run(stream: Streams, begin_ns: int) -> None:
            await stream.pause(max(0, begin_ns - time.perf_counter_ns()) / 1e9)
            await stream.run(until_ns)

        if not self._is_async:
            threading.stack_size(STACK_BYTES)
        begins_ns = (at_ns + index * self._stagger_ns for index in range(len(self._streams)))
        self._side_by_side(list(map(run, self._streams, begins_ns)))

    def report(self) -> LoadReport:
        """Return how many replies came, the columns of each caller's record, and what failed."""
        return report_of(self._streams)

    def close(self) -> None:
        for stream in self._streams:
            with translating(stream.client):
                self._run(resolve(stream.client.close()))


async def _gather(work: list[Coroutine[Any, Any, Any]]) -> None:
    import asyncio

    await asyncio.gather(*work)
