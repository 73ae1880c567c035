"""Connections, one after another: each is opened, makes some calls, and is closed. A load of a client's process."""

import functools
import gc
import time
from typing import Any

from bench.child import timed_loops
from bench.child.caller import is_async, runner_of, translating
from bench.child.session import Session
from bench.child.timed_loops import NEVER_NS
from bench.contract import LoadReport
from bench.process import cpu_clocks
from bench.process.spec import ClientSpec, Connect


class Reconnects:
    """The load of a process that opens connections one at a time, with the methods of ``Callers``."""

    TIMED = timed_loops.closed, timed_loops.closed_async

    def __init__(self, system: Any, options: Any, server: Connect, spec: ClientSpec) -> None:
        self._make: Any = functools.partial(system.Client, server.address, options)
        self._pids = server.pids, server.router_pids
        self._plan = [(calls, payload_bytes) for calls, payload_bytes in spec.case.sessions]
        sizes = {payload_bytes for _, payload_bytes in self._plan}
        self._payloads = {size: timed_loops.make_payloads(size, spec.seed) for size in sizes}
        self._first = spec.case.payload_bytes, spec.seed
        max_calls = max(calls for calls, _ in self._plan)
        self._times = timed_loops.zeros(max_calls), timed_loops.zeros(max_calls)
        self._is_async = is_async(system.Client)
        self._loop: Any = timed_loops.closed_async if self._is_async else timed_loops.closed
        self._run = runner_of(self._is_async, options)
        self._done: list[Session] = []
        self._at_ns = 0

    def first(self) -> int:
        """Open a connection, make one verified call, close it; return the time of the call in ns."""
        client, (size, seed) = self._make(), self._first
        with translating(client):
            opened_ns, answered_ns = self._run(self._begin(client, timed_loops.make_payloads(size, seed)))
            self._run(client.close())
        return int(answered_ns - opened_ns)

    def load(self, at_ns: int, until_ns: int) -> None:
        """Open the connections in their order, however long they take."""
        self._at_ns = at_ns
        gc.disable()  # a collection would be a cost of whichever connection it meets
        self._done = [self._connection(calls, self._payloads[size], size) for calls, size in self._plan]
        gc.enable()

    def _connection(self, calls: int, payloads: list[bytes], size: int) -> Session:
        """Open a connection, make its calls, close it.

        Some libraries connect when the first call is made, so that the time from opening to the first reply is what can
        be compared: it holds every handshake.
        """
        client = self._make()
        server_ns, router_ns = (self._cpu_ns(pids) for pids in self._pids)
        cpu_ns = time.process_time_ns()
        with translating(client):
            begin_ns = time.perf_counter_ns()
            opened_ns, answered_ns = self._run(self._begin(client, payloads))
            median_ns = self._call(client, payloads, calls - 1) if calls > 1 else None
            called_ns = time.perf_counter_ns() if calls > 1 else answered_ns
            resumed = getattr(client, "resumed", None)
            self._run(client.close())
            end_ns = time.perf_counter_ns()
        cpu_ns = time.process_time_ns() - cpu_ns
        server_ns, router_ns = (
            None if before is None else max(0, (self._cpu_ns(pids) or 0) - before)
            for before, pids in zip((server_ns, router_ns), self._pids, strict=True)
        )
        moments = (begin_ns, None, None, answered_ns, called_ns, end_ns)
        more = (opened_ns, median_ns, router_ns, None if resumed is None else int(resumed))
        return Session(calls, size, *moments, cpu_ns, server_ns, *more)

    def _call(self, client: Any, payloads: list[bytes], calls: int) -> int:
        """Make so many calls, each of them verified; return the median of their times in ns."""
        sent, received = (memoryview(times)[:calls] for times in self._times)
        self._run(self._loop(client.call, payloads, sent, received, NEVER_NS))
        took = sorted(after - before for before, after in zip(sent, received, strict=True))
        return took[(calls - 1) // 2]

    async def _begin(self, client: Any, payloads: list[bytes]) -> tuple[int, int]:
        """Open a connection, make its first call; return when it was open, and when it had its first reply, in ns."""
        opening = client.open()
        if self._is_async:
            await opening
        opened_ns = time.perf_counter_ns()
        reply = client.call(payloads[0])
        if self._is_async:
            reply = await reply
        answered_ns = time.perf_counter_ns()
        if reply != payloads[0]:
            raise timed_loops.wrong_answer(payloads[0], reply, 0)
        return opened_ns, answered_ns

    @staticmethod
    def _cpu_ns(pids: Any) -> int | None:
        return cpu_clocks.used_by_trees_ns(pids) if pids else None

    def report(self) -> LoadReport:
        """Return the number of calls and the connections, in the order of opening."""
        calls = sum(session.calls for session in self._done)
        return LoadReport(calls, window_s=(self._done[-1].end_ns - self._at_ns) / 1e9, sessions=self._done)

    def close(self) -> None:
        """Have nothing left to disconnect."""
