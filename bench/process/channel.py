"""Messages between the measuring process and its children, and the child's end of the channel.

A message is a frozen class with typed fields; its name is its kind. It is sent as one line of JSON on the child's
standard input or output, followed by the raw bytes of its field ``blobs``. Output of libraries goes to the log. When
the input ends, the parent has ended or wants the child to end: the child exits at once and removes its private
directory. (Linux's parent-death signal is no substitute: it fires when the *thread* that started the child ends.)
"""

import contextlib
import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar, dataclass_transform

from bench.errors import BenchError, SystemFailedError
from bench.process import descendants
from bench.redaction import redacted

TRIES = 10  # to remove a directory into which a file comes meanwhile


@dataclass_transform(frozen_default=True, kw_only_default=True, eq_default=False)
class ControlMessage:
    """Base of all messages: a subclass lists its fields, as a dataclass does, and is registered by its name.

    Type checkers see frozen dataclasses. Nothing is generated at run time: the code that ``dataclasses`` makes would
    cost each process half a millisecond per kind when it starts.
    """

    kinds: ClassVar[dict[str, type["ControlMessage"]]] = {}
    _fields: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        cls._fields = (*cls._fields, *vars(cls).get("__annotations__", ()))
        ControlMessage.kinds[cls.__name__] = cls

    def __init__(self, **values: Any) -> None:
        if unknown := [name for name in values if name not in self._fields]:
            raise foreign(f"the message {type(self).__name__} has an unknown field {unknown[0]!r}")
        if missing := [name for name in self._fields if name not in values and not hasattr(type(self), name)]:
            raise foreign(f"the message {type(self).__name__} lacks its field {missing[0]!r}")
        vars(self).update(values)


def foreign(what: str) -> SystemFailedError:
    """Return the error for a message that this version does not know."""
    return SystemFailedError(f"{what}: parent and child are not of one version; end the processes of older runs")


def encode(message: ControlMessage) -> Iterator[Any]:
    """Yield a message's line, and then the buffers in its field ``blobs``, without copying them."""
    values = dict(vars(message))
    views = [memoryview(blob).cast("B") for blob in values.pop("blobs", ())]
    head = {"kind": type(message).__name__, "sizes": [len(view) for view in views], **values}
    yield json.dumps(head, default=vars).encode() + b"\n"
    yield from views


def decode(head: dict[str, Any], blobs: Sequence[bytes] = ()) -> ControlMessage:
    """Return the message made of a parsed JSON line and the bytes after it."""
    values = {name: value for name, value in head.items() if name not in ("kind", "sizes")}
    kind = ControlMessage.kinds.get(str(head.get("kind")))
    if kind is None:
        raise foreign(f"there is no message {head.get('kind')!r}")
    return kind(**values, blobs=tuple(blobs)) if blobs or "blobs" in kind._fields else kind(**values)


def read_line(line: bytes) -> dict[str, Any]:
    """Return the parsed JSON of a line; SystemFailedError quotes a line that is not JSON."""
    try:
        head = json.loads(line)
    except ValueError:
        head = None
    if not isinstance(head, dict):
        raise foreign(f"{line[:80]!r} is no message")
    return head


class Reader:
    """Decoder of messages from a byte stream that arrives in pieces of any size."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._head: dict[str, Any] | None = None  # parsed, of a message whose blobs have not all come
        self._whole = 0  # bytes of that message

    def feed(self, data: bytes) -> Iterator[ControlMessage]:
        """Append ``data`` and yield each message that is now complete."""
        self._buffer += data
        while self._head is not None or (end := self._buffer.find(b"\n") + 1) > 0:
            if self._head is None:
                self._head = read_line(bytes(memoryview(self._buffer)[:end]))
                self._whole = end + sum(self._head.get("sizes", ()))
            if len(self._buffer) < self._whole:
                return
            head, self._head = self._head, None
            sizes = head.get("sizes", ())
            blobs, end = [], self._whole - sum(sizes)
            for size in sizes:
                blobs.append(bytes(memoryview(self._buffer)[end : end + size]))
                end += size
            del self._buffer[:end]
            yield decode(head, blobs)


class Failed(ControlMessage):
    """The child failed and exits, with the reason."""

    text: str


class Adopted(ControlMessage):
    """The child started a process group that must end with the child."""

    group: int


class Listening(ControlMessage):
    """A server accepts requests at an address; its helper processes by role."""

    address: str
    pids: Mapping[str, int] = {}


class Count(ControlMessage):
    """Query for the number of requests answered so far."""


class Counted(ControlMessage):
    """Number of requests answered so far, in total and by each worker, if there are workers; None if it is not known.

    switches: voluntary and involuntary context switches of the process so far, also of threads that have ended, without
    the thread that answers; None if it does not know them.
    """

    count: int | None
    workers: Sequence[int] | None = None
    switches: Sequence[int] | None = None


Kind = TypeVar("Kind", bound=ControlMessage)


class Channel:
    """The child's end: receives commands and sends reports.

    ``on_count`` answers ``Count`` at once, from its thread; ``on_leave`` is called before the process ends.
    """

    def __init__(self) -> None:
        self._input = open(os.dup(0), "rb")  # noqa: SIM115, PTH123 - lives as long as the process
        self._output = open(os.dup(1), "wb")  # noqa: SIM115, PTH123
        with open(os.devnull, "rb") as devnull:  # noqa: PTH123
            os.dup2(devnull.fileno(), 0)
        os.dup2(2, 1)
        self._inbox: queue.SimpleQueue[ControlMessage | BaseException] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self.on_count: Callable[[], Counted] | None = None
        self.on_leave: Callable[[], None] = lambda: None
        self.directory: str | None = None
        self._making_directory = threading.Lock()
        self.socket_file: str | None = None
        self._groups: list[int] = []
        self._leaving = threading.Lock()
        threading.Thread(target=self._listen, name="channel", daemon=True).start()

    def _listen(self) -> None:
        for line in self._input:
            try:
                message = decode(read_line(line))
            except SystemFailedError as error:
                self._inbox.put(error)
                continue
            if isinstance(message, Count) and self.on_count:
                self.send(self.on_count())
            else:
                self._inbox.put(message)
        self.leave(0)

    def receive(self, kind: type[Kind]) -> Kind:
        """Wait for the next command and return it; it must be of this kind."""
        message = self._inbox.get()
        if isinstance(message, BaseException):
            raise message
        if not isinstance(message, kind):
            raise foreign(f"{type(message).__name__} came instead of {kind.__name__}")
        return message

    def send(self, message: ControlMessage) -> None:
        """Send one message, followed by the bytes of the buffers in its ``blobs``; none while this process leaves."""
        if self._leaving.locked():
            return
        with self._lock, contextlib.suppress(BrokenPipeError):
            for part in encode(message):
                self._output.write(part)
            self._output.flush()

    def make_directory(self, path: str) -> None:
        """Create the private directory for socket files; it is removed when this process ends."""
        with self._making_directory:  # not while another thread lets the process leave
            os.mkdir(path, mode=0o700)  # noqa: PTH102 - pathlib would cost the child 10 ms to import
            self.directory = path

    def adopt(self, group: int) -> None:
        """End a process group, and all that it starts, with this process; the parent knows, in case this is killed."""
        descendants.inherit()
        self._groups.append(group)
        self.send(Adopted(group=group))

    def leave(self, status: int) -> NoReturn:
        """End this process now, whatever its other threads do; end its helpers and remove its directory."""
        self._leaving.acquire()  # one thread does
        self.on_leave()
        if self._groups:
            descendants.end_groups(self._groups)
            descendants.end()
        self._making_directory.acquire()  # and no directory is made from now on
        if self.directory is not None:
            _remove(self.directory)
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        for file in filter(None, 2 * (self.socket_file,)):  # during the first call another thread may just bind it
            with contextlib.suppress(OSError):
                os.unlink(file)  # noqa: PTH108
        os._exit(status)


def fail(channel: Channel, error: BaseException) -> NoReturn:
    """Report an error to the parent and exit; write the traceback of an unexpected error to the log."""
    if isinstance(error, BenchError):
        parts = [described(error.__cause__)] if isinstance(error.__cause__, BaseExceptionGroup) else []
        channel.send(Failed(text=redacted("; ".join([str(error), *parts]))))
    else:
        import traceback

        with contextlib.suppress(OSError):  # the log takes nothing more where the disk is full
            traceback.print_exception(error)
        channel.send(Failed(text=redacted(described(error))))
    channel.leave(1)


def described(error: BaseException) -> str:
    """Return the type and the text of an error, or of each one in a group, with the last line of a system's file."""
    if isinstance(error, BaseExceptionGroup):
        return "; ".join(dict.fromkeys(map(described, error.exceptions)))
    location, trace = "", error.__traceback__
    while trace:
        code = trace.tb_frame.f_code
        if trace.tb_frame.f_globals.get("__name__", "").startswith("bench.systems."):
            location = f" ({code.co_filename}, line {trace.tb_lineno})"
        trace = trace.tb_next
    return f"{type(error).__name__}: {error}{location}"


def run_child(work: Callable[[Channel], None]) -> NoReturn:
    """Run ``work`` with a channel, report the error that it raises, if any, and exit."""
    channel = Channel()
    try:
        work(channel)
    except BaseException as error:
        fail(channel, error)
    channel.leave(0)


def pin(cpus: Sequence[int] | None) -> None:
    """Pin the calling thread, and what it starts, to the given CPUs (Linux); None leaves it free."""
    if cpus:
        os.sched_setaffinity(0, cpus)


def _remove(directory: str) -> None:
    """Remove a directory into which another thread may still put a file, such as a socket that it is about to bind."""
    import shutil

    for _ in range(TRIES):
        shutil.rmtree(directory, ignore_errors=True)
        if not os.path.lexists(directory):
            return
