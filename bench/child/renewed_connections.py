"""Closed loads that do not keep their connections: each caller opens a new one after some calls.

The timed loop is that of connections that are kept, once for each connection. The first call of the window opens a
connection, too, so that n calls need n / calls_per_connection connections, rounded up.
"""

import contextlib
import functools
import itertools
import time
from collections.abc import Callable
from typing import Any

from bench.child import timed_loops
from bench.child.caller import Buffer, Caller, answered, resolve, translating
from bench.child.loads import Callers
from bench.errors import TransportError
from bench.process.spec import ClientSpec


class RenewingCaller(Caller):
    """A caller that opens a new connection after ``calls_per_connection`` calls.

    began: for each call when the opening of its connection began; the time of sending for a call over an open one.
    A connection that cannot be opened is a failed call.
    """

    def __init__(
        self,
        calls_per_connection: int,
        make: Callable[[], Any],
        payloads: list[bytes],
        size: int,
        run: Callable[[Any], Any],
    ) -> None:
        super().__init__(make, payloads, size, run)
        self._calls_per_connection = calls_per_connection
        self._turns = itertools.cycle(payloads)  # goes on from one connection to the next
        self.began = timed_loops.zeros(size)
        self._is_begun = False

    async def closed(self, until_ns: int) -> None:
        """Open, call some times, close, open again until an instant or until the buffers are full."""
        is_async, loop = self._is_async, timed_loops.closed_async if self._is_async else timed_loops.closed
        while room := self._next(until_ns):
            began_ns = time.perf_counter_ns()
            try:
                client = self._make()
                opening = client.open()
                if is_async:
                    await opening
            except TransportError as error:
                self.failures.add(error)
                continue
            try:
                with translating(client):
                    calls: Any = loop(client.call, self._turns, *room, until_ns)
                    self._keep(await calls if is_async else calls, began_ns)
            except TransportError as error:
                self._keep(answered(room[1]), began_ns)  # the calls of its connection that were answered before
                self.failures.add(error)
            with contextlib.suppress(TransportError, OSError), translating(client):
                await resolve(client.close())

    def drop(self) -> None:
        """Close the connection of the first call, before the window."""
        with translating(self._client):
            self.run(self._client.close())

    def _next(self, until_ns: int) -> tuple[Buffer, Buffer] | None:
        """Return the buffers of the next connection's calls; None if the window or the room is over."""
        is_over = self._is_begun and time.perf_counter_ns() >= until_ns
        if is_over or self.calls >= len(self.sent):
            return None
        self._is_begun = True
        sent, received = (
            memoryview(times)[self.calls :][: self._calls_per_connection] for times in (self.sent, self.received)
        )
        return sent, received

    def _keep(self, calls: int, began_ns: int) -> None:
        """Keep the calls of one connection, whose opening the first of them waited for."""
        self.began[self.calls : self.calls + calls] = self.sent[self.calls : self.calls + calls]
        if calls:
            self.began[self.calls] = began_ns
        self.calls += calls

    def close(self) -> None:
        """Have nothing left to disconnect: the last connection was closed behind its last call."""


class RenewedConnections(Callers):
    """The closed load of a process whose callers do not keep their connections."""

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        self.kind = functools.partial(RenewingCaller, spec.case.calls_per_connection)
        super().__init__(system, options, address, spec)

    def first(self) -> int:
        """Connect and make one verified call with each caller, close; return the time of the first in ns."""
        first_ns = super().first()
        for caller in self._callers:
            caller.drop()
        return first_ns

    def _columns(self, caller: Any) -> list[Any]:
        """Return what ``Callers`` does, with when the opening of each call's connection began as the third."""
        sent, received, *request = caller.columns
        return [sent, received, memoryview(caller.began)[: caller.calls], *request]
