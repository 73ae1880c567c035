"""Child processes as the measuring process sees them: start, talk, wait for, end. Nothing is left behind."""

import contextlib
import json
import os
import secrets
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from bench.channel import Message
from bench.errors import SystemFailedError

TICK_S = 0.2
_PACKAGE = str(Path(__file__).parents[2])
_is_stopped: ContextVar[Callable[[], bool]] = ContextVar("is_stopped", default=lambda: False)


@contextlib.contextmanager
def until(is_stopped: Callable[[], bool]) -> Iterator[None]:
    """Let whatever is waited for in here end by KeyboardInterrupt once ``is_stopped()``: threads get no Ctrl-C."""
    before = _is_stopped.set(is_stopped)
    try:
        yield
    finally:
        _is_stopped.reset(before)


def private_directory() -> str:
    """Return the name of a directory that does not exist yet, short enough for a socket file's path."""
    parent = tempfile.gettempdir()
    if len(parent) > 60:  # a Unix socket's path holds at most 103 bytes
        parent = "/tmp"
    return f"{parent}/roundtrip-{os.getpid()}-{secrets.token_hex(4)}"


class Child:
    """One server or client process: a fresh interpreter that leaves when this process does."""

    def __init__(self, name: str, module: str, spec: Message) -> None:
        """Start ``python -m MODULE`` and hand it its specification."""
        self.name = name
        self._directory = spec.get("directory")
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - has no name, so nothing can be left over
        self._buffer = bytearray()
        self._inbox: list[Message] = []
        self._groups: list[int] = []
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            process_group=0,  # Ctrl-C is for the parent; not a session: Linux schedules those apart, at 1-2 us a call
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [_PACKAGE, os.environ.get("PYTHONPATH")]))},
        )
        self.pid = self._process.pid
        self.send("spec", **spec)

    def send(self, kind: str, **fields: Any) -> None:
        """Send one command; a child that has died is noticed when its report is waited for."""
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps({"kind": kind, **fields}).encode() + b"\n")
            self._process.stdin.flush()

    def fileno(self) -> int:
        """Return the descriptor on which reports arrive."""
        assert self._process.stdout
        return self._process.stdout.fileno()

    def read(self) -> None:
        """Take in what has arrived; raise what the child reports, or that it has died."""
        data = os.read(self.fileno(), 1 << 20)
        self._buffer += data
        while message := self._next_message():
            if message["kind"] == "error":
                raise SystemFailedError(f"the {self.name} failed: {message['text']}")
            if message["kind"] == "adopted":
                self._groups.append(message["group"])
            else:
                self._inbox.append(message)
        if not data:
            raise SystemFailedError(self.obituary(patience_s=5) or f"the {self.name} closed its reports")

    def _next_message(self) -> Message | None:
        """Return the next whole message in the buffer, its raw bytes under "blobs", or None."""
        end = self._buffer.find(b"\n") + 1
        if not end:
            return None
        message: Message = json.loads(self._buffer[:end])
        if len(self._buffer) < end + sum(message["blobs"]):
            return None
        blobs = []
        for size in message["blobs"]:
            blobs.append(bytes(memoryview(self._buffer)[end : end + size]))
            end += size
        del self._buffer[:end]
        return message | {"blobs": blobs}

    def take(self, kind: str) -> Message | None:
        """Return the oldest message of this kind that has arrived, or None; others wait."""
        for message in self._inbox:
            if message["kind"] == kind:
                self._inbox.remove(message)
                return message
        return None

    def log_tail(self, lines: int = 6) -> str:
        """Return the end of what the child printed, on one line."""
        size = os.fstat(self._log.fileno()).st_size
        text = os.pread(self._log.fileno(), 4000, max(0, size - 4000)).decode(errors="replace")
        tail = [line.strip() for line in text.splitlines() if line.strip()][-lines:]
        return " | ".join(tail) or "(its log is empty)"

    def obituary(self, patience_s: float) -> str:
        """Return how the child ended and the end of its log, or nothing if it still runs."""
        try:
            status = self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            return ""
        how = f"was killed by signal {-status}" if status < 0 else f"exited with status {status}"
        return f"the {self.name} {how}; the end of its log: {self.log_tail()}"

    def ask_to_leave(self) -> None:
        """Close the child's input, which it takes as "leave now"."""
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def stop(self) -> None:
        """End the child, by force if it does not leave within half a second, and what belongs to it."""
        self.ask_to_leave()
        with selectors.DefaultSelector() as reports:  # which it closes as it ends: wait() would look ever more rarely
            reports.register(self, selectors.EVENT_READ)
            has_left = reports.select(0.5)
        try:
            self._process.wait(0.5 if has_left else 0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.returncode < 0:  # it could not end its helpers itself
            for group in self._groups:
                with contextlib.suppress(OSError):
                    os.killpg(group, signal.SIGKILL)
        assert self._process.stdout
        self._process.stdout.close()
        self._log.close()
        if self._directory:
            shutil.rmtree(self._directory, ignore_errors=True)


def stop_all(children: Sequence[Child]) -> None:
    """End all children, side by side."""
    for child in children:
        child.ask_to_leave()
    for child in children:
        child.stop()


def collect(
    kind: str,
    wanted: Sequence[Child],
    deadline_s: float,
    others: Sequence[Child] = (),
    tick: Callable[[], None] = lambda: None,
) -> list[Message]:
    """Wait until each wanted child has sent a message of this kind; return the messages in that order.

    Raises SystemFailedError when a wanted or other child dies or reports an error, or at the deadline; and
    KeyboardInterrupt when ``until`` says so.
    ``tick`` is called about every 0.2 s meanwhile.
    """
    got: dict[Child, Message] = {}
    end = time.monotonic() + deadline_s
    next_tick = time.monotonic() + TICK_S
    with selectors.DefaultSelector() as selector:
        for child in {*wanted, *others}:
            selector.register(child, selectors.EVENT_READ, child)
        while missing := [child for child in wanted if child not in got]:
            got |= {child: message for child in missing if (message := child.take(kind))}
            if len(got) == len(wanted):
                break
            for key, _ in selector.select(max(0, min(next_tick, end) - time.monotonic())):
                key.data.read()
            if _is_stopped.get()():
                raise KeyboardInterrupt
            if time.monotonic() >= next_tick:
                tick()
                next_tick = time.monotonic() + TICK_S
            if time.monotonic() >= end:
                raise _late(kind, missing[0], deadline_s)
    return [got[child] for child in wanted]


def _late(kind: str, child: Child, deadline_s: float) -> SystemFailedError:
    doing = {"listening": "did not listen", "ready": "was not ready", "received": "received nothing"}
    return SystemFailedError(
        f"the {child.name} {doing.get(kind, 'did not finish')} within {deadline_s:.0f} s: it or its peer hangs; "
        f"the end of its log: {child.log_tail()}"
    )
