"""The two ends of a one-way stream, each in its process: the sender makes the load, the receiver verifies it."""

from collections.abc import Callable
from typing import Any

from bench.child import timed_loops
from bench.child.caller import is_async, runner_of, translating
from bench.contract import Binding, LoadReport
from bench.process.spec import ClientSpec


class Sending:
    """The sender, a load as ``bench.child.loads.Callers``."""

    TIMED = timed_loops.send_stream, timed_loops.send_stream_async

    def __init__(self, system: Any, options: Any, address: str, spec: ClientSpec) -> None:
        self._sender = system.Sender(address, options)
        awaits = is_async(system.Sender, "send")
        self._run = runner_of(awaits, options)
        self._loop: Any = timed_loops.send_stream_async if awaits else timed_loops.send_stream
        self._payload = timed_loops.make_payloads(spec.case.payload_bytes, spec.seed)[0]
        self._marks = timed_loops.Marks()

    def first(self) -> None:
        """Connect and send one message, which the receiver verifies."""
        with translating(self._sender):
            self._run(self._sender.open())
            self._run(self._sender.send(self._payload))

    def load(self, at_ns: int, until_ns: int) -> None:
        """Send until the window's end."""
        with translating(self._sender):
            self._marks = self._run(self._loop(self._sender.send, self._payload, until_ns))

    def report(self) -> LoadReport:
        """Return the number of messages, and the marks (times, counts)."""
        return LoadReport(self._marks.messages[-1], [self._marks.times, self._marks.messages])

    def close(self) -> None:
        """Disconnect when all messages have been sent."""
        with translating(self._sender):
            self._run(self._sender.close())


class Receiving:
    """The receiver."""

    def __init__(self, system: Any, binding: Binding, options: Any) -> None:
        self._receiver = system.Receiver(binding, options)
        awaits = is_async(system.Receiver, "receive")
        self._run = runner_of(awaits, options)
        self._loop: Any = timed_loops.receive_stream_async if awaits else timed_loops.receive_stream
        if awaits:
            self._run(self._receiver.open())
        self.address: str = self._receiver.address

    def receive(self, payload: bytes, on_first: Callable[[], None]) -> timed_loops.Marks:
        """Verify and report the first message, receive the rest of the stream, and leave."""
        with translating(self._receiver):
            first = self._run(self._receiver.receive())
            if first != payload:
                raise timed_loops.wrong_answer(payload, first, 0)
            on_first()
            marks: timed_loops.Marks = self._run(self._loop(self._receiver.receive, payload))
            self._run(self._receiver.close())
            return marks
