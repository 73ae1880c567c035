"""The server's process: ``python -m bench.child.server``, started by ``bench.measurement`` with a specification.

It imports the one system that it serves, and no module for analysis or figures.
"""

import functools
import inspect
import itertools
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from bench import systems
from bench.child.one_way import Receiving
from bench.child.open_files import allow_many_files
from bench.child.structured_messages import application, carried
from bench.child.timed_loops import make_payloads, punctual
from bench.contract import Binding
from bench.errors import SystemFailedError
from bench.plan import credentials, replies
from bench.process import cpu_clocks
from bench.process.channel import Channel, Counted, Listening, pin, run_child
from bench.process.spec import Arrived, FirstArrived, ServerSpec


class Echo:
    """The application behind every system: it answers and counts; opaque bytes it returns.

    Of streams it is a paced source that stands for a model, or one without pauses.
    """

    def __init__(
        self,
        on_announce: Callable[[str, Mapping[str, int]], None],
        adopt: Callable[[int], None] = lambda pid: None,
        apply: Callable[[Any], Any] | None = None,
    ) -> None:
        """Keep the callbacks for the address, and for process groups that end with the server.

        ``apply``: what it does with a request that is more than bytes.
        """
        self._on_announce = on_announce
        self.adopt = adopt
        self._calls = itertools.count()  # its ``next`` is atomic, whatever threads answer
        self._asked = 0
        self._counts: Callable[[], Sequence[int] | None] = tuple  # of workers elsewhere, if there are any
        self.answer = self._make_answer(apply)
        self.is_streaming = False
        self.warm_up: Callable[[str, int], bool] = lambda address, requests: False

    def _make_answer(self, apply: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
        calls = self._calls

        def answer(payload: bytes) -> bytes:
            next(calls)
            return payload

        if apply is None:
            return answer

        def respond(request: Any) -> Any:
            next(calls)
            return apply(request)

        return respond

    def replies(self, payload: bytes, gaps_ns: Iterator[int] | None = None) -> Iterator[bytes]:
        """Yield the replies to a request, each when it is due: the thread sleeps until then.

        Reply k is due at the request's arrival + k gaps: an absolute schedule, so that a late reply does not delay the
        next. ``gaps_ns`` replaces the request's gap: the time before each reply after the one before was due.
        """
        ask = replies.asked(payload)
        fixed, clock = replies.rest(ask.reply_bytes), time.perf_counter_ns
        due, is_paced = clock(), bool(ask.gap_ns or gaps_ns is not None)
        for number in range(ask.replies):
            if gaps_ns is not None:
                due += next(gaps_ns)
            elif number:
                due += ask.gap_ns
            while is_paced and (remaining := due - clock()) > 0:  # no spinning: other threads have to run
                time.sleep(remaining / 1e9)
            next(self._calls)
            handed = clock()
            yield replies.reply(number, due if is_paced else handed, handed, fixed)

    async def replies_async(self, payload: bytes) -> AsyncIterator[bytes]:
        """Yield the replies to a request, each when it is due: the event loop's own timer wakes its task."""
        import asyncio  # not at the top: servers of threads start sooner without it

        loop = asyncio.get_running_loop()
        least_s = 0 if isinstance(loop, asyncio.BaseEventLoop) else 0.001  # uvloop's shorter pauses are none: it spins
        ask = replies.asked(payload)
        fixed, clock = replies.rest(ask.reply_bytes), time.perf_counter_ns
        begin = clock()
        for number in range(ask.replies):
            due = begin + number * ask.gap_ns
            while ask.gap_ns and (remaining := due - clock()) > 0:
                await asyncio.sleep(max(least_s, remaining / 1e9))
            next(self._calls)
            handed = clock()
            yield replies.reply(number, due if ask.gap_ns else handed, handed, fixed)

    def announce(
        self,
        address: str,
        pids: Mapping[str, int] | None = None,
        counts: Callable[[], Sequence[int] | None] | None = None,
    ) -> None:
        self._counts = counts or self._counts
        self._on_announce(address, pids or {})

    def count(self) -> Counted:
        """Return how many requests were answered so far, by each worker if there are any, and the context switches."""
        here, counts = next(self._calls) - self._asked, self._counts()
        self._asked += 1  # reading the counter increments it
        if counts is None:
            return Counted(count=None)
        workers = list(counts)
        return Counted(count=here + sum(workers), workers=workers or None, switches=cpu_clocks.switches_of_others())


def serve(system: Any, binding: Binding, options: Any, echo: Echo) -> None:
    """Run a system's ``serve``; one that is ``async def`` in the event loop that its options name."""
    serving = system.serve(binding, options, echo)
    if inspect.iscoroutine(serving):
        from bench.process import event_loops  # not at the top: servers of threads start sooner without it

        event_loops.run(serving, options)


def serve_calls(channel: Channel, spec: ServerSpec, system: Any, binding: Binding, options: Any) -> None:
    """Serve requests until ordered to leave."""

    def announce(address: str, pids: Mapping[str, int]) -> None:
        if spec.bind and spec.case.transport == "ipc" and not spec.router:
            channel.socket_file = spec.bind.removeprefix("ipc://")  # from here on it is removed with this process
        channel.send(Listening(address=address, pids=dict(pids)))

    echo = Echo(announce, channel.adopt, application(carried(system, options, spec.case.message)))
    allow_many_files()
    if spec.case.load == "reply_stream":
        echo.is_streaming = True
        punctual()
    echo.warm_up = functools.partial(_warm_up, spec, system, options)
    channel.on_count = echo.count
    serve(system, binding, options, echo)
    raise SystemFailedError(f"serve() of {spec.case.system} returned instead of answering")


def _warm_up(spec: ServerSpec, system: Any, options: Any, address: str, requests: int) -> bool:
    """Do what ``Service.warm_up`` says for a specification."""
    from bench.child import warm_up  # a client, which few servers need

    return spec.case.load != "reply_stream" and warm_up.by_wire(spec, system, options, address, requests)


def serve_stream(channel: Channel, spec: ServerSpec, system: Any, binding: Binding, options: Any) -> None:
    """Receive one stream, report its marks, and wait for the order to leave."""
    receiving = Receiving(system, binding, options)
    channel.send(Listening(address=receiving.address))
    payload = make_payloads(spec.case.payload_bytes, spec.seed)[0]
    marks = receiving.receive(payload, lambda: channel.send(FirstArrived()))
    channel.send(Arrived(blobs=(marks.times, marks.messages)))
    threading.Event().wait()


def main(channel: Channel) -> None:
    """Read the specification and serve."""
    spec = channel.receive(ServerSpec)
    system = systems.load(spec.case.system)
    pin(spec.cpus)  # not before: both sides' imports take turns where they share a CPU
    if (spec.case.transport == "ipc" and spec.bind is None) or spec.environment or spec.credentials:
        channel.make_directory(spec.directory)
    credentials.use(spec.credentials)
    credentials.write(spec.directory, spec.credentials)
    options = system.Options(**spec.case.options)
    binding = Binding(
        spec.case.transport, spec.directory, spec.bind, spec.router, spec.environment, spec.case.message, spec.directory
    )
    work = serve_stream if spec.case.load == "stream" else serve_calls
    work(channel, spec, system, binding, options)


if __name__ == "__main__":
    run_child(main)
