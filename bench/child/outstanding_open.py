"""Open loads with several calls under way in one event loop, which sends each when it is due.

Each of these calls has a slot, which waits for requests in turn. A request that is due while all slots wait for replies
is sent by the first that is free, and late: its lag counts from when it was due.
"""

import asyncio
import itertools
import time
from array import array
from collections import deque
from typing import Any

from bench.child import event_loop, request_names, timed_loops
from bench.child.caller import Failures, failed, translating
from bench.child.loads import limit_ns, put_after, schedule
from bench.child.outstanding import AwaitedSlot, SharedClient, SharedClients
from bench.contract import LoadReport
from bench.errors import TransportError
from bench.process.spec import ClientSpec


class Schedule:
    """When requests are due, and the slots that are idle; ``due`` in ns of ``perf_counter_ns``."""

    def __init__(self, due: "array[int]", limit_ns: int) -> None:
        self.due, self._limit_ns = due, limit_ns
        self._ahead = 0  # the next request
        self._idle: deque[asyncio.Future[int | None]] = deque()
        self._loop = asyncio.get_running_loop()
        self._offset_s = self._loop.time() - time.perf_counter_ns() / 1e9
        self._timer: asyncio.TimerHandle | None = None

    async def turn(self) -> int | None:
        """Return the number of the next request when it is due, to the slot that waited longest; None at the end."""
        if self._is_over():
            return None
        if not self._idle and self.due[self._ahead] <= time.perf_counter_ns():
            return self._take()
        turn: asyncio.Future[int | None] = self._loop.create_future()
        self._idle.append(turn)
        if self._timer is None:
            self._arm()
        return await turn

    def _is_over(self) -> bool:
        return self._ahead >= len(self.due) or time.perf_counter_ns() >= self._limit_ns

    def _take(self) -> int:
        self._ahead += 1
        return self._ahead - 1

    def _arm(self) -> None:
        """Set the timer to when the next request is due."""
        self._timer = self._loop.call_at(self.due[self._ahead] / 1e9 + self._offset_s, self._release)

    def _release(self) -> None:
        """Give each request that is due to an idle slot; let all slots end with the last request."""
        self._timer = None
        while self._idle and not self._is_over() and self.due[self._ahead] <= time.perf_counter_ns():
            self._idle.popleft().set_result(self._take())
        if self._is_over():
            while self._idle:
                self._idle.popleft().set_result(None)
        elif self._idle:
            self._arm()


class OpenSlot:
    """One of the calls that can be under way at once: its connection, and the numbers of the requests that it made.

    The times of all requests of the process are in ``sent`` and ``received``, each at the request's number.
    """

    def __init__(self, shared: SharedClient, payloads: list[Any], sent: "array[int]", received: "array[int]") -> None:
        self._shared, self._payloads, self._turns = shared, payloads, itertools.cycle(payloads)
        self._sent, self._received = sent, received
        self.failures = Failures()
        self.numbers = array("q")

    @property
    def request(self) -> list[Any]:
        """The column of the request that each call made, where a service has several."""
        return request_names.noted_by(self._payloads, len(self.numbers))

    async def run(self, requests: Schedule) -> None:
        """Send the requests that are given to this slot until there are no more; a failed one is counted."""
        while True:
            client = self._shared.client
            try:
                with translating(client):
                    return await self._call(client, requests)
            except TransportError as error:
                self.failures.add(error)
                await self._shared.renew(client, error)

    async def _call(self, client: Any, requests: Schedule) -> None:
        """Send the requests that are given to this slot, until there are no more or one fails."""
        clock = time.perf_counter_ns
        while (number := await requests.turn()) is not None:
            payload = next(self._turns)
            t_send = clock()
            reply = await client.call(payload)
            t_recv = clock()
            if payload != reply:
                raise timed_loops.wrong_answer(payload, reply, number)
            self._sent[number], self._received[number] = t_send, t_recv
            self.numbers.append(number)


class OpenOutstanding(SharedClients):
    """The open load of a process with an asynchronous library: ``callers`` connections, some slots on each."""

    TIMED_OPEN = (OpenSlot._call,)

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        super().__init__(system, options, address, spec, loop_factory=event_loop.make)
        self._due = schedule(spec)
        self._sent, self._received = (timed_loops.zeros(max(1, len(self._due))) for _ in range(2))
        self._slots = [
            OpenSlot(connection, self._payloads_of(index), self._sent, self._received)
            for connection in self._connections
            for index in range(spec.case.outstanding)
        ]

    def _payloads_of(self, index: int) -> list[Any]:
        return self._payloads.noting(timed_loops.from_place(self._payloads.items, index))

    def first(self) -> int:
        times = [AwaitedSlot(each, self._payloads.items, 1).first() for each in self._connections]
        return times[0]

    def schedule_from(self, at_ns: int) -> None:
        put_after(self._due, at_ns)

    def load(self, at_ns: int, until_ns: int) -> None:
        """Send the requests of the schedule; some may be sent late, by a fifth of the window."""
        self._runner.run(self._side_by_side(limit_ns(at_ns, until_ns)))

    async def _side_by_side(self, until_ns: int) -> None:
        requests = Schedule(self._due, until_ns)
        await asyncio.gather(*(slot.run(requests) for slot in self._slots))

    def report(self) -> LoadReport:
        """Return calls, failures, and when each slot's calls were sent, answered and due; which requests they were."""
        columns, times = (self._sent, self._received, self._due), list[Any]()
        for slot in self._slots:
            times += [array("q", map(column.__getitem__, slot.numbers)) for column in columns] + slot.request
        calls, codec = sum(len(slot.numbers) for slot in self._slots), self._payloads.codec_alone()
        errors, numbers = failed(self._slots)
        names = self._payloads.names
        return LoadReport(calls, times, errors, numbers, scheduled=len(self._due), codec=codec, requests=names)
