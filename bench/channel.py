"""The child's end of the conversation between a measuring process and the one that started it.

Messages are one line of JSON each, on the child's standard input and output; a line with ``"blobs": [n, m]``
is followed by n and then m raw bytes. What libraries print goes to the log instead. When the input ends, the parent is
gone or wants the child gone: the child leaves at once and removes its private directory. (Linux's
parent-death signal would not do: it fires when the *thread* that started the child ends.)
"""

import contextlib
import json
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from bench.errors import BenchError

Message = dict[str, Any]


class Channel:
    """Receives commands and sends reports; ``on_request`` answers some kinds at once, from its thread."""

    def __init__(self) -> None:
        """Take over standard input and output, and begin to listen."""
        self._input = open(os.dup(0), "rb")  # noqa: SIM115, PTH123 - lives as long as the process
        self._output = open(os.dup(1), "wb")  # noqa: SIM115, PTH123
        with open(os.devnull, "rb") as nothing:  # noqa: PTH123
            os.dup2(nothing.fileno(), 0)
        os.dup2(2, 1)
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self.on_request: dict[str, Callable[[], Message]] = {}
        self.directory: str | None = None
        self.socket_file: str | None = None
        self._groups: list[int] = []
        threading.Thread(target=self._listen, name="channel", daemon=True).start()

    def _listen(self) -> None:
        for line in self._input:
            message = json.loads(line)
            answer = self.on_request.get(message["kind"])
            if answer is None:
                self._inbox.put(message)
            else:
                self.send(message["kind"], **answer())
        self.leave(0)

    def receive(self) -> Message:
        """Return the next command; waits for it."""
        return self._inbox.get()

    def send(self, kind: str, blobs: Sequence[Any] = (), **fields: Any) -> None:
        """Send one message, followed by the bytes of the buffers in ``blobs``, without copying them."""
        views = [memoryview(blob).cast("B") for blob in blobs]
        head = {"kind": kind, "blobs": [len(view) for view in views], **fields}
        with self._lock, contextlib.suppress(BrokenPipeError):
            self._output.write(json.dumps(head).encode() + b"\n")
            for view in views:
                self._output.write(view)
            self._output.flush()

    def make_directory(self, path: str) -> None:
        """Create the private directory for socket files; it goes when this process goes."""
        os.mkdir(path, mode=0o700)  # noqa: PTH102 - pathlib would cost the child 10 ms to import
        self.directory = path

    def adopt(self, group: int) -> None:
        """Take care that a process group ends with this process; the parent is told, for the case of a sudden end."""
        self._groups.append(group)
        self.send("adopted", group=group)

    def leave(self, status: int) -> NoReturn:
        """End this process now, whatever its other threads do, leaving neither helpers nor a directory behind."""
        for group in self._groups:
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        if self.directory is not None:
            import shutil

            shutil.rmtree(self.directory, ignore_errors=True)
        if self.socket_file is not None:
            with contextlib.suppress(OSError):
                os.unlink(self.socket_file)  # noqa: PTH108
        sys.stderr.flush()
        os._exit(status)


def fail(channel: Channel, error: BaseException) -> NoReturn:
    """Report an error to the parent and leave; the log gets the traceback of an unforeseen one."""
    if isinstance(error, BenchError):
        channel.send("error", text=str(error))
    else:
        import traceback

        traceback.print_exception(error)
        channel.send("error", text=f"{type(error).__name__}: {error}")
    channel.leave(1)


def run_child(work: Callable[[Channel], None]) -> NoReturn:
    """Run ``work`` with a channel; report what it raises; leave."""
    channel = Channel()
    try:
        work(channel)
    except BaseException as error:
        fail(channel, error)
    channel.leave(0)


def pin(cpus: Sequence[int] | None) -> None:
    """Keep the calling thread, and what it starts, on the given CPUs (Linux); None leaves it free."""
    if cpus:
        os.sched_setaffinity(0, cpus)
