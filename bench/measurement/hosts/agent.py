"""Agent: one machine's child processes behind plain calls with bytes, for a conductor on another machine.

Nothing of the engine that carries the calls is in here, and nothing timed goes through it: samples are taken by the
children. When nobody has polled for ``LEASE_S``, the conductor has died, and all children are ended.
"""

import contextlib
import fcntl
import os
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from bench.errors import BenchError, SystemFailedError, UsageError
from bench.measurement import machine, revision
from bench.measurement.held_samples import pack
from bench.measurement.hosts.host import HERE, Metered, WindowMeter
from bench.plan import paths
from bench.process.channel import ControlMessage, Reader, encode
from bench.process.child_process import TICK_S, Child, stop_all
from bench.process.spec import ClientSpec, Done
from bench.text import one_line

LEASE_S = 15.0  # without a poll for so long, there is no conductor any more
LONGEST_POLL_S = 5.0
PIECE = 1 << 20  # bytes of what a child sends, read at once

Output = tuple[int, bytes]  # a child's number, and what it sent: b"" at the end
Order = tuple[str, tuple[Any, ...]]  # a method's name, and what it is called with
Answer = tuple[Any, BenchError | None]  # what it returned, and the error that it raised instead


class _Ticking:
    """The meter of a window, and the thread that reads the load meanwhile."""

    def __init__(self, meter: WindowMeter) -> None:
        self._meter, self._is_over = meter, threading.Event()
        self._thread = threading.Thread(target=self._tick, name="meter", daemon=True)
        self._thread.start()

    def _tick(self) -> None:
        while not self._is_over.wait(TICK_S):
            self._meter.tick()

    def stop(self) -> Metered:
        """Return what was used in the window, and the load."""
        self._is_over.set()
        self._thread.join()
        return self._meter.stop()


class _Samples:
    """The samples in what a client process sends, held until the window is over.

    blobs: as in ``Done``.
    """

    def __init__(self) -> None:
        self._reader = Reader()
        self._is_foreign = False  # what it sends is no message: the conductor says so
        self.blobs: Sequence[bytes] = ()

    def without(self, data: bytes) -> bytes:
        """Return the messages that are complete with this piece of data, without the samples in them."""
        if self._is_foreign:
            return data
        try:
            return b"".join(b"".join(encode(self._held(message))) for message in self._reader.feed(data))
        except SystemFailedError:
            self._is_foreign = True
            return data

    def _held(self, message: ControlMessage) -> ControlMessage:
        if not isinstance(message, Done) or not message.blobs:
            return message
        self.blobs = message.blobs
        return Done(**(vars(message) | {"blobs": (), "is_held": True}))


class Agent:
    """The children of one conductor on this machine; ``number`` of a child or a meter is the conductor's choice."""

    _claimed: ClassVar[dict["Agent", str]] = {}  # the conductor of each agent that has claimed this machine
    _claiming = threading.Lock()

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._children: dict[int, Child] = {}
        self._arrived: list[Output] = []
        self._meters: dict[int, _Ticking] = {}
        self._samples: dict[int, _Samples | None] = {}
        self._is_closed, self._why = False, ""
        self._seen_s = time.monotonic()
        threading.Thread(target=self._watch, name="lease", daemon=True).start()

    # What a conductor calls -------------------------------------------------------------------------------------

    def call(self, orders: Sequence[Order]) -> list[Answer]:
        """Call one method after the other; return what each returned, or the error that it raised."""
        return [self._answer(name, words) for name, words in orders]

    def _answer(self, name: str, words: tuple[Any, ...]) -> Answer:
        try:
            return getattr(HERE if name in OF_MACHINE else self, name)(*words), None
        except BenchError as error:
            return None, error

    def poll(self, seconds: float) -> list[Output]:
        """Return what children have sent since the poll before, after at most so many seconds.

        SystemFailedError if something else than the conductor has ended all children.
        """
        with self._changed:
            self._seen_s = time.monotonic()
            self._changed.wait_for(lambda: self._arrived or self._is_closed, min(seconds, LONGEST_POLL_S))
            if self._why:
                raise SystemFailedError(self._why)
            arrived, self._arrived = self._arrived, []
            self._seen_s = time.monotonic()
            return arrived

    def claim(self, conductor: str) -> None:
        """Take this machine for one conductor; UsageError while another one has it: both would disturb each other."""
        with Agent._claiming:
            if any(other != conductor for other in Agent._claimed.values()):
                raise UsageError("another conductor measures with it now: wait for its end, or use other hosts")
            Agent._claimed[self] = conductor

    def describe(self) -> dict[str, Any]:
        """Return the machine record, the content hash of the package, the Python version, and where sockets go."""
        facts = {"revision": revision.content(), "python_version": revision.python()}
        return machine.record() | facts | {"sockets": paths.for_sockets(), "pid": os.getpid()}

    def now(self) -> int:
        """Return this machine's ``perf_counter_ns``."""
        return time.perf_counter_ns()

    def spawn(self, number: int, name: str, module: str, spec: bytes) -> int:
        """Start ``python -m MODULE`` with an encoded specification; return its process id."""
        (message,) = Reader().feed(spec)
        try:
            child = Child(name, module, message)
        except OSError as reason:
            raise SystemFailedError(f"the {name} cannot be started: {reason}: {_remedy(reason)}") from reason
        with self._changed:
            self._children[number] = child
            is_late = self._is_closed
        source = os.dup(child.fileno())  # the thread's own: the child's is closed, and its number used anew
        samples = self._samples[number] = _Samples() if isinstance(message, ClientSpec) else None
        threading.Thread(target=self._read, args=(number, source, samples), name=name, daemon=True).start()
        if is_late:
            self.close()
            raise SystemFailedError(f"the {name} was not wanted any more")
        return child.pid

    def child(self, number: int, name: str, *words: Any) -> Any:
        """Call a child's method, one of ``OF_CHILD``; return its answer, or the one given there without a child."""
        child = self._children.get(number)
        return getattr(child, name)(*words) if child else OF_CHILD[name]

    def stop(self, numbers: Iterable[int]) -> None:
        """End children, by force where they do not leave, and what belongs to them."""
        children = []
        for number in numbers:
            self._samples.pop(number, None)
            if child := self._children.pop(number, None):
                children.append(child)
        stop_all(children)

    def samples(self, number: int) -> bytes:
        """Return the samples of a child, packed; they are held no longer."""
        samples = self._samples.pop(number, None)
        if samples is None:
            raise SystemFailedError("the samples of this start are gone: measure it again")
        return pack(samples.blobs)

    def meter_start(self, number: int, pids: Mapping[str, list[int]]) -> None:
        """Begin to meter a window; ``pids``: process ids by role."""
        self._meters[number] = _Ticking(HERE.meter(pids))

    def meter_stop(self, number: int) -> Metered:
        """Return what was used in the window, and the load over time."""
        return self._meters.pop(number).stop()

    def close(self, why: str = "") -> None:
        """End all children; further ones are not started. ``why``: what the conductor hears, if it did not ask."""
        with self._changed:
            self._is_closed, self._why = True, self._why or why
            children, self._children = list(self._children.values()), {}
            self._changed.notify_all()
        stop_all(children)
        for meter in [self._meters.pop(number) for number in list(self._meters)]:
            with contextlib.suppress(Exception):  # processes that it reads have ended
                meter.stop()
        with Agent._claiming:
            Agent._claimed.pop(self, None)

    # ------------------------------------------------------------------------------------------------------------

    @classmethod
    def close_all(cls, why: str) -> None:
        """End the children of the conductor that has claimed this machine, if there is one, and let it know why."""
        for agent in list(cls._claimed):
            agent.close(why)

    def _read(self, number: int, source: int, samples: "_Samples | None") -> None:
        """Take in what a child sends, until its end."""
        with contextlib.closing(os.fdopen(source, "rb", 0)):
            with contextlib.suppress(OSError, AttributeError):  # samples arrive in fewer pieces; Linux only
                fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, PIECE)
            while True:
                data = os.read(source, PIECE)
                if not data and number not in self._children:
                    return  # it was stopped: nobody asks
                shown = samples.without(data) if samples and data else data
                if shown or not data:
                    with self._changed:
                        self._arrived.append((number, shown))
                        self._changed.notify_all()
                if not data:
                    return

    def _watch(self) -> None:
        """End all children once no conductor asks any more."""
        while not self._is_closed:
            left_s = self._seen_s + LEASE_S - time.monotonic()
            if left_s <= 0:
                self.close(f"has ended its processes: nobody asked for them in {LEASE_S:.0f} s")
                return
            time.sleep(min(left_s + 0.01, 1.0))


OF_CHILD = {"write": None, "ask_to_leave": None, "log_tail": "", "exit_report": "", "cpu_s": 0.0}  # and without a child
OF_MACHINE = frozenset({"prepare", "family", "has_ended"})  # methods of ``HERE``; others are the agent's


def _remedy(reason: OSError) -> str:
    words = one_line(reason.strerror or "")
    return "free some space there" if "space" in words or "large" in words or "quota" in words else "look at that host"
