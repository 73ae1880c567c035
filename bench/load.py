"""The loads that a client process can make: callers that wait (closed), callers that are paced (open), a stream."""

import inspect
import time
from array import array
from typing import Any

from bench import loops
from bench.link import Message


def schedule(spec: Message) -> "array[int]":
    """Return a process's share of the common schedule, in ns after *go*: every n-th request of n clients."""
    number, clients = spec["share"]
    dues = loops.schedule(spec["offered_per_s"], spec["window_s"], spec["arrivals"], spec["schedule_seed"])
    return array("q", dues[number::clients])


class Callers:
    """The closed load of a process: each caller calls, waits, calls again, over a connection of its own.

    Several callers are threads, or tasks of one event loop where the system's ``call`` is ``async def``.
    """

    def __init__(self, system: Any, options: Any, address: str, spec: Message) -> None:
        """Prepare the clients and the buffers."""
        self._clients = [system.Client(address, options) for _ in range(spec["callers"])]
        self._payloads = loops.make_payloads(spec["payload_bytes"], spec["seed"])
        self._due = schedule(spec) if spec["load"] == "open" else None
        size = spec["max_calls"] if self._due is None else max(1, len(self._due))
        self._times = [(loops.zeros(size), loops.zeros(size)) for _ in self._clients]
        self._calls: list[int] = []
        self._is_async = inspect.iscoroutinefunction(system.Client.call)
        self._run = self._make_runner() if self._is_async else (lambda result: result)

    @staticmethod
    def _make_runner() -> Any:
        import asyncio

        return asyncio.Runner().run

    def first(self) -> int:
        """Connect and make one verified call with each caller; return the time of the first in ns."""
        times = [self._first(client) for client in self._clients]
        return times[0]

    def _first(self, client: Any) -> int:
        self._run(client.open())
        began = time.perf_counter_ns()
        reply = self._run(client.call(self._payloads[0]))
        took = time.perf_counter_ns() - began
        if reply != self._payloads[0]:
            raise loops.wrong_answer(self._payloads[0], reply, 0)
        return took

    def load(self, at_ns: int, until_ns: int) -> None:
        """Run the timed loops."""
        work = [
            (client.call, self._payloads, *times, until_ns)
            for client, times in zip(self._clients, self._times, strict=True)
        ]
        if self._due is not None:
            self._calls = [self._opened(work[0][0], self._due, at_ns, until_ns)]
        elif self._is_async:
            self._calls = self._run(self._side_by_side(work))
        elif len(work) == 1:
            self._calls = [loops.closed(*work[0])]
        else:
            from concurrent.futures import ThreadPoolExecutor

            with ThreadPoolExecutor(len(work)) as threads:
                self._calls = list(threads.map(lambda arguments: loops.closed(*arguments), work))

    def _opened(self, call: Any, due: "array[int]", at_ns: int, until_ns: int) -> int:
        """Run the one caller of an open load; it may finish late, by a fifth of the window."""
        for place in range(len(due)):
            due[place] += at_ns
        limit_ns = until_ns + (until_ns - at_ns) // 5
        loop = loops.opened_async if self._is_async else loops.opened
        return int(self._run(loop(call, self._payloads, due, *self._times[0], limit_ns)))

    @staticmethod
    async def _side_by_side(work: list[Any]) -> list[int]:
        import asyncio

        if len(work) == 1:
            return [await loops.closed_async(*work[0])]
        return await asyncio.gather(*(loops.closed_async(*arguments) for arguments in work))

    def report(self) -> tuple[Message, list[Any]]:
        """Return the number of calls, and the send and receive times of each caller."""
        pairs = zip(self._calls, self._times, strict=True)
        blobs = [memoryview(times)[:n] for n, both in pairs for times in both]
        if self._due is None:
            return {"calls": sum(self._calls)}, blobs
        return {"calls": self._calls[0], "scheduled": len(self._due)}, [*blobs, memoryview(self._due)[: self._calls[0]]]

    def close(self) -> None:
        """Disconnect."""
        for client in self._clients:
            self._run(client.close())


class Streamer:
    """A one-way stream's sender."""

    def __init__(self, system: Any, options: Any, address: str, spec: Message) -> None:
        """Prepare the sender."""
        self._sender = system.Sender(address, options)
        self._payload = loops.make_payloads(spec["payload_bytes"], spec["seed"])[0]
        self._marks = loops.Marks()

    def first(self) -> None:
        """Connect and send one message, which the receiver verifies."""
        self._sender.open()
        self._sender.send(self._payload)

    def load(self, at_ns: int, until_ns: int) -> None:
        """Send until the window's end."""
        self._marks = loops.send_stream(self._sender.send, self._payload, until_ns)

    def report(self) -> tuple[Message, list[Any]]:
        """Return the number of messages, and the marks (times, counts)."""
        return {"calls": self._marks.messages[-1]}, [self._marks.times, self._marks.messages]

    def close(self) -> None:
        """Disconnect when everything has left."""
        self._sender.close()
