"""Closed loads with several calls under way at once on each connection.

Each of these calls has a slot: its payloads, and the times of its calls, one after another. A slot begins its next call
when its last one is answered, so that as many calls as there are slots are under way, and never more.
"""

import asyncio
import functools
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench.child import timed_loops
from bench.child.caller import Caller, Failures, failed, renew, run_plain, translating
from bench.child.structured_messages import ApartCarrier, Payloads
from bench.contract import LoadReport
from bench.errors import SystemFailedError, TransportError
from bench.process import event_loops
from bench.process.spec import ClientSpec

LOST = ("connect", "read", "call", "UNAVAILABLE")  # kinds of failures after which the connection is opened anew


def payloads_of_slots(spec: ClientSpec, payloads: list[Any]) -> list[list[Any]]:
    """Return the payloads of each slot of a process; those of the last are large if the specification says so."""
    slots = [timed_loops.from_place(payloads, number) for number in range(spec.case.callers * spec.case.outstanding)]
    if not spec.case.large_bytes:
        return slots
    return [*slots[:-1], timed_loops.make_payloads(spec.case.large_bytes, spec.seed)]


def report_of(slots: Sequence[Any], codec: dict[str, float]) -> LoadReport:
    """Return the number of calls, what failed, the times of each slot, and those of the codec alone."""
    times = [memoryview(column)[: slot.calls] for slot in slots for column in (slot.sent, slot.received)]
    return LoadReport(sum(slot.calls for slot in slots), times, *failed(slots), codec=codec)


class SharedClient:
    """A client of an asynchronous library on which several calls are awaited at once; ``client`` is renewed.

    run: runs a coroutine in the event loop of the process.
    """

    def __init__(self, make: Callable[[], Any], run: Callable[[Any], Any]) -> None:
        self._make, self.run = make, run
        self.client = make()
        self._lock = asyncio.Lock()

    async def renew(self, old: Any, error: TransportError) -> None:
        """Connect anew, unless another call that failed with it has done so already; else raise the error.

        A call that was refused leaves the connection, and the other calls on it, as they are.
        """
        if error.kind not in LOST:
            return
        async with self._lock:
            if self.client is not old:
                return
            self.client = await renew(self._make, old, error)


class AwaitedSlot(Caller):
    """A slot whose client is shared with the other slots of its connection."""

    def __init__(self, shared: SharedClient, payloads: list[Any], size: int) -> None:
        super().__init__(lambda: shared.client, payloads, size, shared.run)
        self._shared = shared

    async def _renew(self, error: TransportError, received: Any) -> None:
        self._count(error, received)
        await self._shared.renew(self._client, error)
        self._client = self._shared.client


class SharedClients:
    """The connections of a process with an asynchronous library, which all its slots share."""

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec, loop_factory: Any) -> None:
        self._runner = asyncio.Runner(loop_factory=loop_factory)
        self._payloads = Payloads(system, options, spec)
        kind = system.Multiplexed if spec.case.outstanding > 1 else system.Client
        make = self._payloads.around(functools.partial(kind, address, options))
        self._connections = [SharedClient(make, self._runner.run) for _ in range(spec.case.callers)]

    def close(self) -> None:
        for connection in self._connections:
            with translating(connection.client):
                connection.run(connection.client.close())


class Awaited(SharedClients):
    """The load of a process with an asynchronous library: a task for each slot, on the client of its connection."""

    TIMED = (timed_loops.closed_async,)

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        super().__init__(system, options, address, spec, event_loops.factory(options))
        depth, max_calls = spec.case.outstanding, spec.case.calls_per_caller
        self._slots = [
            AwaitedSlot(self._connections[number // depth], self._payloads.noting(payloads), max_calls)
            for number, payloads in enumerate(payloads_of_slots(spec, self._payloads.items))
        ]

    def first(self) -> int:
        times = [slot.first() for slot in self._slots[:: len(self._slots) // len(self._connections)]]
        return times[0]

    def load(self, at_ns: int, until_ns: int) -> None:
        self._runner.run(self._side_by_side(until_ns))

    async def _side_by_side(self, until_ns: int) -> None:
        await asyncio.gather(*(slot.closed(until_ns) for slot in self._slots))

    def report(self) -> LoadReport:
        """Return the number of calls, what failed, and the columns of each slot."""
        return LoadReport(
            sum(slot.calls for slot in self._slots),
            [column for slot in self._slots for column in slot.columns],
            *failed(self._slots),
            codec=self._payloads.codec_alone(),
            requests=self._payloads.names,
        )


class PipelinedSlot:
    """A slot of a connection whose calls are sent and received apart."""

    def __init__(self, payloads: list[Any], size: int) -> None:
        self._turns = itertools.cycle(payloads)
        self.payload: Any = b""  # of the call under way; none: b""
        self.sent, self.received = timed_loops.zeros(size), timed_loops.zeros(size)
        self.failures = Failures()
        self.calls = 0

    def turn(self) -> Any:
        """Return the payload of the next call, which is under way from now on."""
        self.payload = next(self._turns)
        return self.payload

    @property
    def has_room(self) -> bool:
        """Whether there is room for the times of one more call."""
        return self.calls < len(self.sent)


class Pipeline:
    """A connection of a blocking library and its slots; one thread sends and receives for all of them."""

    def __init__(self, make: Callable[[], Any], slots: Sequence[PipelinedSlot]) -> None:
        self._make = make
        self._connection = make()
        self._slots = slots

    def first(self) -> int:
        """Connect and make one verified call; return its time in ns."""
        self._connection.open()
        payload = self._slots[0].turn()
        with translating(self._connection):
            began = time.perf_counter_ns()
            self._connection.send(0, payload)
            _, reply = self._connection.receive()
            took = time.perf_counter_ns() - began
        self._slots[0].payload = b""
        if payload != reply:
            raise timed_loops.wrong_answer(payload, reply, 0)
        return took

    def load(self, until_ns: int) -> None:
        """Keep one call of each slot under way until an instant, or until its buffers are full."""
        while True:
            try:
                with translating(self._connection):
                    return self._run(until_ns)
            except TransportError as error:
                self._renew(error)
                if time.perf_counter_ns() >= until_ns:
                    return None

    def _run(self, until_ns: int) -> None:
        clock, slots, under_way = time.perf_counter_ns, self._slots, 0
        send, receive = self._connection.send, self._connection.receive
        for number, slot in enumerate(slots):
            if slot.has_room:
                payload = slot.turn()
                under_way += 1
                slot.sent[slot.calls] = clock()
                send(number, payload)
        while under_way:
            number, reply = receive()
            t_recv = clock()
            slot = slots[number]
            if not slot.payload:
                raise SystemFailedError(f"a reply came for call {number}, which was answered before")
            if slot.payload != reply:
                raise timed_loops.wrong_answer(slot.payload, reply, slot.calls)
            slot.received[slot.calls] = t_recv
            slot.calls += 1
            if t_recv >= until_ns or not slot.has_room:
                slot.payload = b""
                under_way -= 1
                continue
            payload = slot.turn()
            slot.sent[slot.calls] = clock()
            send(number, payload)

    def _renew(self, error: TransportError) -> None:
        """Count all calls under way as failed, and connect anew; where that is not possible, raise the error."""
        for slot in self._slots:
            if slot.payload:
                slot.payload = b""
                slot.failures.add(error)
        self._connection = run_plain(renew(self._make, self._connection, error))

    def close(self) -> None:
        with translating(self._connection):
            self._connection.close()


class SequentialConnection:
    """A client of a blocking library, with the verbs of a connection whose calls are sent and received apart.

    For connections with one call under way, of systems that have no others: ``send`` keeps, ``receive`` calls.
    """

    def __init__(self, client: Any) -> None:
        self.open, self.close = client.open, client.close
        self.inner_client = self._client = client
        self._waiting: tuple[int, bytes] = (0, b"")

    def send(self, number: int, payload: bytes) -> None:
        """Keep a call's number and payload."""
        self._waiting = number, payload

    def receive(self) -> tuple[int, bytes]:
        """Make the call; return its number and its reply."""
        number, payload = self._waiting
        return number, self._client.call(payload)


class Pipelined:
    """The load of a process with a blocking library: a thread for each connection, which has all its slots."""

    TIMED = (Pipeline._run,)

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        self._payloads, max_calls, depth = (
            Payloads(system, options, spec),
            spec.case.calls_per_caller,
            spec.case.outstanding,
        )
        self._slots = [PipelinedSlot(payloads, max_calls) for payloads in payloads_of_slots(spec, self._payloads.items)]

        def make() -> Any:
            if hasattr(system, "Multiplexed"):
                return system.Multiplexed(address, options)
            return SequentialConnection(system.Client(address, options))

        make_carrier = self._payloads.around(make, ApartCarrier)
        self._connections = [
            Pipeline(make_carrier, self._slots[index : index + depth]) for index in range(0, len(self._slots), depth)
        ]

    def first(self) -> int:
        times = [connection.first() for connection in self._connections]
        return times[0]

    def load(self, at_ns: int, until_ns: int) -> None:
        if len(self._connections) == 1:
            return self._connections[0].load(until_ns)
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(len(self._connections)) as threads:
            list(threads.map(lambda connection: connection.load(until_ns), self._connections))

    def report(self) -> LoadReport:
        """Return the number of calls, what failed, and the times of each slot."""
        return report_of(self._slots, self._payloads.codec_alone())

    def close(self) -> None:
        for connection in self._connections:
            connection.close()
