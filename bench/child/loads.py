"""The loads that a client process can make: closed loop, open loop (paced)."""

import functools
import inspect
from array import array
from collections.abc import Callable
from typing import Any

from bench.child import structured_messages, timed_loops
from bench.child.caller import Caller, failed, runner_of
from bench.contract import LoadReport
from bench.process.spec import ClientSpec


def schedule(spec: ClientSpec) -> "array[int]":
    """Return a process's share of the common schedule (every n-th request of n clients), in ns after *go*."""
    number, clients = spec.share
    dues = timed_loops.schedule(spec.case.offered_per_s, spec.window_s, spec.case.arrivals, spec.schedule_seed)
    return array("q", dues[number::clients])


class Callers:
    """The closed-loop load of a process: each caller calls, waits, calls again, over a connection of its own.

    Several callers are threads, or tasks of one event loop where the system's ``call`` is ``async def``.
    """

    kind: Any = Caller  # what makes one of the callers

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        self._due = schedule(spec) if spec.case.load == "open" else None
        size = spec.case.calls_per_caller if self._due is None else max(1, len(self._due))
        self._scheduled = len(self._due or ())
        self._is_async = inspect.iscoroutinefunction(system.Client.call)
        self._run = runner_of(system.Client.call)
        make: Callable[[], Any] = functools.partial(system.Client, address, options)
        self._carried = structured_messages.carried(system, options, spec.case.message)
        self._payloads = structured_messages.payloads(self._carried, spec)
        if self._carried is not None:
            make = functools.partial(structured_messages.client, make, self._carried, self._is_async)
        self._spec = spec
        self._callers = [self.kind(make, self._payloads, size, self._run) for _ in range(spec.case.callers)]

    def first(self) -> int:
        """Connect and make one verified call with each caller; return the time of the first in ns."""
        times = [caller.first() for caller in self._callers]
        return times[0]

    def load(self, at_ns: int, until_ns: int) -> None:
        """Run the timed loops."""
        if self._due is not None:
            self._opened(self._callers[0], self._due, at_ns, until_ns)
        elif self._is_async:
            self._run(self._side_by_side(until_ns))
        elif len(self._callers) == 1:
            self._callers[0].closed(until_ns)
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(len(self._callers)) as threads:
                list(threads.map(lambda caller: caller.closed(until_ns), self._callers))

    def _opened(self, caller: Caller, due: "array[int]", at_ns: int, until_ns: int) -> None:
        """Run the one caller of an open load; it may finish late by up to a fifth of the window."""
        for place in range(len(due)):
            due[place] += at_ns
        limit_ns = until_ns + (until_ns - at_ns) // 5
        self._run((caller.opened_async if self._is_async else caller.opened)(due, limit_ns))

    async def _side_by_side(self, until_ns: int) -> None:
        import asyncio

        if len(self._callers) == 1:
            await self._callers[0].closed_async(until_ns)
        else:
            await asyncio.gather(*(caller.closed_async(until_ns) for caller in self._callers))

    def report(self) -> LoadReport:
        """Return the number of calls, the failures, and the times of each caller."""
        calls = [caller.calls for caller in self._callers]
        both = ((caller.sent, caller.received) for caller in self._callers)
        times = [memoryview(one)[:n] for n, pair in zip(calls, both, strict=True) for one in pair]
        errors, numbers = failed([caller.failures for caller in self._callers])
        codec = structured_messages.timed_alone(self._carried, self._payloads, self._spec)
        if self._due is None:
            return LoadReport(sum(calls), times, errors, numbers, codec=codec)
        times.append(memoryview(self._due)[: calls[0]])
        return LoadReport(sum(calls), times, errors, numbers, self._scheduled, codec=codec)

    def close(self) -> None:
        """Disconnect."""
        for caller in self._callers:
            caller.close()
