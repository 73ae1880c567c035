"""The tracer's process: ``python -m bench.child.tracer``; the kernel records scheduling and system calls for it.

It has an instance of the kernel's tracer (tracefs) of its own, which it removes when it ends: that is when its input
does. Events have the clock of ``time.perf_counter_ns``. They are read after recording, from a ring buffer in memory, so
that no reader runs beside what is traced. What other processes do is not recorded, but that they had a CPU before or
after one of these.
"""

import contextlib
import os
import re
from collections import Counter
from collections.abc import Iterable

from bench.child.user_samples import Sampled
from bench.errors import SystemFailedError
from bench.process.channel import Channel, run_child
from bench.process.cpu_clocks import threads
from bench.process.spec import Trace, Traced, TracerReady, TracerSpec, Tracing, Untrace

INSTANCES, NAME = "/sys/kernel/tracing/instances", "roundtrip-"
EVENTS = (
    *("sched/sched_switch", "sched/sched_waking", "sched/sched_wakeup"),
    *("raw_syscalls/sys_enter", "raw_syscalls/sys_exit"),
)
LOST = ("overrun:", "commit overrun:", "dropped events:")  # lines of a buffer's statistics
FIELD = re.compile(r"field:[^;]*?(\w+)(?:\[\d+\])?;\s*offset:(\d+);\s*size:(\d+);")
PAGE = 65536  # bytes of a read, at least one page of the buffer
IDLE = 0  # the thread of an idle CPU


class Instance:
    """An instance of the kernel's tracer, a folder whose files control it; removed by ``close``."""

    def __init__(self, folder: str, buffer_kb: int) -> None:
        self._folder = folder
        self._known, self._lost_before = {IDLE}, Counter[int]()
        try:
            os.mkdir(folder)  # noqa: PTH102 - pathlib would cost the process 10 ms to import
            self.write("tracing_on", "0")
            self.write("trace_clock", "mono")
            self.write("buffer_size_kb", str(buffer_kb))
            self.write("options/overwrite", "0")  # what finds no room is left out at the end, where nothing is kept
            for event in EVENTS:
                self.write(f"events/{event}/enable", "1")
            self.write("options/event-fork", "1")
            self.write("set_event_pid", str(IDLE))
        except OSError as reason:
            self.close()
            raise SystemFailedError(f"the kernel's tracer cannot be used: {reason.strerror} ({folder})") from reason

    def write(self, file: str, text: str, how: int = os.O_TRUNC) -> None:
        """Write one of its files, or append to it (``O_APPEND``)."""
        descriptor = os.open(f"{self._folder}/{file}", os.O_WRONLY | how)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def read(self, file: str) -> str:
        """Return the text of one of its files."""
        with open(f"{self._folder}/{file}") as opened:  # noqa: PTH123
            return opened.read()

    def formats(self) -> dict[str, dict[str, list[int]]]:
        """Return for each event where its fields are: offset and size by name; ``event``: its number, and 0."""
        offsets = {}
        for event in EVENTS:
            text = self.read(f"events/{event}/format")
            number = int(text.partition("ID: ")[2].split()[0])
            offsets[event] = {name: [int(offset), int(size)] for name, offset, size in FIELD.findall(text)}
            offsets[event]["event"] = [number, 0]
        return offsets

    def begin(self, tids: Iterable[int]) -> None:
        """Record from now on what these threads do, and those that they start; what others do would fill the buffer.

        Those of earlier slices are recorded, too: the kernel takes 60 ms for each change of them.
        """
        if new := {*tids} - self._known:
            self.write("set_event_pid", " ".join(map(str, sorted(new))), os.O_APPEND)
            self._known |= new
        self.write("tracing_on", "1")

    def end(self) -> tuple[list[bytes], list[int]]:
        """Return the pages of each CPU's buffer since ``begin``, and how many events found no room there."""
        self.write("tracing_on", "0")
        cpus = sorted(int(name[3:]) for name in os.listdir(f"{self._folder}/per_cpu"))  # noqa: PTH208
        return [self._pages(cpu) for cpu in cpus], [self._lost(cpu) for cpu in cpus]

    def _lost(self, cpu: int) -> int:
        """Return how many events found no room since it was asked before."""
        lines = self.read(f"per_cpu/cpu{cpu}/stats").splitlines()
        lost = sum(int(line.partition(": ")[2]) for line in lines if line.startswith(LOST))
        before, self._lost_before[cpu] = self._lost_before[cpu], lost
        return lost - before

    def _pages(self, cpu: int) -> bytes:
        descriptor = os.open(f"{self._folder}/per_cpu/cpu{cpu}/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
        pages = bytearray()
        try:
            with contextlib.suppress(BlockingIOError):
                while page := os.read(descriptor, PAGE):
                    pages += page
        finally:
            os.close(descriptor)
        return bytes(pages)

    def close(self) -> None:
        """Stop recording and remove the instance."""
        with contextlib.suppress(OSError):
            self.write("tracing_on", "0")
            for event in EVENTS:
                self.write(f"events/{event}/enable", "0")
        with contextlib.suppress(OSError):
            os.rmdir(self._folder)  # noqa: PTH106


def remove_abandoned(folder: str) -> None:
    """Remove the instances of tracers that were killed: their names end in the number of a process that has ended."""
    for name in os.listdir(folder):  # noqa: PTH208
        if name.startswith(NAME) and not os.path.exists(f"/proc/{name.removeprefix(NAME)}"):  # noqa: PTH110
            with contextlib.suppress(OSError):
                os.rmdir(f"{folder}/{name}")  # noqa: PTH106


def threads_of(pids: Iterable[int]) -> dict[str, list[int]]:
    """Return the threads of each process that has not ended, by its number as JSON has it."""
    return {str(pid): tids for pid in pids if (tids := threads(pid))}


def main(channel: Channel) -> None:
    """Record from ``Trace`` to ``Untrace``, as often as asked, until the input ends."""
    spec = channel.receive(TracerSpec)
    remove_abandoned(INSTANCES)
    instance = Instance(f"{INSTANCES}/{NAME}{os.getpid()}", spec.buffer_kb)
    channel.on_leave = instance.close
    channel.send(TracerReady(formats=instance.formats()))
    while True:
        pids = channel.receive(Trace).pids
        before = threads_of(pids)
        instance.begin(tid for tids in before.values() for tid in tids)
        with contextlib.closing(Sampled()) as sampled:
            channel.send(Tracing())
            channel.receive(Untrace)
            pages, lost = instance.end()
            after = threads_of(pids)
            both = {pid: sorted({*before.get(pid, ()), *after.get(pid, ())}) for pid in before | after}
            samples = list(sampled.samples(tid for tids in both.values() for tid in tids))
        channel.send(Traced(threads=both, samples=samples, lost=lost, blobs=pages))


if __name__ == "__main__":
    run_child(main)
