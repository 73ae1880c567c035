"""The loads that a client process can make: closed loop, open loop (paced)."""

import functools
from array import array
from typing import Any

from bench import systems
from bench.child import timed_loops
from bench.child.caller import Caller, failed, is_async, runner_of
from bench.child.structured_messages import Payloads
from bench.contract import LoadReport
from bench.process.spec import ClientSpec


def schedule(spec: ClientSpec) -> "array[int]":
    """Return a process's share of the common schedule (every n-th request of n clients), in ns after *go*."""
    (number, clients), case = spec.share, spec.case
    if case.arrivals == "recorded" and (recorded := _recording(case.system)):
        # each caller has made one request of the recording when the window begins
        dues = timed_loops.replayed(recorded.gaps_s, case.callers, case.offered_per_s, spec.window_s)
    else:
        dues = timed_loops.schedule(case.offered_per_s, spec.window_s, case.arrivals, spec.schedule_seed)
    return array("q", dues[number::clients])


def _recording(system: str) -> Any:
    service = systems.service_of(system)
    return service and service.recording


def put_after(due: "array[int]", at_ns: int) -> None:
    """Put a schedule's instants after *go*: before it comes, because this takes 0.1 us for each."""
    for index in range(len(due)):
        due[index] += at_ns


def limit_ns(at_ns: int, until_ns: int) -> int:
    """Return until when a scheduled request may be sent: a fifth of the window after its end."""
    return until_ns + (until_ns - at_ns) // 5


class Callers:
    """The closed-loop load of a process: each caller calls, waits, calls again, over a connection of its own.

    Several callers are threads, or tasks of one event loop where the system's ``call`` is ``async def``.
    """

    TIMED = timed_loops.closed, timed_loops.closed_async
    TIMED_OPEN = timed_loops.opened, timed_loops.opened_async
    kind: Any = Caller  # what makes one of the callers

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        self._due = schedule(spec) if spec.case.load == "open" else None
        size = spec.case.calls_per_caller if self._due is None else max(1, len(self._due))
        self._scheduled = None if self._due is None else len(self._due)
        self._is_async = is_async(system.Client)
        self._run = runner_of(self._is_async, options)
        self._payloads = Payloads(system, options, spec)
        make = self._payloads.around(functools.partial(system.Client, address, options))
        self._callers = [
            self.kind(make, self._payloads.noting(self._payloads.items), size, self._run)
            for _ in range(spec.case.callers)
        ]

    def first(self) -> int:
        times = [caller.first() for caller in self._callers]
        return times[0]

    def schedule_from(self, at_ns: int) -> None:
        if self._due is not None:
            put_after(self._due, at_ns)

    def load(self, at_ns: int, until_ns: int) -> None:
        if self._due is not None:
            self._callers[0].run(self._callers[0].opened(self._due, limit_ns(at_ns, until_ns)))
        elif len(self._callers) == 1:
            self._callers[0].run(self._callers[0].closed(until_ns))
        elif self._is_async:
            self._run(self._side_by_side(until_ns))
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(len(self._callers)) as threads:
                list(threads.map(lambda caller: self._run(caller.closed(until_ns)), self._callers))

    async def _side_by_side(self, until_ns: int) -> None:
        import asyncio

        await asyncio.gather(*(caller.closed(until_ns) for caller in self._callers))

    def report(self) -> LoadReport:
        """Return the number of calls, the failures, and the columns of each caller."""
        times = [column for caller in self._callers for column in self._columns(caller)]
        errors, numbers = failed(self._callers)
        codec = self._payloads.codec_alone()
        return LoadReport(
            sum(caller.calls for caller in self._callers),
            times,
            errors,
            numbers,
            scheduled=self._scheduled,
            codec=codec,
            requests=self._payloads.names,
        )

    def _columns(self, caller: Any) -> list[Any]:
        """Return the columns of a caller: sent, received, due in an open load, request."""
        sent, received, *request = caller.columns
        due = [] if self._due is None else [memoryview(self._due)[: caller.calls]]
        return [sent, received, *due, *request]

    def close(self) -> None:
        for caller in self._callers:
            caller.close()
