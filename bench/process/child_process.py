"""Child processes as the measuring process sees them: start, talk, wait for, end. Nothing is left behind."""

import contextlib
import math
import os
import secrets
import selectors
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar

import psutil

from bench.errors import SystemFailedError
from bench.plan import paths
from bench.process import cpu_clocks, sources
from bench.process.channel import Adopted, ControlMessage, Failed, Kind, Listening, Reader
from bench.process.descendants import TERM_S
from bench.process.meters import family
from bench.process.pipes import Process, python, with_package
from bench.process.spec import FirstArrived, Ready
from bench.redaction import redacted
from bench.text import one_line

TICK_S = 0.2
LEAVE_S = 0.5  # for a process that is asked to leave, beside what it asks to end itself
END_S = 10.0  # until a process ends that has begun to
LEAST_SHARE = 0.005  # of a CPU: who uses less does not work, but waits for something that does not come
LOOK_S = 2.0  # for so long it is looked at whether they do, once the deadline has passed
LONGEST = 3
CROWDED = 4
QUOTED = 4000  # characters of the end of a log, at most; a secret that begins before them is redacted whole
EMPTY = "(its log is empty)"
LAST_LINES, LONGEST_LINE = 6, 300  # of a log that an error quotes; characters of such a line
_is_stopped: ContextVar[Callable[[], bool]] = ContextVar("is_stopped", default=lambda: False)


@contextlib.contextmanager
def until(is_stopped: Callable[[], bool]) -> Iterator[None]:
    """End the waits in this context by KeyboardInterrupt once ``is_stopped()``: threads get no Ctrl-C."""
    before = _is_stopped.set(is_stopped)
    try:
        yield
    finally:
        _is_stopped.reset(before)


def stopped() -> bool:
    """Return whether waits are to end now by KeyboardInterrupt."""
    return _is_stopped.get()()


def private_directory() -> str:
    """Return the name of a directory that does not exist yet, short enough for a socket file's path."""
    return f"{paths.for_sockets()}/roundtrip-{os.getpid()}-{secrets.token_hex(4)}"


class ChildHandle:
    """A child process as its reports show it, wherever it runs: what it sent, in the order of arrival.

    name: for errors. pid: its number on its machine.
    """

    name: str
    pid: int

    def __init__(self, name: str) -> None:
        self.name = name
        self._has_failed = False
        self._reader = Reader()
        self._inbox: list[ControlMessage] = []
        self._groups: list[int] = []

    def fileno(self) -> int:
        """Return the descriptor on which its reports arrive."""
        raise NotImplementedError

    def receive(self) -> bytes:
        """Return what has arrived of its reports, b"" at their end."""
        return os.read(self.fileno(), 1 << 20)

    def send(self, message: ControlMessage) -> None:
        """Send it one message."""
        raise NotImplementedError

    def log_tail(self) -> str:
        """Return the end of what it printed, on one line."""
        raise NotImplementedError

    def end_of_log(self) -> str:
        """Return the end of what it printed, with its name; "" if it printed nothing."""
        tail = self.log_tail()
        return "" if tail == EMPTY else f"the end of the {self.name}'s log: {tail}"

    def exit_report(self, patience_s: float) -> str:
        """Return how it ended and the end of its log, or nothing if it still runs."""
        raise NotImplementedError

    def cpu_s(self) -> float:
        """Return the CPU time that it and its descendants have used, in s; 0 once it has ended."""
        raise NotImplementedError

    def ask_to_leave(self) -> None:
        """End its input."""
        raise NotImplementedError

    def ask_for_samples(self) -> Callable[[], bytes]:
        """Ask its host for the samples that it holds; return what waits for them, packed."""
        raise NotImplementedError

    def begin_to_stop(self) -> None:
        """Let ``stop`` begin where that takes a message, so that several end side by side."""

    def stop(self) -> None:
        """End it, by force if it does not leave, and what belongs to it."""
        raise NotImplementedError

    def read(self) -> None:
        """Take in what has arrived; raise what the child reports, or that it has died."""
        data = self.receive()
        for message in self._reader.feed(data):
            if isinstance(message, Failed):
                self._has_failed = True
                raise SystemFailedError(f"the {self.name} failed: {one_line(message.text)}")
            if isinstance(message, Adopted):
                self._groups.append(message.group)
            else:
                self._inbox.append(message)
        if not data:
            raise SystemFailedError(self.exit_report(patience_s=5) or f"the {self.name} closed its reports")

    def take(self, kind: type[Kind]) -> Kind | None:
        """Return the oldest message of this kind that has arrived, or None; others wait."""
        for message in self._inbox:
            if isinstance(message, kind):
                self._inbox.remove(message)
                return message
        return None


class Child(Process, ChildHandle):
    """One server, client or router of this machine: a fresh interpreter that leaves when this process does."""

    def __init__(self, name: str, module: str, spec: ControlMessage) -> None:
        ChildHandle.__init__(self, name)
        self._directory: str | None = getattr(spec, "directory", None)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - has no name, so nothing can be left over
        Process.__init__(
            self,
            python(module),
            stderr=self._log,
            process_group=0,  # Ctrl-C is for the parent; not a session: Linux schedules those apart, at 1-2 us a call
            env=sources.environment(with_package(), getattr(getattr(spec, "case", None), "source", "")),
        )
        self.send(spec)

    def log_tail(self) -> str:
        """Return the end of what the child printed, on one line."""
        size = os.fstat(self._log.fileno()).st_size
        text = os.pread(self._log.fileno(), 2 * QUOTED, max(0, size - 2 * QUOTED)).decode(errors="replace")
        lines = [line for line in redacted(text)[-QUOTED:].splitlines() if line.strip()]
        tail = [one_line(line, LONGEST_LINE) for line in lines[-LAST_LINES:]]
        return " | ".join(tail) or EMPTY

    def exit_report(self, patience_s: float) -> str:
        """Return how the child ended and the end of its log, or nothing if it still runs.

        One that has reported an error is about to end: it is waited for longer, however busy the machine is.
        """
        status = self.wait(max(patience_s, END_S) if self._has_failed else patience_s)
        if status is None:
            return ""
        if self._has_failed:  # it said why; its status is not that of a program that it started
            return f"the end of the {self.name}'s log: {self.log_tail()}"
        how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
        return f"the {self.name} {how}; the end of its log: {self.log_tail()}"

    def cpu_s(self) -> float:
        """Return the CPU time that it and all its descendants have used, in s; 0 once it has ended."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return cpu_clocks.total_ns(family(self.pid)) / 1e9
        return 0.0

    def stop(self) -> None:
        """End the child, by force if it does not leave soon, and what belongs to it."""
        patience_s = LEAVE_S + TERM_S * bool(self._groups)
        self.ask_to_leave()
        with selectors.DefaultSelector() as reports:  # which it closes as it ends: wait() would look ever more rarely
            reports.register(self, selectors.EVENT_READ)
            has_left = reports.select(patience_s)
        if self.wait(patience_s if has_left else 0) is None:
            self.kill()
        if self.end() < 0:  # it could not end its helpers itself
            for group in self._groups:
                with contextlib.suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
        self._log.close()
        if self._directory:
            shutil.rmtree(self._directory, ignore_errors=True)


def stop_all(children: Sequence[ChildHandle]) -> None:
    """End all children, side by side."""
    for child in children:
        child.ask_to_leave()
    for child in children:
        child.begin_to_stop()
    for child in children:
        child.stop()


def collect(
    kind: type[Kind],
    wanted: Sequence[ChildHandle],
    deadline_s: float,
    others: Sequence[ChildHandle] = (),
    tick: Callable[[], None] = lambda: None,
    first_tick_s: float = TICK_S,
) -> list[Kind]:
    """Wait until each wanted child has sent a message of this kind; return the messages in that order.

    Raises SystemFailedError when a wanted or other child dies or reports an error, or at the deadline; and
    KeyboardInterrupt when ``until`` says so. The deadline is for one that hangs: it is moved, up to ``LONGEST`` times
    as late, while the wanted children still use CPU time, of which a busy machine gives them little, and while the
    machine is crowded: what they wait for may be starved, though they are not.
    ``tick`` is called about every 0.2 s meanwhile, first after ``first_tick_s``.
    """
    got: dict[ChildHandle, Kind] = {}
    began = time.monotonic()
    end, next_tick, used_s = began + deadline_s, began + first_tick_s, -math.inf
    with selectors.DefaultSelector() as selector:
        for child in {*wanted, *others}:
            selector.register(child, selectors.EVENT_READ, child)
        heard, left = list(wanted), set(wanted)
        while True:
            got |= {child: message for child in heard if child in left and (message := child.take(kind))}
            left -= got.keys()
            if not left:
                break
            heard = [key.data for key, _ in selector.select(max(0, min(next_tick, end) - time.monotonic()))]
            for child in heard:
                child.read()
            if stopped():
                raise KeyboardInterrupt
            if time.monotonic() >= next_tick:
                tick()
                next_tick = time.monotonic() + TICK_S
            if (now := time.monotonic()) >= end:
                used_before_s, used_s = used_s, sum(child.cpu_s() for child in left)
                is_idle = used_s - used_before_s < LEAST_SHARE * LOOK_S and not _is_crowded()
                if is_idle or now >= began + LONGEST * deadline_s:
                    raise _late(kind, next(child for child in wanted if child in left), now - began)
                end = now + LOOK_S
    return [got[child] for child in wanted]


def _is_crowded() -> bool:
    """Return whether ``CROWDED`` times as many processes as there are CPUs wanted one in the last minute."""
    return os.getloadavg()[0] > CROWDED * (os.cpu_count() or 1)


_DOING: dict[type[ControlMessage], str] = {
    Listening: "did not listen",
    Ready: "was not ready",
    FirstArrived: "received nothing",
}


def _late(kind: type[ControlMessage], child: ChildHandle, deadline_s: float) -> SystemFailedError:
    why = "it or its peer hangs"
    if kind is Listening:
        why = "serve() has not called service.announce(address), or hangs before it"
    return SystemFailedError(
        f"the {child.name} {_DOING.get(kind, 'did not finish')} within {deadline_s:.0f} s: {why}; "
        f"the end of its log: {child.log_tail()}"
    )
