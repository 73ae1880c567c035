"""The timed loops, the same for every system under test.

Times are ``time.perf_counter_ns``. Callers own the preallocated ``array("q")`` buffers, so that nothing
grows while the clock runs. Requests rotate through a few payloads that differ, so that a reply to an
earlier request is not mistaken for the right one.
"""

import itertools
import time
from array import array
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Any

from bench.errors import SystemFailedError

END = b""  # ends a one-way stream: no payload is empty
NEVER_NS = 1 << 62


def make_payloads(size: int, seed: int) -> list[bytes]:
    """Return incompressible payloads of ``size`` bytes, different where the size allows it: 16, or 16 MB in all."""
    import random

    source = random.Random(seed)
    return [source.randbytes(size) for _ in range(max(2, min(16, 16_000_000 // size)))]


def from_place(payloads: list[Any], number: int) -> list[Any]:
    """Return payloads in turn from another place on, so that calls under way together differ."""
    index = number % len(payloads)
    return payloads[index:] + payloads[:index]


def zeros(count: int) -> "array[int]":
    """Return a preallocated buffer of int64."""
    return array("q", bytes(8)) * count


def wrong_answer(payload: Any, reply: Any, number: int) -> SystemFailedError:
    """Return the error for a reply that differs from what was sent, or, to a structured message, from the expected."""
    does = "echo"
    if not isinstance(payload, bytes):
        what, does = payload.difference(reply), "answer as it should"
    elif reply is None:
        what = "None: call() must return the reply"
    elif len(reply) != len(payload):
        what = f"{len(reply)} bytes instead of {len(payload)}"
    else:
        first = next(i for i, (a, b) in enumerate(zip(payload, reply, strict=True)) if a != b)
        what = f"{len(reply)} bytes that differ from byte {first} on"
    return SystemFailedError(
        f"request {number} was answered with {what}: the server does not {does}; "
        "check that the right server listens there and that it was started by this version"
    )


def closed(
    call: Callable[[Any], Any],
    payloads: Iterable[Any],
    sent: "array[int]",
    received: "array[int]",
    until_ns: int,
) -> int:
    """Call, wait, call again until ``until_ns`` or the buffers are full; return the number of calls."""
    clock = time.perf_counter_ns
    index = -1
    for index, payload in zip(range(len(sent)), itertools.cycle(payloads)):
        t_send = clock()
        reply = call(payload)
        t_recv = clock()
        if payload != reply:
            raise wrong_answer(payload, reply, index)
        sent[index] = t_send
        received[index] = t_recv
        if t_recv >= until_ns:
            break
    return index + 1


async def closed_async(
    call: Callable[[Any], Awaitable[Any]],
    payloads: Iterable[Any],
    sent: "array[int]",
    received: "array[int]",
    until_ns: int,
) -> int:
    """Do what ``closed`` does, for a client whose ``call`` is awaited."""
    clock = time.perf_counter_ns
    index = -1
    for index, payload in zip(range(len(sent)), itertools.cycle(payloads)):
        t_send = clock()
        reply = await call(payload)
        t_recv = clock()
        if payload != reply:
            raise wrong_answer(payload, reply, index)
        sent[index] = t_send
        received[index] = t_recv
        if t_recv >= until_ns:
            break
    return index + 1


_spun_ns = zeros(1)


def spun_ns() -> int:
    """Return the CPU time in ns that this process has spent so far in spinning until requests are due."""
    return _spun_ns[0]


def add_spun(ns: int) -> None:
    """Count time that was spent in such spinning elsewhere than in ``wait_until``."""
    _spun_ns[0] += ns


def wait_until(instant_ns: int) -> None:
    """Return at a time of ``perf_counter_ns``: sleep until shortly before it, then spin; ``spun_ns`` counts the spin.

    Its last microseconds are counted by the wall clock: a CPU clock takes too long to be read before a request is sent.
    """
    early_ns, last_ns = 150_000, 5_000
    remaining = instant_ns - time.perf_counter_ns()
    if remaining > early_ns:
        time.sleep((remaining - early_ns) / 1e9)
    if remaining > last_ns:
        woken_ns = time.thread_time_ns()
        while time.perf_counter_ns() < instant_ns - last_ns:
            pass
        _spun_ns[0] += time.thread_time_ns() - woken_ns + max(0, instant_ns - time.perf_counter_ns())
    while time.perf_counter_ns() < instant_ns:
        pass


def punctual() -> None:
    """Set this thread's timer slack to the minimum: by default Linux may end each sleep 50 us late."""
    import ctypes
    import sys

    if sys.platform == "linux":
        set_timer_slack, nanoseconds = 29, 1
        ctypes.CDLL(None).prctl(set_timer_slack, nanoseconds, 0, 0, 0)


def schedule(rate_per_s: float, window_s: float, arrivals: str, seed: int) -> list[int]:
    """Return when requests are due, in ns after *go*, all within the window.

    arrivals: ``uniform``, or ``poisson``, whose rate may change in steps: see ``bench.plan.arrivals``.
    """
    import random

    from bench.plan.arrivals import in_steps, steps_of

    step, end = 1e9 / rate_per_s, window_s * 1e9
    if arrivals == "uniform":
        return [int(step * number) for number in range(int(end / step) + 1) if step * number < end]
    chance, due, dues = random.Random(seed), 0.0, []
    while (due := due + chance.expovariate(1) * step) < end:
        dues.append(int(due))
    if steps := steps_of(arrivals):
        return [int(end * share) for share in in_steps((due / end for due in dues), steps)]
    return dues


def replayed(gaps: Sequence[float], index: int, rate_per_s: float, window_s: float) -> list[int]:
    """Return when recorded requests are due, in ns after *go*, all within the window, from the one at ``index`` on.

    gaps: the time from each request to the next, in any unit; they are repeated, at a mean rate.
    """
    scale, due, dues = 1e9 * len(gaps) / sum(gaps) / rate_per_s, 0.0, []
    while due < window_s * 1e9:
        dues.append(int(due))
        due += gaps[index % len(gaps)] * scale
        index += 1
    return dues


def opened(
    call: Callable[[Any], Any],
    payloads: Iterable[Any],
    due: "array[int]",
    sent: "array[int]",
    received: "array[int]",
    until_ns: int,
) -> int:
    """Call at each due time, or as soon after it as the reply before allows; return the number of calls.

    What is still unsent at ``until_ns`` is dropped. Times are absolute; waiting for a due time spins at its end.
    """
    clock = time.perf_counter_ns
    index = -1
    for index, (instant, payload) in enumerate(zip(due, itertools.cycle(payloads))):
        if clock() >= until_ns:
            return index
        wait_until(instant)
        t_send = clock()
        reply = call(payload)
        t_recv = clock()
        if payload != reply:
            raise wrong_answer(payload, reply, index)
        sent[index] = t_send
        received[index] = t_recv
    return index + 1


async def opened_async(
    call: Callable[[Any], Awaitable[Any]],
    payloads: Iterable[Any],
    due: "array[int]",
    sent: "array[int]",
    received: "array[int]",
    until_ns: int,
) -> int:
    """Do what ``opened`` does, for a client whose ``call`` is awaited.

    It waits outside the event loop, whose timers round up to 1 ms: with one caller there is nothing else to do then.
    """
    clock = time.perf_counter_ns
    index = -1
    for index, (instant, payload) in enumerate(zip(due, itertools.cycle(payloads))):
        if clock() >= until_ns:
            return index
        wait_until(instant)
        t_send = clock()
        reply = await call(payload)
        t_recv = clock()
        if payload != reply:
            raise wrong_answer(payload, reply, index)
        sent[index] = t_send
        received[index] = t_recv
    return index + 1


class Marks:
    """A progress record of a stream: at a time (ns), this many messages had passed."""

    def __init__(self) -> None:
        self.times = array("q")
        self.messages = array("q")

    def add(self, time_ns: int, messages: int) -> None:
        """Append one mark."""
        self.times.append(time_ns)
        self.messages.append(messages)


def batch_for(size: int) -> int:
    """Return how many messages pass between two marks: about 1 MB, at most 256."""
    return max(1, min(256, 1_000_000 // size))


def send_stream(send: Callable[[bytes], object], payload: bytes, until_ns: int) -> Marks:
    """Send one-way messages until ``until_ns``, at least one batch, then END; a mark when each has been handed over."""
    clock, batch, count, marks = time.perf_counter_ns, batch_for(len(payload)), 0, Marks()
    now = clock()
    marks.add(now, 0)
    while True:
        for _ in itertools.repeat(None, batch):  # not map(): calls of Python functions are faster here
            send(payload)
        count += batch
        now = clock()
        marks.add(now, count)
        if now >= until_ns:
            break
    send(END)
    return marks


def receive_stream(receive: Callable[[], bytes], payload: bytes) -> Marks:
    """Receive until END; mark the first message and then each batch; verify every byte.

    A batch is gathered and compared by ``list`` and ``list.count``, at a fraction of the cost of a ``for``.
    """
    messages, count, marks = iter(receive, END), 0, Marks()
    for wanted in itertools.chain((1,), itertools.repeat(batch_for(len(payload)))):
        batch = list(itertools.islice(messages, wanted))
        if not batch:
            break
        marks.add(time.perf_counter_ns(), count + len(batch))
        if batch.count(payload) != len(batch):
            offset, wrong = next((i, m) for i, m in enumerate(batch) if m != payload)
            raise wrong_answer(payload, wrong, count + offset)
        count += len(batch)
    return marks


async def send_stream_async(send: Callable[[bytes], Awaitable[object]], payload: bytes, until_ns: int) -> Marks:
    """Send one-way messages as ``send_stream`` does; each is awaited."""
    clock, batch, count, marks = time.perf_counter_ns, batch_for(len(payload)), 0, Marks()
    now = clock()
    marks.add(now, 0)
    while True:
        for _ in itertools.repeat(None, batch):
            await send(payload)
        count += batch
        now = clock()
        marks.add(now, count)
        if now >= until_ns:
            break
    await send(END)
    return marks


async def receive_stream_async(receive: Callable[[], Awaitable[bytes]], payload: bytes) -> Marks:
    """Receive until END as ``receive_stream`` does; each message is awaited, and verified when it has come."""
    count, wanted, marks = 0, 1, Marks()
    batch = batch_for(len(payload))
    while (message := await receive()) != END:
        if message != payload:
            raise wrong_answer(payload, message, count)
        count += 1
        if count == wanted:
            marks.add(time.perf_counter_ns(), count)
            wanted += batch
    if count > (marks.messages[-1] if marks.messages else 0):
        marks.add(time.perf_counter_ns(), count)
    return marks
