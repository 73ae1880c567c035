"""Whole client processes, one after another: each starts, connects, makes some calls, and ends.

``python -m bench.child.session`` is such a process, for systems whose client is Python; the program of a system that
has one of its own is started directly. ``Sessions`` is the load of a client's process that runs them.
"""

import os
import sys
import threading
import time
from typing import Any, NamedTuple

from bench import systems
from bench.child import timed_loops
from bench.child.caller import is_async, run_plain, translating
from bench.child.timed_loops import NEVER_NS
from bench.contract import LoadReport
from bench.errors import BenchError, TransportError
from bench.plan import credentials
from bench.process import cpu_clocks
from bench.process.channel import Reader, decode, encode, read_line
from bench.process.pipes import Process, python
from bench.process.spec import ClientSpec, Connect, SessionDone, SessionSpec


class Session(NamedTuple):
    """One client process, or one connection; times in ns of ``perf_counter_ns``, None where they are not known.

    interpreted_ns: its first line ran. prepared_ns: its system was imported. answered_ns: the first reply arrived.
    called_ns: the last reply arrived. end_ns: it had ended. Of a connection alone: opened_ns: its client's
    ``open`` had returned. median_ns: of the times of its calls after the first. resumed: 1 if its TLS session was.
    """

    calls: int
    payload_bytes: int
    begin_ns: int
    interpreted_ns: int | None
    prepared_ns: int | None
    answered_ns: int
    called_ns: int
    end_ns: int
    client_cpu_ns: int
    server_cpu_ns: int | None
    opened_ns: int | None = None
    median_ns: int | None = None
    router_cpu_ns: int | None = None
    resumed: int | None = None


class Sessions:
    """The load of a process that runs client processes one at a time, with the methods of ``Callers``."""

    TIMED = timed_loops.closed, timed_loops.closed_async

    def __init__(self, system: Any, options: Any, server: Connect, spec: ClientSpec) -> None:
        self._system, self._options, self._address, self._spec = system, options, server.address, spec
        self._server_pids = server.pids
        self._done: list[Session] = []
        self._at_ns = 0

    def first(self) -> int:
        """Run one process with one call, so that all files are in the page cache; return its duration in ns."""
        session = self._run(1, self._spec.case.payload_bytes)
        return session.answered_ns - (session.prepared_ns or session.begin_ns)

    def load(self, at_ns: int, until_ns: int) -> None:
        """Run the processes in their order, however long they take."""
        self._at_ns = at_ns
        self._done = [self._run(calls, payload_bytes) for calls, payload_bytes in self._spec.case.sessions]

    def _run(self, calls: int, payload_bytes: int) -> Session:
        server_ns, ended_ns = cpu_clocks.used_by_trees_ns(self._server_pids), cpu_clocks.ended_ns()
        native = systems.makes_calls(self._system, self._spec.case.options)
        begin_ns = time.perf_counter_ns()
        marks: tuple[Any, ...] = (self._native if native else self._python)(calls, payload_bytes)
        end_ns = time.perf_counter_ns()
        client_ns = cpu_clocks.ended_ns() - ended_ns
        server = max(0, cpu_clocks.used_by_trees_ns(self._server_pids) - server_ns) if self._server_pids else None
        interpreted, prepared, answered, called = marks
        moments = (begin_ns, interpreted, prepared, answered, called, end_ns)
        return Session(calls, payload_bytes, *moments, client_ns, server)

    def _python(self, calls: int, payload_bytes: int) -> tuple[int, int, int, int]:
        """Run this file as a program; TransportError with what it said."""
        spec = self._spec
        order = SessionSpec(
            system=spec.case.system,
            options=spec.case.options,
            address=self._address,
            calls=calls,
            payload_bytes=payload_bytes,
            seed=spec.seed,
            credentials=spec.credentials,
        )
        process = Process(python("bench.child.session", b"".join(encode(order)).decode()))
        output = process.output.read()
        if status := process.end():
            why = output.decode().strip() or f"it ended with status {status}"
            raise TransportError(f"a client process failed: {why}")
        (done,) = Reader().feed(output)
        assert isinstance(done, SessionDone)
        return done.interpreted_ns, done.prepared_ns, done.answered_ns, done.called_ns

    def _native(self, calls: int, payload_bytes: int) -> tuple[None, None, int, int]:
        """Run the system's own program."""
        payloads = timed_loops.make_payloads(payload_bytes, self._spec.seed)
        program = self._system.Load(self._address, self._options, payloads, 1, max(1, calls - 1))
        program.first()
        answered = called = time.perf_counter_ns()
        if calls > 1:
            program.load(answered, NEVER_NS)
            called = time.perf_counter_ns()
            program.report()
        program.close()
        return None, None, answered, called

    def report(self) -> LoadReport:
        """Return the number of calls, and the processes in the order in which they ran."""
        calls = sum(session.calls for session in self._done)
        window_s = (self._done[-1].end_ns - self._at_ns) / 1e9
        return LoadReport(calls, window_s=window_s, sessions=self._done)

    def close(self) -> None:
        """Do nothing: each process has disconnected."""


def _leave_with_parent() -> None:
    """End this process when its input ends, that is when its parent ends."""
    os.read(0, 1)
    os._exit(1)


def main() -> None:
    """Connect, make the calls, disconnect; print when each was done."""
    interpreted_ns = time.perf_counter_ns()
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    order = decode(read_line(sys.argv[1].encode()))
    assert isinstance(order, SessionSpec)
    credentials.use(order.credentials)
    system: Any = systems.load(order.system)
    options = system.Options(**order.options)
    client = system.Client(order.address, options)
    payloads = timed_loops.make_payloads(order.payload_bytes, order.seed)
    prepared_ns = time.perf_counter_ns()
    loop, run = _loop(client, options)
    with translating(client):
        answered_ns, called_ns = run(_calls(client, loop, payloads, max(0, order.calls - 1)))
    moments = {"interpreted_ns": interpreted_ns, "prepared_ns": prepared_ns}
    done = SessionDone(**moments, answered_ns=answered_ns, called_ns=called_ns)
    print(b"".join(encode(done)).decode(), end="")


async def _calls(client: Any, loop: Any, payloads: list[bytes], more: int) -> tuple[int, int]:
    """Connect, make one call and ``more``, disconnect; return when the first and the last was answered, in ns."""
    is_async = loop is timed_loops.closed_async

    async def done(result: Any) -> None:
        if is_async:
            await result

    await done(client.open())
    await done(loop(client.call, payloads, timed_loops.zeros(1), timed_loops.zeros(1), NEVER_NS))
    answered_ns = called_ns = time.perf_counter_ns()
    if more:
        await done(loop(client.call, payloads, timed_loops.zeros(more), timed_loops.zeros(more), NEVER_NS))
        called_ns = time.perf_counter_ns()
    await done(client.close())
    return answered_ns, called_ns


def _loop(client: Any, options: Any) -> tuple[Any, Any]:
    """Return the timed loop for a client's kind of calls, and the function that runs ``_calls`` to its end."""
    if not is_async(type(client)):
        return timed_loops.closed, run_plain
    import asyncio

    from bench.process import event_loops

    return timed_loops.closed_async, asyncio.Runner(loop_factory=event_loops.factory(options)).run


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        print(error)
        sys.exit(1)
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        raise
